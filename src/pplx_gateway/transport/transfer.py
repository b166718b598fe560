"""One transfer: what curl calls, what the consumer waits for, and the clock between them.

curl calls back inside `AsyncCurl.process_data`, where no handle may be removed: callbacks therefore only note and wake.
Removing happens in coroutines and timers, which never run inside curl.
"""

import asyncio
from typing import NamedTuple

from curl_cffi import AsyncCurl, CurlECode, CurlError, CurlInfo, CurlOpt
from curl_cffi.curl import CURL_WRITEFUNC_ERROR

from pplx_gateway.clock import Clock
from pplx_gateway.errors import GatewayError, InternalError, UpstreamTruncated
from pplx_gateway.transport.errors import Limit, TransferTimeout
from pplx_gateway.transport.exchange import Timeouts
from pplx_gateway.transport.faults import Failure, error_for, proxy_refused
from pplx_gateway.transport.handle import Handle
from pplx_gateway.transport.heads import HeadReader
from pplx_gateway.transport.network import Route
from pplx_gateway.transport.options import Form
from pplx_gateway.transport.upload import Upload


class Terms(NamedTuple):
    """`began` is when the caller asked (gateway seconds, monotonic): the total limit counts from there."""

    route: Route
    form: Form
    timeouts: Timeouts
    began: float


