"""Keys that are limited to one upstream, on every face: answered by it where it can, and refused truly where not."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.caller_keys.calling import QUESTION, asked_upstream, make
from tests.life.waiting import until
from tests.rig import KEY, Rig, bearer, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

MESSAGES = [{"role": "user", "content": QUESTION}]
SONAR = {"model": "sonar", "messages": MESSAGES}
INPUT = {"model": "perplexity/sonar", "input": QUESTION}

ON_SESSION: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"model": "gpt", "messages": MESSAGES},
    "/v1/responses": {"model": "gpt", "input": QUESTION},
    "/v1/messages": {"model": "claude-sonnet-5", "max_tokens": 500, "messages": MESSAGES},
    "/v1/sonar": SONAR,
    "/chat/completions": {**SONAR, "model": "sonar-pro"},
    "/perplexity/chat/completions": {**SONAR, "model": "perplexity/sonar-pro"},
    "/perplexity/v1/chat/completions": {**SONAR, "model": "sonar-reasoning-pro"},
    "/v1/async/sonar": {"request": {**SONAR, "model": "sonar-pro"}},
    "/perplexity/async/chat/completions": {"request": SONAR},
    "/v1/agent": INPUT,
    "/perplexity/v1/responses": {**INPUT, "models": ["sonar"], "model": None},
    "/perplexity/responses": {"effort": "low", "input": QUESTION},
    "/agent": {"preset": "pro-search", "input": QUESTION},
}
ONLY_API: dict[str, dict[str, Any]] = {
    "/v1/agent": {**INPUT, "model": "openai/gpt-6-luna"},
    "/perplexity/chat/completions": {**SONAR, "model": "api/sonar"},
    "/v1/chat/completions": {"model": "api/sonar", "messages": MESSAGES},
    "/v1/embeddings": {"model": "pplx-embed-v1-0.6b", "input": QUESTION},
    "/v1/decisions": {
        "model": "pplx-decider-v1.1-27b",
        "input": QUESTION,
        "questions": [{"type": "predicate", "instructions": "Is it a question?"}],
    },
    "/search": {"query": QUESTION},
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rig(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Rig, None]:
    async with running(tmp_path_factory.mktemp("upstreams"), factor=10.0, allow_spending=False) as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def on_session(rig: Rig) -> str:
    return (await make(rig, "on the session", upstreams=["session"]))[1]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def on_api(rig: Rig) -> str:
    return (await make(rig, "on the api", upstreams=["api"]))[1]


@pytest.mark.parametrize("path", ON_SESSION)
async def test_the_session_answers_a_key_of_its_own(rig: Rig, on_session: str, path: str) -> None:
    reply = await rig.client.post(rig.url + path, json=ON_SESSION[path], headers=bearer(on_session))
    assert reply.status_code == 200, reply.text
    if "async" in path:
        told = await _ended(rig, f"{path}/{reply.json()['id']}", on_session)
        assert told["response"]["choices"][0]["message"]["content"]
    else:
        assert reply.headers["x-pplx-upstream"] == "session"
    assert await asked_upstream(rig) == 0


@pytest.mark.parametrize("path", ONLY_API)
async def test_what_the_session_cannot_answer_is_refused_truly(rig: Rig, on_session: str, path: str) -> None:
    reply = await rig.client.post(rig.url + path, json=ONLY_API[path], headers=bearer(on_session))
    assert reply.status_code == 403, reply.text
    error = reply.json()["error"]
    assert "This key may ask the session upstream only" in error["message"]
    assert "model_not_allowed" in (error["type"], error["code"])
    assert error["param"] == (None if path == "/search" else "model")
    assert await asked_upstream(rig) == 0


async def test_a_name_that_leads_to_the_session_is_told_by_which_it_leads_to_the_api(rig: Rig, on_api: str) -> None:
    for path, body in (
        ("/v1/chat/completions", {"model": "sonar", "messages": MESSAGES}),
        ("/v1/responses", {"model": "sonar", "input": QUESTION}),
    ):
        reply = await rig.post(body, path=path, key=on_api)
        assert reply.status == 403
        assert "ask 'api/sonar'" in reply.error["message"]
        told = await rig.post({**body, "model": "api/sonar"}, path=path, key=on_api)
        assert (told.status, told.headers["x-pplx-upstream"]) == (200, "api")


async def test_without_a_model_a_key_is_answered_by_the_upstream_that_it_may_ask(
    rig: Rig, on_api: str, on_session: str
) -> None:
    for path, body in (("/v1/chat/completions", {"messages": MESSAGES}), ("/v1/responses", {"input": QUESTION})):
        for key, upstream, model in (
            (on_api, "api", "api/sonar"),
            (on_session, "session", "gpt"),
            (KEY, "session", "gpt"),
        ):
            reply = await rig.post(body, path=path, key=key)
            assert (reply.status, reply.headers["x-pplx-upstream"]) == (200, upstream)
            assert reply.headers["x-pplx-requested-model"] == model


async def test_what_stands_in_for_the_default_must_be_allowed_too(rig: Rig) -> None:
    _, secret = await make(rig, "low on the api", upstreams=["api"], models=["low"])
    before = await asked_upstream(rig)
    refused = await rig.post({"messages": MESSAGES}, path="/v1/chat/completions", key=secret)
    assert (refused.status, refused.error["code"]) == (403, "model_not_allowed")
    assert "It may ask: low." in refused.error["message"]
    assert await asked_upstream(rig) == before


async def test_a_default_of_the_apis_costs_no_key_that_is_for_the_session(tmp_path: Path) -> None:
    async with running(tmp_path, default_model="api/low") as rig:
        _, secret = await make(rig, upstreams=["session"])
        reply = await rig.post({"messages": MESSAGES}, key=secret)
        assert (reply.status, reply.headers["x-pplx-requested-model"]) == (200, "session/sonar")
        assert await asked_upstream(rig) == 0
        assert (await rig.post({"messages": MESSAGES})).headers["x-pplx-upstream"] == "api"


async def test_a_level_counts_by_its_own_name(rig: Rig) -> None:
    _, secret = await make(rig, "low alone", upstreams=["session"], models=["low"])
    allowed = await rig.client.post(
        f"{rig.url}/v1/agent", json={"effort": "low", "input": QUESTION}, headers=bearer(secret)
    )
    refused = await rig.client.post(
        f"{rig.url}/v1/agent", json={"effort": "high", "input": QUESTION}, headers=bearer(secret)
    )
    assert (allowed.status_code, refused.status_code) == (200, 403), allowed.text
    assert "may not ask 'high'" in refused.json()["error"]["message"]


async def test_the_router_pays_no_decider_for_a_key_of_the_session(tmp_path: Path) -> None:
    async with running(tmp_path, allow_spending=True, router_simple=("auto",), router_medium=("gpt",)) as rig:
        _, secret = await make(rig, upstreams=["session"])
        reply = await rig.post({"model": "router", "messages": MESSAGES}, key=secret)
        assert (reply.status, reply.headers["x-pplx-upstream"]) == (200, "session")
        assert reply.headers["x-pplx-router-reason"].startswith("rule:")
        assert await rig.requests("/v1/decisions*") == []


async def _ended(rig: Rig, path: str, key: str) -> dict[str, Any]:
    told: dict[str, Any] = {}

    async def over() -> bool:
        told.update((await rig.client.get(rig.url + path, headers=bearer(key))).json())
        return told["status"] not in ("CREATED", "IN_PROGRESS")

    await until(over)
    assert told["status"] == "COMPLETED", told
    return told


async def test_the_list_names_what_a_key_may_ask_as_it_must_be_asked(rig: Rig) -> None:
    _, secret = await make(rig, "sonar of the api", models=["sonar"], upstreams=["api"])
    (listed,) = (await rig.get("/v1/models", key=secret)).json["data"]
    assert listed["id"] == "api/sonar"
    reply = await rig.post({"model": listed["id"], "messages": MESSAGES}, key=secret)
    assert reply.status == 200
