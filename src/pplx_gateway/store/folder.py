"""A folder of files named by ids. Work on the disk is done in threads; each file under way is locked by its worker.

The system drops the lock of a worker that dies, which is how another one knows what was abandoned.
"""

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pplx_gateway.errors import StoreUnavailable

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

T = TypeVar("T")

_BINARY = getattr(os, "O_BINARY", 0)


class Folder:
    """Methods block; call them through `on_disk`. Names are ids of ours, never words of a caller's."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def make(self) -> None:
        self._path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def create(self, name: str) -> int:
        """The descriptor of a new file, readable by the owner alone, its lock held."""
        descriptor = os.open(self._path / name, os.O_CREAT | os.O_EXCL | os.O_RDWR | _BINARY, 0o600)
        if not _lock(descriptor):
            os.close(descriptor)
            raise OSError("the lock of a new file is held by another")
        return descriptor

    def has(self, name: str) -> bool:
        return (self._path / name).exists()

    def read(self, name: str) -> bytes | None:
        """None if there is no such file."""
        try:
            return (self._path / name).read_bytes()
        except FileNotFoundError:
            return None

    def remove(self, name: str) -> None:
        (self._path / name).unlink(missing_ok=True)

    def under_way(self, name: str) -> bool:
        """True if some worker holds the file's lock."""
        try:
            descriptor = os.open(self._path / name, os.O_RDWR | _BINARY)
        except FileNotFoundError:
            return False
        free = _lock(descriptor)
        os.close(descriptor)
        return not free

    def older_than(self, moment: float) -> set[str]:
        """The names of files that were last changed before `moment` (seconds since the epoch)."""
        with os.scandir(self._path) as entries:
            return {entry.name for entry in entries if entry.stat().st_mtime < moment}


async def on_disk(work: Callable[[], T]) -> T:
    """The result of `work`, done in a thread. Raises StoreUnavailable where the disk fails."""
    try:
        return await asyncio.to_thread(work)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise StoreUnavailable(f"The folder of uploaded files cannot be used: {reason}.") from error


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _lock(descriptor: int) -> bool:
    """True if the file is ours until it is closed, False if another holds it."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True
