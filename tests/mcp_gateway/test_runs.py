"""What outlives a call: begun in MCP, told of in time, left, collected from anywhere, stopped, and paid once."""

import asyncio
import json
from pathlib import Path

import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.gateway import Gateway
from pplx_gateway.opening import open_gateway
from pplx_gateway.settings import Settings
from pplx_gateway.store.records import Hold, NewResponse
from tests.cases.scripts import A_BASE, TEXT, Json, Step, agent_steps
from tests.mcp_gateway.calling import MODES, QUESTION, Caller, Mode, calling, client_of, modern, rpc, runs_begun
from tests.responses.calling import CANCEL_RUN, LONG, RUN, SSE, script_run
from tests.responses.calling import Caller as Responses
from tests.rig import AGENT, ASK_PATH, KEY, Rig, bearer, running

Both = tuple[Rig, Caller]
SEARCHED = 4
"""So many of the run's events are told before it falls silent."""


def slow(seconds: float) -> list[Step]:
    steps = agent_steps()
    return [*steps[:SEARCHED], {"sleep": seconds}, *steps[SEARCHED:]]


@pytest.mark.parametrize(("mode", "revision"), MODES)
async def test_a_research_of_minutes_comes_back_as_an_id_in_time(tmp_path: Path, mode: Mode, revision: str) -> None:
    async with calling(tmp_path, mode=mode) as (rig, caller):
        await rig.script(AGENT, slow(300))
        began = await caller.call("perplexity_agent", query=QUESTION)
        assert not began.is_error
        assert began.structured["status"] == "running"
        response_id = began.structured["response_id"]
        assert f'perplexity_agent_result with {{"response_id": "{response_id}", "wait_seconds": 45}}' in began.text
        assert f'perplexity_agent_cancel with {{"response_id": "{response_id}"}}' in began.text
        moments = [moment for moment, _ in caller.progress]
        assert moments == sorted(set(moments))
        assert any("searching" in line or "reading" in line or "thinking" in line for _, line in caller.progress)
        assert all(line.startswith(f"{response_id}: ") for _, line in caller.progress)
        told = began
        while told.structured.get("status") == "running":
            told = await caller.call("perplexity_agent_result", response_id=response_id, wait_seconds=45)
        assert TEXT in told.fenced
        assert told.structured["sources"] == [
            {"ids": [1], "url": "https://a.example/leie"},
            {"ids": [2], "url": "https://b.example/scheldt"},
        ]
        again = await caller.call("perplexity_agent_result", response_id=response_id)
        assert again.structured["sources"] == told.structured["sources"]
        assert await runs_begun(rig) == 1


async def test_without_waiting_the_id_comes_at_once(both: Both) -> None:
    rig, caller = both
    await rig.script(AGENT, slow(60), slow(60))
    for name in ("perplexity_agent", "perplexity_research"):
        told = await caller.call(name, query=QUESTION, wait=False)
        assert told.structured["status"] == "running"
        looked = await caller.call("perplexity_agent_result", response_id=told.structured["response_id"])
        assert looked.structured["status"] == "running"


async def test_a_client_that_gives_up_kills_nothing(tmp_path: Path) -> None:
    """Research is begun, its client goes away, and the answer is collected by others: one run, one bill."""
    async with running(tmp_path, factor=50) as rig:
        await rig.script(AGENT, slow(120))
        body, headers = modern("tools/call", {"name": "perplexity_agent", "arguments": {"query": QUESTION}}, token="p1")
        url = f"{rig.url}/mcp"
        async with rig.client.stream("POST", url, json=body, headers={**headers, **bearer(KEY)}) as reply:
            assert reply.headers["content-type"] == "text/event-stream"
            assert reply.headers["cache-control"] == "no-cache, no-transform"
            async for line in reply.aiter_lines():
                if line.startswith("data: "):
                    told = json.loads(line.removeprefix("data: "))
                    break
        assert told["method"] == "notifications/progress"
        response_id = told["params"]["message"].partition(":")[0]
        async with Responses(rig.url) as rest:
            response = await rest.ended(response_id)
        assert response["status"] == "completed"
        assert response["output"][-1]["content"][0]["text"] == TEXT
        for mode, _ in MODES:
            async with client_of(url, mode) as caller:
                collected = await caller.call("perplexity_agent_result", response_id=response_id)
                assert TEXT in collected.fenced
        assert await runs_begun(rig) == 1
        assert not [request for request in await rig.requests(f"{AGENT}*") if request["path"].endswith("/cancel")]
        body, headers = modern("resources/read", {"uri": "pplx://usage"})
        usage = await rig.client.post(url, json=body, headers={**headers, "mcp-name": "pplx://usage", **bearer(KEY)})
        (content,) = usage.json()["result"]["contents"]
        assert json.loads(content["text"])["cost"] == "0.00503"
        await rig.check()


