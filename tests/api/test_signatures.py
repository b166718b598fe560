from collections.abc import AsyncGenerator, Collection, Mapping
from pathlib import Path

import pytest

from pplx_gateway.errors import StoreUnavailable
from pplx_gateway.store import Database
from pplx_gateway.store.signatures import Kept, StoredSignatures
from pplx_gateway.upstreams.api.signatures import MAX_SIGNATURE_CHARACTERS, Signatures
from tests.api.fakes import FakeClock

DAY = 24 * 3600


@pytest.fixture
async def database(tmp_path: Path) -> AsyncGenerator[Database, None]:
    opened = await Database.open(tmp_path / "gateway.sqlite")
    yield opened
    await opened.close()


class Counting(StoredSignatures):
    """Counts how often the disk is asked."""

    reads = 0
    writes = 0

    async def find(self, caller: str, call_ids: Collection[str]) -> dict[str, Kept]:
        self.reads += 1
        return await super().find(caller, call_ids)

    async def put(self, caller: str, key_name: str, signatures: Mapping[str, str]) -> None:
        self.writes += 1
        await super().put(caller, key_name, signatures)


async def test_a_signature_is_found_again_by_its_caller_only() -> None:
    signatures = Signatures()
    await signatures.keep("alice", "default", {"call_1": "c2ln"})
    assert await signatures.find("alice", ["call_1", "call_2"]) == {"call_1": Kept("c2ln", "default")}
    assert await signatures.find("bob", ["call_1"]) == {}


async def test_the_one_unused_for_longest_makes_room() -> None:
    signatures = Signatures(capacity=2)
    await signatures.keep("a", "k", {"1": "one"})
    await signatures.keep("a", "k", {"2": "two"})
    assert await signatures.find("a", ["1"])
    await signatures.keep("a", "k", {"3": "three"})
    assert sorted(await signatures.find("a", ["1", "2", "3"])) == ["1", "3"]


async def test_a_monster_is_not_kept(database: Database) -> None:
    signatures = Signatures(StoredSignatures(database, FakeClock(), keep_days=30))
    await signatures.keep("a", "k", {"1": "x" * (MAX_SIGNATURE_CHARACTERS + 1), "2": "y"})
    assert sorted(await signatures.find("a", ["1", "2"])) == ["2"]


async def test_another_worker_finds_it_too_and_each_asks_the_disk_once(database: Database) -> None:
    one, other = (Counting(database, FakeClock(), keep_days=30) for _ in range(2))
    first, second = Signatures(one), Signatures(other)
    await first.keep("alice", "work", {"call_1": "c2ln"})
    for _ in range(3):
        assert await first.find("alice", ["call_1"]) == {"call_1": Kept("c2ln", "work")}
        assert await second.find("alice", ["call_1", "never"]) == {"call_1": Kept("c2ln", "work")}
        assert await second.find("bob", ["call_1"]) == {}
    assert (one.writes, one.reads) == (1, 0)
    assert (other.writes, other.reads) == (0, 2)


async def test_without_a_signature_nothing_is_written(database: Database) -> None:
    stored = Counting(database, FakeClock(), keep_days=30)
    await Signatures(stored).keep("alice", "work", {})
    assert stored.writes == 0


async def test_no_caller_crowds_out_the_others_and_the_table_is_bounded(database: Database) -> None:
    stored = StoredSignatures(database, FakeClock(), keep_days=30, rows=7, a_caller=3)
    await stored.put("bob", "k", {"b": "his"})
    for number in range(20):
        await stored.put("alice", "k", {f"a{number}": "hers"})
    assert sorted(await stored.find("alice", [f"a{n}" for n in range(20)])) == ["a17", "a18", "a19"]
    assert await stored.find("bob", ["b"])
    for number in range(20):
        await stored.put(f"caller {number}", "k", {"c": "theirs"})
    assert await database.fetch("select count(*) from signatures") == [(7,)]


async def test_many_large_ones_are_bounded_by_their_size(database: Database) -> None:
    stored = StoredSignatures(database, FakeClock(), keep_days=30, characters=1000)
    for number in range(10):
        await stored.put("alice", "k", {f"a{number}": "x" * 300})
    assert sorted(await stored.find("alice", [f"a{n}" for n in range(10)])) == ["a7", "a8", "a9"]


async def test_one_that_is_too_old_is_not_given_out_and_goes_with_the_next_write(database: Database) -> None:
    clock = FakeClock()
    stored = StoredSignatures(database, clock, keep_days=2)
    await stored.put("alice", "k", {"old": "x"})
    clock.advance(3 * DAY)
    assert await stored.find("alice", ["old"]) == {}
    await stored.put("alice", "k", {"new": "y"})
    assert await database.fetch("select call_id from signatures") == [("new",)]


async def test_a_store_that_fails_costs_the_memory_of_it_only(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    signatures = Signatures(StoredSignatures(database, FakeClock(), keep_days=30))
    await database.close()
    with pytest.raises(StoreUnavailable):
        await database.fetch("select 1")
    await signatures.keep("alice", "k", {"call_1": "c2ln"})
    assert await signatures.find("alice", ["call_1", "call_2"]) == {"call_1": Kept("c2ln", "k")}
    assert "c2ln" not in caplog.text
