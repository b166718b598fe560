"""Files in the store: one bound for all, and nothing half-done left behind."""

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.errors import StorageFull, StoreUnavailable
from pplx_gateway.store import Database, Details, Files, StoredFile

BOUND = 1000
DETAILS = Details(filename="a.txt", kind="text/plain", purpose="user_data")


class LaterClock(Clock):
    later = 0.0

    def now(self) -> float:
        return super().now() + self.later


class Kept:
    """A store with its files, as one worker has it."""

    def __init__(self, database: Database, folder: Path, clock: Clock, bound: int) -> None:
        self.database = database
        self.folder = folder / "files"
        self.files = Files(database, clock, self.folder, most_bytes=bound)

    async def keep(
        self, size: int, caller: str = "anna", *, least: int | None = None, details: Details = DETAILS
    ) -> StoredFile:
        async with self.files.receive(caller, least=size if least is None else least, most=size) as arriving:
            await asyncio.sleep(0)
            await arriving.write(b"x" * size)
            return await arriving.keep(details)

    async def taken(self) -> int:
        ((size,),) = await self.database.fetch("select coalesce(sum(size), 0) from files")
        return int(size)

    def on_disk(self) -> dict[str, int]:
        return {path.name: path.stat().st_size for path in self.folder.iterdir()}


@contextlib.asynccontextmanager
async def worker(folder: Path, clock: Clock | None = None, bound: int = BOUND) -> AsyncGenerator[Kept, None]:
    database = await Database.open(folder / "store.sqlite")
    kept = Kept(database, folder, clock or Clock(), bound)
    try:
        await kept.files.clean()
        yield kept
    finally:
        await database.close()


async def test_a_file_is_kept_whole_under_its_id_for_its_owner_alone(tmp_path: Path) -> None:
    async with worker(tmp_path) as kept:
        file = await kept.keep(5)
        assert await kept.files.read(file) == b"xxxxx"
        assert kept.on_disk() == {file.id: 5}
        assert (kept.folder / file.id).stat().st_mode & 0o777 == 0o600
        assert kept.folder.stat().st_mode & 0o777 == 0o700
        assert await kept.files.find("anna", file.id) == file
        assert await kept.files.find("bert", file.id) is None
        page = await kept.files.page("bert", purpose=None, order="asc", limit=9, after=None)
        assert page is not None
        assert page.files == []


async def test_twenty_at_once_never_take_more_than_the_bound(tmp_path: Path) -> None:
    async with worker(tmp_path) as kept:
        done = await asyncio.gather(*(kept.keep(100) for _ in range(20)), return_exceptions=True)
        assert sum(isinstance(each, StoredFile) for each in done) == 10
        assert sum(isinstance(each, StorageFull) for each in done) == 10
        assert await kept.taken() == sum(kept.on_disk().values()) == BOUND


async def test_two_workers_share_the_bound(tmp_path: Path) -> None:
    async with worker(tmp_path) as one, worker(tmp_path) as two:
        both = [kept.keep(100) for _ in range(10) for kept in (one, two)]
        done = await asyncio.gather(*both, return_exceptions=True)
        assert sum(isinstance(each, StoredFile) for each in done) == 10
        assert await one.taken() == await two.taken() == sum(one.on_disk().values()) == BOUND
        page = await two.files.page("anna", purpose=None, order="desc", limit=99, after=None)
        assert page is not None
        assert {file.id for file in page.files} == set(one.on_disk())


async def test_bytes_without_room_are_refused_before_they_are_kept(tmp_path: Path) -> None:
    async with worker(tmp_path) as kept:
        await kept.keep(900)
        with pytest.raises(StorageFull, match="1000 bytes"):
            await kept.keep(101)
        async with kept.files.receive("anna", least=1, most=5000) as arriving:
            assert await kept.taken() == BOUND
            await arriving.write(b"x" * 60)
            with pytest.raises(StorageFull):
                await arriving.write(b"x" * 41)
            await arriving.write(b"x" * 40)
            await arriving.keep(DETAILS)
        assert await kept.taken() == sum(kept.on_disk().values()) == BOUND


async def test_a_guess_that_was_too_small_grows_and_one_too_large_is_given_back(tmp_path: Path) -> None:
    async with worker(tmp_path) as kept:
        async with kept.files.receive("anna", least=10, most=10) as arriving:
            await arriving.write(b"x" * 300)
            assert (await arriving.keep(DETAILS)).size == 300
        async with kept.files.receive("anna", least=1, most=700) as arriving:
            await arriving.write(b"x" * 7)
            await arriving.keep(DETAILS)
        assert await kept.taken() == 307


async def test_what_is_not_kept_leaves_nothing(tmp_path: Path) -> None:
    async with worker(tmp_path) as kept:
        with contextlib.suppress(KeyError):
            async with kept.files.receive("anna", least=9, most=9) as arriving:
                await arriving.write(b"x")
                raise KeyError
        assert (await kept.taken(), kept.on_disk()) == (0, {})


