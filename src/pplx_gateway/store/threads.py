"""Handles of the session upstream's conversations."""

from pplx_gateway.clock import Clock
from pplx_gateway.store.database import Database, Statement

KEEP_SECONDS = 30 * 24 * 3600
KEEP_ROWS = 10_000
SWEEP_EVERY = 128
"""To count the rows takes longer than all the rest of a `put`, so only one of so many does it."""


class Threads:
    """A bounded table of opaque values by opaque keys: `rows` and SWEEP_EVERY more at most, none of them given out when
    it is older than KEEP_SECONDS."""

    def __init__(self, database: Database, clock: Clock, *, rows: int = KEEP_ROWS) -> None:
        self._database = database
        self._clock = clock
        self._rows = rows
        self._puts = 0

    async def get(self, key: bytes) -> bytes | None:
        oldest = self._clock.now() - KEEP_SECONDS
        rows = await self._database.fetch("select value from threads where key = ? and written_at > ?", (key, oldest))
        return bytes(rows[0][0]) if rows else None

    async def put(self, key: bytes, value: bytes, response_id: str | None = None) -> None:
        """With `response_id` it goes when that response goes, and is not kept at all if that has gone already."""
        now = self._clock.now()
        sweep = self._sweep(now) if self._puts % SWEEP_EVERY == 0 else ()
        self._puts += 1
        await self._database.write((_PUT, (key, value, now, response_id, response_id, response_id)), *sweep)

    def _sweep(self, now: float) -> tuple[Statement, ...]:
        return ("delete from threads where written_at <= ?", (now - KEEP_SECONDS,)), (_TRIM, (self._rows,))


_PUT = """
insert or replace into threads (key, value, written_at, response)
select ?, ?, ?, ? where ? is null or exists (select 1 from responses where id = ?)
"""
_TRIM = """
delete from threads where key in (
  select key from threads order by written_at desc limit -1 offset ?
)
"""
