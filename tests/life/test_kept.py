"""The cookie in the store: what it begins with, what may replace it, and what a killed process leaves."""

import asyncio
import json
import stat
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.errors import StoreUnavailable
from pplx_gateway.settings import Secret
from pplx_gateway.store import Database, Facts, Leases
from pplx_gateway.upstreams.session.cookies import NAME, Credentials
from pplx_gateway.upstreams.session.keeping import Held, Record
from pplx_gateway.upstreams.session.kept import TOKEN, StoreKeeper
from pplx_gateway.upstreams.session.old_cache import FILE, read_old_cache


class Store:
    """The same file for every worker that is made of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.databases: list[Database] = []

    async def worker(self, name: str = "one") -> StoreKeeper:
        database = await Database.open(self.path)
        self.databases.append(database)
        return StoreKeeper(Facts(database), Leases(database, Clock(), name), Clock())

    async def begin(self, variable: str | None = None, folder: Path | None = None) -> str | None:
        """The token with which a new process begins."""
        keeper = await self.worker()
        held = await keeper.open(
            Secret(variable) if variable else None, lambda: read_old_cache(folder) if folder else None
        )
        return held.token.reveal() if held else None

    async def close(self) -> None:
        for database in self.databases:
            await database.close()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[Store, None]:
    opened = Store(tmp_path / "data" / "gateway.sqlite")
    yield opened
    await opened.close()


async def token_of(keeper: StoreKeeper) -> str:
    held = (await keeper.read()).held
    assert held is not None
    return held.token.reveal()


# what a process begins with


async def test_without_anything_there_is_no_token(store: Store) -> None:
    assert await store.begin() is None


async def test_a_renewed_token_outlives_its_process_and_wins_over_the_variable(store: Store) -> None:
    keeper = await store.worker()
    first = await keeper.open(Secret("A"), lambda: None)
    assert first is not None
    await keeper.renew(Secret("A2"), first)
    assert await store.begin("A") == "A2"
    assert await store.begin() == "A2"
    assert await store.begin("A") == "A2"


async def test_a_variable_that_changed_wins_once(store: Store) -> None:
    await store.begin("A")
    keeper = await store.worker()
    await keeper.give(Secret("given"))
    assert await store.begin("A") == "given"
    assert await store.begin("B") == "B"
    await keeper.give(Secret("given again"))
    assert await store.begin("B") == "given again"
    assert await store.begin("A") == "A"


async def test_workers_that_start_together_agree(store: Store) -> None:
    keepers = [await store.worker(str(number)) for number in range(4)]
    helds = await asyncio.gather(*(keeper.open(Secret("A"), lambda: None) for keeper in keepers))
    assert {(held.token.reveal(), held.version, held.serial) for held in helds if held} == {("A", 1, 1)}


async def test_the_old_file_is_taken_over_once(store: Store, tmp_path: Path) -> None:
    file = tmp_path / FILE
    file.write_text(json.dumps({"cookies": {NAME: "OLD"}, "timestamp": 1790000000}))
    assert await store.begin("A", tmp_path) == "OLD"
    await (await store.worker()).give(Secret("given"))
    assert await store.begin("A", tmp_path) == "given"
    assert json.loads(file.read_text())["cookies"] == {NAME: "OLD"}


async def test_an_old_file_changes_nothing_where_a_token_was_kept(store: Store, tmp_path: Path) -> None:
    await store.begin("A")
    (tmp_path / FILE).write_text(json.dumps({NAME: "OLD"}))
    assert await store.begin("A", tmp_path) == "A"


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"token": ""}', "\udc80" * 3, "[" * 100_000])
async def test_an_old_file_that_makes_no_sense_stops_nothing(store: Store, tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_bytes(text.encode("utf-8", "surrogateescape"))
    assert await store.begin("A", tmp_path) == "A"


async def test_an_old_file_that_is_a_folder_stops_nothing(store: Store, tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    assert await store.begin(None, tmp_path) is None


# what may replace it


async def test_the_last_renewal_holds(store: Store) -> None:
    keeper, other = await store.worker("one"), await store.worker("two")
    held = await keeper.open(Secret("A"), lambda: None)
    assert held is not None
    await keeper.renew(Secret("A2"), held)
    await other.renew(Secret("A3"), held)
    assert await token_of(keeper) == "A3"


async def test_a_late_renewal_of_an_earlier_cookie_does_not_push_out_the_owners(store: Store) -> None:
    keeper, other = await store.worker("one"), await store.worker("two")
    old = await keeper.open(Secret("A"), lambda: None)
    assert old is not None
    given = await other.give(Secret("B"))
    held = await keeper.renew(Secret("A2"), old)
    assert (held.token.reveal(), held.version) == ("B", given.version)
    assert await token_of(keeper) == "B"


async def test_the_same_holds_for_what_one_process_has_in_memory(store: Store) -> None:
    keeper, other = await store.worker("one"), await store.worker("two")
    credentials = Credentials(None, keeper)
    held = await keeper.open(Secret("A"), lambda: None)
    assert held is not None
    credentials.take(held)
    await other.give(Secret("B"))
    assert not await credentials.renew(Secret("A2"), held.version)
    assert credentials.cookie() == f"{NAME}=B"
    assert not await credentials.renew(Secret("A3"), held.version)


async def test_what_was_read_before_the_newest_was_written_is_not_taken(store: Store) -> None:
    keeper = await store.worker()
    credentials = Credentials(None, keeper)
    held = await keeper.open(Secret("A"), lambda: None)
    assert held is not None
    credentials.take(held)
    await credentials.renew(Secret("A2"), credentials.version)
    assert not credentials.take(held)
    assert credentials.cookie() == f"{NAME}=A2"


async def test_many_renewals_at_once_leave_one_whole_token(store: Store) -> None:
    keepers = [await store.worker(str(number)) for number in range(3)]
    held = await keepers[0].open(Secret("A"), lambda: None)
    assert held is not None
    tokens = [f"{number}-{'x' * 6000}" for number in range(12)]
    await asyncio.gather(*(keepers[n % 3].renew(Secret(token), held) for n, token in enumerate(tokens)))
    assert await token_of(keepers[0]) in tokens


# a store that fails


class Failing(Facts):
    """Fails while `broken`."""

    broken = False

    async def get(self, name: str) -> object:  # type: ignore[override]
        if self.broken:
            raise StoreUnavailable("full")
        return await super().get(name)


async def test_a_renewal_that_cannot_be_kept_is_used_and_kept_later(store: Store) -> None:
    database = await Database.open(store.path)
    store.databases.append(database)
    facts = Failing(database)
    keeper = StoreKeeper(facts, Leases(database, Clock(), "one"), Clock())
    held = await keeper.open(Secret("A"), lambda: None)
    assert held is not None
    facts.broken = True
    newer = await keeper.renew(Secret("A2"), held)
    assert newer.token.reveal() == "A2"
    assert not keeper.saved
    with pytest.raises(StoreUnavailable):
        await keeper.flush()
    facts.broken = False
    await keeper.flush()
    assert (await store.begin("A"), keeper.saved) == ("A2", True)


async def test_what_could_not_be_kept_gives_way_to_what_another_worker_kept(store: Store) -> None:
    database = await Database.open(store.path)
    store.databases.append(database)
    facts, other = Failing(database), await store.worker("two")
    keeper = StoreKeeper(facts, Leases(database, Clock(), "one"), Clock())
    held = await keeper.open(Secret("A"), lambda: None)
    assert held is not None
    facts.broken = True
    await keeper.renew(Secret("A2"), held)
    facts.broken = False
    await other.renew(Secret("A3"), held)
    await keeper.flush()
    assert await token_of(keeper) == "A3"


async def test_a_cookie_that_cannot_be_kept_is_not_given(store: Store) -> None:
    keeper = await store.worker()
    held = await keeper.open(Secret("A"), lambda: None)
    assert held is not None
    credentials = Credentials(None, keeper)
    credentials.take(held)
    await store.databases[0].close()
    with pytest.raises(StoreUnavailable):
        await credentials.replace(Secret("B"))
    assert credentials.cookie() == f"{NAME}=A"


async def test_a_fact_of_another_program_is_an_error_and_not_a_traceback(store: Store) -> None:
    keeper = await store.worker()
    for garbage in (b"\xff", b"[]", b'{"token": 5}'):
        await Facts(store.databases[0]).put(TOKEN, garbage)
        with pytest.raises(StoreUnavailable, match="cookie"):
            await keeper.open(Secret("A"), lambda: None)


# the rest


async def test_the_state_is_shared(store: Store) -> None:
    keeper, other = await store.worker("one"), await store.worker("two")
    record = Record(version=1, state="valid", at=5.5, login="valid", tier="max", old_told_of=0.1)
    await keeper.conclude(record)
    assert (await other.read()).record == record


async def test_one_worker_checks_at_a_time(store: Store) -> None:
    keeper, other = await store.worker("one"), await store.worker("two")
    assert await keeper.take_turn()
    assert not await other.take_turn()
    await keeper.end_turn()
    assert await other.take_turn()


async def test_only_the_owner_can_read_the_files(store: Store) -> None:
    keeper = await store.worker()
    held = await keeper.open(Secret("A"), lambda: None)
    assert held is not None
    await keeper.renew(Secret("A2"), held)
    files = list(store.path.parent.iterdir())
    assert len(files) == 3, "the file and its two companions"
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700


def test_nothing_shows_the_token() -> None:
    assert "SECRET" not in repr(Held(Secret("SECRET"), 1, 1, 0.0))
