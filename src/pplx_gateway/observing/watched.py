"""A way out that is looked at: each call is counted and, where traces are wanted, becomes a span.

What comes back is the inner transport's own stream, so nothing is added to a chunk.
"""

from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Protocol

from pplx_gateway.errors import GatewayError
from pplx_gateway.observing.meter import Meter
from pplx_gateway.observing.metrics import UPSTREAM_CALLS
from pplx_gateway.observing.tracing import NO_SPAN, Span, Tracer
from pplx_gateway.transport.exchange import Incoming, Outgoing, Streaming

LEFT = "left"
"""The outcome of a call whose caller went away, or that a defect ended."""


class Inner(Protocol):
    @property
    def waiting(self) -> int: ...

    async def request(self, outgoing: Outgoing) -> Incoming: ...

    def stream(self, outgoing: Outgoing) -> AbstractAsyncContextManager[Streaming]: ...

    async def close(self) -> None: ...


class Watched:
    """`open_streams` are those whose body is read at the moment."""

    def __init__(self, inner: Inner, upstream: str, meter: Meter, tracer: Tracer | None) -> None:
        self.open_streams = 0
        self._inner = inner
        self._upstream = upstream
        self._meter = meter
        self._tracer = tracer

    @property
    def waiting(self) -> int:
        return self._inner.waiting

    async def request(self, outgoing: Outgoing) -> Incoming:
        span = self.begun(outgoing)
        try:
            incoming = await self._inner.request(outgoing)
        except BaseException as error:
            self.failed(span, error)
            raise
        self.answered(span, incoming.status)
        span.end(None)
        return incoming

    def stream(self, outgoing: Outgoing) -> "WatchedStream":
        return WatchedStream(self, self._inner.stream(outgoing), outgoing)

    async def close(self) -> None:
        await self._inner.close()

    # what the stream tells, too

    def begun(self, outgoing: Outgoing) -> Span:
        return NO_SPAN if self._tracer is None else self._tracer.call(self._upstream, outgoing)

    def answered(self, span: Span, status: int) -> None:
        self._meter.count(UPSTREAM_CALLS, self._upstream, str(status))
        span.set("http.response.status_code", status)

    def failed(self, span: Span, error: BaseException) -> None:
        """Before there was any answer."""
        outcome = code_of(error)
        self._meter.count(UPSTREAM_CALLS, self._upstream, outcome)
        span.end(outcome)


class WatchedStream:
    def __init__(self, watched: Watched, inner: AbstractAsyncContextManager[Streaming], outgoing: Outgoing) -> None:
        self._watched = watched
        self._inner = inner
        self._span = watched.begun(outgoing)

    async def __aenter__(self) -> Streaming:
        try:
            streaming = await self._inner.__aenter__()
        except BaseException as error:
            self._watched.failed(self._span, error)
            raise
        self._watched.answered(self._span, streaming.status)
        self._watched.open_streams += 1
        return streaming

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watched.open_streams -= 1
        self._span.end(code_of(error) if error is not None else None)
        await self._inner.__aexit__(kind, error, trace)


def code_of(error: BaseException) -> str:
    return error.code if isinstance(error, GatewayError) else LEFT
