"""Whose is what that upstreams keep: each thing belongs to the caller and to the key that made it.

Whoever asks for another's thing finds nothing, and lists show a caller its own alone: the upstream tells the callers of
one key apart no more than their things.
"""

import json
from collections.abc import Iterable
from typing import Literal, NamedTuple

from pplx_gateway.clock import Clock
from pplx_gateway.store.database import Database, Row
from pplx_gateway.store.records import Order

Kind = Literal["file", "batch", "batch_bill", "skill", "browser_session", "run"]
"""A `batch_bill` is the mark of a batch whose use stands in the ledger."""


class Thing(NamedTuple):
    """`id` is what the caller knows it by. `purpose` is that of a file, "unbilled" for a run whose cost is not known
    yet, "" for anything else."""

    kind: Kind
    id: str
    upstream_id: str
    key_name: str
    caller: str
    purpose: str = ""


class ThingPage(NamedTuple):
    things: list[Thing]
    has_more: bool


class Ownership:
    """Methods raise StoreUnavailable."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def add(self, things: Iterable[Thing]) -> list[Thing]:
        """Those of `things` that were not known before. What is known already stays whose it is."""
        named = list(things)
        rows = await self._database.fetch(_KNOWN, (json.dumps([thing[:2] for thing in named]),))
        known, now = {place for (place,) in rows}, self._clock.now()
        unknown = [thing for place, thing in enumerate(named) if place not in known]
        if not unknown:
            return []
        added = await self._database.write(*((_ADD, (*thing, now)) for thing in unknown))
        return [thing for thing, count in zip(unknown, added, strict=True) if count]

    async def find(self, kind: Kind, thing_id: str, caller: str) -> Thing | None:
        rows = await self._database.fetch(_FIND, (kind, thing_id, caller))
        return _thing(rows[0]) if rows else None

    async def page(
        self, kind: Kind, caller: str, *, limit: int, order: Order = "desc", after: str | None = None, purpose: str = ""
    ) -> ThingPage | None:
        """In the order in which they were made known; `after` is the id of the last one of the page before. None if
        there is no such id."""
        place = None
        if after is not None:
            rows = await self._database.fetch(_PLACE, (kind, after, caller))
            if not rows:
                return None
            place = rows[0][0]
        rows = await self._database.fetch(_PAGES[order], (kind, caller, purpose, place, place, limit + 1))
        return ThingPage([_thing(row) for row in rows[:limit]], len(rows) > limit)

    async def settle(self, thing: Thing, purpose: str = "") -> bool:
        """Changes its purpose. False if it has not that of `thing` any more: somebody was first."""
        (changed,) = await self._database.write((_SETTLE, (purpose, thing.kind, thing.id, thing.purpose)))
        return changed == 1

    async def waiting(self, kind: Kind, purpose: str, *, before: float, limit: int = 1000) -> list[Thing]:
        """Everybody's of one purpose that were made known before that time, in seconds since the epoch."""
        rows = await self._database.fetch(_WAITING, (kind, purpose, before, limit))
        return [_thing(row) for row in rows]

    async def forget(self, things: Iterable[Thing]) -> None:
        """For what is not there any more."""
        statements = [("delete from owned where kind = ? and id = ?", (thing.kind, thing.id)) for thing in things]
        if statements:
            await self._database.write(*statements)


def _thing(row: Row) -> Thing:
    return Thing(*row)


_COLUMNS = "kind, id, upstream_id, key_name, caller, purpose"
_ADD = f"insert into owned ({_COLUMNS}, made_at) values (?, ?, ?, ?, ?, ?, ?) on conflict do nothing"  # noqa: S608
_KNOWN = """
select named.key from json_each(?) named
join owned o on o.kind = json_extract(named.value, '$[0]') and o.id = json_extract(named.value, '$[1]')
"""
_FIND = f"select {_COLUMNS} from owned where kind = ? and id = ? and caller = ?"  # noqa: S608
_SETTLE = "update owned set purpose = ? where kind = ? and id = ? and purpose = ?"
_WAITING = f"select {_COLUMNS} from owned where kind = ? and purpose = ? and made_at < ? limit ?"  # noqa: S608
_PLACE = "select number from owned where kind = ? and id = ? and caller = ?"
_LISTED = f"select {_COLUMNS} from owned where kind = ? and caller = ? and ? in ('', purpose)"  # noqa: S608
_PAGES: dict[Order, str] = {
    "asc": f"{_LISTED} and (? is null or number > ?) order by number limit ?",
    "desc": f"{_LISTED} and (? is null or number < ?) order by number desc limit ?",
}
