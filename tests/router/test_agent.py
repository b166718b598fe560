"""The model `router` on the Agent API's paths, streamed, whole and in the background, over either upstream."""

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
import pytest_asyncio

from tests.ledger.asking import requests
from tests.rig import AGENT, ASK_PATH, KEY, Reply, Rig, bearer, running
from tests.router.test_running import DECISIONS, EASY, HARD, asked, rating

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATHS = ("/v1/agent", "/perplexity/v1/responses")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Rig, None]:
    """Simple questions go to the session, others to the API."""
    tiers: dict[str, Any] = {
        "router_simple": ("session/auto",),
        "router_medium": ("low",),
        "router_complex": ("openai/gpt-6-luna:high",),
    }
    async with running(tmp_path_factory.mktemp("router"), factor=10.0, allow_spending=True, **tiers) as rig:
        yield rig


@pytest_asyncio.fixture(loop_scope="module")
async def rig(opened: Rig) -> Rig:
    for kept in ("requests", "script"):
        await opened.client.delete(f"{opened.emulator_url}/_emulator/{kept}")
    return opened


async def ask(rig: Rig, text: str, path: str = "/v1/agent", **more: Any) -> Reply:
    sent = {"model": "router", "input": text, **more}
    reply = await rig.client.post(rig.url + path, json=sent, headers=bearer(KEY))
    return Reply(reply.status_code, reply.headers, reply.json())


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("place", "tier", "run"),
    [(1.5, "medium", (None, "low", None)), (2.9, "complex", ("openai/gpt-6-luna", None, "high"))],
)
async def test_the_rating_decides_what_is_asked_of_the_api(
    rig: Rig, path: str, place: float, tier: str, run: tuple[str | None, ...]
) -> None:
    await rig.script(DECISIONS, rating(place))
    reply = await ask(rig, EASY, path)
    assert reply.status == 200, reply.json
    assert await asked(rig) == [run]
    assert (reply.headers["x-pplx-router-tier"], reply.headers["x-pplx-upstream"]) == (tier, "api")
    assert reply.headers["x-pplx-router-reason"] == f"decider: {place / 3:.2f}"
    assert reply.headers["x-pplx-requested-model"] == "router"
    rows = [row for row in await requests(rig, limit="2") if row["operation"] != "decisions"]
    assert rows[0]["requested_model"] == "router"


async def test_a_simple_question_goes_to_the_session(rig: Rig) -> None:
    await rig.script(DECISIONS, rating(0.3))
    reply = await ask(rig, EASY)
    assert reply.status == 200, reply.json
    assert (reply.headers["x-pplx-router-tier"], reply.headers["x-pplx-upstream"]) == ("simple", "session")
    assert await rig.requests(AGENT) == []
    assert len(await rig.requests(ASK_PATH)) == 1


async def test_streams_and_runs_in_the_background_tell_the_tier(rig: Rig) -> None:
    await rig.script(DECISIONS, rating(2.9), rating(2.9))
    queued = await ask(rig, EASY, background=True)
    assert (queued.status, queued.headers["x-pplx-router-tier"]) == (200, "complex")
    sent = {"model": "router", "input": EASY, "stream": True}
    async with rig.client.stream("POST", f"{rig.url}/v1/agent", json=sent, headers=bearer(KEY)) as stream:
        events = [json.loads(line[6:]) async for line in stream.aiter_lines() if line.startswith("data: {")]
    assert stream.headers["x-pplx-router-tier"] == "complex"
    assert events[-1]["type"] == "response.completed"
    assert [model for model, _, _ in await asked(rig)] == ["openai/gpt-6-luna"] * 2


async def test_what_the_caller_says_of_effort_holds(rig: Rig) -> None:
    await rig.script(DECISIONS, rating(2.9))
    reply = await ask(rig, HARD, reasoning={"effort": "low"})
    assert reply.status == 200
    assert await asked(rig) == [("openai/gpt-6-luna", None, "low")]


async def test_an_aim_that_cannot_answer_is_passed_over(rig: Rig) -> None:
    await rig.script(DECISIONS, rating(0.3))
    reply = await ask(rig, EASY, temperature=0.2)
    assert (reply.status, reply.headers["x-pplx-upstream"]) == (200, "api")
    assert reply.headers["x-pplx-router-tier"] == "simple"


async def test_a_run_goes_on_where_the_one_before_is(rig: Rig) -> None:
    await rig.script(DECISIONS, rating(1.5), rating(0.3))
    first = await ask(rig, EASY)
    second = await ask(rig, EASY, previous_response_id=first.json["id"])
    assert (second.status, second.headers["x-pplx-upstream"]) == (200, "api"), second.json
    unknown = await ask(rig, EASY, previous_response_id="resp_none")
    assert (unknown.status, unknown.json["error"]["type"]) == (400, "previous_response_not_found")
    assert len(await rig.requests(DECISIONS)) == 2


async def test_among_models_the_router_is_refused_by_name(rig: Rig) -> None:
    reply = await ask(rig, EASY, model=None, models=["router"])
    assert (reply.status, reply.json["error"]["param"]) == (400, "models")
    assert "name it as 'model'" in reply.json["error"]["message"]
