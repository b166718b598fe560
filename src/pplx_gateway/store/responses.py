"""Responses that callers may read again, follow, and build upon. Whoever asks for another's finds nothing.

What is still under way is in runs.py, and how long all this is kept in retention.py.
"""

import json
from collections.abc import Iterable

from pplx_gateway.clock import Clock
from pplx_gateway.errors import PreviousResponseNotFound, TooLarge
from pplx_gateway.store.database import Database, Row, Statement
from pplx_gateway.store.records import (
    BUILT_UPON,
    Claim,
    Hold,
    ItemPage,
    NewResponse,
    Order,
    StoredEvent,
    StoredResponse,
    new_token,
)
from pplx_gateway.store.retention import Retention
from pplx_gateway.store.runs import HeldRuns

MOST_EVENTS = 500  # read at once
_BEYOND = (1 << 63) - 1  # no number is as high


class Responses:
    def __init__(self, database: Database, retention: Retention, runs: HeldRuns) -> None:
        self.retention = retention
        self.runs = runs
        self._database = database

    @classmethod
    def of(cls, database: Database, clock: Clock, *, days: int, most_bytes: int, lease_seconds: float) -> "Responses":
        """`lease_seconds` is how long a response stays with a worker that is not heard of."""
        retention = Retention(database, clock, days=days, most_bytes=most_bytes)
        return cls(database, retention, HeldRuns(database, clock, lease_seconds=lease_seconds))

    async def add(self, new: NewResponse) -> Hold | None:
        """Writes a response that begins now, status and all. None if its key is taken by another response.

        Raises TooLarge if it can never be kept, StoreUnavailable."""
        await self.retention.make_room(new.size)
        token = new_token()
        freed = self._freed(new)
        changed = await self._database.write(*freed, *self._added(new, token))
        if changed[len(freed)] != 1:
            return None
        rows = await self._database.fetch("select number from responses where id = ?", (new.id,))
        return Hold(rows[0][0], token)

    def _freed(self, new: NewResponse) -> list[Statement]:
        """What a caller waited for and did not get leaves its key to whoever asks again, as does what is too old."""
        return [(_FREE_KEY, (new.caller, new.claim.key, self.retention.oldest))] if new.claim else []

    def _added(self, new: NewResponse, token: str) -> list[Statement]:
        claim = new.claim or Claim("", b"")
        told = (new.id, new.caller, new.parent, new.background, new.created_at, new.object)
        statements: list[Statement] = [(_ADD, (*told, new.caller, claim.key))]
        items = enumerate(new.input_items)
        statements += [(_ADD_INPUT, (place, item_id, data, new.id)) for place, (item_id, data) in items]
        statements += [(_ADD_EVENT, (*event, new.id)) for event in new.events]
        statements.append((_ADD_RUN, (token, self.runs.until(), new.plan, new.id)))
        if new.claim:
            statements.append((_ADD_KEY, (new.caller, claim.key, claim.body, new.id)))
        return statements

    async def claimed(self, caller: str, key: str) -> tuple[StoredResponse, bytes] | None:
        """The response of an earlier request with the same Idempotency-Key, and the digest of that request."""
        rows = await self._database.fetch(_CLAIMED, (caller, key, self.retention.oldest))
        return (_stored(rows[0][1:]), bytes(rows[0][0])) if rows else None

    async def find(self, caller: str, response_id: str) -> StoredResponse | None:
        rows = await self._database.fetch(_FIND, (response_id, caller, self.retention.oldest))
        return _stored(rows[0]) if rows else None

    async def read(self, number: int) -> StoredResponse | None:
        """The same, for those who know that it is the caller's."""
        rows = await self._database.fetch(_READ, (number,))
        return _stored(rows[0]) if rows else None

    async def latest(
        self, caller: str, prefix: str, *, below: int | None, limit: int, background: bool = False
    ) -> list[StoredResponse]:
        """Those whose ids begin with `prefix`, the newest first. `below` is the number of the last one of the page
        before; `background`: no others."""
        arguments = (caller, below or _BEYOND, self.retention.oldest, len(prefix), prefix, int(background), limit)
        return [_stored(row) for row in await self._database.fetch(_LATEST, arguments)]

    async def delete(self, number: int) -> bool:
        """With everything that belonged to it. False if it was not there any more."""
        (changed,) = await self._database.write(("delete from responses where number = ?", (number,)))
        await self._database.settle()
        return changed == 1

    async def events(self, number: int, after: int) -> list[StoredEvent]:
        """At most MOST_EVENTS events whose numbers are above `after`, in their order."""
        rows = await self._database.fetch(_EVENTS, (number, after, MOST_EVENTS))
        return [(place, kind, bytes(data)) for place, kind, data in rows]

    async def last_event(self, number: int) -> int:
        """Its number; -1 if there are no events."""
        rows = await self._database.fetch(_LAST_EVENT, (number,))
        return int(rows[0][0])

    async def event_types(self, number: int) -> list[str]:
        rows = await self._database.fetch(_EVENT_TYPES, (number,))
        return [kind for (kind,) in rows]

    async def finished_items(self, number: int) -> list[bytes]:
        """The data of those events that end an output item."""
        rows = await self._database.fetch(_FINISHED_ITEMS, (number,))
        return [bytes(data) for (data,) in rows]

    async def input_page(self, number: int, *, order: Order, limit: int, after: str | None) -> ItemPage | None:
        """The input items of one response; `after` is the id of the last one of the page before. None if there is no
        such id."""
        place = None
        if after is not None:
            # Ids that a caller sent twice must not lead in circles.
            rows = await self._database.fetch(_INPUT_PLACES[order], (number, after))
            place = rows[0][0]
            if place is None:
                return None
        rows = await self._database.fetch(_INPUT_PAGES[order], (number, place, place, limit + 1))
        return ItemPage([bytes(data) for (data,) in rows[:limit]], len(rows) > limit)

    async def items(self, caller: str, ids: Iterable[str]) -> dict[str, bytes]:
        """For each id that is known the newest item of it in any of the caller's responses."""
        rows = await self._database.fetch(_ITEMS, (caller, self.retention.oldest, json.dumps(list(ids))))
        return {item_id: bytes(data) for item_id, data in rows if data is not None}

    async def chain(self, caller: str, response_id: str, *, most_bytes: int) -> list[bytes]:
        """Every item of the conversation that ends with `response_id`, oldest first.

        Raises PreviousResponseNotFound, also where something of it is gone; TooLarge."""
        parent = await self.find(caller, response_id)
        if parent is None or parent.status not in BUILT_UPON:
            raise _not_found(response_id, parent)
        arguments = (parent.number, caller, self.retention.oldest)
        walked = await self._database.fetch(_CHAIN, arguments)
        if all(before is not None for _, before, _ in walked):  # it leads nowhere, or in circles
            raise PreviousResponseNotFound(
                "An earlier response of this conversation is gone. Send the conversation as 'input' instead.",
                param="previous_response_id",
            )
        if sum(size for _, _, size in walked) > most_bytes:
            raise TooLarge(
                f"The conversation is larger than {most_bytes} bytes (PPLX_MAX_BODY_BYTES). Begin a new one, or send "
                "the part that matters as 'input'.",
                param="previous_response_id",
            )
        numbers = json.dumps([number for number, _, _ in reversed(walked)])
        return [bytes(data) for (data,) in await self._database.fetch(_CHAIN_ITEMS, (numbers,))]


