"""One run under way at the API: its reader, its patience, and how its stream is picked up again."""

from collections.abc import AsyncIterator, Sized
from typing import Generic, Protocol, TypeVar

from pplx_gateway.clock import Clock
from pplx_gateway.errors import GatewayError, UpstreamError, UpstreamTimeout, UpstreamTruncated
from pplx_gateway.transport.exchange import Streaming, Timeouts
from pplx_gateway.upstreams.api.keys.key import Key
from pplx_gateway.upstreams.api.pickups import Brief, Broken, Look, Pickups

BatchT = TypeVar("BatchT", bound=Sized)
BatchT_co = TypeVar("BatchT_co", bound=Sized, covariant=True)


class Standing(Protocol):
    """What has become of the run so far; see Assembly."""

    @property
    def run_id(self) -> str | None: ...
    @property
    def last_sequence(self) -> int | None: ...
    @property
    def finished(self) -> bool: ...
    @property
    def settled(self) -> bool: ...
    @property
    def alive(self) -> bool: ...
    @property
    def failure(self) -> GatewayError | None: ...


class Reading(Protocol[BatchT_co]):
    """Bytes in, batches out; see Reader."""

    @property
    def active(self) -> bool: ...
    @property
    def over(self) -> bool: ...
    @property
    def told(self) -> bool: ...
    def feed(self, data: bytes) -> BatchT_co: ...
    def close(self) -> BatchT_co: ...
    def break_off(self, error: GatewayError) -> None: ...
    def resume(self) -> None: ...


class Run(Generic[BatchT]):
    """`next_batch` reads on until the stream has ended; if that was not the run's end, `pick_up` says what next.

    `key` is the one that made it, and the only one that finds it again. `detaches` = it goes on when its reader leaves.
    `signatures` are new ones by call id, for whoever keeps them to take out. `cancel_sent` is kept by whoever cancels,
    so that it happens once.
    """

    def __init__(
        self,
        assembly: Standing,
        reader: Reading[BatchT],
        clock: Clock,
        *,
        key: Key,
        timeouts: Timeouts,
        pickups: Pickups,
        detaches: bool,
        signatures: dict[str, str],
    ) -> None:
        self.key = key
        self.timeouts = timeouts
        self.detaches = detaches
        self.signatures = signatures
        self.cancel_sent = False
        self._assembly = assembly
        self._reader = reader
        self._clock = clock
        self._pickups = pickups
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

    async def next_batch(self) -> BatchT | None:
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

    def break_off(self, error: GatewayError) -> None:
        """There is no stream at all: `error` is why."""
        self._reader.break_off(error)

    def pick_up(self) -> Look:
        """Makes ready for another stream of the same run after this one broke, and says how to get it.

        Raises what broke it where that is no use: the run has no id, something would be told twice, or the looks before
        brought no news.
        """
        cursor = self.last_sequence
        look = self._pickups.next(
            Broken(
                failure=self._assembly.failure or UpstreamTruncated("The upstream's stream ended early."),
                cursor=cursor,
                known=self.run_id is not None,
                exact=cursor is not None or not self._reader.told,
                alive=self._assembly.alive,
                settled=self._assembly.settled,
            )
        )
        self._reader.resume()
        return look

    def give_up(self) -> None:
        """A stream that breaks now stays broken."""
        self._pickups = Brief(0)

    async def _next_bytes(self) -> bytes | None:
        """Pings make the transport's own idle limit start anew, so while there is nothing else, ours is what counts.

        It counts from where the wait began: a caller who is slow to read is no fault of the upstream.
        """
        if not self._quiet:
            self._heard_at = self._clock.monotonic()
            return await anext(self._bytes, None)
        try:
            async with self._clock.deadline(self._heard_at + self.timeouts.idle - self._clock.monotonic()):
                return await anext(self._bytes, None)
        except TimeoutError:
            raise UpstreamTimeout(f"The upstream sent nothing but pings for {self.timeouts.idle:g} seconds.") from None


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield
