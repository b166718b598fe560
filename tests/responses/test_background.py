"""Responses that run without their caller, are followed, stopped and deleted."""

import asyncio
import contextlib
import json
from pathlib import Path

import pytest

from tests.cases.scripts import W_BASE, session_steps
from tests.responses.calling import ASK, CANCEL_RUN, LAST, Event, calling, error, script_run, told
from tests.responses.conftest import Both
from tests.responses.test_create import MODELS, rows
from tests.rig import AGENT, ASK_PATH


@pytest.mark.parametrize("model", MODELS)
async def test_a_background_response_is_queued_and_comes_to_its_end(both: Both, model: str) -> None:
    _, caller = both
    first = await caller.create(model=model, background=True)
    assert (first["status"], first["background"], first["output"], first["usage"]) == ("queued", True, [], None)
    whole = await caller.ended(first["id"])
    assert whole["status"] == "completed"
    assert whole["completed_at"] >= whole["created_at"]
    stream = await caller.follow(first["id"])
    assert stream.types[:3] == ["response.created", "response.queued", "response.in_progress"]
    assert stream.response == whole
    assert whole["output"][-1]["content"][0]["text"] == stream.text


@pytest.mark.parametrize("model", MODELS)
async def test_a_background_stream_cut_at_any_event_is_resumed_without_loss(both: Both, model: str) -> None:
    _, caller = both
    live = await caller.stream(model=model, background=True)
    whole = await caller.follow(live.response["id"])
    assert whole.events == live.events
    assert len(whole.events) > 10
    for cut in whole.numbers:
        rest = await caller.follow(live.response["id"], cut)
        assert whole.events[: cut + 1] + rest.events == whole.events
        assert rest.done
    reply = await caller.get(live.response["id"], stream="true", starting_after=str(whole.numbers[-1] + 1))
    assert (reply.status_code, error(reply)["param"]) == (400, "starting_after")


async def test_a_live_run_is_followed_from_any_event_to_its_end(both: Both) -> None:
    """Each caller reads one event more of the running response than the one before, leaves, and comes back."""
    rig, caller = both
    await script_run(rig)
    first = await caller.create(background=True, input="slow: Which two rivers meet in Ghent?")
    seen: list[Event] = []
    while True:
        async with caller.open_follow(first["id"], seen[-1]["sequence_number"] if seen else None) as events:
            event = await anext(events)
        if event is None:
            break
        seen.append(event)
        if event["type"] in LAST:
            break
    assert told([*seen, None]).response == (await caller.get(first["id"])).json()


async def test_the_creator_may_leave_and_the_run_goes_on(both: Both) -> None:
    rig, caller = both
    async with caller.open(background=True, input="slow: Which two rivers meet in Ghent?") as events:
        created = await anext(events)
    assert created
    whole = await caller.ended(created["response"]["id"])
    assert whole["status"] == "completed"
    assert await rig.requests("*/cancel") == []


async def test_in_progress_shows_no_output_before_its_time(both: Both) -> None:
    rig, caller = both
    await script_run(rig, shown=8)
    first = await caller.create(background=True)
    async with caller.open_follow(first["id"]) as events:
        async for event in events:
            if event and event["type"] == "response.output_text.delta":
                break
        now = (await caller.get(first["id"])).json()
        assert (now["status"], now["output"]) == ("in_progress", [])
    await caller.cancel(first["id"])


async def test_a_cancelled_response_stays_so_and_its_run_is_stopped(both: Both) -> None:
    rig, caller = both
    await script_run(rig, shown=8)
    first = await caller.create(background=True)
    async with caller.open_follow(first["id"]) as events:
        seen = [await anext(events) for _ in range(5)]
        reply = await caller.cancel(first["id"])
        rest = [event async for event in events]
    stream = told(seen + rest)
    assert (stream.types[-1], stream.events[-1]["code"]) == ("error", "response_cancelled")
    cancelled = reply.json()
    assert (cancelled["status"], cancelled["usage"], cancelled["output"]) == ("cancelled", None, [])
    await rig.wait(AGENT, closed=True)
    await rig.wait(CANCEL_RUN, ended=True)
    assert len(await rig.requests(CANCEL_RUN)) == 1
    assert (await caller.cancel(first["id"])).json() == cancelled
    assert (await caller.get(first["id"])).json() == cancelled
    assert (await caller.follow(first["id"])).events == stream.events
    assert (await caller.delete(first["id"])).status_code == 200
    assert (await caller.cancel(first["id"])).status_code == 404


