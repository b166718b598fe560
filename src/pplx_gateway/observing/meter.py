"""Counts in memory, and adds them up in the store, where all workers' counts meet.

Whoever counts touches a dict and nothing else. What was counted since the last time is added to the store's sums about
once a second, and for whoever asks; so the sums outlive workers and restarts, and never go down. A kill loses what was
counted since. Where the store fails, counting goes on, and what could not be written waits.
"""

import asyncio
import logging
from bisect import bisect_left
from collections.abc import Callable, Mapping

from pplx_gateway.clock import Clock
from pplx_gateway.errors import StoreUnavailable
from pplx_gateway.observing.metrics import Metric
from pplx_gateway.store.counters import Counted, Counters, Series

logger = logging.getLogger("pplx_gateway.metrics")

SUM = "sum"
ENDLESS = "+Inf"


class Meter:
    """`counters` None = nothing is kept. `sources` are asked to count what they have heard before anything is added
    up."""

    def __init__(self, counters: Counters | None, clock: Clock) -> None:
        self.failing = False
        self.sources: list[Callable[[], None]] = []
        self._counters = counters
        self._clock = clock
        self._new: dict[Series, float] = {}
        self._stored: dict[Series, Counted] = {}
        self._writing: asyncio.Task[None] | None = None
        self._busy = asyncio.Lock()  # whoever reads must find no batch that is neither here nor there

    def count(self, metric: Metric, *labels: str, by: float = 1) -> None:
        series = (metric.name, *labels)
        self._new[series] = self._new.get(series, 0) + by

    def observe(self, metric: Metric, seconds: float, *labels: str) -> None:
        """Into the bucket that it belongs to alone; adding up is for whoever shows it."""
        self.count(metric, *labels, bound(metric, bisect_left(metric.bounds, seconds)))
        self.count(metric, *labels, SUM, by=seconds)

    async def flush(self) -> None:
        """Adds what is new to the store's sums. Raises nothing: what cannot be written waits on."""
        async with self._busy:
            await self._flush()

    async def totals(self) -> Mapping[Series, Counted]:
        """Of all workers, with all that this one has counted; of others what they had told a second ago. Raises
        nothing: where the store fails these are the sums that were last seen."""
        async with self._busy:
            await self._flush()
            await self._read()
        now = self._clock.now()
        found = dict(self._stored)
        for series, value in self._new.items():
            old = found.get(series) or Counted(0, now, now)
            found[series] = Counted(old.value + value, old.first_at, now)
        return found

    async def _flush(self) -> None:
        await self._written()
        for source in self.sources:
            source()
        if self._new and self._counters is not None:
            batch, self._new = self._new, {}
            self._writing = asyncio.create_task(self._write(self._counters, batch))
            await self._written()

    async def _read(self) -> None:
        if self._counters is not None:
            try:
                self._stored = await self._counters.all()
            except StoreUnavailable as error:
                self._failed(error)

    async def _written(self) -> None:
        """A batch on its way is never cut: it could be written and yet wait to be written again."""
        if self._writing is not None:
            await asyncio.shield(self._writing)

    async def _write(self, counters: Counters, batch: Mapping[Series, float]) -> None:
        try:
            await counters.add(batch, self._clock.now())
        except StoreUnavailable as error:
            self._failed(error)
            for series, value in batch.items():
                self._new[series] = self._new.get(series, 0) + value
            return
        self.failing = False

    def _failed(self, error: StoreUnavailable) -> None:
        if not self.failing:
            logger.warning("the counters cannot be kept", extra={"why": error.message})
        self.failing = True


def bound(metric: Metric, index: int) -> str:
    """The name of a histogram's bucket."""
    return repr(metric.bounds[index]) if index < len(metric.bounds) else ENDLESS
