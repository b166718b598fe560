"""What runs cost, to the last digit and once each, whoever hears of it."""

import asyncio
import json
from pathlib import Path

import httpx2

from tests.agent_face.calling import AGENT, ASK, LONG, RUN, billed, create, ledger, opened, replay, stream
from tests.cases.scripts import A_BASE, USAGE, agent_steps, sse
from tests.perplexity.calling import Caller, native_error
from tests.responses.test_restart import emulator, gateway

COST = 0.00503
SUM = 0.01006


async def test_a_run_costs_what_the_upstream_says(caller: Caller) -> None:
    for _ in range(2):
        await caller.rig.script(AGENT, agent_steps())
    response = await create(caller, "/perplexity/v1/responses")
    assert response["usage"] == USAGE
    await stream(caller)
    rows = await billed(caller, 2)
    assert [(row["cost"], row["cost_source"], row["searches"]) for row in rows] == [(COST, "given", 1)] * 2
    for row in rows:
        assert (row["requested_model"], row["served_model"]) == ("perplexity/sonar", "perplexity/sonar")
        assert (row["key"], row["upstream"], row["protocol"]) == ("default", "api", "perplexity")
        assert (row["input_tokens"], row["output_tokens"]) == (20, 9)
    usage = (await caller.get("/admin/usage")).json()
    assert usage["total"]["cost"] == SUM


async def test_a_run_in_the_background_is_billed_once(caller: Caller) -> None:
    queued = {"steps": [{"bytes": '{"id":"resp_t1","object":"response","status":"queued","output":[]}'}]}
    await caller.rig.script(AGENT, queued)
    await caller.rig.script(RUN, replay(agent_steps()), {"steps": [{"bytes": "{}"}], "repeat": "forever"})
    await create(caller, background=True)
    (row,) = await billed(caller)
    assert (row["cost"], row["served_model"]) == (COST, "perplexity/sonar")
    for _ in range(3):
        await caller.get(RUN)
    assert (await caller.get("/admin/usage")).json()["total"]["cost"] == COST


async def test_a_stream_in_the_background_is_billed_once(caller: Caller) -> None:
    await caller.rig.script(AGENT, agent_steps())
    await stream(caller, background=True)
    (row,) = await billed(caller)
    assert row["cost"] == COST
    assert await caller.rig.requests(RUN) == [], "what was heard needs not be followed"


async def test_whoever_leaves_a_run_in_the_background_pays_for_it(caller: Caller) -> None:
    await caller.rig.script(AGENT, [*agent_steps()[:7], LONG])
    await caller.rig.script(RUN, replay(agent_steps()))
    async with opened(caller, background=True) as reply:
        async for line in reply.aiter_lines():
            if "The Leie" in line:
                break
    (row,) = await billed(caller)
    assert row["cost"] == COST


async def test_what_a_stopped_gateway_left_is_billed_by_the_next(tmp_path: Path) -> None:
    async with emulator() as upstream:
        await upstream.script(AGENT, [{"bytes": json.dumps({"id": "resp_t1", "status": "queued", "output": []})}])
        await upstream.script(RUN, [*agent_steps()[:5], LONG])
        await upstream.script(RUN, agent_steps(), repeat="forever")
        async with gateway(tmp_path, upstream) as (program, _):
            async with httpx2.AsyncClient(base_url=program.url, trust_env=False) as client:
                reply = await client.post(AGENT, json={**ASK, "background": True})
                assert reply.status_code == 200, reply.text
                await upstream.wait(RUN)
            await program.stop()
        async with gateway(tmp_path, upstream) as (program, _):
            await upstream.wait(RUN, ended="1")
            async with httpx2.AsyncClient(base_url=program.url, trust_env=False) as client:
                assert await total(client) == COST
        async with (
            gateway(tmp_path, upstream) as (program, _),
            httpx2.AsyncClient(base_url=program.url, trust_env=False) as client,
        ):
            assert await total(client) == COST
        assert await upstream.count(RUN) == 2


async def total(client: httpx2.AsyncClient) -> float:
    """What was spent, once anything was."""
    async with asyncio.timeout(20):
        while True:
            cost = (await client.get("/admin/usage")).json()["total"]["cost"]
            if cost:
                return float(cost)
            await asyncio.sleep(0.05)


async def test_an_empty_answer_is_paid_for(caller: Caller) -> None:
    blank = [
        dict(event)
        for event in A_BASE
        if "message" not in str(event.get("item", "")) and "text" not in str(event["type"])
    ]
    blank[-1] = {**blank[-1], "response": {**A_BASE[-1]["response"], "output": []}}  # type: ignore[dict-item]
    await caller.rig.script(AGENT, [{"bytes": sse(event)} for event in blank])
    native_error(await caller.post(AGENT, ASK), 502)
    (row,) = await billed(caller)
    assert (row["cost"], row["error"]) == (COST, "empty_answer")


async def test_what_was_refused_costs_nothing(caller: Caller) -> None:
    await caller.post(AGENT, {**ASK, "verbosity": 1})
    rows = await ledger(caller)
    assert [(row["cost"], row["error"]) for row in rows] == [(None, "invalid_request")]


async def test_a_budget_holds(caller: Caller) -> None:
    key = await caller.new_key("poor", cost_per_day=0.005)
    await caller.rig.script(AGENT, agent_steps())
    await create(caller, key=key)
    await billed(caller)
    reply = await caller.post(AGENT, ASK, key=key)
    assert reply.status_code in (402, 403, 429), reply.text
    assert len(await caller.rig.requests(AGENT)) == 1
