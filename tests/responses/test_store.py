"""The store of responses by itself: chains, bounds, expiry, and what many responses cost."""

import contextlib
import sqlite3
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.errors import PreviousResponseNotFound, StoreUnavailable, TooLarge
from pplx_gateway.store import Database, Responses, retention, runs
from pplx_gateway.store import responses as queries
from pplx_gateway.store.records import Claim, Ending, Hold, NewResponse
from tests.test_store import LaterClock

CALLER = "someone"
MANY = 1 << 30


@contextlib.asynccontextmanager
async def opened(
    folder: Path, clock: Clock | None = None, *, days: int = 30, most_bytes: int = MANY
) -> AsyncGenerator[tuple[Responses, Database], None]:
    database = await Database.open(folder / "s.sqlite")
    yield (
        Responses.of(database, clock or Clock(), days=days, most_bytes=most_bytes, lease_seconds=10),
        database,
    )
    await database.close()


def new(response_id: str, parent: str | None = None, text: str = "text", **more: object) -> NewResponse:
    fields = {
        "id": response_id,
        "caller": CALLER,
        "parent": parent,
        "background": True,
        "created_at": int(Clock().now()),
        "object": b"{}",
        "input_items": [(f"msg_{response_id}", text.encode())],
        **more,
    }
    return NewResponse(**fields)  # type: ignore[arg-type]


async def add(responses: Responses, response_id: str, parent: str | None = None, text: str = "text") -> Hold:
    hold = await responses.add(new(response_id, parent, text))
    assert hold
    return hold


async def keep(responses: Responses, response_id: str, parent: str | None = None, text: str = "text") -> Hold:
    hold = await add(responses, response_id, parent, text)
    output = [(f"out_{response_id}", b"answer to " + text.encode())]
    assert await responses.runs.finish(hold, Ending(status="completed", object=b'{"done":1}', output_items=output))
    return hold


async def test_a_chain_is_every_item_in_the_order_it_was_said(tmp_path: Path) -> None:
    async with opened(tmp_path) as (responses, _):
        for number in range(4):
            await keep(responses, f"r{number}", f"r{number - 1}" if number else None, f"t{number}")
        chain = await responses.chain(CALLER, "r3", most_bytes=MANY)
        assert chain == [part for n in range(4) for part in (b"t%d" % n, b"answer to t%d" % n)]
        with pytest.raises(PreviousResponseNotFound):
            await responses.chain("another", "r3", most_bytes=MANY)
        with pytest.raises(TooLarge):
            await responses.chain(CALLER, "r3", most_bytes=10)


async def test_a_circle_in_a_damaged_store_is_an_error_and_no_endless_walk(tmp_path: Path) -> None:
    async with opened(tmp_path) as (responses, database):
        await keep(responses, "a")
        await keep(responses, "b", "a")
        await keep(responses, "c", "c")
        await database.write(("update responses set parent = 'b' where id = 'a'", ()))
        for response_id in ("a", "b", "c"):
            with pytest.raises(PreviousResponseNotFound):
                await responses.chain(CALLER, response_id, most_bytes=MANY)


async def test_a_chain_of_ten_thousand_is_walked(tmp_path: Path) -> None:
    async with opened(tmp_path) as (responses, database):
        row = "insert into responses (id, caller, parent, status, background, created_at, object)"
        values = f"values (?, '{CALLER}', ?, 'completed', 0, ?, x'')"
        now = int(Clock().now())
        await database.write(
            *((f"{row} {values}", (f"r{n}", f"r{n - 1}" if n else None, now)) for n in range(10_000)),
            ("insert into response_items select number, 0, 0, id, x'61' from responses", ()),
        )
        assert len(await responses.chain(CALLER, "r9999", most_bytes=MANY)) == 10_000
        with pytest.raises(TooLarge):
            await responses.chain(CALLER, "r9999", most_bytes=9_999)


async def test_what_is_not_held_is_not_written(tmp_path: Path) -> None:
    async with opened(tmp_path) as (responses, database):
        hold = await add(responses, "r")
        assert await responses.runs.append(hold, [(0, "response.created", b"{}")])
        taken = await responses.runs.take_to_end(hold.number)
        assert taken
        ending = Ending(status="completed", object=b"late", output_items=[("o", b"o")], events=[(1, "x", b"")])
        assert not await responses.runs.append(hold, [(1, "response.in_progress", b"{}")])
        assert not await responses.runs.finish(hold, ending)
        assert not await responses.runs.note(hold, "api", "run", b"")
        assert not await responses.runs.discard(hold)
        assert await responses.runs.lost([hold, taken.hold]) == {hold}
        assert await responses.runs.take_to_end(hold.number) is None, "one ends it"
        assert await responses.runs.finish(taken.hold, Ending(status="cancelled", object=b"end"))
        assert not await responses.runs.finish(taken.hold, ending)
        found = await responses.find(CALLER, "r")
        assert found
        assert (found.status, found.object) == ("cancelled", b"end")
        assert await responses.event_types(hold.number) == ["response.created"]
        assert await database.fetch("select count(*) from response_items where output") == [(0,)]


async def test_a_run_is_taken_over_when_its_lease_is_over_and_not_before(tmp_path: Path) -> None:
    clock = LaterClock()
    async with opened(tmp_path, clock) as (responses, _):
        hold = await add(responses, "r")
        assert await responses.runs.take_abandoned() is None
        clock.offset = 9
        await responses.runs.renew([hold])
        clock.offset = 18
        assert await responses.runs.take_abandoned() is None
        clock.offset = 20
        taken = await responses.runs.take_abandoned()
        assert taken
        assert taken.hold.number == hold.number
        assert await responses.runs.lost([hold]) == {hold}
        await responses.runs.release(taken.hold)
        assert await responses.runs.take_abandoned()