async def test_who_leaves_before_the_id_has_come_leaves_no_run_that_is_kept_and_never_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, go = asyncio.Event(), asyncio.Event()

    async def opened(settings: Settings, clock: Clock) -> Gateway:
        gateway = await open_gateway(settings, clock)
        add = gateway.responses.add

        async def slowly(new: NewResponse) -> Hold | None:
            hold = await add(new)
            entered.set()
            await go.wait()
            return hold

        monkeypatch.setattr(gateway.responses, "add", slowly)
        return gateway

    monkeypatch.setattr("tests.rig.open_gateway", opened)
    async with running(tmp_path, factor=50) as rig:
        await rig.script(AGENT, agent_steps())
        asked = {"name": "perplexity_agent", "arguments": {"query": QUESTION}}
        leaving = asyncio.create_task(rpc(rig, "/mcp", "tools/call", asked))
        await entered.wait()
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        assert (await rpc(rig, "/mcp", "tools/list")).status_code == 200  # by now the server knows
        go.set()
        await rig.wait(AGENT)


async def test_what_rest_began_is_collected_and_cancelled_in_mcp(both: Both) -> None:
    rig, caller = both
    asked = {"model": "api/sonar", "input": QUESTION, "background": True}
    await rig.script(AGENT, agent_steps())
    done = (await rig.post(asked, path="/v1/responses")).json["id"]
    told = await caller.call("perplexity_agent_result", response_id=done, wait_seconds=45)
    assert "The Leie" in told.fenced
    refused = await caller.call("perplexity_agent_cancel", response_id=done)
    assert refused.is_error
    assert "is completed" in refused.text
    assert "perplexity_agent_result" in refused.text
    await script_run(rig, SEARCHED)
    running_id = (await rig.post(asked, path="/v1/responses")).json["id"]
    await rig.wait(AGENT, count=2)
    stopped = await caller.call("perplexity_agent_cancel", response_id=running_id)
    assert not stopped.is_error
    assert stopped.structured["status"] == "cancelled"
    collected = await caller.call("perplexity_agent_result", response_id=running_id)
    assert collected.is_error
    assert collected.code == "response_cancelled"
    assert (await rig.get(f"/v1/responses/{running_id}")).json["status"] == "cancelled"


async def test_a_cancelled_run_is_stopped_upstream(both: Both) -> None:
    rig, caller = both
    await script_run(rig, SEARCHED)
    began = await caller.call("perplexity_agent", query=QUESTION)
    assert "searching" in began.text
    await caller.call("perplexity_agent_cancel", response_id=began.structured["response_id"])
    await rig.wait(CANCEL_RUN)


async def test_a_session_question_is_paid_once_and_outlives_its_client(tmp_path: Path) -> None:
    async with running(tmp_path, order=("session",), factor=50) as rig:
        async with client_of(f"{rig.url}/mcp") as first:
            began = await first.call("perplexity_research", query=QUESTION, wait=False)
        async with client_of(f"{rig.url}/mcp", "legacy") as second:
            told = began
            while told.structured.get("status") == "running":
                response_id = told.structured["response_id"]
                told = await second.call("perplexity_agent_result", response_id=response_id, wait_seconds=45)
        assert "Leie" in told.fenced
        assert len(await rig.requests(ASK_PATH)) == 1


async def test_a_research_on_the_session_is_told_whole_or_with_what_it_lacks(tmp_path: Path) -> None:
    async with calling(tmp_path, order=("session",), factor=300) as (rig, caller):
        whole = await caller.answer("perplexity_research", query="History of the Leie")
        (fetched,) = await rig.requests("/emulator-storage/*")
        report = await rig.emulated(fetched["path"])
        assert report.rstrip().split("\n\n")[-1].split("[")[0] in whole.fenced
        lost = await caller.answer("perplexity_research", query="lost report History of the Leie")
        assert not lost.is_error
        assert "report" in lost.text.partition("\nNote: ")[2]
        asking = await caller.answer("perplexity_research", query="ask back History of the Leie")
        assert "?" in asking.fenced
        assert "Perplexity asks back" in asking.text
        assert len(await rig.requests(ASK_PATH)) == 3


async def test_where_nothing_is_kept_answers_come_in_time_or_not_at_all(tmp_path: Path) -> None:
    async with calling(tmp_path, store_days=0) as (rig, caller):
        await rig.script(AGENT, agent_steps(), slow(300))
        told = await caller.call("perplexity_search", query=QUESTION, model="api/sonar")
        assert TEXT in told.fenced
        assert "response_id" not in told.structured
        assert "response_id" not in told.text
        late = await caller.call("perplexity_search", query=QUESTION, model="api/sonar")
        assert late.is_error
        assert late.code == "upstream_timeout"
        assert "PPLX_STORE_DAYS" in late.text
        nothing = await caller.call("perplexity_agent_result", response_id="resp_x")
        assert nothing.is_error


async def test_a_run_that_breaks_off_is_picked_up_and_not_asked_again(both: Both) -> None:
    rig, caller = both
    steps = agent_steps()
    await rig.script(AGENT, steps[:SEARCHED])
    await rig.script(RUN, {"headers": SSE, "steps": steps, "repeat": "forever"})
    told = await caller.call("perplexity_agent", query=QUESTION)
    assert TEXT in told.fenced
    assert await runs_begun(rig) == 1


def test_the_script_has_the_events_that_these_tests_stand_on() -> None:
    kinds = [event["type"] for event in A_BASE[:SEARCHED]]
    last: Json = A_BASE[SEARCHED - 1]
    assert last["type"] == "response.reasoning.search_results"
    assert "response.output_text.delta" not in kinds
    assert LONG["sleep"]
