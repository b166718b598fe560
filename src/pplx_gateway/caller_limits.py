"""Whether a caller's key may ask now: refused before anything is spent."""

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

from pplx_gateway.caller_keys import CallerKey
from pplx_gateway.clock import Clock
from pplx_gateway.errors import Forbidden, InsufficientQuota, RateLimited
from pplx_gateway.ledger import Ledger
from pplx_gateway.money import dollars
from pplx_gateway.store.caller_keys import CallerKeyRows, Counted

MINUTE_SECONDS = 60
DAY_SECONDS = 86_400


class Admission(NamedTuple):
    """What was counted of one request."""

    caller: str
    counted: tuple[Counted, ...]


class CallerLimits:
    """Requests are counted over all workers, each time as one step of the store. Costs are counted when they are known,
    so what is under way at once can go beyond a budget together (docs/keys.md)."""

    def __init__(self, rows: CallerKeyRows, ledger: Ledger, clock: Clock) -> None:
        self._rows = rows
        self._ledger = ledger
        self._clock = clock

    async def admit(self, key: CallerKey) -> Admission:
        """Counts one request. Raises InsufficientQuota, RateLimited, StoreUnavailable."""
        await self._check_budgets(key)
        limits, counted = key.limits, list[Counted]()
        try:
            for seconds, most, period in (
                (MINUTE_SECONDS, limits.requests_per_minute, "minute"),
                (DAY_SECONDS, limits.requests_per_day, "day"),
            ):
                if most is not None:
                    counted.append(await self._count(key, seconds, most, period))
        except RateLimited:
            await self.forget(Admission(key.id, tuple(counted)))
            raise
        return Admission(key.id, tuple(counted))

    async def forget(self, admission: Admission) -> None:
        """For a request that asked nothing: it does not count. Raises StoreUnavailable."""
        if admission.counted:
            await self._rows.count_out(admission.caller, admission.counted)

    async def _check_budgets(self, key: CallerKey) -> None:
        limits = key.limits
        if limits.cost_per_day is None and limits.cost_per_month is None:
            return
        today, month = await self._ledger.spent(key.id)
        now = datetime.fromtimestamp(self._clock.now(), UTC)
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        _check(today, limits.cost_per_day, "day", midnight + timedelta(days=1))
        first = midnight.replace(day=1)
        _check(month, limits.cost_per_month, "month", (first + timedelta(days=32)).replace(day=1))

    async def _count(self, key: CallerKey, seconds: int, most: int, period: str) -> Counted:
        now = self._clock.now()
        counted = await self._rows.count(key.id, seconds, most, now)
        if not counted.fits:
            wait = max(1, math.ceil(counted.anew_at - now))
            raise RateLimited(
                f"This key may ask {most} times a {period}. It may ask again in {wait} seconds.", retry_after=wait
            )
        return counted


def check_origin(key: CallerKey, origin: str | None) -> None:
    """Raises Forbidden. A key for pages is for pages alone."""
    allowed = {_normal(each) for each in key.limits.origins}
    if allowed and (origin is None or _normal(origin) not in allowed):
        raise Forbidden("This key may be used by the pages of certain origins only, and this request is from none.")


def _check(spent: int, most: Decimal | None, period: str, anew: datetime) -> None:
    if most is not None and dollars(spent) >= most:
        raise InsufficientQuota(
            f"The budget of this key is spent: {most} US dollars a {period}. It begins anew on "
            f"{anew.strftime('%Y-%m-%d at %H:%M')} UTC."
        )


def _normal(origin: str) -> str:
    return origin.strip().rstrip("/").lower()
