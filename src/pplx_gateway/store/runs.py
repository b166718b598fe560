"""Responses under way. Each is held by one worker at a time, and the row that says so is what its end is decided by:
nobody writes to a response without it, and whoever removes it has ended the response, once and for ever.
"""

import json
from collections.abc import Collection, Iterable, Sequence

from pplx_gateway.clock import Clock
from pplx_gateway.store.database import Database, Row, Statement
from pplx_gateway.store.leases import FUTURE_SECONDS
from pplx_gateway.store.records import Ending, Hold, StoredEvent, TakenRun, new_token


class HeldRuns:
    def __init__(self, database: Database, clock: Clock, *, lease_seconds: float) -> None:
        self._database = database
        self._clock = clock
        self._lease_seconds = lease_seconds

    async def append(self, hold: Hold, events: Iterable[StoredEvent]) -> bool:
        """False if the response is not ours any more; then nothing is written. So everywhere below."""
        statements = [(_APPEND, (hold.number, *event, *hold)) for event in events]
        changed = await self._database.write((_RENEW_ONE, (self.until(), *hold)), *statements)
        return changed[0] == 1

    async def note(self, hold: Hold, upstream: str, run_id: str | None, plan: bytes) -> bool:
        """Keeps who answers, so that another worker can go on with it."""
        (changed,) = await self._database.write((_NOTE, (upstream, run_id, plan, *hold)))
        return changed == 1

    async def finish(self, hold: Hold, ending: Ending) -> bool:
        number = hold.number
        items = enumerate(ending.output_items)
        statements: list[Statement] = [(_APPEND, (number, *event, *hold)) for event in ending.events]
        statements += [(_ADD_OUTPUT, (number, number, place, *item, *hold)) for place, item in items]
        statements.append((_END, (ending.status, ending.object, int(self._clock.now()), number, *hold)))
        if ending.free_key:
            statements.append((_FREE_KEY, (number, *hold)))
        statements.append((_REMOVE, hold))
        changed = await self._database.write(*statements)
        return changed[-1] == 1

    async def discard(self, hold: Hold) -> bool:
        """The response goes with everything that belonged to it."""
        (changed,) = await self._database.write((_DISCARD, (hold.number, *hold)))
        return changed == 1

    async def release(self, hold: Hold) -> None:
        """Lets the next worker that looks take it over."""
        await self._database.write(("update response_runs set until = 0 where response = ? and holder = ?", hold))

    async def renew(self, holds: Collection[Hold]) -> None:
        tokens = json.dumps([hold.token for hold in holds])
        await self._database.write((_RENEW, (self.until(), tokens)))

    async def lost(self, holds: Collection[Hold]) -> set[Hold]:
        """Those that were taken over, or whose responses were deleted."""
        rows = await self._database.fetch(_HELD, (json.dumps([hold.token for hold in holds]),))
        return set(holds) - {Hold(number, token) for number, token in rows}

    async def take_to_end(self, number: int) -> TakenRun | None:
        """From whoever has it. None if the response is over, or another has taken it to end it."""
        rows = await self._database.fetch(_TAKE, (new_token(), self.until(), number))
        return _taken(rows)

    async def take_abandoned(self) -> TakenRun | None:
        """One whose worker was not heard of for too long."""
        now, until = self._clock.uptime(), self.until()
        if not await self._database.fetch(_ABANDONED, (now, until + FUTURE_SECONDS)):
            return None  # nearly always, so nothing is locked for it
        rows = await self._database.fetch(_TAKE_ABANDONED, (new_token(), until, now, until + FUTURE_SECONDS))
        return _taken(rows)

    def until(self) -> float:
        """The end of a lease that begins now, in the machine's uptime (leases.py)."""
        return self._clock.uptime() + self._clock.real(self._lease_seconds)


def _taken(rows: Sequence[Row]) -> TakenRun | None:
    if not rows:
        return None
    number, token, upstream, run_id, plan = rows[0]
    return TakenRun(Hold(number, token), upstream, run_id, None if plan is None else bytes(plan))


_OURS = "exists (select 1 from response_runs where response = ? and holder = ?)"
_APPEND = f"insert into response_events (response, number, type, data) select ?, ?, ?, ? where {_OURS}"
_ADD_OUTPUT = f"""
insert into response_items (response, place, output, id, data)
select ?, (select count(*) from response_items where response = ? and not output) + ?, 1, ?, ? where {_OURS}
"""  # noqa: S608 - constants, as the others
_END = f"update responses set status = ?, object = ?, ended_at = ? where number = ? and {_OURS}"  # noqa: S608
_FREE_KEY = f"delete from response_keys where response = ? and {_OURS}"  # noqa: S608
_DISCARD = f"delete from responses where number = ? and {_OURS}"  # noqa: S608
_REMOVE = "delete from response_runs where response = ? and holder = ?"
_NOTE = "update response_runs set upstream = ?, run_id = ?, plan = ? where response = ? and holder = ?"
_RENEW_ONE = "update response_runs set until = ? where response = ? and holder = ?"
_RENEW = "update response_runs set until = ? where holder in (select value from json_each(?))"
_HELD = "select response, holder from response_runs where holder in (select value from json_each(?))"
_TAKE = """
update response_runs set holder = ?, until = ?, ending = 1 where response = ? and not ending
returning response, holder, upstream, run_id, plan
"""
_ABANDONED = "select 1 from response_runs where until <= ? or until > ? limit 1"
_TAKE_ABANDONED = """
update response_runs set holder = ?, until = ?, ending = 0
where response = coalesce(
  (select response from response_runs where until <= ? order by until limit 1),
  (select response from response_runs where until > ? limit 1)
)
returning response, holder, upstream, run_id, plan
"""
