import asyncio
import contextlib
import sqlite3
from importlib.resources import files
from pathlib import Path

import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.errors import StoreUnavailable
from pplx_gateway.store import Database, Fact, Facts, Leases, Threads
from pplx_gateway.store.threads import KEEP_SECONDS, SWEEP_EVERY


class LaterClock(Clock):
    def __init__(self, offset: float = 0) -> None:
        super().__init__()
        self.offset = offset

    def now(self) -> float:
        return super().now() + self.offset

    def uptime(self) -> float:
        return super().uptime() + self.offset


async def test_what_was_put_is_found_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "data" / "gateway.sqlite"
    first = await Database.open(path)
    await Threads(first, Clock()).put(b"k", b"v")
    await first.close()
    second = await Database.open(path)
    assert await Threads(second, Clock()).get(b"k") == b"v"
    assert await Threads(second, Clock()).get(b"other") is None
    await second.close()


async def test_every_file_of_the_store_is_the_owners_alone(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "data" / "gateway.sqlite")
    await Threads(database, Clock()).put(b"k", b"v")
    files = list((tmp_path / "data").iterdir())
    assert len(files) >= 2
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700
    await database.close()


async def test_two_workers_share_one_secret_and_one_table(tmp_path: Path) -> None:
    one, two = await asyncio.gather(*(Database.open(tmp_path / "s.sqlite") for _ in range(2)))
    facts = await asyncio.gather(Facts(one).add("secret", b"1"), Facts(two).add("secret", b"2"))
    assert facts[0] == facts[1]
    await asyncio.gather(*(Threads(d, Clock()).put(bytes([n]), b"v") for n in range(20) for d in (one, two)))
    assert await Threads(two, Clock()).get(b"\x05") == b"v"
    await one.close()
    await two.close()


async def test_workers_may_open_a_new_store_in_the_same_instant(tmp_path: Path) -> None:
    for number in range(20):
        opened = await asyncio.gather(*(Database.open(tmp_path / f"{number}.sqlite") for _ in range(4)))
        for database in opened:
            assert await database.fetch("pragma journal_mode") == [("wal",)]
            await database.close()


async def test_a_fact_grows_a_version_with_each_change(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "s.sqlite")
    facts = Facts(database)
    assert await facts.get("token") is None
    assert await facts.put("token", b"a") == Fact(b"a", 1)
    assert await facts.put("token", b"b") == Fact(b"b", 2)
    assert await facts.add("token", b"c") == Fact(b"b", 2)
    await facts.remove("token")
    assert await facts.get("token") is None
    await database.close()


async def test_a_lease_is_held_by_one_worker_until_it_ends(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "s.sqlite")
    clock = LaterClock()
    one, two = Leases(database, clock, "one"), Leases(database, clock, "two")
    assert await one.take("probe", 10)
    assert not await two.take("probe", 10)
    assert await one.take("probe", 10)
    clock.offset = 11
    assert await two.take("probe", 10)
    assert not await one.take("probe", 10)
    await two.drop("probe")
    assert await one.take("probe", 10)
    await database.close()


async def test_an_older_store_is_brought_up_to_date(tmp_path: Path) -> None:
    first = files("pplx_gateway").joinpath("store/migrations/0001_threads.sql").read_text()
    with contextlib.closing(sqlite3.connect(tmp_path / "s.sqlite")) as old:
        old.executescript(first)
        old.execute("pragma user_version = 1")
        old.execute("insert into facts (name, value) values (?, ?)", ("a", b"\0"))
        old.commit()
    database = await Database.open(tmp_path / "s.sqlite")
    assert await Facts(database).get("a") == Fact(b"\0", 1)
    assert await Leases(database, Clock(), "one").take("probe", 10)
    await database.close()


async def test_the_oldest_threads_go_when_there_are_too_many(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "s.sqlite")
    clock = LaterClock()
    threads = Threads(database, clock, rows=10)
    for number in range(2 * SWEEP_EVERY + 1):
        clock.offset = number
        await threads.put(number.to_bytes(2), b"v")
    held = [bytes(key) for (key,) in await database.fetch("select key from threads order by written_at")]
    assert held == [number.to_bytes(2) for number in range(2 * SWEEP_EVERY - 9, 2 * SWEEP_EVERY + 1)]
    await database.close()


async def test_an_old_row_is_gone(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "s.sqlite")
    await Threads(database, Clock()).put(b"old", b"v")
    later = Threads(database, LaterClock(KEEP_SECONDS + 1))
    assert await later.get(b"old") is None
    await later.put(b"new", b"v")
    assert await database.fetch("select key from threads") == [(b"new",)]
    await database.close()


async def test_a_failed_transaction_leaves_nothing_behind(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "s.sqlite")
    with pytest.raises(StoreUnavailable):
        await database.write(
            ("insert into facts (name, value) values ('a', x'00')", ()),
            ("insert into nowhere values (1)", ()),
        )
    assert await database.fetch("select * from facts") == []
    await database.write(("insert into facts (name, value) values ('b', x'00')", ()))
    await database.close()


async def test_a_locked_store_is_unavailable_and_not_a_hang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pplx_gateway.store.database.BUSY_TIMEOUT_SECONDS", 0.05)
    database = await Database.open(tmp_path / "s.sqlite")
    other = sqlite3.connect(tmp_path / "s.sqlite", isolation_level=None)
    other.execute("begin immediate")
    with pytest.raises(StoreUnavailable, match="locked"):
        await Threads(database, Clock()).put(b"k", b"v")
    other.execute("rollback")
    other.close()
    await Threads(database, Clock()).put(b"k", b"v")
    await database.close()


async def test_a_closed_store_says_so(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "s.sqlite")
    await database.close()
    await database.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await database.fetch("select 1")


async def test_a_file_that_is_no_database_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "s.sqlite").write_bytes(b"not a database" * 100)
    with pytest.raises(StoreUnavailable, match="cannot be used"):
        await Database.open(tmp_path / "s.sqlite")
