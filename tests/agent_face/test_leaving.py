"""Callers who leave, and streams that break: nobody pays for what nobody reads, and nothing is asked twice."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from tests.agent_face.calling import (
    AGENT,
    ASK,
    CANCEL,
    LONG,
    RUN,
    create,
    events,
    last_response,
    opened,
    raw,
    replay,
    script_cancel,
    stream,
    text_of,
    whole_run,
)
from tests.cases.scripts import TEXT, agent_steps
from tests.perplexity.calling import Caller, native_error
from tests.rig import KEY

TEARING = {"cut": True}


@contextlib.asynccontextmanager
async def bare(caller: Caller, body: dict[str, Any]) -> AsyncGenerator[asyncio.StreamReader, None]:
    """A bare connection that has sent its question; leaving the block closes it."""
    host, port = caller.rig.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    data = json.dumps(body).encode()
    head = f"POST {AGENT} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {KEY}\r\n"
    writer.write(
        head.encode() + f"content-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n".encode() + data
    )
    await writer.drain()
    yield reader
    writer.close()
    await writer.wait_closed()


async def known(caller: Caller, run_id: str) -> None:
    """Returns once the gateway has heard of the run."""
    while True:
        if (await caller.get(f"{AGENT}/{run_id}/files")).status_code != 404:
            return
        await asyncio.sleep(0.01)


async def test_leaving_a_stream_cancels_the_run(caller: Caller) -> None:
    """Also while the upstream is silent."""
    await caller.rig.script(AGENT, [*agent_steps()[:7], LONG])
    await script_cancel(caller)
    async with bare(caller, {**ASK, "stream": True}) as reader:
        await reader.readuntil(b"The Leie")
    await caller.rig.wait(AGENT, closed=True, seconds=1)
    await caller.rig.wait(CANCEL, ended=True, seconds=1)
    assert len(await caller.rig.requests(CANCEL)) == 1
    assert not any('"ERROR"' in line for line in caller.rig.log.getvalue().splitlines())


async def test_leaving_a_plain_answer_cancels_the_run(caller: Caller) -> None:
    await caller.rig.script(AGENT, [*agent_steps()[:7], LONG])
    await script_cancel(caller)
    async with bare(caller, ASK):
        await caller.rig.wait(AGENT)
        await known(caller, "resp_t1")
    await caller.rig.wait(AGENT, closed=True, seconds=1)
    await caller.rig.wait(CANCEL, ended=True, seconds=1)


async def test_leaving_before_any_byte_closes_the_upstream(caller: Caller) -> None:
    await caller.rig.script(AGENT, {"delay": 600.0, "steps": []})
    async with bare(caller, {**ASK, "stream": True}):
        await caller.rig.wait(AGENT)
    await caller.rig.wait(AGENT, closed=True, seconds=1)
    assert await caller.rig.requests("/v1/agent/*") == []


async def test_leaving_a_finished_answer_cancels_nothing(caller: Caller) -> None:
    await caller.rig.script(AGENT, agent_steps())
    await stream(caller)
    assert await caller.rig.requests("/v1/agent/*") == []


async def test_leaving_a_run_in_the_background_leaves_it_alone(caller: Caller) -> None:
    """Somebody goes on listening, since it will cost something."""
    steps = agent_steps()
    await caller.rig.script(AGENT, [*steps[:7], LONG])
    await caller.rig.script(RUN, replay(steps))
    await script_cancel(caller)
    async with bare(caller, {**ASK, "stream": True, "background": True}) as reader:
        await reader.readuntil(b"The Leie")
    await caller.rig.wait(RUN, ended=True)
    assert await caller.rig.requests(CANCEL) == []


async def test_a_broken_stream_is_picked_up_where_it_broke(caller: Caller) -> None:
    steps = agent_steps()
    await caller.rig.script(AGENT, [*steps[:7], TEARING])
    await caller.rig.script(RUN, replay(steps[7:]))
    async with opened(caller) as reply:
        assert await reply.aread() == raw(steps)
    (again,) = await caller.rig.requests(RUN)
    assert again["method"] == "GET"
    assert again["query"] in ("stream=true&starting_after=6", {"stream": "true", "starting_after": "6"})
    assert len(await caller.rig.requests(AGENT)) == 1


async def test_a_broken_plain_answer_is_picked_up(caller: Caller) -> None:
    steps = agent_steps()
    await caller.rig.script(AGENT, [*steps[:7], TEARING])
    await caller.rig.script(RUN, replay(steps[7:]))
    assert await create(caller) == last_response()
    assert len(await caller.rig.requests(AGENT)) == 1


async def test_events_that_are_told_again_are_told_once(caller: Caller) -> None:
    steps = agent_steps()
    half = {"bytes": 'data: {"type":"response.output_text.delta","sequence_number":7,"del'}
    await caller.rig.script(AGENT, [*steps[:7], half, TEARING])
    await caller.rig.script(RUN, replay(steps))
    assert text_of(await stream(caller)) == TEXT


async def test_a_stream_whose_place_has_expired_ends_as_broken(caller: Caller) -> None:
    """The run is whole, but its text would have a hole; a plain answer is not hurt."""
    expired = {"status": 400, "steps": [{"bytes": '{"error":{"message":"cursor expired","code":400}}'}]}
    for _ in range(2):
        await caller.rig.script(AGENT, [*agent_steps()[:7], TEARING])
    await caller.rig.script(RUN, expired, whole_run(), expired, whole_run())
    told = await stream(caller)
    assert told[-1]["type"] == "error"
    assert told[-1]["error"]["type"] == "upstream_truncated"
    assert "response.completed" not in [event["type"] for event in told]
    assert await create(caller) == last_response()


async def test_a_run_that_is_gone_ends_with_an_error(caller: Caller) -> None:
    await caller.rig.script(AGENT, [*agent_steps()[:7], TEARING], [*agent_steps()[:7], TEARING])
    gone = {"status": 404, "steps": [{"bytes": '{"error":{"message":"resource not found","code":404}}'}]}
    await caller.rig.script(RUN, {**gone, "repeat": "forever"})
    error = native_error(await caller.post(AGENT, ASK), 502)
    assert error["type"] == "upstream_truncated"
    assert (await stream(caller))[-1]["error"]["code"] == 502
    assert len(await caller.rig.requests(AGENT)) == 2


@pytest.mark.parametrize("fault", ["upstream_429", "upstream_401", "upstream_402", "upstream_500", "upstream_html"])
async def test_a_refusal_is_an_answer_of_its_own(caller: Caller, fault: str) -> None:
    statuses = {
        "upstream_429": 429,
        "upstream_401": 502,
        "upstream_402": 402,
        "upstream_500": 500,
        "upstream_html": 502,
    }
    for streamed in (False, True):
        reply = await caller.post(AGENT, {**ASK, "input": f"fault:{fault} Why?", "stream": streamed})
        error = native_error(reply, statuses[fault])
        assert "<html" not in error["message"]
    uses = len(await caller.rig.requests(AGENT))
    assert uses == (6 if fault == "upstream_429" else 2), "what may have been billed is never asked again"


@pytest.mark.parametrize("fault", ["midstream_drop", "upstream_bad_json", "empty"])
async def test_a_failure_never_looks_like_an_answer(caller: Caller, fault: str) -> None:
    asked = {"input": f"fault:{fault} Why?"}
    native_error(await caller.post(AGENT, {**ASK, **asked}), 502)
    told = await stream(caller, **asked)
    assert told[-1]["type"] == "error"
    assert told[-1]["error"]["code"] == 502
    assert not any(event["type"] == "response.completed" for event in told)


async def test_a_failed_run_is_told_as_the_api_tells_it(caller: Caller) -> None:
    response = await create(caller, input="fault:midstream_error Why?")
    assert (response["status"], response["error"]["code"]) == ("failed", "internal_error")
    told = await stream(caller, input="fault:midstream_error Why?")
    assert told[-1]["type"] == "response.failed"


async def test_a_bare_error_in_the_stream(caller: Caller) -> None:
    bare_error = {"bytes": 'event: error\ndata: {"error":{"message":"out of tea","code":503}}\n\n'}
    await caller.rig.script(AGENT, [*agent_steps()[:7], bare_error], [*agent_steps()[:7], bare_error])
    told = await stream(caller)
    assert (told[-1]["type"], told[-1]["error"]["code"]) == ("error", 503)
    native_error(await caller.post(AGENT, ASK), 503)


async def test_silence_is_filled(caller: Caller) -> None:
    await caller.rig.script(AGENT, [*agent_steps()[:5], {"sleep": 50.0}, *agent_steps()[5:]])
    async with opened(caller) as reply:
        told = [line async for line in reply.aiter_lines() if line.startswith(":")]
    assert told, "comments keep the connection"


async def test_a_follower_who_leaves_stops_nothing(caller: Caller) -> None:
    await caller.rig.script(AGENT, agent_steps())
    await create(caller)
    await caller.rig.script(RUN, replay([*agent_steps()[:7], LONG]))
    await script_cancel(caller)
    url = f"{caller.rig.url}{RUN}?stream=true"
    async with caller.rig.client.stream("GET", url, headers={"authorization": f"Bearer {KEY}"}) as reply:
        async for event in events(reply):
            if event["type"] == "response.output_text.delta":
                break
    await caller.rig.wait(RUN, closed=True)
    assert await caller.rig.requests(CANCEL) == []
