"""What was left of the plan at each reading, so that people see how fast it goes, and when it comes back."""

import msgspec

from pplx_gateway.clock import Clock
from pplx_gateway.store.database import Database

KEPT_DAYS = 90
MOST_READINGS = 5_000
_DAY_SECONDS = 86_400.0


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """`at` is seconds since the epoch; None = the site did not tell."""

    at: float
    pro: int | None
    research: int | None


class QuotaHistory:
    """The newest MOST_READINGS of KEPT_DAYS. Methods raise StoreUnavailable."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def add(self, *, pro: int | None, research: int | None) -> None:
        now = self._clock.now()
        await self._database.write(
            (_ADD, (now, pro, research)), (_DROP, (now - KEPT_DAYS * _DAY_SECONDS, MOST_READINGS))
        )

    async def since(self, moment: float) -> list[Reading]:
        """In their order."""
        rows = await self._database.fetch(_SINCE, (moment,))
        return [Reading(at=at, pro=pro, research=research) for at, pro, research in rows]


_ADD = "insert or replace into quota_readings (at, pro, research) values (?, ?, ?)"
_DROP = """
delete from quota_readings where at < ? or at <= (select at from quota_readings order by at desc limit 1 offset ?)
"""
_SINCE = "select at, pro, research from quota_readings where at >= ? order by at"
