"""The ledger in the store: a row for each request, and what each caller has spent on each day."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import Literal, NamedTuple

import msgspec

from pplx_gateway.store.database import Database, Statement

CostSource = Literal["given", "computed", "unknown"]
Dimension = Literal["day", "hour", "model", "key", "caller", "upstream", "protocol", "operation"]

KEPT_DAYS_OF_SPENDING = 400
MOST_GROUPS = 10_000
AT_ONCE = 5_000

_EPOCH = date(1970, 1, 1).toordinal()


class Entry(msgspec.Struct, kw_only=True):
    """One request. `at` is seconds since the epoch; `cost` counts trillionths of a US dollar, None = not known;
    `searches` are those that the api bills, `pro_searches` those of the session's plan. `estimated`: tokens were
    counted from characters. `dropped` are names of fields, separated by commas."""

    id: str
    at: float
    caller: str
    caller_name: str | None = None
    face: str = "python"
    operation: str = "ask"
    asked: str | None = None
    served: str | None = None
    upstream: str | None = None
    key_name: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = False
    searches: int = 0
    pro_searches: int = 0
    cost: int | None = None
    cost_source: CostSource = "unknown"
    milliseconds: int = 0
    first_text_milliseconds: int | None = None
    status: int = 200
    error: str | None = None
    dropped: str = ""


class Numbered(NamedTuple):
    """`number` grows with time, and is where a page goes on."""

    number: int
    entry: Entry


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """Which rows; None = whichever. `since` and `until` (not included) are seconds since the epoch. `error`: a code,
    or "*" for every failure."""

    since: float | None = None
    until: float | None = None
    caller: str | None = None
    model: str | None = None
    key_name: str | None = None
    upstream: str | None = None
    error: str | None = None


class Sums(msgspec.Struct, frozen=True):
    """Of the rows of one group. Costs count trillionths; `unknown_costs` are requests that reached the paid api and of
    which nobody has told the cost."""

    requests: int
    errors: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    reasoning_tokens: int
    searches: int
    pro_searches: int
    cost: int
    cost_given: int
    cost_computed: int
    unknown_costs: int
    milliseconds: int


class Group(NamedTuple):
    """`names` are in the order of the dimensions that were asked for."""

    names: tuple[str | None, ...]
    sums: Sums


class LedgerRows:
    """Methods raise StoreUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, entries: Sequence[Entry], *, keep: bool = True) -> None:
        """All of them, or none. Without `keep` only what was spent is remembered."""
        rows: list[Statement] = [(_ADD, msgspec.structs.astuple(entry)) for entry in entries] if keep else []
        await self._database.write(*rows, *_spendings(entries))

    async def spent(self, caller: str, day: str) -> tuple[int, int]:
        """On `day` (YYYY-MM-DD), and in its month."""
        ((today, month),) = await self._database.fetch(_SPENT, (day, caller, day[:7]))
        return int(today), int(month)

    async def groups(self, choice: Choice, by: Sequence[Dimension]) -> list[Group]:
        """The sums of each group, at most MOST_GROUPS and one. Without `by` it is one group of all."""
        where, arguments = _where(choice)
        columns = ", ".join([*(_DIMENSIONS[dimension] for dimension in by), *_SUMS])
        places = ", ".join(str(place + 1) for place in range(len(by)))
        grouped = f"group by {places} order by {places}" if by else ""
        sql = f"select {columns} from ledger {where} {grouped} limit {MOST_GROUPS + 1}"  # noqa: S608
        rows = await self._database.fetch(sql, arguments)
        return [Group(row[: len(by)], Sums(*row[len(by) :])) for row in rows]

    async def recent(self, choice: Choice, *, limit: int, before: int | None = None) -> list[Numbered]:
        """The newest first, of those whose number is lower than `before`."""
        where, arguments = _where(choice, before)
        sql = f"select number, {_FIELDS} from ledger {where} order by number desc limit ?"  # noqa: S608
        rows = await self._database.fetch(sql, (*arguments, limit))
        return [Numbered(row[0], _entry(row[1:])) for row in rows]

    async def drop(self, before: float, day: str) -> None:
        """Rows that began before `before`, and what was spent before `day`."""
        while (await self._database.write((_DROP, (before, AT_ONCE))))[0]:
            continue
        await self._database.write(("delete from spending where day < ?", (day,)))


def day_of(at: float) -> str:
    """The day in UTC."""
    return _day(int(at // 86_400))


@lru_cache(maxsize=8)
def _day(number: int) -> str:
    """Counted from the epoch's."""
    return date.fromordinal(_EPOCH + number).isoformat()


def _spendings(entries: Sequence[Entry]) -> list[Statement]:
    spent: Counter[tuple[str, str]] = Counter()
    for entry in entries:
        if entry.cost:
            spent[entry.caller, day_of(entry.at)] += entry.cost
    return [(_SPEND, (caller, day, cost)) for (caller, day), cost in spent.items()]


def _entry(row: Sequence[object]) -> Entry:
    values: Mapping[str, object] = dict(zip(Entry.__struct_fields__, row, strict=True))
    return msgspec.convert(values, Entry, strict=False)


def _where(choice: Choice, before: int | None = None) -> tuple[str, tuple[object, ...]]:
    conditions: dict[str, object] = {
        "at >= ?": choice.since,
        "at < ?": choice.until,
        "caller = ?": choice.caller,
        "coalesce(served, asked) = ?": choice.model,
        "key_name = ?": choice.key_name,
        "upstream = ?": choice.upstream,
        "error = ?": None if choice.error == "*" else choice.error,
        "number < ?": before,
    }
    wanted = {condition: value for condition, value in conditions.items() if value is not None}
    parts = [*wanted, *(["error is not null"] if choice.error == "*" else [])]
    return f"where {' and '.join(parts)}" if parts else "", tuple(wanted.values())


_SUMMED = (
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "reasoning_tokens",
    "searches",
    "pro_searches",
    "cost",
)
_FIELDS = ", ".join(Entry.__struct_fields__)
_ADD = f"insert into ledger ({_FIELDS}) values ({', '.join('?' * len(Entry.__struct_fields__))})"  # noqa: S608
_SPEND = """
insert into spending (caller, day, cost) values (?, ?, ?)
on conflict (caller, day) do update set cost = cost + excluded.cost
"""
_SPENT = """
select coalesce(sum(cost) filter (where day = ?), 0), coalesce(sum(cost), 0)
from spending where caller = ? and substr(day, 1, 7) = ?
"""
_DROP = "delete from ledger where number in (select number from ledger where at < ? order by at limit ?)"
_DIMENSIONS: Mapping[Dimension, str] = {
    "day": "strftime('%Y-%m-%d', at, 'unixepoch')",
    "hour": "strftime('%Y-%m-%dT%H:00:00Z', at, 'unixepoch')",
    "model": "coalesce(served, asked)",
    "key": "key_name",
    "caller": "caller",
    "upstream": "upstream",
    "protocol": "face",
    "operation": "operation",
}
_SUMS = (
    "count(*)",
    "count(error)",
    *(f"coalesce(sum({column}), 0)" for column in _SUMMED),
    "coalesce(sum(cost) filter (where cost_source = 'given'), 0)",
    "coalesce(sum(cost) filter (where cost_source = 'computed'), 0)",
    "count(*) filter (where upstream = 'api' and cost_source = 'unknown')",
    "coalesce(sum(milliseconds), 0)",
)
