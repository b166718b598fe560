"""A way out that plays scripts, a clock that is moved by hand, a store in a dict."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec

from pplx_gateway.clock import Clock
from pplx_gateway.errors import GatewayError, UpstreamTruncated, UpstreamUnreachable
from pplx_gateway.transport.exchange import Headers, Incoming, Outgoing, Streaming

SSE = (("content-type", "text/event-stream; charset=utf-8"),)
HTML = (("content-type", "text/html; charset=UTF-8"),)
JSON = (("content-type", "application/json"),)

SIGNED_IN = b'{"user":{"id":"u-1","email":"me@mail.example"},"expires":"2026-12-01T00:00:00.000Z"}'
SIGNED_OUT = b"{}"


class Played(msgspec.Struct):
    """A response. `parts` are reads, errors to raise, seconds for the clock to jump, or events to wait for; at the end
    the message is whole."""

    parts: Sequence[Any] = ()
    status: int = 200
    headers: Sequence[tuple[str, str]] = SSE


class HandClock(Clock):
    """Stands still unless told."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 1000.0

    def now(self) -> float:
        return 1_790_000_000.0 + self.seconds

    def monotonic(self) -> float:
        return self.seconds

    def uptime(self) -> float:
        return self.seconds


class FakeStreaming:
    def __init__(self, played: Played, clock: HandClock) -> None:
        self.status = played.status
        self.headers = Headers(tuple(played.headers))
        self.exhausted = False
        self._parts = list(played.parts)
        self._clock = clock

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        while self._parts:
            part = self._parts.pop(0)
            if isinstance(part, bytes):
                return part
            if isinstance(part, GatewayError):
                raise part
            if isinstance(part, asyncio.Event):
                await part.wait()
                continue
            self._clock.seconds += part
        self.exhausted = True
        raise StopAsyncIteration

    async def read(self, limit: int = 1 << 20) -> bytes:
        return b"".join([data async for data in self])[:limit]

    async def finish(self, seconds: float) -> None:
        with suppress(TimeoutError, GatewayError):
            async with self._clock.deadline(seconds):
                async for _ in self:
                    pass


class FakeTransport:
    """Plays `answers` for questions in order, and `pages` by path for everything else; remembers what was asked."""

    def __init__(self, clock: HandClock, *answers: Played, pages: dict[str, Played] | None = None) -> None:
        self.asked: list[Outgoing] = []
        self.looked_up: list[Outgoing] = []
        self.left: list[FakeStreaming] = []
        self.closed = False
        self.pages = pages or {}
        self._clock = clock
        self._answers = list(answers)

    async def request(self, outgoing: Outgoing) -> Incoming:
        self.looked_up.append(outgoing)
        streaming = FakeStreaming(self._page(outgoing), self._clock)
        return Incoming(status=streaming.status, headers=streaming.headers, body=await streaming.read())

    @asynccontextmanager
    async def stream(self, outgoing: Outgoing) -> AsyncIterator[Streaming]:
        if outgoing.method == "POST":
            self.asked.append(outgoing)
            played = self._answers.pop(0)
        else:
            self.looked_up.append(outgoing)
            played = self._page(outgoing)
        streaming = FakeStreaming(played, self._clock)
        try:
            yield streaming
        finally:
            self.left.append(streaming)

    async def close(self) -> None:
        self.closed = True

    def bodies(self) -> list[dict[str, Any]]:
        return [msgspec.json.decode(outgoing.body or b"{}") for outgoing in self.asked]

    def paths(self) -> list[str]:
        return [path_of(outgoing.url) for outgoing in self.looked_up]

    def _page(self, outgoing: Outgoing) -> Played:
        played = self.pages.get(path_of(outgoing.url))
        if played is None:
            raise UpstreamUnreachable("nothing is there")
        return played


class DictStore:
    def __init__(self) -> None:
        self.kept: dict[bytes, bytes] = {}

    async def get(self, key: bytes) -> bytes | None:
        return self.kept.get(key)

    async def put(self, key: bytes, value: bytes, response_id: str | None = None) -> None:
        self.kept[key] = value


def path_of(url: str) -> str:
    return "/" + url.partition("?")[0].split("/", 3)[3]


def cut(data: bytes, size: int) -> Iterable[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


BROKEN = UpstreamTruncated("The connection broke off.")