def _stored(row: Row) -> StoredResponse:
    number, response_id, status, background, shown, ended_at = row
    return StoredResponse(number, response_id, status, bool(background), bytes(shown), ended_at)


def _not_found(response_id: str, parent: StoredResponse | None) -> PreviousResponseNotFound:
    if parent is None:
        why = f"The previous response '{response_id[:80]}' does not exist, or not any more."
    elif parent.active:
        why = f"The previous response '{response_id}' is still under way. Wait until it is completed."
    else:
        why = f"The previous response '{response_id}' ended as {parent.status}, so nothing can be built upon it."
    return PreviousResponseNotFound(why, param="previous_response_id")


_COLUMNS = "number, id, status, background, object, ended_at"
_FIND = f"select {_COLUMNS} from responses where id = ? and caller = ? and created_at > ?"  # noqa: S608 - constants
_READ = f"select {_COLUMNS} from responses where number = ?"  # noqa: S608
_LATEST = f"""
select {_COLUMNS} from responses
where caller = ? and number < ? and created_at > ? and substr(id, 1, ?) = ? and background >= ?
order by number desc limit ?
"""  # noqa: S608
_CLAIMED = """
select k.body, r.number, r.id, r.status, r.background, r.object, r.ended_at
from response_keys k join responses r on r.number = k.response
where k.caller = ? and k.key = ? and r.created_at > ?
"""
_ADD = """
insert into responses (id, caller, parent, status, background, created_at, object)
select ?, ?, ?, 'in_progress', ?, ?, ?
where not exists (select 1 from response_keys where caller = ? and key = ?)
"""
_FREE_KEY = """
delete from response_keys where caller = ? and key = ? and response in (
  select number from responses where created_at <= ? or (not background and status in ('failed', 'cancelled'))
)
"""
_ADD_INPUT = """
insert into response_items (response, place, output, id, data) select number, ?, 0, ?, ? from responses where id = ?
"""
_ADD_EVENT = """
insert into response_events (response, number, type, data) select number, ?, ?, ? from responses where id = ?
"""
_ADD_RUN = """
insert into response_runs (response, holder, until, plan) select number, ?, ?, ? from responses where id = ?
"""
_ADD_KEY = """
insert into response_keys (caller, key, body, response) select ?, ?, ?, number from responses where id = ?
"""
_EVENTS = """
select number, type, data from response_events where response = ? and number > ? order by number limit ?
"""
_LAST_EVENT = "select coalesce(max(number), -1) from response_events where response = ?"
_EVENT_TYPES = "select type from response_events where response = ? order by number"
_FINISHED_ITEMS = """
select data from response_events where response = ? and type = 'response.output_item.done' order by number
"""
_INPUT_PLACES: dict[Order, str] = {
    "asc": "select max(place) from response_items where response = ? and id = ? and not output",
    "desc": "select min(place) from response_items where response = ? and id = ? and not output",
}
_INPUT_PAGES: dict[Order, str] = {
    "asc": """
select data from response_items where response = ? and not output and (? is null or place > ?) order by place limit ?
""",
    "desc": """
select data from response_items where response = ? and not output and (? is null or place < ?)
order by place desc limit ?
""",
}
_ITEMS = """
select wanted.value, (
  select i.data from response_items i join responses r on r.number = i.response
  where i.id = wanted.value and r.caller = ? and r.created_at > ? order by i.response desc limit 1
) from json_each(?) wanted
"""
# `union` drops what was walked before, so that a circle ends.
_CHAIN = """
with recursive chain (number, parent) as (
  select number, parent from responses where number = ?
  union
  select r.number, r.parent from chain join responses r on r.id = chain.parent and r.caller = ? and r.created_at > ?
)
select number, parent, (select coalesce(sum(length(data)), 0) from response_items where response = number) from chain
"""
_CHAIN_ITEMS = """
select i.data from json_each(?) c join response_items i on i.response = c.value order by c.key, i.place
"""
