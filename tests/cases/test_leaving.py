"""Callers who leave: the upstream's connection closes and a run is cancelled, at once, whatever the upstream does."""

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncGenerator

import pytest

from tests.cases.scripts import ASK, Step, agent_steps, session_steps
from tests.rig import AGENT, ASK_PATH, KEY, Rig

CANCEL = "/v1/agent/resp_t1/cancel"
LONG: Step = {"sleep": 600.0}


@contextlib.asynccontextmanager
async def caller(rig: Rig, body: dict[str, object]) -> AsyncGenerator[asyncio.StreamReader, None]:
    """A bare connection that has sent its question; leaving the block closes it."""
    host, port = rig.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    data = json.dumps(body).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {KEY}\r\n"
    writer.write(
        head.encode() + f"content-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n".encode() + data
    )
    await writer.drain()
    yield reader
    writer.close()
    await writer.wait_closed()


@pytest.mark.parametrize("streamed", [False, True])
async def test_leaving_before_any_byte_closes_the_upstream(both: Rig, streamed: bool) -> None:
    for path, model in ((AGENT, "api/sonar"), (ASK_PATH, "session/sonar")):
        await both.script(path, {"delay": 600.0, "steps": []})
        async with caller(both, {**ASK, "model": model, "stream": streamed}):
            await both.wait(path)
        await both.wait(path, closed=True)
    assert await both.requests("/v1/agent/*") == [], "no id is known, so nothing can be cancelled"


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("shown", [1, 5, 7])
async def test_leaving_a_run_cancels_it_by_id_once(api: Rig, streamed: bool, shown: int) -> None:
    await api.script(AGENT, [*agent_steps()[:shown], LONG])
    await api.script(
        CANCEL, {"steps": [{"bytes": '{"response_id":"resp_t1","status":"cancelling"}'}], "repeat": "forever"}
    )
    async with caller(api, {**ASK, "stream": streamed}) as reader:
        await seen(api, reader, streamed=streamed, shown=shown)
    await api.wait(AGENT, closed=True)
    await api.wait(CANCEL, ended=True)
    assert len(await api.requests(CANCEL)) == 1


async def seen(rig: Rig, reader: asyncio.StreamReader, *, streamed: bool, shown: int) -> None:
    """Returns once the gateway surely has read what the script shows."""
    if streamed and shown > 5:
        await reader.readuntil(b"The Leie")
    else:
        await rig.wait(AGENT)
        await asyncio.sleep(0.3)  # the steps are written at once, and nothing of them can be seen from outside


@pytest.mark.parametrize("streamed", [False, True])
async def test_leaving_a_session_answer_closes_it(session: Rig, streamed: bool) -> None:
    await session.script(ASK_PATH, [*session_steps()[:3], LONG])
    async with caller(session, {**ASK, "stream": streamed}) as reader:
        if streamed:
            await reader.readuntil(b"The Leie")
        await session.wait(ASK_PATH)
    await session.wait(ASK_PATH, closed=True)


async def test_leaving_a_finished_answer_cancels_nothing(api: Rig) -> None:
    await api.script(AGENT, agent_steps())
    await api.stream(ASK)
    assert await api.requests("/v1/agent/*") == []


async def test_a_caller_who_leaves_is_no_error_in_the_log(api: Rig, caplog: pytest.LogCaptureFixture) -> None:
    await api.script(AGENT, [*agent_steps()[:7], LONG])
    async with caller(api, ASK) as reader:
        await reader.readuntil(b"The Leie")
    await api.wait(AGENT, closed=True)
    await api.wait(CANCEL, ended=True)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_fifty_callers_who_vanish_leave_nothing_open(both: Rig) -> None:
    for path, model, steps in (
        (AGENT, "api/sonar", agent_steps()[:7]),
        (ASK_PATH, "session/sonar", session_steps()[:3]),
    ):
        await both.script(
            path, {"headers": {"content-type": "text/event-stream"}, "steps": [*steps, LONG], "repeat": 50}
        )
        async with contextlib.AsyncExitStack() as callers:
            readers = [await callers.enter_async_context(caller(both, {**ASK, "model": model})) for _ in range(50)]
            await asyncio.gather(*(reader.readuntil(b"The Leie") for reader in readers))
        await both.wait(path, closed=True, count=50)


async def test_a_caller_who_stops_reading_makes_the_upstream_wait(api: Rig) -> None:
    delta = agent_steps()[6]["bytes"]
    assert isinstance(delta, str)
    much: list[Step] = [{"bytes": delta * 1000}] * 300  # 50 MB, far more than all buffers on the way hold
    await api.script(AGENT, [*agent_steps()[:6], *much])
    async with caller(api, ASK) as reader:
        await reader.readuntil(b"The Leie")
        with pytest.raises(AssertionError, match="not seen"):
            await api.wait(AGENT, ended=True, seconds=3)
    await api.wait(AGENT, closed=True)
