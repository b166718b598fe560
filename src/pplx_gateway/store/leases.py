"""Leases: of all workers one does a certain work, and another takes over when it dies.

Their ends are told in the machine's uptime: the time of day may be put forward, and would take a lease from the living.
"""

from pplx_gateway.clock import Clock
from pplx_gateway.store.database import Database

FUTURE_SECONDS = 60.0
"""A lease that ends later than a new one by more than this was taken before the machine was started anew."""


class Leases:
    """`holder` names this worker; it must be unique among them."""

    def __init__(self, database: Database, clock: Clock, holder: str) -> None:
        self._database = database
        self._clock = clock
        self._holder = holder

    async def take(self, name: str, seconds: float) -> bool:
        """True if the lease is ours for the next `seconds` (gateway seconds); call again in time to keep it."""
        now = self._clock.uptime()
        until = now + self._clock.real(seconds)
        await self._database.write((_TAKE, (name, self._holder, until, now, until + FUTURE_SECONDS)))
        rows = await self._database.fetch("select holder from leases where name = ?", (name,))
        return bool(rows) and rows[0][0] == self._holder

    async def drop(self, name: str) -> None:
        """So that another worker need not wait for the end of it."""
        await self._database.write(("delete from leases where name = ? and holder = ?", (name, self._holder)))


_TAKE = """
insert into leases (name, holder, until) values (?, ?, ?)
on conflict (name) do update set holder = excluded.holder, until = excluded.until
where leases.holder = excluded.holder or leases.until <= ? or leases.until > ?
"""
