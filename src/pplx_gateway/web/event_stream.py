"""A stream of events towards one caller: begun late, never silent for long, one write for each batch."""

import asyncio
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self

from starlette.types import Send

from pplx_gateway.clock import Clock
from pplx_gateway.sse import KEEP_ALIVE
from pplx_gateway.web.headers import RawHeaders
from pplx_gateway.web.leaving import CallerLeft

STREAM_HEADERS: RawHeaders = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


class EventStream:
    """The response begins with the first write, or with the first comment that breaks a silence of `silence_seconds`.

    `headers` is asked at that moment, and `comment` whenever there is a silence to break. As a context manager it keeps
    the comments coming. One timer serves the whole stream: it looks when the last write was and re-arms itself.
    """

    def __init__(
        self,
        send: Send,
        clock: Clock,
        *,
        silence_seconds: float,
        headers: Callable[[], RawHeaders],
        comment: Callable[[], bytes] = lambda: KEEP_ALIVE,
    ) -> None:
        self.started = False
        self.ended = False
        self._send = send
        self._silence = clock.real(silence_seconds)
        self._headers = headers
        self._comment_now = comment
        self._loop = asyncio.get_running_loop()
        self._last = self._loop.time()
        self._busy = False
        self._comment: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._timer = self._loop.call_later(self._silence, self._look)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        if self._comment:
            self._comment.cancel()
            self._comment = None  # whoever still writes, an error's frame say, must not wait for it

    def write(self, data: bytes) -> Coroutine[Any, Any, None]:
        """Waits while the caller reads too slowly. Raises CallerLeft."""
        return self._write(data, more=True)

    def close(self, data: bytes = b"") -> Coroutine[Any, Any, None]:
        """The last bytes, and the end of the body right behind them."""
        self.ended = True
        return self._write(data, more=False)

    async def _write(self, data: bytes, *, more: bool) -> None:
        if self._comment and not self._comment.done():
            await self._comment
        self._busy = True
        try:
            await self._put(data, more=more)
        finally:
            self._busy = False

    async def _put(self, data: bytes, *, more: bool) -> None:
        try:
            if not self.started:
                self.started = True
                await self._send({"type": "http.response.start", "status": 200, "headers": self._headers()})
            await self._send({"type": "http.response.body", "body": data, "more_body": more})
        except OSError:
            raise CallerLeft from None
        self._last = self._loop.time()

    def _look(self) -> None:
        """Speaks if it was silent for too long. A write or a comment that waits for the caller is not silence."""
        rest = self._last + self._silence - self._loop.time()
        if rest <= 0:
            rest = self._silence
            if not self._busy:
                self._busy = True
                self._comment = self._loop.create_task(self._speak())
        self._timer = self._loop.call_later(rest, self._look)

    async def _speak(self) -> None:
        try:
            await self._put(self._comment_now(), more=True)
        except CallerLeft:
            return  # whoever writes next is told
        finally:
            self._busy = False