async def test_a_cancelled_upload_leaves_nothing(tmp_path: Path) -> None:
    async with worker(tmp_path) as kept:
        held = asyncio.Event()

        async def upload() -> None:
            async with kept.files.receive("anna", least=9, most=9) as arriving:
                await arriving.write(b"x" * 9)
                held.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(upload())
        await held.wait()
        assert kept.on_disk()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert (await kept.taken(), kept.on_disk()) == (0, {})


async def test_deleting_gives_the_room_back(tmp_path: Path) -> None:
    async with worker(tmp_path) as kept:
        file = await kept.keep(BOUND)
        await kept.files.delete(file)
        assert (await kept.files.find("anna", file.id), await kept.files.read(file)) == (None, None)
        await kept.keep(BOUND)


async def test_a_file_that_has_had_its_time_is_gone_and_makes_room(tmp_path: Path) -> None:
    clock = LaterClock()
    async with worker(tmp_path, clock) as kept:
        details = Details(filename="a", kind="text/plain", purpose="vision", keep_seconds=3600)
        file = await kept.keep(BOUND, details=details)
        assert file.expires_at == file.created_at + 3600
        assert await kept.files.find("anna", file.id) == file
        clock.later = 3601
        assert await kept.files.find("anna", file.id) is None
        other = await kept.keep(BOUND)
        assert kept.on_disk() == {other.id: BOUND}


async def test_pages_come_in_the_order_of_upload(tmp_path: Path) -> None:
    async with worker(tmp_path) as kept:
        purposes = ("vision", "user_data", "vision", "vision")
        files = [await kept.keep(1, details=Details(filename=p, kind="a/b", purpose=p)) for p in purposes]
        page = await kept.files.page("anna", purpose=None, order="asc", limit=3, after=None)
        assert page is not None
        assert (page.files, page.has_more) == (files[:3], True)
        page = await kept.files.page("anna", purpose=None, order="asc", limit=3, after=files[2].id)
        assert page is not None
        assert (page.files, page.has_more) == (files[3:], False)
        page = await kept.files.page("anna", purpose="vision", order="desc", limit=9, after=files[3].id)
        assert page is not None
        assert page.files == [files[2], files[0]]
        assert await kept.files.page("anna", purpose=None, order="asc", limit=3, after="file-0") is None
        assert await kept.files.page("bert", purpose=None, order="asc", limit=3, after=files[0].id) is None


async def test_files_outlive_a_restart(tmp_path: Path) -> None:
    async with worker(tmp_path) as kept:
        file = await kept.keep(9)
    async with worker(tmp_path) as kept:
        assert await kept.files.find("anna", file.id) == file
        assert await kept.files.read(file) == b"x" * 9


UPLOADER = """
import asyncio, sys
from pathlib import Path
from tests.files.test_store import worker

async def main():
    async with worker(Path(sys.argv[1])) as kept, kept.files.receive("anna", least=600, most=600) as arriving:
        await arriving.write(b"x" * int(sys.argv[2]))
        print("reserved", flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.mark.parametrize("written", [0, 10, 600])
async def test_a_worker_that_dies_holds_its_room_no_longer_than_it_lives(tmp_path: Path, written: int) -> None:
    root = Path(__file__).parents[2]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", UPLOADER, str(tmp_path), str(written), cwd=root, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        assert await asyncio.wait_for(process.stdout.readline(), 30) == b"reserved\n"
        async with worker(tmp_path) as kept:  # another worker's start touches nothing that is under way
            assert await kept.taken() == 600
            assert list(kept.on_disk().values()) == [written]
            with pytest.raises(StorageFull):
                await kept.keep(500)
    finally:
        process.kill()
        await process.wait()
    async with worker(tmp_path) as kept:
        assert (await kept.taken(), kept.on_disk()) == (0, {})
        await kept.keep(BOUND)


async def test_a_row_whose_bytes_are_gone_is_cleared_away(tmp_path: Path) -> None:
    async with worker(tmp_path) as kept:
        file = await kept.keep(BOUND)
        (kept.folder / file.id).unlink()
    async with worker(tmp_path) as kept:
        assert await kept.files.find("anna", file.id) is None
        assert await kept.taken() == 0


async def test_strange_old_files_are_cleared_away_and_young_ones_are_left(tmp_path: Path) -> None:
    async with worker(tmp_path) as kept:
        file = await kept.keep(9)
        for name in ("file-old", "file-young"):
            (kept.folder / name).write_bytes(b"x")
        long_ago = time.time() - 7200
        for name in ("file-old", file.id):
            os.utime(kept.folder / name, (long_ago, long_ago))
    async with worker(tmp_path) as kept:
        assert set(kept.on_disk()) == {file.id, "file-young"}


async def test_a_disk_that_fails_is_told_and_leaves_no_room_taken(tmp_path: Path) -> None:
    async with worker(tmp_path) as kept:
        kept.folder.rmdir()
        with pytest.raises(StoreUnavailable, match="No such file"):
            await kept.keep(9)
        assert await kept.taken() == 0
