"""uvicorn's HTTP/1.1 connection with what it lacks: a limit and a patience for headers, and mistakes told in JSON."""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pplx_gateway import fresh
from pplx_gateway.errors import GatewayError, InvalidRequest, RequestTimeout, TooLarge
from pplx_gateway.protocols.openai import errors
from pplx_gateway.web.leaving import LINE, Line

_CONTINUE = b"HTTP/1.1 100 "
_PHRASES = {400: b"Bad Request", 408: b"Request Timeout", 413: b"Content Too Large"}


class Connection(HttpToolsProtocol):
    """For `uvicorn.Config(http=Connection)`. A request's headers must be whole within `head_seconds` of their first
    byte (for the first request: of the connection) and `head_bytes` long at most."""

    # CPython keeps 30 attributes compact and uvicorn has nearly as many; these among them would cost 1.5 KB each time
    __slots__ = ("_begun", "_bytes_so_far", "_in_head", "_line", "_patience")

    head_seconds = 20.0
    head_bytes = 64 << 10

    _patience: asyncio.TimerHandle | None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._begun = False
        self._line = Line()
        super().connection_made(transport)
        self.flow._is_writable_event = Signal(on=True)
        self._patience = None
        self._begin_head()
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_whole()
        super().connection_lost(exc)
        self._line.lose()

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            self._bytes_so_far += len(data)
        super().data_received(data)
        if not self._in_head:
            return
        if self._bytes_so_far > self.head_bytes:
            self._end(TooLarge(f"The request's headers are longer than {self.head_bytes} bytes."))
        elif self._patience is None:  # most heads come whole, and need none
            self._await_head()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._line.whole = False
        self.scope[LINE] = self._line  # type: ignore[literal-required]
        if not self._in_head:
            self._begin_head()
        self._begun = True

    def on_headers_complete(self) -> None:
        self._head_is_whole()
        super().on_headers_complete()
        self.cycle.transport = HeadHolder(self.loop, self.transport)  # type: ignore[assignment]
        self.cycle.message_event = Signal()

    def on_message_complete(self) -> None:
        self._line.whole = True
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        self._end(InvalidRequest(msg))

    def _begin_head(self) -> None:
        self._in_head = True
        self._bytes_so_far = 0

    def _await_head(self) -> None:
        self._patience = self.loop.call_later(self.head_seconds, self._too_slow)

    def _head_is_whole(self) -> None:
        self._in_head = False
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _too_slow(self) -> None:
        if not self._begun:
            self.transport.close()  # opened ahead of need and never used
        else:
            self._end(RequestTimeout("The request's headers did not come to their end in time."))

    def _end(self, error: GatewayError) -> None:
        """The connection's last words, unless it is in the middle of an answer or was never spoken on."""
        self._head_is_whole()
        cycle = self.cycle
        answering = cycle is not None and cycle.response_started and not cycle.response_complete
        if answering or self.transport.is_closing():
            self.transport.close()
            return
        rendered = errors.render(error, [(b"connection", b"close"), (b"x-request-id", _fresh_id())])
        lines = [b"HTTP/1.1 %d %b\r\n" % (rendered.status, _PHRASES[rendered.status])]
        lines += [b"%b: %b\r\n" % header for header in rendered.headers]
        self.transport.write(b"".join([*lines, b"\r\n", rendered.body]))
        self.transport.close()


class Signal(asyncio.Event):
    """asyncio's own makes room for 64 who wait, 0.7 KB each, and a stream has two of them that hardly anyone awaits."""

    def __init__(self, *, on: bool = False) -> None:
        super().__init__()
        self._waiters = []  # type: ignore[assignment]
        if on:
            self.set()


class HeadHolder:
    """What an answer is written to: its head leaves in one write with the body's begin, if that comes in the same turn
    of the loop; uvicorn writes the two apart."""

    __slots__ = ("_begun", "_held", "_loop", "_transport")

    def __init__(self, loop: asyncio.AbstractEventLoop, transport: asyncio.Transport) -> None:
        self._loop = loop
        self._transport = transport
        self._begun = False
        self._held = b""

    def write(self, data: bytes) -> None:
        if self._held:
            data, self._held = self._held + data, b""
        elif not self._begun and not data.startswith(_CONTINUE):
            self._begun = True
            self._held = data
            self._loop.call_soon(self._let_go)
            return
        self._transport.write(data)

    def close(self) -> None:
        self._let_go()
        self._transport.close()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def _let_go(self) -> None:
        if self._held:
            held, self._held = self._held, b""
            self._transport.write(held)


def _fresh_id() -> bytes:
    return fresh.name("req_").encode()