class Transfer:
    """The part that whole and streamed transfers share. `error` and `ended` tell how it went."""

    __slots__ = (
        "_chunks",
        "_clock",
        "_curl",
        "_future",
        "_last_byte",
        "_loop",
        "_multi",
        "_repeated",
        "_started",
        "_timer",
        "_waiter",
        "_wakes_at",
        "began",
        "ended",
        "error",
        "form",
        "handle",
        "head",
        "route",
        "size",
        "timeouts",
    )

    def __init__(self, clock: Clock, multi: AsyncCurl, handle: Handle, terms: Terms) -> None:
        self._clock = clock
        self._multi = multi
        self._loop: asyncio.AbstractEventLoop = multi.loop  # to ask asyncio for it takes a system call each time
        self.handle = handle
        self._curl = handle.curl
        self.route, self.form, self.timeouts, self.began = terms
        self.head = HeadReader()
        self.size = 0
        self.error: GatewayError | None = None
        self.ended = False
        self._repeated = False
        self._chunks: list[bytes] = []
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def spotless(self) -> bool:
        """True where nothing was set on the handle, or happened to it, that the next request must not find."""
        return self.ended and self.error is None and not self._repeated

    def start(self) -> None:
        """The handle is loaded."""
        self.handle.tell(self._on_header, self._on_body)
        self._go()
        first_byte, total = self._started + self.timeouts.first_byte, self.timeouts.total
        self._wake_at(first_byte if total is None else min(first_byte, self.began + total))

    def leave(self) -> None:
        """Ends it, whatever its state; what is under way is aborted at once. The handle is free afterwards."""
        self._stop()
        if not self.ended:
            self._end(InternalError("The answer was left before its end."))

    def at_end(self) -> bool:
        """As `ended`, and without the turn of the loop that curl's news takes to get here. Only once the head is there:
        before it, a request may yet begin anew."""
        if not self.ended and self.head.complete and self._future.done():
            self._on_done(self._future)
        return self.ended

    def fail(self, error: GatewayError | None) -> None:
        """Aborts it and lets the consumer have `error` (after the bytes that came before)."""
        if not self.ended:
            self._stop()
            self._end(error)

    def _go(self) -> None:
        self._started = self._last_byte = self._clock.monotonic()
        self._future: asyncio.Future[None] = self._multi.add_handle(self._curl)
        self._future.add_done_callback(self._on_done)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._future.done():
            self._multi.remove_handle(self._curl)

    # curl's callbacks

    def _on_header(self, line: bytes) -> int:
        if self.head.feed(line):
            self._last_byte = self._clock.monotonic()
            self._rearm()
            if self.head.status == 407 and self.route.clear and self.route.proxy is not None:
                self.head = HeadReader()  # the proxy's, not the upstream's
                self.error = proxy_refused(407, self.route)
                return CURL_WRITEFUNC_ERROR
            self._on_head()
        return len(line)

    def _on_head(self) -> None:
        pass

    def _on_body(self, data: bytes) -> int:
        raise NotImplementedError

    # how it ends

    def _on_done(self, future: asyncio.Future[None]) -> None:
        if future.cancelled():
            return
        reason = future.exception()  # also where nobody asks any more: asyncio complains of one that was never read
        if self.ended:
            return
        if self.handle.upload.stale:
            self._go_again(self.handle.upload)
            return
        self._end(self.error or self._verdict(reason))

    def _go_again(self, upload: Upload) -> None:
        upload.rewind()
        self._repeated = True
        self._curl.setopt(CurlOpt.FRESH_CONNECT, 1)
        self._curl.setopt(CurlOpt.READDATA, upload)  # a new context: the old one remembers nothing useful
        self._go()

    def _verdict(self, reason: BaseException | None) -> GatewayError | None:
        if reason is None:
            # curl takes an end of connection within the headers for success
            return None if self.head.complete else UpstreamTruncated(f"{self.route.host} broke off within its headers.")
        if not isinstance(reason, CurlError):
            defect = InternalError("A callback of the transport failed.")
            defect.__cause__ = reason
            return defect
        if reason.code == CurlECode.OPERATION_TIMEDOUT:
            return TransferTimeout("connect", self.timeouts.connect, self.route.host)
        sent, proxy_status = self._info(CurlInfo.REQUEST_SIZE) > 0, self._info(CurlInfo.HTTP_CONNECTCODE)
        return error_for(Failure(int(reason.code), str(reason), sent, proxy_status), self.route)

    def _end(self, error: GatewayError | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.error = error
        self.ended = True
        self._wake()

    # waiting

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def _wait(self) -> None:
        self._waiter = self._loop.create_future()
        await self._waiter

    # time

    def _nearest_deadline(self) -> tuple[Limit, float, float]:
        """The limit that is next, when it runs out, and its length. Lazy: bytes only move `_last_byte`."""
        total = self.timeouts.total
        name, at, length = self._phase_deadline()
        if total is not None and self.began + total < at:
            return "total", self.began + total, total
        return name, at, length

    def _phase_deadline(self) -> tuple[Limit, float, float]:
        first_byte, idle = self.timeouts.first_byte, self.timeouts.idle
        if self.head.complete:
            since = self._clock.monotonic() if self._is_paused() else self._last_byte
            return "idle", since + idle, idle
        sent = self._sent_after()
        # not sent yet: curl watches over the connecting, and this limit cannot run out before
        since = self._clock.monotonic() if sent is None else self._started + sent
        return "first_byte", since + first_byte, first_byte

    def _is_paused(self) -> bool:
        return False

    def _on_timer(self) -> None:
        limit, at, length = self._nearest_deadline()
        if at > self._clock.monotonic():
            self._wake_at(at)
        else:
            self.fail(TransferTimeout(limit, length, self.route.host))

    def _rearm(self) -> None:
        """Where the phase that begins ends sooner than the one before would have."""
        at = self._nearest_deadline()[1]
        if at < self._wakes_at and self._timer is not None:
            self._timer.cancel()
            self._wake_at(at)

    def _wake_at(self, at: float) -> None:
        self._wakes_at = at
        self._timer = self._loop.call_later(self._clock.real(max(0.0, at - self._clock.monotonic())), self._on_timer)

    def _sent_after(self) -> float | None:
        """Gateway seconds from the start until the request began to leave; None = it has not. (After a failure curl
        fills this in, sent or not.)"""
        microseconds = self._info(CurlInfo.PRETRANSFER_TIME_T)
        return microseconds / 1e6 * self._clock.factor if microseconds else None

    def _info(self, info: CurlInfo) -> int:
        value = self._curl.getinfo(info)
        return value if isinstance(value, int) else 0
