"""Lists of models, OpenAI's and the mirror's: whatever a caller may ask for, and nothing else."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.caller_keys.calling import QUESTION, make
from tests.rig import KEY, Rig, bearer, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROOT, MIRROR = "/v1/models", "/perplexity/v1/models"
EMBEDDINGS = {"pplx-embed-v1-0.6b", "pplx-embed-v1-4b", "pplx-embed-context-v1-0.6b", "pplx-embed-context-v1-4b"}
DECIDERS = {"pplx-decider-v1-27b", "pplx-decider-v1.1-27b"}
SONAR = {"sonar", "sonar-pro", "sonar-reasoning-pro", "sonar-deep-research"}
LEVELS = {"fast", "low", "medium", "high", "xhigh", "wide-research"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def both(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Rig, None]:
    async with running(tmp_path_factory.mktemp("both"), allow_spending=True) as rig:
        yield rig


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def session(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Rig, None]:
    async with running(tmp_path_factory.mktemp("session"), order=("session",)) as rig:
        yield rig


async def listed(rig: Rig, path: str, key: str = KEY) -> dict[str, dict[str, Any]]:
    reply = await rig.get(path, key=key)
    assert reply.status == 200, reply.json
    found = {model["id"]: model for model in reply.json["data"]}
    assert len(found) == len(reply.json["data"])
    return found


async def answer(rig: Rig, path: str, model: str, key: str) -> int:
    body = {"model": model, "messages": [{"role": "user", "content": QUESTION}]}
    reply = await rig.client.post(rig.url + path, json=body, headers=bearer(key))
    return reply.status_code


async def test_the_root_lists_what_answers_no_question_too(both: Rig) -> None:
    models = await listed(both, ROOT)
    assert models.keys() >= EMBEDDINGS | DECIDERS | SONAR | LEVELS | {"router", "gpt", "auto"}
    kinds = ("chat", "embeddings", "decisions")
    told = {name: tuple(model["capabilities"][kind] for kind in kinds) for name, model in models.items()}
    assert {told[name] for name in EMBEDDINGS} == {(False, True, False)}
    assert {told[name] for name in DECIDERS} == {(False, False, True)}
    assert {told[name] for name in models.keys() - EMBEDDINGS - DECIDERS} == {(True, False, False)}


async def test_the_root_tells_what_is_paid_by_use(both: Rig) -> None:
    models = await listed(both, ROOT)
    assert models["perplexity/sonar"]["pricing"] == (await listed(both, MIRROR))["perplexity/sonar"]["pricing"]
    assert models["pplx-embed-v1-0.6b"]["pricing"] == {"input": 0.004, "output": 0, "unit": "usd_per_1m_tokens"}
    assert not {"gpt", "low", "router"} & {name for name, model in models.items() if "pricing" in model}
    one = (await both.get(f"{ROOT}/pplx-decider-v1.1-27b")).json
    assert one == models["pplx-decider-v1.1-27b"]


async def test_the_mirror_lists_sonars_names_where_the_session_alone_answers(session: Rig) -> None:
    models = await listed(session, MIRROR)
    assert models.keys() >= SONAR | {"gpt", "auto"}
    assert not models.keys() & (EMBEDDINGS | DECIDERS | LEVELS)
    assert not (await listed(session, ROOT)).keys() & (EMBEDDINGS | DECIDERS)
    for name in ("sonar-pro", "sonar-reasoning-pro"):
        assert await answer(session, "/perplexity/chat/completions", name, KEY) == 200


async def test_on_the_free_plan_no_name_is_listed_that_the_plan_refuses(tmp_path: Path) -> None:
    async with running(tmp_path, order=("session",), account_type="free") as rig:
        assert (await listed(rig, MIRROR)).keys() == {"auto", "helper", "router"}


@pytest.mark.parametrize(
    ("limits", "root", "mirror"),
    [
        ({"models": ["sonar", "pplx-embed-*"]}, EMBEDDINGS | {"sonar"}, EMBEDDINGS | {"sonar"}),
        ({"models": ["gpt"]}, {"gpt"}, set()),
        ({"models": ["sonar-pro", "gpt"], "upstreams": ["session"]}, {"gpt"}, {"gpt", "sonar-pro"}),
        ({"models": ["sonar", "router"], "upstreams": ["api"]}, {"sonar", "router"}, {"sonar", "router"}),
        ({"models": ["pplx-decider-*"], "upstreams": ["session"]}, set(), set()),
    ],
)
async def test_a_key_sees_what_it_may_ask(both: Rig, limits: dict[str, Any], root: set[str], mirror: set[str]) -> None:
    _, secret = await make(both, str(limits), **limits)
    assert (await listed(both, ROOT, secret)).keys() == root
    assert (await listed(both, MIRROR, secret)).keys() == mirror
    for name in root - EMBEDDINGS:
        assert await answer(both, "/v1/chat/completions", name, secret) == 200
    for name in mirror - EMBEDDINGS:
        assert await answer(both, "/perplexity/chat/completions", name, secret) == 200


async def test_a_key_of_one_upstream_sees_nothing_of_the_other(both: Rig) -> None:
    _, of_session = await make(both, "of the session", upstreams=["session"])
    _, of_api = await make(both, "of the api", upstreams=["api"])
    assert {model["upstream"] for model in (await listed(both, ROOT, of_session)).values()} == {"session"}
    assert {model["upstream"] for model in (await listed(both, ROOT, of_api)).values()} == {"api"}
    assert (await listed(both, MIRROR, of_session)).keys() >= SONAR | {"gpt"}
    assert (await listed(both, MIRROR, of_api)).keys() >= SONAR | LEVELS | EMBEDDINGS
