"""A file whose bytes are coming in, and the room that it takes in the store before they do."""

import asyncio
import os
import secrets
from collections.abc import Coroutine
from typing import Any, TypeVar

import msgspec

from pplx_gateway.clock import Clock
from pplx_gateway.errors import StorageFull
from pplx_gateway.store.database import Database, Row
from pplx_gateway.store.folder import Folder, on_disk, write_all

T = TypeVar("T")


class StoredFile(msgspec.Struct, frozen=True):
    """`kind` is the media type that the bytes agree with; times are whole seconds since the epoch."""

    id: str
    caller: str
    size: int
    filename: str
    kind: str
    purpose: str
    created_at: int
    expires_at: int | None = None


class Details(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a file once it is whole. `keep_seconds` None = until it is deleted."""

    filename: str
    kind: str
    purpose: str
    keep_seconds: int | None = None


class Room:
    """The row of one file. Every change of its size is one transaction that keeps the bound."""

    def __init__(self, database: Database, clock: Clock, file_id: str, most_bytes: int) -> None:
        self.id = file_id
        self._database = database
        self._clock = clock
        self._most_bytes = most_bytes
        self._size = 0

    async def reserve(self, caller: str, least: int, most: int) -> None:
        """Raises StorageFull."""
        now = int(self._clock.now())
        bound = self._most_bytes
        await self._database.write((_RESERVE, (self.id, caller, most, bound, now, bound, least)))
        self._size = await self._reserved()
        if not self._size:
            raise self._full()

    async def reach(self, size: int) -> None:
        """Takes more where the first guess was too small. Raises StorageFull."""
        if size <= self._size:
            return
        await self._database.write((_GROW, (size, self.id, size, self._most_bytes)))
        self._size = await self._reserved()
        if self._size < size:
            raise self._full()

    async def keep(self, size: int, details: Details) -> StoredFile:
        """What was reserved beyond `size` is given back."""
        now = int(self._clock.now())
        expires_at = None if details.keep_seconds is None else now + details.keep_seconds
        told = (size, details.filename, details.kind, details.purpose, expires_at, self.id)
        await self._database.write((_KEEP, told))
        (row,) = await self._database.fetch(_READ, (self.id,))
        return stored_file(row)

    async def free(self) -> None:
        await self._database.write(("delete from files where id = ? and not kept", (self.id,)))

    async def _reserved(self) -> int:
        rows = await self._database.fetch("select size from files where id = ?", (self.id,))
        return int(rows[0][0]) if rows else 0

    def _full(self) -> StorageFull:
        return StorageFull(
            f"The uploaded files would take more than {self._most_bytes} bytes together (PPLX_FILE_STORAGE_BYTES). "
            "Delete some of them with DELETE /v1/files/{id}.",
            param="file",
        )


class Arriving:
    """`write` as often as bytes come, then `keep`. `end` undoes everything that was not kept."""

    def __init__(self, room: Room, folder: Folder, descriptor: int) -> None:
        self.size = 0
        self._room = room
        self._folder = folder
        self._descriptor = descriptor
        self._kept = False
        self._work: asyncio.Future[Any] | None = None

    @classmethod
    async def begin(cls, room: Room, folder: Folder) -> "Arriving":
        """An empty file, locked before its row exists: a row without a lock is an abandoned one."""
        return cls(room, folder, await on_disk(lambda: folder.create(room.id)))

    async def write(self, data: bytes) -> None:
        """Raises StorageFull."""
        await self._room.reach(self.size + len(data))
        await self._do(on_disk(lambda: write_all(self._descriptor, data)))
        self.size += len(data)

    async def keep(self, details: Details) -> StoredFile:
        """All bytes are on the disk before the row says that they are."""
        return await self._do(self._keep(details))

    async def end(self) -> None:
        """Runs to its end even where the upload is cancelled."""
        await asyncio.shield(self._end())

    async def _end(self) -> None:
        """The lock goes last."""
        if self._work is not None:
            await asyncio.wait([self._work])
        try:
            if not self._kept:
                await on_disk(lambda: self._folder.remove(self._room.id))
                await self._room.free()
        finally:
            os.close(self._descriptor)

    async def _keep(self, details: Details) -> StoredFile:
        await on_disk(lambda: os.fsync(self._descriptor))
        file = await self._room.keep(self.size, details)
        self._kept = True
        return file

    async def _do(self, work: Coroutine[Any, Any, T]) -> T:
        """A thread cannot be cancelled, so `_end` waits for it before it closes the file."""
        task = asyncio.ensure_future(work)
        self._work = task
        return await asyncio.shield(task)


def new_id() -> str:
    return f"file-{secrets.token_hex(12)}"


def stored_file(row: Row) -> StoredFile:
    return StoredFile(*row)


_READ = "select id, caller, size, filename, kind, purpose, created_at, expires_at from files where id = ?"
_RESERVE = """
insert into files (id, caller, size, created_at)
select ?, ?, min(?, ? - used), ? from (select coalesce(sum(size), 0) as used from files)
where ? - used >= ?
"""
_GROW = "update files set size = ? where id = ? and (select sum(size) from files) - size + ? <= ?"
_KEEP = """
update files set kept = 1, size = ?, filename = ?, kind = ?, purpose = ?, expires_at = ? where id = ?
"""
