"""The two things to do with a response's body: collect it, or hand it over as it comes."""

from curl_cffi import AsyncCurl, CurlError
from curl_cffi.curl import CURL_WRITEFUNC_ERROR, CURL_WRITEFUNC_PAUSE, CURLPAUSE_CONT

from pplx_gateway.clock import Clock
from pplx_gateway.errors import UpstreamError
from pplx_gateway.transport.handle import Handle
from pplx_gateway.transport.transfer import Terms, Transfer

HIGH_WATER_BYTES = 256 * 1024


class WholeTransfer(Transfer):
    """Collects the body, at most `limit` bytes of it."""

    __slots__ = ("limit",)

    limit: int

    async def body(self) -> bytes:
        """Raises GatewayError unless the message was whole."""
        while not self.ended:
            await self._wait()
        if self.error is not None:
            raise self.error
        return b"".join(self._chunks)

    def _on_body(self, data: bytes) -> int:
        self.size += len(data)
        if self.size > self.limit:
            self.error = UpstreamError(f"The answer of {self.route.host} is larger than {self.limit} bytes.")
            return CURL_WRITEFUNC_ERROR
        self._last_byte = self._clock.monotonic()
        self._chunks.append(data)
        return len(data)


class StreamTransfer(Transfer):
    """Hands the body over as it comes, and stops the sender while the consumer lags by HIGH_WATER_BYTES."""

    __slots__ = ("_paused",)

    def __init__(self, clock: Clock, multi: AsyncCurl, handle: Handle, terms: Terms) -> None:
        super().__init__(clock, multi, handle, terms)
        self._paused = False

    async def wait_for_head(self) -> None:
        """Raises GatewayError if there is none."""
        while not self.head.complete and not self.ended:
            await self._wait()
        if self.error is not None and not self.head.complete:
            raise self.error

    async def next_bytes(self) -> bytes | None:
        """All that has come since the last call, as one object; None at the end of a whole message. Raises
        GatewayError."""
        while not self._chunks:
            if self.ended:
                if self.error is not None:
                    raise self.error
                return None
            await self._wait()
        data = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        self._chunks.clear()
        self.size = 0
        if self._paused:
            self._resume()
        return data

    def _resume(self) -> None:
        self._paused = False
        self._last_byte = self._clock.monotonic()
        if self._future.done():
            return
        try:
            self._curl.pause(CURLPAUSE_CONT)  # calls _on_body at once with what was held back
        except CurlError as reason:
            self.fail(self._verdict(reason))

    def _is_paused(self) -> bool:
        return self._paused

    def _on_head(self) -> None:
        self._wake()

    def _on_body(self, data: bytes) -> int:
        if self.size >= HIGH_WATER_BYTES:
            self._paused = True
            return CURL_WRITEFUNC_PAUSE
        self._last_byte = self._clock.monotonic()
        if not self._chunks:
            self._wake()
        self._chunks.append(data)
        self.size += len(data)
        return len(data)