async def test_a_key_belongs_to_the_first_response_until_that_goes(tmp_path: Path) -> None:
    async with opened(tmp_path) as (responses, _):
        claim = Claim("k", b"body")
        first = await responses.add(new("r1", claim=claim))
        assert first
        assert await responses.add(new("r2", claim=claim)) is None
        assert await responses.find(CALLER, "r2") is None
        assert await responses.add(new("r3", claim=claim, caller="another"))
        found = await responses.claimed(CALLER, "k")
        assert found
        assert (found[0].id, found[1]) == ("r1", b"body")
        assert await responses.runs.finish(first, Ending(status="failed", object=b"{}", free_key=True))
        assert await responses.claimed(CALLER, "k") is None
        assert await responses.add(new("r4", claim=claim))


async def test_old_responses_are_gone_at_once_and_swept_up_later(tmp_path: Path) -> None:
    clock = LaterClock()
    async with opened(tmp_path, clock, days=2) as (responses, database):
        await keep(responses, "old")
        await add(responses, "running")
        clock.offset = 2 * 24 * 3600 + 1
        assert await responses.find(CALLER, "old") is None
        assert await responses.items(CALLER, ["msg_old"]) == {}
        await responses.retention.sweep()
        assert await database.fetch("select id from responses order by number") == [("running",)]


async def test_the_file_does_not_grow_beyond_its_bound(tmp_path: Path) -> None:
    most = 16 << 20
    async with opened(tmp_path, most_bytes=most) as (responses, _):
        running = await add(responses, "running", text="r")
        for number in range(60):
            await keep(responses, f"r{number}", text="x" * (1 << 20))
        kept = [n for n in range(60) if await responses.find(CALLER, f"r{n}")]
        assert kept == list(range(60 - len(kept), 60)), "the oldest go"
        assert len(kept) in (7, 8), "and no more than must: each is its text twice and a little"
        assert await responses.runs.append(running, []), "what is under way stays"
    assert (tmp_path / "s.sqlite").stat().st_size < most * 1.1


async def test_the_file_stays_within_it_also_where_rows_are_small(tmp_path: Path) -> None:
    async with opened(tmp_path, most_bytes=16 << 20) as (responses, _):
        for number in range(150):
            hold = await add(responses, f"r{number}")
            events = [(place, "response.output_text.delta", b"x" * 150) for place in range(1000)]
            assert await responses.runs.append(hold, events)
            assert await responses.runs.finish(hold, Ending(status="completed", object=b"{}"))
        await responses.retention.trim()
    assert (16 << 20) * 0.7 < (tmp_path / "s.sqlite").stat().st_size < (16 << 20) * 1.1


async def test_room_is_given_back_to_the_last_byte(tmp_path: Path) -> None:
    async with opened(tmp_path) as (responses, database):
        hold = await keep(responses, "r1")
        await responses.runs.discard(await add(responses, "r2"))
        other = await add(responses, "r3")
        await responses.runs.append(other, [(0, "response.created", b"{}")])
        await responses.runs.finish(other, Ending(status="failed", object=b'{"longer":"object"}'))
        assert (await database.fetch("select used from response_room"))[0][0] > 1000
        for number in (hold.number, other.number):
            await responses.delete(number)
        assert await database.fetch("select used from response_room") == [(0,)]


async def test_what_can_never_be_kept_and_a_store_full_of_running_ones_are_told_apart(tmp_path: Path) -> None:
    async with opened(tmp_path, most_bytes=16 << 20) as (responses, _):
        with pytest.raises(TooLarge, match="store"):
            await responses.add(new("r", text="x" * (9 << 20)))
        await add(responses, "r1", text="x" * (6 << 20))
        await add(responses, "r2", text="x" * (6 << 20))
        with pytest.raises(StoreUnavailable, match="room"):
            await add(responses, "r3", text="x" * (6 << 20))


QUERIES: Sequence[tuple[str, int]] = [
    (queries._FIND, 3),
    (queries._READ, 1),
    (queries._CLAIMED, 3),
    (queries._LATEST, 7),
    (queries._EVENTS, 3),
    (queries._LAST_EVENT, 1),
    (queries._FINISHED_ITEMS, 1),
    (queries._ITEMS, 3),
    (queries._CHAIN, 3),
    (queries._CHAIN_ITEMS, 1),
    *((sql, 2) for sql in queries._INPUT_PLACES.values()),
    *((sql, 4) for sql in queries._INPUT_PAGES.values()),
    (runs._TAKE, 3),
    (runs._TAKE_ABANDONED, 4),
    (runs._RENEW, 2),
    (runs._HELD, 1),
    (runs._END, 6),
    (runs._APPEND, 6),
    (retention._EXPIRE, 2),
    ("delete from responses where number = ?", 1),
]


@pytest.mark.parametrize(("sql", "arguments"), QUERIES)
async def test_no_query_looks_at_every_row(tmp_path: Path, sql: str, arguments: int) -> None:
    async with opened(tmp_path) as (_, _):
        pass
    with contextlib.closing(sqlite3.connect(tmp_path / "s.sqlite")) as store:
        steps = store.execute(f"explain query plan {sql}", (None,) * arguments).fetchall()
    scans = [step[3] for step in steps if step[3].startswith("SCAN")]
    harmless = ("VIRTUAL TABLE", "chain", "CONSTANT ROW")  # the caller's own list, the walk itself, no table
    assert [scan for scan in scans if not any(word in scan for word in harmless)] == []