async def test_a_cancelled_session_answer_is_closed(both: Both) -> None:
    rig, caller = both
    await rig.script(ASK_PATH, {"delay": 600.0, "steps": []})
    first = await caller.create(model="session/sonar", background=True)
    await rig.wait(ASK_PATH)
    assert (await caller.cancel(first["id"])).json()["status"] == "cancelled"
    await rig.wait(ASK_PATH, closed=True)


async def test_what_is_over_or_in_the_foreground_cannot_be_cancelled(both: Both) -> None:
    rig, caller = both
    done = await caller.create(background=True)
    whole = await caller.ended(done["id"])
    reply = await caller.cancel(done["id"])
    assert reply.status_code == 400
    assert "completed" in error(reply)["message"]
    assert (await caller.get(done["id"])).json() == whole
    await script_run(rig, shown=7)
    async with caller.open() as events:
        created = await anext(events)
        assert created
        reply = await caller.cancel(created["response"]["id"])
        assert (reply.status_code, error(reply)["code"]) == (400, "unsupported_operation")
    assert (await caller.cancel("resp_nowhere")).status_code == 404


async def test_a_cancel_that_races_the_end_has_one_winner(both: Both) -> None:
    """However it falls: the one terminal state is the same for everybody, for ever."""
    _, caller = both
    outcomes = set()
    for place in range(24):
        first = await caller.create(background=True)
        await asyncio.sleep(place * 0.002)  # sweeps over the end, which comes sooner or later
        replies = await asyncio.gather(*(caller.cancel(first["id"]) for _ in range(3)))
        final = await caller.ended(first["id"])
        outcomes.add(final["status"])
        for reply in replies:
            if final["status"] == "cancelled":
                assert reply.json() == final
            else:
                assert reply.status_code == 400
        stream = await caller.follow(first["id"])
        assert stream.types[-1] == ("error" if final["status"] == "cancelled" else "response.completed")
        assert (await caller.get(first["id"])).json() == final
    assert "cancelled" in outcomes


@pytest.mark.parametrize("stream", [False, True])
async def test_a_running_response_that_is_deleted_is_stopped_and_stays_gone(tmp_path: Path, stream: bool) -> None:
    async with calling(tmp_path) as (rig, caller):
        await script_run(rig, shown=8)
        first = await caller.create(background=True)
        async with contextlib.AsyncExitStack() as open_streams:
            events = await open_streams.enter_async_context(caller.open_follow(first["id"])) if stream else None
            await rig.wait(AGENT)
            if events:
                while (event := await anext(events)) and "delta" not in event:
                    continue
            assert (await caller.delete(first["id"])).status_code == 200
            rest = [event async for event in events] if events else []
            assert not events or (rest[-1] and rest[-1]["type"] == "error")
        await rig.wait(AGENT, closed=True)
        if stream:
            await rig.wait(CANCEL_RUN, ended=True)
        assert (await caller.get(first["id"])).status_code == 404
        for table in ("responses", "response_items", "response_events", "response_runs"):
            assert rows(tmp_path, table) == []


async def test_a_foreground_stream_whose_response_is_deleted_ends_with_an_error(both: Both) -> None:
    rig, caller = both
    await script_run(rig, shown=7)
    async with caller.open() as events:
        created = await anext(events)
        assert created
        await caller.delete(created["response"]["id"])
        rest = [event async for event in events]
    assert rest[-1]
    assert rest[-1]["type"] in ("error", "response.failed")
    await rig.wait(AGENT, closed=True)
    assert (await caller.get(created["response"]["id"])).status_code == 404


