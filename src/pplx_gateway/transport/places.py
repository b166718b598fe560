"""The cap on transfers at once: first come, first served, and never in silence."""

import asyncio
import logging
from collections import deque

from pplx_gateway.clock import Clock
from pplx_gateway.errors import UpstreamError
from pplx_gateway.transport.errors import TransferTimeout

logger = logging.getLogger(__name__)

WARN_EVERY_S = 60.0


class Places:
    """`limit` places. `taken` and `waiting` are for health pages; the first of a queue logs a warning, at most one a
    minute."""

    def __init__(self, clock: Clock, limit: int) -> None:
        if limit < 1:
            raise ValueError(f"max_connections must be at least 1, not {limit}")
        self._clock = clock
        self.limit = limit
        self.taken = 0
        self._queue: deque[asyncio.Future[None]] = deque()
        self._warned: float | None = None

    @property
    def waiting(self) -> int:
        return len(self._queue)

    async def take(self, patience_s: float, host: str) -> None:
        """Returns with a place, to be given back. Raises TransferTimeout ("connect") after `patience_s`."""
        if self.taken < self.limit:
            self.taken += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        self._warn()
        try:
            async with self._clock.deadline(patience_s):
                await turn
        except BaseException as reason:
            self._leave(turn)
            if isinstance(reason, TimeoutError):
                raise self._too_long(patience_s, host) from None
            raise

    def give_back(self) -> None:
        """Hands the place to the one who waits longest, or frees it."""
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.taken -= 1

    def close(self, error: UpstreamError) -> None:
        """Everybody who waits gets `error`."""
        for turn in self._queue:
            if not turn.done():
                turn.set_exception(error)
        self._queue.clear()

    def _leave(self, turn: asyncio.Future[None]) -> None:
        if turn in self._queue:
            self._queue.remove(turn)
        elif turn.done() and not turn.cancelled() and turn.exception() is None:
            self.give_back()  # the place came in the same turn of the loop as the reason to leave

    def _too_long(self, patience_s: float, host: str) -> TransferTimeout:
        sentence = f"All {self.limit} upstream connections were in use for {patience_s:g} seconds (connect limit)."
        return TransferTimeout("connect", patience_s, host, message=sentence)

    def _warn(self) -> None:
        now = self._clock.monotonic()
        if self._warned is None or now - self._warned >= WARN_EVERY_S:
            self._warned = now
            logger.warning(
                "requests wait for a free upstream connection", extra={"limit": self.limit, "waiting": self.waiting}
            )
