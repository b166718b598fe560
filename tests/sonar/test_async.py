"""Asynchronous Sonar: from the request to its result, once for each key, kept over a restart."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from pplx_gateway.protocols.perplexity.sonar.routes import ASYNC_PATHS
from tests.cases.scripts import S1, S2, TEXT, URLS, agent_events, agent_steps, session_steps
from tests.responses.calling import LONG, SSE
from tests.responses.test_restart import Emulator, emulator, gateway
from tests.rig import AGENT, ASK_PATH, KEY, Rig
from tests.sonar.calling import ASK, SONAR, Later, calling
from tests.test_commands import Program

RESEARCH = {"model": "sonar-deep-research"}


@contextlib.asynccontextmanager
async def later(rig: Rig, path: str = ASYNC_PATHS[0]) -> AsyncGenerator[Later, None]:
    async with Later(rig.url, path=path) as caller:
        yield caller


async def test_deep_research_from_submit_to_result(both: Rig) -> None:
    await both.script(AGENT, agent_steps())
    async with later(both) as caller:
        created = await caller.created(**RESEARCH)
        assert (created["status"], created["model"]) == ("CREATED", "sonar-deep-research")
        assert created["response"] is None
        whole = await caller.ended(created["id"])
    assert whole["status"] == "COMPLETED"
    assert whole["created_at"] <= whole["started_at"] <= whole["completed_at"]
    assert (whole["failed_at"], whole["error_message"]) == (None, None)
    response = whole["response"]
    assert response["choices"][0]["message"]["content"] == TEXT
    assert response["choices"][0]["finish_reason"] == "stop"
    assert response["citations"] == URLS
    assert response["search_results"] == [S1, S2]
    assert response["usage"]["num_search_queries"] == 1
    assert response["usage"]["cost"] == {
        "total_cost": 0.00503,
        "input_tokens_cost": 0.00002,
        "output_tokens_cost": 0.00001,
        "search_queries_cost": 0.005,
    }
    (request,) = await both.requests(AGENT)
    assert request["json"]["background"] is True


async def test_the_result_says_what_an_answer_at_once_says(both: Rig) -> None:
    body = {**ASK, **RESEARCH, "web_search_options": {"search_context_size": "low"}}
    now = (await both.post(body, path=SONAR)).json
    async with later(both) as caller:
        created = await caller.created(**body)
        whole = (await caller.ended(created["id"]))["response"]
    same = ("object", "model", "citations", "search_results", "usage", "type", "status", "pplx")
    assert {name: whole.get(name) for name in same} == {name: now.get(name) for name in same}
    message, said = whole["choices"][0]["message"], now["choices"][0]["message"]
    assert message["content"] == said["content"]
    found = {step.get("type") for step in message["reasoning_steps"]}
    assert found == {step.get("type") for step in said["reasoning_steps"]}
    assert not any("Searching: " in s["thought"] for s in message["reasoning_steps"] if s.get("type") is None)


@pytest.mark.parametrize("path", ASYNC_PATHS)
async def test_every_address_leads_to_the_same_requests(both: Rig, path: str) -> None:
    async with later(both, path) as caller, later(both) as other:
        created = await caller.created()
        assert (await other.ended(created["id"]))["status"] == "COMPLETED"
        assert [entry["id"] for entry in (await caller.listed())["requests"]] == [created["id"]]


async def test_a_bare_body_is_taken_as_the_request(both: Rig) -> None:
    async with later(both) as caller:
        reply = await caller.submit({**ASK, **RESEARCH, "idempotency_key": "bare"})
        assert reply.status_code == 200, reply.text
        assert reply.json()["task_id"] == reply.json()["id"]
        again = await caller.submit({**ASK, **RESEARCH, "idempotency_key": "bare"})
        assert again.json()["id"] == reply.json()["id"]
        assert "x-pplx-dropped" not in reply.headers
        assert (await caller.ended(reply.json()["task_id"]))["status"] == "COMPLETED"


async def test_what_could_not_be_asked_is_refused_before_it_is_queued(session: Rig) -> None:
    async with later(session) as caller:
        reply = await caller.submit({"request": {**ASK, "messages": [{"role": "user", "content": "x" * 96_001}]}})
        assert (reply.status_code, reply.json()["error"]["param"]) == (400, "request.messages")
        assert (await caller.listed())["requests"] == []


async def test_the_session_answers_later_too(session: Rig) -> None:
    await session.script(ASK_PATH, session_steps())
    async with later(session) as caller:
        whole = await caller.ended((await caller.created(**RESEARCH, return_related_questions=True))["id"])
    assert whole["status"] == "COMPLETED"
    assert whole["response"]["related_questions"] == ["How long is the Leie?"]
    assert whole["response"]["usage"]["cost"] is None


async def test_a_request_is_in_progress_until_it_is_over(both: Rig) -> None:
    await both.script(AGENT, [*agent_steps()[:7], LONG])
    async with later(both) as caller:
        created = await caller.created(**RESEARCH)
        await both.wait(AGENT)
        now = (await caller.get(created["id"])).json()
        assert (now["status"], now["response"], now["completed_at"]) == ("IN_PROGRESS", None, None)


async def test_a_failure_is_told_with_its_reason_and_time(both: Rig) -> None:
    await both.script(AGENT, {"status": 402, "steps": [{"bytes": '{"error":{"message":"no credit"}}'}]})
    async with later(both) as caller:
        whole = await caller.ended((await caller.created(**RESEARCH))["id"])
        (entry,) = (await caller.listed())["requests"]
    assert (whole["status"], whole["response"], whole["completed_at"]) == ("FAILED", None, None)
    assert whole["error_message"]
    assert entry["failed_at"] == whole["failed_at"] >= whole["created_at"]


async def test_an_answer_that_was_cut_short_is_completed_and_says_so(both: Rig) -> None:
    cut = agent_events("Low tide is", status="incomplete")
    await both.script(AGENT, agent_steps(cut))
    async with later(both) as caller:
        whole = await caller.ended((await caller.created(**RESEARCH))["id"])
    assert whole["status"] == "COMPLETED"
    assert whole["completed_at"]
    assert whole["response"]["choices"][0]["finish_reason"] == "length"


async def test_functions_are_called_later_too(both: Rig) -> None:
    tool = {"type": "function", "function": {"name": "tide_table", "parameters": {"type": "object"}}}
    async with later(both) as caller:
        whole = await caller.ended((await caller.created(tools=[tool], tool_choice="required"))["id"])
    choice = whole["response"]["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["tool_calls"][0]["function"]["name"] == "tide_table"


async def test_a_key_is_paid_for_once(both: Rig) -> None:
    async with later(both) as caller:
        asked = [caller.created(key="job", **RESEARCH) for _ in range(4)]
        ids = {created["id"] for created in await asyncio.gather(*asked)}
        assert len(ids) == 1
        header = await caller.submit({"request": {**ASK, **RESEARCH}}, headers={"idempotency-key": "other"})
        repeat = await caller.submit({"request": {**ASK, **RESEARCH}}, headers={"idempotency-key": "other"})
        assert header.json()["id"] == repeat.json()["id"] not in ids
        await caller.ended(header.json()["id"])
        await caller.ended(ids.pop())
    assert len(await both.requests(AGENT)) == 2


async def test_a_key_with_another_request_is_refused(both: Rig) -> None:
    async with later(both) as caller:
        await caller.created(key="job", **RESEARCH)
        reply = await caller.submit({"request": {**ASK, "model": "sonar-pro"}, "idempotency_key": "job"})
        assert reply.status_code == 400
        assert reply.json()["error"]["param"] == "idempotency_key"


async def test_lists_lead_from_page_to_page_and_show_no_more_than_ones_own(both: Rig) -> None:
    await both.post({"model": "api/sonar", "input": "Rivers of Ghent, in short?"}, path="/v1/responses")
    async with later(both) as caller:
        assert await caller.listed() == {"requests": [], "next_token": None}
        made = [(await caller.created(model="sonar"))["id"] for _ in range(5)]
        found, token = [], None
        while True:
            page = await caller.listed(limit="2", **({"next_token": token} if token else {}))
            found += [entry["id"] for entry in page["requests"]]
            if (token := page["next_token"]) is None:
                break
        assert found == made[::-1]
        for request_id in made:
            await caller.ended(request_id)
    key = (await both.post({"name": "other"}, path="/admin/caller-keys")).json["secret"]
    async with Later(both.url, key) as other:
        assert (await other.listed())["requests"] == []
        assert (await other.get(made[0])).status_code == 404


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "messages"),
        ({"request": {}}, "request.messages"),
        ({"request": None}, "request"),
        ({"request": "x"}, "request"),
        ({"request": {"messages": ASK["messages"]}}, "request.model"),
        ({"request": {**ASK, "model": "r1-1776"}}, "request.model"),
        ({"request": {**ASK, "messages": [{"role": "user", "content": ""}]}}, "request.messages[0].content"),
        ({"request": {**ASK, "stream": True}}, "request.stream"),
        ({"request": {**ASK, "n": 2}}, "request.n"),
        ({"request": {**ASK, "published_after": "x"}}, "request.published_after"),
        ({"request": ASK, "idempotency_key": ""}, "idempotency_key"),
        ({"request": ASK, "idempotency_key": 5}, "idempotency_key"),
        ({"request": ASK, "idempotency_key": "k" * 256}, "idempotency_key"),
        ({**ASK, "stream": True}, "stream"),
    ],
)
async def test_a_wrong_request_is_named_where_it_stands(both: Rig, body: dict[str, Any], param: str) -> None:
    async with later(both) as caller:
        reply = await caller.submit(body)
        assert reply.status_code == (404 if "r1-1776" in str(body) else 400)
        assert reply.json()["error"]["param"] == param
        if param != "request":
            assert f"'{param}'" in reply.json()["error"]["message"] or "model" in param
        assert (await caller.listed())["requests"] == []
    assert await both.requests(AGENT) == []


async def test_a_field_of_the_request_that_stands_beside_it_is_sent_inside(both: Rig) -> None:
    async with later(both) as caller:
        reply = await caller.submit({"request": ASK, "model": "sonar-pro"})
        assert reply.status_code == 400
        error = reply.json()["error"]
        assert error["param"] == "model"
        assert error["message"] == "There is no field 'model' beside 'request'. Did you mean 'request.model'?"
        stray = await caller.submit({"request": ASK, "colour": "red"})
        assert stray.headers["x-pplx-dropped"] == "colour"
    assert len(await both.requests(AGENT)) <= 1


async def test_what_is_not_there_is_a_404(both: Rig) -> None:
    response = (
        await both.post({"model": "api/sonar", "input": "Rivers of Ghent, once more?"}, path="/v1/responses")
    ).json
    async with later(both) as caller:
        for request_id in ("sonar_0", "nobody", response["id"], "%2e%2e%2fx"):
            reply = await caller.get(request_id)
            assert (reply.status_code, reply.json()["error"]["type"]) == (404, "not_found")
        for params in ({"limit": "0"}, {"limit": "x"}, {"next_token": "x"}, {"next_token": "9" * 40}):
            got = await both.client.get(f"{both.url}{ASYNC_PATHS[0]}", params=params, headers={"x-api-key": KEY})
            assert (got.status_code, got.json()["error"]["code"]) == (400, 400)


async def test_nothing_is_promised_where_nothing_is_kept(tmp_path: Path) -> None:
    async with calling(tmp_path, store_days=0) as rig, later(rig) as caller:
        reply = await caller.submit({"request": ASK})
        assert reply.status_code == 400
        assert "PPLX_STORE_DAYS" in reply.json()["error"]["message"]
        assert await rig.requests(AGENT) == []


async def test_it_can_be_cancelled_as_the_response_that_it_is(both: Rig) -> None:
    await both.script(AGENT, [*agent_steps()[:7], LONG])
    await both.script("/v1/agent/resp_t1/cancel", {"steps": [{"bytes": "{}"}]})
    async with later(both) as caller:
        created = await caller.created(**RESEARCH)
        await both.wait(AGENT)
        reply = await both.post({}, path=f"/v1/responses/{created['id']}/cancel")
        assert reply.json["status"] == "cancelled"
        whole = (await caller.get(created["id"])).json()
        assert (whole["status"], whole["error_message"]) == ("FAILED", "The request was cancelled.")


@contextlib.asynccontextmanager
async def restarting(folder: Path, upstream: Emulator) -> AsyncGenerator[tuple[Program, Later], None]:
    async with gateway(folder, upstream) as (running, _):
        base = running.url
        async with Later(base, key=None) as caller:
            yield running, caller


async def begun(url: str, request_id: str) -> None:
    """Returns once the run has said something, and so has a name that is kept."""
    async with (
        httpx2.AsyncClient(base_url=url, timeout=30, trust_env=False, verify=False) as client,
        client.stream("GET", f"/v1/responses/{request_id}", params={"stream": "true"}) as reply,
    ):
        assert reply.status_code == 200
        async for line in reply.aiter_lines():
            if line == "event: response.output_item.added":
                return
    raise AssertionError("the stream ended before anything was said")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
async def test_research_goes_on_over_a_restart_and_is_paid_once(tmp_path: Path, how: signal.Signals) -> None:
    async with emulator() as upstream:
        await upstream.script(AGENT, [*agent_steps()[:7], LONG])
        await upstream.script("/v1/agent/resp_t1", agent_steps(), headers=SSE, repeat="forever")
        async with restarting(tmp_path, upstream) as (first, caller):
            created = await caller.created(key="job", **RESEARCH)
            assert (await caller.get(created["id"])).json()["status"] == "IN_PROGRESS"
            await begun(first.url, created["id"])
            await first.stop(how)
        async with restarting(tmp_path, upstream) as (_, caller):
            whole = await caller.ended(created["id"])
            assert whole["status"] == "COMPLETED", whole
            assert whole["response"]["choices"][0]["message"]["content"] == TEXT
            assert whole["response"]["citations"] == URLS
            assert (await caller.get(created["id"])).json() == whole
            assert (await caller.created(key="job", **RESEARCH)) == whole
            assert isinstance((await caller.listed())["requests"], list)
        assert await upstream.count(AGENT) == 1
