"""What all workers have counted together, and what each of them sees of itself."""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from pplx_gateway.store.database import Database, Statement

Series = tuple[str, ...]
"""The metric's name and its labels' values; for a histogram also the bucket."""


class Counted(NamedTuple):
    """Times are seconds since the epoch."""

    value: float
    first_at: float
    last_at: float


class Counters:
    """Methods raise StoreUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, counts: Mapping[Series, float], now: float) -> None:
        """All of them, or none."""
        statements: list[Statement] = [(_ADD, (_text(series), by, now, now)) for series, by in counts.items()]
        await self._database.write(*statements)

    async def all(self) -> dict[Series, Counted]:
        rows = await self._database.fetch("select series, value, first_at, last_at from counters")
        return {_series(series): Counted(*rest) for series, *rest in rows}

    async def show(self, worker: str, gauges: Mapping[Series, float], now: float, gone_before: float) -> None:
        """What `worker` sees of itself. Workers that have not written since `gone_before` are forgotten."""
        text = msgspec.json.encode([[*series, value] for series, value in gauges.items()]).decode()
        await self._database.write(
            (_SHOW, (worker, now, text)), ("delete from worker_gauges where at < ?", (gone_before,))
        )

    async def shown(self, since: float) -> dict[str, dict[Series, float]]:
        """What each worker saw of itself when it last wrote, if that was after `since`."""
        rows = await self._database.fetch("select worker, gauges from worker_gauges where at >= ?", (since,))
        return {worker: {tuple(row[:-1]): row[-1] for row in msgspec.json.decode(text)} for worker, text in rows}

    async def leave(self, worker: str) -> None:
        await self._database.write(("delete from worker_gauges where worker = ?", (worker,)))


def _text(series: Series) -> str:
    return msgspec.json.encode(series).decode()


def _series(text: str) -> Series:
    return _READ.decode(text)


_READ = msgspec.json.Decoder(Series)
_ADD = """
insert into counters (series, value, first_at, last_at) values (?, ?, ?, ?)
on conflict (series) do update set value = counters.value + excluded.value, last_at = excluded.last_at
"""
_SHOW = """
insert into worker_gauges (worker, at, gauges) values (?, ?, ?)
on conflict (worker) do update set at = excluded.at, gauges = excluded.gauges
"""
