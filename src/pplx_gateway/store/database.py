"""SQLite on one thread of its own, behind a handful of methods.

WAL, so that two workers share the file; every write is one `BEGIN IMMEDIATE` transaction, so that two writers wait for
each other instead of failing half-way. The file and its companions are readable by the owner alone.
"""

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from pplx_gateway.errors import StoreUnavailable

T = TypeVar("T")
Row = tuple[Any, ...]
Arguments = Sequence[object]
Statement = tuple[str, Arguments]

BUSY_TIMEOUT_SECONDS = 5.0
LOCKED_TIMEOUT_SECONDS = 0.2
"""Whoever has held the store for longer than BUSY_TIMEOUT_SECONDS is none of ours: until it is free again nobody waits
longer than this, or a queue of writers would hold up every answer that notes something."""
RETRY_SECONDS = 0.01
LOG_BYTES = 4 << 20  # a long log of changes is cut back to this


class Database:
    """Open it with `await Database.open(path)`. Every method raises StoreUnavailable where SQLite fails."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        self._connection: sqlite3.Connection | None = None
        self._locked = False

    @classmethod
    async def open(cls, path: Path) -> "Database":
        """Creates the folder (0700) and the file (0600) where they are missing, and brings the schema up to date."""
        database = cls(path)
        try:
            await database._run(database._connect)
        except StoreUnavailable:
            database._thread.shutdown(wait=False)
            raise
        return database

    async def fetch(self, sql: str, arguments: Arguments = ()) -> list[Row]:
        """The rows of one reading statement."""
        return await self._run(lambda: self._open.execute(sql, arguments).fetchall())

    async def write(self, *statements: Statement) -> list[int]:
        """All statements in one transaction, or none of them. How many rows each has changed."""
        return await self._run(lambda: self._write(statements))

    async def settle(self) -> None:
        """Empties the log of changes into the file, so that what was deleted is not on the disk any more. Does what it
        can while others read."""
        await self.fetch("pragma wal_checkpoint(truncate)")

    async def close(self) -> None:
        """Waits for what was begun. Safe to call twice."""
        if self._connection is not None:
            await self._run(self._disconnect)
        self._thread.shutdown(wait=True)

    @property
    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            raise sqlite3.ProgrammingError("the store is closed")
        return self._connection

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except (sqlite3.Error, OSError) as error:
            raise StoreUnavailable(f"The store cannot be used: {type(error).__name__}: {error}.") from error
        except RuntimeError:  # the executor is shut down
            raise StoreUnavailable("The store is closed.") from None

    def _connect(self) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
        self._path.chmod(0o600)
        connection = sqlite3.connect(
            self._path, timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False
        )
        _keep_a_log(connection)
        connection.execute("pragma synchronous = normal")
        connection.execute("pragma foreign_keys = on")
        connection.execute("pragma secure_delete = on")  # what was deleted is overwritten, not only given up
        connection.execute(f"pragma journal_size_limit = {LOG_BYTES}")
        self._connection = connection
        self._migrate()

    def _disconnect(self) -> None:
        self._open.close()
        self._connection = None

    def _write(self, statements: Sequence[Statement]) -> list[int]:
        connection = self._open
        self._begin(connection)
        try:
            changed = [connection.execute(sql, arguments).rowcount for sql, arguments in statements]
        except sqlite3.Error:
            connection.execute("rollback")
            raise
        connection.execute("commit")
        return changed

    def _begin(self, connection: sqlite3.Connection) -> None:
        locked = True
        try:
            connection.execute("begin immediate")
            locked = False
        finally:
            if locked != self._locked:
                self._locked = locked
                seconds = LOCKED_TIMEOUT_SECONDS if locked else BUSY_TIMEOUT_SECONDS
                connection.execute(f"pragma busy_timeout = {seconds * 1000:.0f}")

    def _migrate(self) -> None:
        """Runs the numbered files that this database has not seen. `user_version` is the last one's number."""
        connection = self._open
        connection.execute("begin immediate")
        (version,) = connection.execute("pragma user_version").fetchone()
        steps = [step for step in _migrations() if step[0] > version]
        for number, sql in steps:
            for statement in _statements(sql):
                connection.execute(statement)
            connection.execute(f"pragma user_version = {number:d}")
        connection.execute("commit")


def _keep_a_log(connection: sqlite3.Connection) -> None:
    """Where two workers open a new file in the same instant, SQLite refuses one of them here without waiting."""
    patience = time.monotonic() + BUSY_TIMEOUT_SECONDS
    while True:
        try:
            connection.execute("pragma journal_mode = wal")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > patience:
                raise
            time.sleep(RETRY_SECONDS)
        else:
            return


def _migrations() -> list[tuple[int, str]]:
    folder = files("pplx_gateway").joinpath("store/migrations")
    found = [entry for entry in folder.iterdir() if entry.name.endswith(".sql")]
    return sorted((int(entry.name.split("_")[0]), entry.read_text(encoding="utf-8")) for entry in found)


def _statements(sql: str) -> list[str]:
    """`executescript` would commit the transaction first, so the file is cut into its statements here."""
    statements, pending = [], ""
    for line in sql.splitlines(keepends=True):
        if not line.lstrip().startswith("--"):
            pending += line
        if sqlite3.complete_statement(pending):
            statements.append(pending.strip())
            pending = ""
    return statements
