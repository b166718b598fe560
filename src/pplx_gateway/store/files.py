"""Uploaded files: rows in the store, bytes in a folder beside it, and one bound for all of them.

Room is reserved in one transaction before a byte is kept, so that no number of uploads at once, in any number of
workers, goes beyond the bound (arriving.py). What a worker that died has left half-done is cleared away at the next
start.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from pplx_gateway.clock import Clock
from pplx_gateway.store.arriving import Arriving, Room, StoredFile, new_id, stored_file
from pplx_gateway.store.database import Database
from pplx_gateway.store.folder import Folder, on_disk
from pplx_gateway.store.records import Order

STRAY_SECONDS = 3600.0  # far longer than an upload may take


class Page(msgspec.Struct, frozen=True):
    files: list[StoredFile]
    has_more: bool


class Files:
    """`most_bytes` bounds all files of all callers together. Methods raise StoreUnavailable. A caller sees only its own
    files; for others' it gets what it gets for files that are not there. The caller None sees all."""

    def __init__(self, database: Database, clock: Clock, path: Path, *, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._database = database
        self._clock = clock
        self._folder = Folder(path)

    async def clean(self) -> None:
        """Clears away what a worker that died, or a deletion that was cut short, has left. For every start."""
        await on_disk(self._folder.make)
        stray = await on_disk(lambda: self._folder.older_than(self._clock.now() - STRAY_SECONDS))
        for file_id, kept in await self._database.fetch("select id, kept from files"):
            stray.discard(file_id)
            await (self._check_kept(file_id) if kept else self._check_reserved(file_id))
        for name in stray:
            await self._remove(name)

    @asynccontextmanager
    async def receive(self, caller: str, *, least: int, most: int) -> AsyncGenerator[Arriving, None]:
        """Room for a file of `most` bytes, or for as many above `least` as are left. Unless the file is kept, all is
        undone at the end. Raises StorageFull."""
        await self.drop_expired()
        room = Room(self._database, self._clock, new_id(), self.most_bytes)
        arriving = await Arriving.begin(room, self._folder)
        try:
            await room.reserve(caller, least, most)
            yield arriving
        finally:
            await arriving.end()

    async def taken(self) -> int:
        """Bytes of all files, and of the room that uploads under way have reserved."""
        return int((await self._database.fetch("select coalesce(sum(size), 0) from files"))[0][0])

    async def find(self, caller: str | None, file_id: str) -> StoredFile | None:
        rows = await self._database.fetch(_FIND, (file_id, caller, caller, self._clock.now()))
        return stored_file(rows[0]) if rows else None

    async def page(
        self, caller: str | None, *, purpose: str | None, order: Order, limit: int, after: str | None
    ) -> Page | None:
        """In the order of upload; `after` is the id of the last one of the page before. None if there is no such id."""
        number = None
        if after is not None:
            rows = await self._database.fetch(_NUMBER, (after, caller, caller))
            if not rows:
                return None
            number = rows[0][0]
        arguments = (caller, caller, self._clock.now(), purpose, purpose, number, number, limit + 1)
        found = [stored_file(row) for row in await self._database.fetch(_PAGES[order], arguments)]
        return Page(found[:limit], len(found) > limit)

    async def read(self, file: StoredFile) -> bytes | None:
        """None if it was deleted meanwhile."""
        return await on_disk(lambda: self._folder.read(file.id))

    async def delete(self, file: StoredFile) -> None:
        """The bytes first, so that room is never counted as free while it is not."""
        await self._remove(file.id)
        await self._forget(file.id)

    async def drop_expired(self) -> None:
        """Gives back the room of files that have had their time."""
        rows = await self._database.fetch("select id from files where kept and expires_at <= ?", (self._clock.now(),))
        for (file_id,) in rows:
            await self._remove(file_id)
            await self._forget(file_id)

    async def _check_kept(self, file_id: str) -> None:
        if not await on_disk(lambda: self._folder.has(file_id)):
            await self._forget(file_id)

    async def _check_reserved(self, file_id: str) -> None:
        """What was kept in this very moment stays."""
        if await on_disk(lambda: self._folder.under_way(file_id)):
            return
        await self._database.write(("delete from files where id = ? and not kept", (file_id,)))
        if not await self._database.fetch("select 1 from files where id = ?", (file_id,)):
            await self._remove(file_id)

    async def _remove(self, name: str) -> None:
        await on_disk(lambda: self._folder.remove(name))

    async def _forget(self, file_id: str) -> None:
        await self._database.write(("delete from files where id = ?", (file_id,)))


_NUMBER = "select number from files where id = ? and (? is null or caller = ?)"
_FIND = """
select id, caller, size, filename, kind, purpose, created_at, expires_at from files
where kept and id = ? and (? is null or caller = ?) and (expires_at is null or expires_at > ?)
"""
_PAGES: dict[Order, str] = {
    "asc": """
select id, caller, size, filename, kind, purpose, created_at, expires_at from files
where kept and (? is null or caller = ?) and (expires_at is null or expires_at > ?)
and (? is null or purpose = ?) and (? is null or number > ?) order by number limit ?
""",
    "desc": """
select id, caller, size, filename, kind, purpose, created_at, expires_at from files
where kept and (? is null or caller = ?) and (expires_at is null or expires_at > ?)
and (? is null or purpose = ?) and (? is null or number < ?) order by number desc limit ?
""",
}
