"""A transport that plays scripts, and a clock whose time passes only when a test says so."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress

import msgspec

from pplx_gateway.clock import Clock
from pplx_gateway.errors import GatewayError, UpstreamTruncated
from pplx_gateway.transport import Headers, Incoming, Outgoing


class FakeClock(Clock):
    """`advance` moves the time and ends the deadlines that it passes; `sleep` passes at once and is written down."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        super().__init__()
        self.time = 0.0
        self.slept: list[float] = []
        self._now = now
        self._deadlines: list[tuple[float, asyncio.Timeout]] = []

    def now(self) -> float:
        return self._now + self.time

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(seconds)
        await asyncio.sleep(0)

    def deadline(self, seconds: float | None) -> asyncio.Timeout:
        if seconds is None:
            return asyncio.timeout(None)
        timeout = asyncio.timeout(None if seconds > 0 else 0)
        self._deadlines.append((self.time + seconds, timeout))
        return timeout

    def advance(self, seconds: float) -> None:
        self.time += seconds
        for due, timeout in self._deadlines:
            if due <= self.time and "active" in repr(timeout):
                timeout.reschedule(asyncio.get_running_loop().time())


class Pass(msgspec.Struct, frozen=True):
    """Time that passes on the wire."""

    seconds: float


class Silence:
    """The wire is silent from here on. `reached` is set once it is waited for; closing the transport breaks it."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.broken = asyncio.Event()


Step = bytes | Pass | Silence | GatewayError


class Reply(msgspec.Struct):
    """What the transport gives for one request: an error, or a response and what its body does."""

    steps: Sequence[Step] = ()
    status: int = 200
    headers: Sequence[tuple[str, str]] = (("content-type", "text/event-stream"),)
    error: GatewayError | None = None


class FakeStreaming:
    def __init__(self, reply: Reply, clock: FakeClock) -> None:
        self.status = reply.status
        self.headers = Headers(reply.headers)
        self._steps = reply.steps
        self._clock = clock
        self._body = self._play()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._body

    async def _play(self) -> AsyncIterator[bytes]:
        for step in self._steps:
            match step:
                case bytes():
                    yield step
                case Pass(seconds):
                    self._clock.advance(seconds)
                    await asyncio.sleep(0)
                case Silence():
                    step.reached.set()
                    await step.broken.wait()
                    raise UpstreamTruncated("closed")
                case GatewayError():
                    raise step
            await asyncio.sleep(0)

    async def read(self, limit: int = 1 << 20) -> bytes:
        return b"".join([data async for data in self])[:limit]

    async def finish(self, seconds: float) -> None:
        with suppress(TimeoutError, GatewayError):
            async with self._clock.deadline(seconds):
                async for _ in self._body:
                    continue


class FakeTransport:
    """Gives `replies` in order, the last one again and again. `sent` is what was asked; `open` counts open streams."""

    def __init__(self, clock: FakeClock, *replies: Reply, cancelled: Reply | None = None) -> None:
        self.sent: list[Outgoing] = []
        self.open = 0
        self.closed = False
        self.on_request: Callable[[], None] = lambda: None
        self._clock = clock
        self._silences = [step for reply in replies for step in reply.steps if isinstance(step, Silence)]
        self._replies = list(replies)
        self._cancelled = cancelled or Reply(steps=[b'{"status":"cancelling"}'])

    @property
    def asked(self) -> list[Outgoing]:
        return [outgoing for outgoing in self.sent if outgoing.url.endswith("/v1/agent")]

    @property
    def cancels(self) -> list[str]:
        return [outgoing.url for outgoing in self.sent if outgoing.url.endswith("/cancel")]

    async def request(self, outgoing: Outgoing) -> Incoming:
        self.sent.append(outgoing)
        self.on_request()
        await asyncio.sleep(0)
        if self._cancelled.error:
            raise self._cancelled.error
        body = b"".join(step for step in self._cancelled.steps if isinstance(step, bytes))
        return Incoming(status=self._cancelled.status, headers=Headers(()), body=body)

    @asynccontextmanager
    async def stream(self, outgoing: Outgoing) -> AsyncGenerator[FakeStreaming, None]:
        self.sent.append(outgoing)
        reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        await asyncio.sleep(0)
        if reply.error:
            raise reply.error
        self.open += 1
        try:
            yield FakeStreaming(reply, self._clock)
        finally:
            self.open -= 1

    async def close(self) -> None:
        self.closed = True
        for silence in self._silences:
            silence.broken.set()
