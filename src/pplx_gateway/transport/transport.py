"""The one way out: whole requests and streams, on one AsyncCurl with pooled handles."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import lru_cache
from types import TracebackType
from typing import Self, TypeVar

from curl_cffi import CurlError

from pplx_gateway.clock import Clock
from pplx_gateway.errors import GatewayError, InternalError, UpstreamError
from pplx_gateway.transport.bodies import StreamTransfer, WholeTransfer
from pplx_gateway.transport.exchange import Headers, Incoming, Outgoing
from pplx_gateway.transport.multi import CalmCurl
from pplx_gateway.transport.network import Network
from pplx_gateway.transport.options import Options, form_of, resolve_browser
from pplx_gateway.transport.places import Places
from pplx_gateway.transport.pool import HandlePool
from pplx_gateway.transport.transfer import Terms, Transfer

KEPT_HANDLES = 256
CLOSED = "The gateway is shutting down."

Kind = TypeVar("Kind", bound=Transfer)


class Transport:
    """Requests to upstreams. Make one for each upstream: connections and the browser's shape are shared within it.

    Redirects are never followed, certificates always verified, cookies never kept: Set-Cookie is the caller's to read.
    A request with a body is sent at most once (upload.py). `network` says which proxies and authorities rule (loopback
    never takes a proxy).

    `max_connections` caps transfers at once, streams of one HTTP/2 connection included. Who finds no place waits its
    turn (`waiting`), and that time counts against the request's connect limit: connect is the time until the request is
    on its way.

    Two cuts cannot be seen in HTTP and are for the callers' own end marks to find: an answer in clear without length
    that ends with FIN, and an HTTP/2 stream reset with NO_ERROR after its headers.

    Raises ValueError for a browser that curl does not know.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        impersonate: str | None = None,
        max_connections: int = 2000,
        max_body_bytes: int = 32 << 20,
        network: Network | None = None,
    ) -> None:
        browser = resolve_browser(impersonate) if impersonate else None
        self._clock = clock
        network = network or Network()
        self._route = lru_cache(maxsize=256)(network.route)
        self._options = Options(browser=browser, network=network)
        self._places = Places(clock, max_connections)
        self._pool = HandlePool(min(KEPT_HANDLES, max_connections), self._options.prepare)
        self._live: set[Transfer] = set()
        self._multi: CalmCurl | None = None
        self._max_body_bytes = max_body_bytes
        self._closed = False

    @property
    def active(self) -> int:
        """Transfers under way."""
        return self._places.taken

    @property
    def waiting(self) -> int:
        """Requests that wait for one of `max_connections` places."""
        return self._places.waiting

    async def request(self, outgoing: Outgoing) -> Incoming:
        """A whole exchange; any status is a result. Raises UpstreamUnreachable, UpstreamTruncated, TransferTimeout, or
        UpstreamError (for a body above `max_body_bytes`, too)."""
        transfer = await self._begin(outgoing, WholeTransfer)
        try:
            body = await transfer.body()
            return Incoming(status=transfer.head.status, headers=transfer.head.headers, body=body)
        finally:
            self._finish(transfer)

    def stream(self, outgoing: Outgoing) -> "Stream":
        """`async with transport.stream(outgoing) as streaming:` begins with the headers at hand and the body still to
        come. Leaving aborts what is left of it at once. Raises as `request` does, within the loop too."""
        return Stream(self, outgoing)

    def deadline(self, seconds: float) -> asyncio.Timeout:
        """As Clock.deadline, on the transport's clock."""
        return self._clock.deadline(seconds)

    async def close(self) -> None:
        """Fails what is under way and who waits, then frees everything. May be called twice."""
        if self._closed:
            return
        self._closed = True
        self._places.close(UpstreamError(CLOSED))
        for transfer in tuple(self._live):
            transfer.fail(UpstreamError(CLOSED))
        if self._multi is not None:
            close: Callable[[], Awaitable[None]] = self._multi.close
            await close()
        self._pool.close()

    async def _begin(self, outgoing: Outgoing, kind: type[Kind]) -> Kind:
        route = self._route(outgoing.url)
        terms = Terms(route, form_of(outgoing, route), outgoing.timeouts, self._clock.monotonic())
        self._check_open()
        await self._places.take(outgoing.timeouts.connect, route.host)
        try:
            self._check_open()
            transfer = self._start(outgoing, terms, kind)
        except CurlError:
            self._places.give_back()
            raise InternalError("curl refused the request.") from None  # its text holds the value that it refused
        except BaseException:
            self._places.give_back()
            raise
        self._live.add(transfer)
        return transfer

    def _start(self, outgoing: Outgoing, terms: Terms, kind: type[Kind]) -> Kind:
        if self._multi is None:
            self._multi = CalmCurl()  # belongs to the running loop
        handle = self._pool.take(terms.form)
        try:
            left_s = outgoing.timeouts.connect - (self._clock.monotonic() - terms.began)
            handle.load(outgoing, self._clock.milliseconds(left_s))
            transfer = kind(self._clock, self._multi, handle, terms)
            if isinstance(transfer, WholeTransfer):
                transfer.limit = self._max_body_bytes
            transfer.start()
        except BaseException:
            handle.close()
            raise
        return transfer

    def _check_open(self) -> None:
        if self._closed:
            raise UpstreamError(CLOSED)

    def _finish(self, transfer: Transfer) -> None:
        transfer.leave()
        self._live.discard(transfer)
        if transfer.spotless:
            self._pool.give_back(transfer.handle, transfer.form)
        else:
            transfer.handle.close()
        self._places.give_back()


class Stream:
    """A response whose body is still coming (exchange.Streaming). Iterating yields non-empty bytes, one object for all
    that came since the last; it ends normally only where the message was whole."""

    status: int
    _transfer: StreamTransfer

    def __init__(self, transport: Transport, outgoing: Outgoing) -> None:
        self._transport = transport
        self._outgoing = outgoing

    async def __aenter__(self) -> Self:
        transfer = await self._transport._begin(self._outgoing, StreamTransfer)
        try:
            await transfer.wait_for_head()
        except BaseException:
            self._transport._finish(transfer)
            raise
        del self._outgoing  # its body may be large, and is on its way
        self._transfer = transfer
        self.status = transfer.head.status
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._transport._finish(self._transfer)

    @property
    def headers(self) -> Headers:
        return self._transfer.head.headers

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        data = await self._transfer.next_bytes()
        if data is None:
            raise StopAsyncIteration
        return data

    async def read(self, limit: int = 1 << 20) -> bytes:
        """The rest of the body, at most `limit` bytes (what is over it is not read)."""
        parts: list[bytes] = []
        size = 0
        while size < limit and (data := await self._transfer.next_bytes()) is not None:
            parts.append(data)
            size += len(data)
        return b"".join(parts)[:limit]

    async def finish(self, seconds: float) -> None:
        """Waits for the end of a message that has told all, `seconds` at most, so that its connection can serve again.
        Raises nothing."""
        if self._transfer.at_end():
            return
        with suppress(TimeoutError, GatewayError):
            async with self._transport.deadline(seconds):
                while await self._transfer.next_bytes() is not None:
                    continue
