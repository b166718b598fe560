"""What goes out and what comes back: the values of the transport's seam."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

import msgspec

Method = Literal["GET", "POST", "PUT", "DELETE"]


class Timeouts(NamedTuple):
    """Gateway seconds (clock.py). `connect` runs until the request is on its way, waiting for a free connection
    included; `first_byte` from the send to the response's headers; `idle` between body bytes; `total` over all, None =
    no limit."""

    connect: float = 10.0
    first_byte: float = 120.0
    idle: float = 120.0
    total: float | None = None


class Outgoing(msgspec.Struct, frozen=True, kw_only=True):
    """A request. `headers` are sent as they are, after the browser's own where the transport impersonates one; a header
    with an empty value is left out. Redirects are never followed."""

    method: Method
    url: str
    headers: Mapping[str, str] = {}
    body: bytes | None = None
    timeouts: Timeouts = Timeouts()


class Headers(NamedTuple):
    """Response headers: names in small letters, in the order of the wire, repeats kept."""

    items: Sequence[tuple[str, str]]

    def get(self, name: str) -> str | None:
        """The first value of `name` (small letters), or None."""
        return next((value for key, value in self.items if key == name), None)

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.items if key == name]


class Incoming(msgspec.Struct, frozen=True, kw_only=True):
    """A whole response. `body` is decompressed; `headers` are still the wire's (content-encoding, content-length)."""

    status: int
    headers: Headers
    body: bytes


class Streaming(Protocol):
    """A response whose body is still coming. Iterating yields non-empty bytes, decompressed, as they arrive; it ends
    normally only where the HTTP message was whole."""

    status: int

    @property
    def headers(self) -> Headers: ...

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    async def read(self, limit: int = 1 << 20) -> bytes:
        """The rest of the body, at most `limit` bytes (what is over it is not read): for error pages."""
        ...

    async def finish(self, seconds: float) -> None:
        """Waits for the end of a message that has told all, `seconds` at most, so that its connection can serve again.
        Raises nothing."""
        ...
