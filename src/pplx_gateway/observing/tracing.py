"""What a trace is made of, whoever writes it. otel.py is the one that does; by default nobody does.

Nothing of a question or an answer stands in a span, no credential, and no address with an id or a key in it.
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Protocol

from pplx_gateway.transport.exchange import Outgoing

Attribute = str | int | float | bool


class Span(Protocol):
    def set(self, name: str, value: Attribute) -> None: ...

    def end(self, error: str | None) -> None:
        """`error`: the code of what it ended with."""
        ...


class RequestSpan(Span, Protocol):
    """That of a request: all that works for it finds it. What it is about is known late."""

    def rename(self, name: str) -> None: ...

    @property
    def trace_id(self) -> str:
        """32 hexadecimal digits."""
        ...


class Tracer(Protocol):
    def request(self, name: str, headers: Iterable[tuple[bytes, bytes]]) -> AbstractContextManager[RequestSpan]:
        """A request that begins now. `headers` may tell of a trace that it is part of (`traceparent`)."""
        ...

    def call(self, upstream: str, outgoing: Outgoing) -> Span:
        """A call to an upstream, for the request at work."""
        ...

    async def close(self) -> None:
        """Sends what there is, within a moment."""
        ...


class _NoSpan:
    def set(self, name: str, value: Attribute) -> None: ...

    def end(self, error: str | None) -> None: ...


NO_SPAN: Span = _NoSpan()
