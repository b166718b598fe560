import asyncio

import pytest
from starlette.types import Message

from pplx_gateway.clock import Clock
from pplx_gateway.sse import KEEP_ALIVE
from pplx_gateway.web.event_stream import EventStream
from pplx_gateway.web.leaving import CallerLeft

FAST = Clock(1000)


class Wire:
    """What was sent. While `open` is not set, every send waits."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.open = asyncio.Event()
        self.open.set()
        self.broken = False
        self.comments = 0
        self.commented = asyncio.Event()

    async def send(self, message: Message) -> None:
        await self.open.wait()
        if self.broken:
            raise OSError
        self.sent.append(message)
        if message.get("body") == KEEP_ALIVE:
            self.comments += 1
            self.commented.set()

    @property
    def bodies(self) -> list[bytes]:
        return [message["body"] for message in self.sent if message["type"] == "http.response.body"]


def stream(wire: Wire, clock: Clock = FAST, silence: float = 15.0) -> EventStream:
    return EventStream(wire.send, clock, silence_seconds=silence, headers=lambda: [(b"x", b"1")])


async def test_nothing_is_sent_before_there_is_something_to_say() -> None:
    wire = Wire()
    async with stream(wire, Clock()) as found:
        assert not found.started
        assert wire.sent == []
        await found.write(b"a")
        await found.close(b"b")
    assert wire.sent == [
        {"type": "http.response.start", "status": 200, "headers": [(b"x", b"1")]},
        {"type": "http.response.body", "body": b"a", "more_body": True},
        {"type": "http.response.body", "body": b"b", "more_body": False},
    ]


async def test_silence_is_broken_by_comments_again_and_again() -> None:
    wire = Wire()
    async with stream(wire) as found:
        for _ in range(3):
            await wire.commented.wait()
            wire.commented.clear()
        assert found.started
    count = wire.comments
    await asyncio.sleep(0.05)
    assert wire.comments == count, "the timer must end with the stream"


async def test_a_write_that_waits_for_its_reader_is_no_silence() -> None:
    wire = Wire()
    async with stream(wire) as found:
        await found.write(b"a")
        wire.open.clear()
        writing = asyncio.create_task(found.write(b"b"))
        await asyncio.sleep(0.1)  # many times the silence
        wire.open.set()
        await writing
    assert wire.bodies == [b"a", b"b"]


async def test_a_comment_that_waits_for_its_reader_is_one_and_comes_before_the_next_event() -> None:
    wire = Wire()
    async with stream(wire) as found:
        await found.write(b"a")
        wire.open.clear()
        await asyncio.sleep(0.1)
        writing = asyncio.create_task(found.write(b"b"))
        await asyncio.sleep(0.02)
        wire.open.set()
        await writing
    assert wire.bodies[:3] == [b"a", KEEP_ALIVE, b"b"]


async def test_a_steady_stream_gets_no_comment() -> None:
    wire = Wire()
    async with stream(wire, Clock(), silence=0.5) as found:
        for _ in range(10):
            await found.write(b"a")
            await asyncio.sleep(0.01)
    assert KEEP_ALIVE not in wire.bodies


async def test_a_broken_connection_is_a_caller_who_left() -> None:
    wire = Wire()
    wire.broken = True
    async with stream(wire, Clock()) as found:
        with pytest.raises(CallerLeft):
            await found.write(b"a")


async def test_a_comment_on_a_broken_connection_is_no_error() -> None:
    wire = Wire()
    wire.broken = True
    async with stream(wire):
        await asyncio.sleep(0.05)
