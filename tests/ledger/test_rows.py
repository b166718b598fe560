"""The ledger's rows in a real store."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pplx_gateway.store import Database
from pplx_gateway.store.ledger import Choice, Entry, LedgerRows, day_of

NOON = datetime(2026, 10, 31, 12, tzinfo=UTC).timestamp()
HOUR, DAY = 3600.0, 86_400.0


@pytest.fixture
async def rows(tmp_path: Path) -> AsyncGenerator[LedgerRows, None]:
    database = await Database.open(tmp_path / "gateway.sqlite")
    yield LedgerRows(database)
    await database.close()


def entry(name: str = "req_1", at: float = NOON, **more: Any) -> Entry:
    return Entry(**{"id": name, "at": at, "caller": "owner", "upstream": "api", **more})


async def test_a_row_comes_back_as_it_was_written(rows: LedgerRows) -> None:
    whole = entry(
        caller_name="phone",
        face="openai",
        operation="chat/completions",
        asked="sonar",
        served="perplexity/sonar",
        key_name="main",
        input_tokens=20,
        output_tokens=9,
        cached_tokens=4,
        reasoning_tokens=3,
        estimated=True,
        searches=1,
        pro_searches=1,
        cost=5_030_000_000,
        cost_source="given",
        milliseconds=812,
        first_text_milliseconds=300,
        status=502,
        error="upstream_error",
        dropped="seed, user",
    )
    await rows.add([whole, entry("req_2")])
    newest, oldest = await rows.recent(Choice(), limit=10)
    assert (newest.entry, oldest.entry) == (entry("req_2"), whole)
    assert newest.number > oldest.number


async def test_pages_go_on_where_the_one_before_ended(rows: LedgerRows) -> None:
    await rows.add([entry(f"req_{number}") for number in range(5)])
    first = await rows.recent(Choice(), limit=2)
    second = await rows.recent(Choice(), limit=9, before=first[-1].number)
    assert [found.entry.id for found in first + second] == ["req_4", "req_3", "req_2", "req_1", "req_0"]


async def test_rows_are_chosen_by_what_they_are(rows: LedgerRows) -> None:
    await rows.add(
        [
            entry("a", at=NOON - HOUR, served="x", key_name="one"),
            entry("b", caller="key_1", asked="y", error="upstream_auth", upstream="session"),
            entry("c", at=NOON + HOUR, served="y", error="rate_limit_exceeded"),
        ]
    )

    async def ids(**choice: Any) -> str:
        return "".join(found.entry.id for found in await rows.recent(Choice(**choice), limit=9))

    assert await ids(since=NOON) == "cb"
    assert await ids(until=NOON) == "a"
    assert await ids(caller="key_1") == "b"
    assert await ids(model="y") == "cb"
    assert await ids(key_name="one") == "a"
    assert await ids(upstream="session") == "b"
    assert await ids(error="*") == "cb"
    assert await ids(error="upstream_auth") == "b"
    assert await ids(error="it's; drop table ledger") == ""


async def test_sums_of_groups_are_exact(rows: LedgerRows) -> None:
    day = [entry(f"req_{n}", served="x", cost=5_030_000_001, cost_source="given", input_tokens=20) for n in range(1000)]
    night = [entry("n", at=NOON + DAY, served="y", cost=7, cost_source="computed", pro_searches=1, searches=2)]
    lost = [entry("l", at=NOON + DAY, served="y", error="upstream_timeout", milliseconds=90)]
    await rows.add([*day, *night, *lost])
    one, two = await rows.groups(Choice(), ["day", "model"])
    assert one.names == ("2026-10-31", "x")
    assert (one.sums.requests, one.sums.cost, one.sums.cost_given, one.sums.input_tokens) == (
        1000,
        5_030_000_001_000,
        5_030_000_001_000,
        20_000,
    )
    assert two.names == ("2026-11-01", "y")
    assert (two.sums.requests, two.sums.errors, two.sums.cost, two.sums.cost_computed) == (2, 1, 7, 7)
    assert (two.sums.unknown_costs, two.sums.searches, two.sums.pro_searches, two.sums.milliseconds) == (1, 2, 1, 90)
    ((names, total),) = await rows.groups(Choice(), [])
    assert (names, total.requests, total.cost) == ((), 1002, 5_030_000_001_007)


async def test_a_ledger_without_rows_has_sums_of_nothing(rows: LedgerRows) -> None:
    ((_, total),) = await rows.groups(Choice(), [])
    assert (total.requests, total.cost, total.unknown_costs) == (0, 0, 0)
    assert await rows.groups(Choice(), ["hour", "key", "caller"]) == []


async def test_what_was_spent_is_told_by_day_and_month(rows: LedgerRows) -> None:
    await rows.add([entry("a", cost=5), entry("b", cost=2), entry("c", at=NOON - DAY, cost=10)])
    await rows.add([entry("d", at=NOON + DAY, cost=100), entry("e", caller="key_1", cost=1000), entry("f")])
    assert await rows.spent("owner", "2026-10-31") == (7, 17)
    assert await rows.spent("owner", "2026-11-01") == (100, 100)
    assert await rows.spent("key_1", "2026-10-31") == (1000, 1000)
    assert await rows.spent("nobody", "2026-10-31") == (0, 0)


async def test_what_was_spent_is_known_although_no_row_is_kept(rows: LedgerRows) -> None:
    await rows.add([entry(cost=5)], keep=False)
    assert await rows.recent(Choice(), limit=9) == []
    assert await rows.spent("owner", day_of(NOON)) == (5, 5)


async def test_old_rows_go_and_what_was_spent_stays_longer(rows: LedgerRows) -> None:
    await rows.add([entry("old", at=NOON - 2 * DAY, cost=3), entry("new", cost=4)])
    await rows.drop(NOON - DAY, "2026-10-01")
    assert [found.entry.id for found in await rows.recent(Choice(), limit=9)] == ["new"]
    assert await rows.spent("owner", "2026-10-31") == (4, 7)
    await rows.drop(NOON - DAY, "2026-10-31")
    assert await rows.spent("owner", "2026-10-31") == (4, 4)


async def test_two_workers_lose_nothing_of_each_other(tmp_path: Path) -> None:
    databases = [await Database.open(tmp_path / "gateway.sqlite") for _ in range(2)]
    both = [LedgerRows(database) for database in databases]
    await asyncio.gather(*(both[n % 2].add([entry(f"req_{n}", cost=1)]) for n in range(40)))
    assert await both[0].spent("owner", day_of(NOON)) == (40, 40)
    assert len(await both[1].recent(Choice(), limit=99)) == 40
    for database in databases:
        await database.close()
