"""How long responses are kept, and in how much room: what is over goes, oldest first, what is under way stays."""

from pplx_gateway.clock import Clock
from pplx_gateway.errors import StoreUnavailable, TooLarge
from pplx_gateway.store.database import Database

DAY_SECONDS = 24 * 3600
AT_ONCE = 20


class Retention:
    """`days` 0 = nothing is kept. `most_bytes` bounds what all responses take in the store together."""

    def __init__(self, database: Database, clock: Clock, *, days: int, most_bytes: int) -> None:
        self.days = days
        self._database = database
        self._clock = clock
        self._most_bytes = most_bytes

    @property
    def oldest(self) -> int:
        """What was made at this second or before is gone, whether swept up or not."""
        return int(self._clock.now()) - self.days * DAY_SECONDS

    async def sweep(self) -> None:
        """Removes what is too old."""
        while (await self._database.write((_EXPIRE, (self.oldest, AT_ONCE))))[0]:
            continue

    async def trim(self, size: int = 0) -> bool:
        """Removes the oldest responses until `size` bytes fit. False if they do not, because what is left is under
        way."""
        while await self._used() + size > self._most_bytes:
            (removed,) = await self._database.write((_TRIM, ()))
            if not removed:
                return False
        return True

    async def make_room(self, size: int) -> None:
        """The same, for a response that wants to be kept. Raises TooLarge if it never can be, StoreUnavailable if it
        cannot be now."""
        if size > self._most_bytes // 2:
            raise TooLarge(
                f"This takes {size} bytes, too many to be kept (PPLX_STORE_BYTES is {self._most_bytes}). "
                "Send 'store': false.",
                param="input",
            )
        if not await self.trim(size):
            raise StoreUnavailable(
                "There is no room left for another response (PPLX_STORE_BYTES). Send 'store': false, or try later."
            )

    async def _used(self) -> int:
        rows = await self._database.fetch(_USED)
        return int(rows[0][0])


_USED = "select used from response_room"
_EXPIRE = """
delete from responses where number in (
  select number from responses
  where created_at <= ? and number not in (select response from response_runs) order by created_at limit ?
)
"""
# One at a time: the next oldest may be as large as what is needed.
_TRIM = """
delete from responses where number = (
  select number from responses where number not in (select response from response_runs) order by number limit 1
)
"""