async def test_a_failed_run_is_a_failed_response(both: Both) -> None:
    _, caller = both
    for question in ("fault:upstream_402 Why?", "fault:midstream_error Why?", "fault:upstream_500 Why?"):
        stream = await caller.stream(background=True, input=question)
        assert stream.types[-1] == "response.failed"
        found = (await caller.get(stream.response["id"])).json()
        assert found == stream.response
        assert found["error"]["message"]
        assert (await caller.cancel(found["id"])).status_code == 400


async def test_background_needs_the_store(both: Both) -> None:
    _, caller = both
    reply = await caller.post({**ASK, "background": True, "store": False})
    assert reply.status_code == 400


async def test_one_key_is_one_run(both: Both) -> None:
    rig, caller = both
    key = {"idempotency-key": "job-1"}
    body = {"model": "api/sonar", "input": "History of the Leie", "background": True}
    first, second = await asyncio.gather(caller.create(key, **body), caller.create(key, **body))
    assert first["id"] == second["id"]
    whole = await caller.ended(first["id"])
    assert await caller.create(key, **body) == whole
    assert len(await rig.requests(AGENT)) == 1
    streamed = await caller.post({**body, "stream": True}, headers=key)
    assert (streamed.status_code, error(streamed)["code"]) == (400, "idempotency_key_reused")
    other = await caller.create({"idempotency-key": "job-2"}, **body)
    assert other["id"] != first["id"]
    await caller.delete(first["id"])
    again = await caller.create(key, **body)
    assert again["id"] != first["id"]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_repeat_in_the_foreground_gets_the_same_answer(both: Both, stream: bool) -> None:
    rig, caller = both
    key = {"idempotency-key": "job-1"}

    async def ask() -> object:
        if stream:
            return (await caller.stream(key, input="slow: Which two rivers meet in Ghent?")).events
        return await caller.create(key)

    first, second = await asyncio.gather(ask(), ask())
    assert first == second == await ask()
    assert len(await rig.requests(AGENT)) == 1


@pytest.mark.parametrize("stream", [False, True])
async def test_a_request_that_came_to_nothing_is_asked_anew_with_its_key(both: Both, stream: bool) -> None:
    rig, caller = both
    key = {"idempotency-key": "job-1"}
    await rig.script(
        AGENT, {"status": 402, "headers": {"content-type": "application/json"}, "steps": [{"bytes": "{}"}]}
    )
    assert (await caller.post({**ASK, "stream": stream}, headers=key)).status_code == 402
    if stream:
        assert (await caller.stream(key)).done
    else:
        assert (await caller.create(key))["status"] == "completed"


@pytest.mark.parametrize("keys", [[""], ["k" * 256], ["k\xe9"], ["a", "b"]])
async def test_a_key_that_is_none_is_refused(both: Both, keys: list[str]) -> None:
    rig, caller = both
    sent = [("idempotency-key", key.encode("latin-1")) for key in keys]
    reply = await caller._client.post("/v1/responses", content=json.dumps(ASK), headers=sent)  # type: ignore[arg-type]
    assert reply.status_code == 400
    assert "Idempotency-Key" in error(reply)["message"]
    assert await rig.requests(AGENT) == []


async def test_a_key_without_a_store_is_told(both: Both) -> None:
    _, caller = both
    reply = await caller.post({**ASK, "store": False}, headers={"idempotency-key": "k"})
    assert "Idempotency-Key" in reply.headers["x-pplx-warnings"]


@pytest.mark.parametrize("background", [False, True])
async def test_an_answer_that_fails_over_is_one_response(tmp_path: Path, background: bool) -> None:
    """The session's quota is spent after it took the question, so the api answers; the beginning is told once."""
    async with calling(tmp_path, allow_spending=True) as (rig, caller):
        spent = {
            "backend_uuid": "b-1",
            "status": "FAILED",
            "error_code": "PRO_SEARCH_RATE_LIMIT_EXCEEDED",
            "final": True,
        }
        await rig.script(ASK_PATH, session_steps([{**W_BASE[0], "blocks": []}, spent]))
        stream = await caller.stream(model="sonar", background=background)
        assert stream.types.count("response.created") == 1
        assert stream.response["status"] == "completed"
        assert stream.response["pplx"]["upstream"] == "api"
        assert stream.response["pplx"]["failover"] == "quota_exhausted"
        assert len(await rig.requests(AGENT)) == 1
