"""What every worker sees of itself at the moment, added up: each writes it into the store, and whoever is asked reads.

A worker writes when something has changed, and now and then without that; one that was killed counts for LOST_SECONDS
yet.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from pplx_gateway.clock import Clock
from pplx_gateway.errors import StoreUnavailable
from pplx_gateway.store.counters import Counters, Series

logger = logging.getLogger("pplx_gateway.metrics")

BEAT_SECONDS = 10.0
LOST_SECONDS = 30.0

Gauges = Iterable[tuple[Series, float]]


class Sums(NamedTuple):
    workers: int
    gauges: Mapping[Series, float]


class Workers:
    """`sources` give what this worker sees of itself."""

    def __init__(self, counters: Counters, clock: Clock, worker: str) -> None:
        self.sources: list[Callable[[], Gauges]] = []
        self._counters = counters
        self._clock = clock
        self._worker = worker
        self._written: Mapping[Series, float] = {}
        self._written_at = 0.0

    async def keep_up(self) -> None:
        """Raises StoreUnavailable."""
        mine, now = self._mine(), self._clock.now()
        if mine != self._written or now - self._written_at >= BEAT_SECONDS:
            await self._counters.show(self._worker, mine, now, now - LOST_SECONDS)
            self._written, self._written_at = mine, now

    async def sums(self) -> Sums:
        """Where the store fails, this worker's own."""
        try:
            shown = await self._counters.shown(self._clock.now() - LOST_SECONDS)
        except StoreUnavailable:
            shown = {}
        shown[self._worker] = self._mine()
        added: dict[Series, float] = {}
        for gauges in shown.values():
            for series, value in gauges.items():
                added[series] = added.get(series, 0) + value
        return Sums(len(shown), added)

    async def leave(self) -> None:
        """Raises StoreUnavailable."""
        await self._counters.leave(self._worker)

    def _mine(self) -> dict[Series, float]:
        return dict(pair for source in self.sources for pair in source())
