"""One question under way at the API: its reader, its patience, and how often its stream may be picked up again."""

from collections.abc import AsyncIterator

from pplx_gateway.answer import Batch
from pplx_gateway.clock import Clock
from pplx_gateway.errors import GatewayError, UpstreamError, UpstreamTimeout, UpstreamTruncated
from pplx_gateway.transport.exchange import Streaming
from pplx_gateway.upstreams.api.assembly import Assembly
from pplx_gateway.upstreams.api.reader import Reader

FOREGROUND_PICKUPS = 1
BACKGROUND_PICKUPS = 5
_NEVER = -1


class Run:
    """`next_batch` reads on until the stream has ended; if that was not the run's end, `pick_up` says what next.

    `lost` is what broke the stream before the present one. `cancel_sent` is kept by whoever cancels, so that it happens
    once.
    """

    def __init__(
        self, assembly: Assembly, reader: Reader, clock: Clock, *, idle_seconds: float, background: bool
    ) -> None:
        self.cancel_sent = False
        self.lost: GatewayError | None = None
        self._assembly = assembly
        self._reader = reader
        self._clock = clock
        self._idle_seconds = idle_seconds
        self._pickups = BACKGROUND_PICKUPS if background else FOREGROUND_PICKUPS
        self._picked_up_after: int | None = _NEVER
        self._streaming: Streaming | None = None
        self._bytes: AsyncIterator[bytes] = _nothing()
        self._heard_at = 0.0
        self._quiet = False

    @property
    def run_id(self) -> str | None:
        return self._assembly.run_id

    @property
    def last_sequence(self) -> int | None:
        return self._assembly.last_sequence

    @property
    def finished(self) -> bool:
        return self._assembly.finished

    @property
    def may_go_on_upstream(self) -> bool:
        """True if the API can be told by id to stop, and has not said that it did."""
        return self.run_id is not None and not self._assembly.settled

    def read(self, streaming: Streaming) -> None:
        """From now on batches come out of `streaming`."""
        self._streaming = streaming
        self._bytes = aiter(streaming)
        self._quiet = False

    async def next_batch(self) -> Batch | None:
        """What the next bytes bring, often nothing; None once there is nothing more to read."""
        if self._reader.over:
            return None
        try:
            data = await self._next_bytes()
        except UpstreamError as error:
            self._reader.break_off(error)
            return None
        if data is None:
            return self._reader.close()
        batch = self._reader.feed(data)
        self._quiet = not self._reader.active
        return batch

    async def drain(self, seconds: float) -> None:
        """Lets a response whose answer is whole come to its end on the wire, so that its connection can serve again."""
        if self.finished and self._streaming is not None:
            await self._streaming.finish(seconds)

    def pick_up(self) -> None:
        """Makes ready for another stream of the same run after this one broke.

        Raises what broke it where that is no use: the run has no id, something would be told twice, or the look before
        brought no news.
        """
        failure = self._assembly.failure or UpstreamTruncated("The upstream's stream ended early.")
        cursor = self.last_sequence
        broken = isinstance(failure, UpstreamTruncated) and self.run_id is not None
        exact = cursor is not None or not self._reader.told
        if not (broken and exact) or self._pickups == 0 or cursor == self._picked_up_after:
            raise failure
        self._pickups -= 1
        self._picked_up_after = cursor
        self.lost = failure
        self._reader.resume()

    def give_up(self) -> None:
        """A stream that breaks now stays broken."""
        self._pickups = 0

    async def _next_bytes(self) -> bytes | None:
        """Pings make the transport's own idle limit start anew, so while there is nothing else, ours is what counts.

        It counts from where the wait began: a caller who is slow to read is no fault of the upstream.
        """
        if not self._quiet:
            self._heard_at = self._clock.monotonic()
            return await anext(self._bytes, None)
        try:
            async with self._clock.deadline(self._heard_at + self._idle_seconds - self._clock.monotonic()):
                return await anext(self._bytes, None)
        except TimeoutError:
            raise UpstreamTimeout(f"The upstream sent nothing but pings for {self._idle_seconds:g} seconds.") from None


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield
