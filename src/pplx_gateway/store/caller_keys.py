"""Callers' keys in the store, and how often each was used of late."""

import sqlite3
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from pplx_gateway.caller_keys import CallerKey, Limits
from pplx_gateway.errors import StoreUnavailable
from pplx_gateway.store.database import Database, Row


class KeptKey(NamedTuple):
    digest: bytes
    key: CallerKey


class NameTaken(Exception):
    """There is a key of that name, which was not revoked."""


class Counted(NamedTuple):
    """Whether a request still fits, among those since `began` (seconds since the epoch), within `seconds`."""

    fits: bool
    began: float
    seconds: int

    @property
    def anew_at(self) -> float:
        """When the count begins anew."""
        return self.began + self.seconds


class CallerKeyRows:
    """Methods raise StoreUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def version(self) -> int:
        """Higher after each change."""
        ((version,),) = await self._database.fetch("select coalesce(max(changed), 0) from caller_keys")
        return int(version)

    async def every(self) -> list[KeptKey]:
        """In the order of their creation."""
        return [_kept(row) for row in await self._database.fetch(f"select {_COLUMNS} {_ALL}")]

    async def add(self, key: CallerKey, digest: bytes) -> None:
        """Raises NameTaken."""
        await self._changing(_ADD, _arguments(key, digest))

    async def change(self, key: CallerKey) -> bool:
        """Name, limits and end; False if it is not there, or was revoked. Raises NameTaken."""
        arguments = (key.name, _limits(key.limits), key.expires_at, key.id)
        return await self._changing(_CHANGE, arguments) > 0

    async def revoke(self, key_id: str, now: float) -> None:
        await self._database.write((_REVOKE, (now, key_id)))

    async def used(self, at: Mapping[str, float]) -> None:
        """`at`: when each was last used, by id."""
        await self._database.write(*((_USED, (moment, key_id)) for key_id, moment in at.items()))

    async def count(self, caller: str, seconds: int, most: int, now: float) -> Counted:
        """Counts a request in, if it is among the first `most` within `seconds`, over all workers."""
        rows = await self._database.fetch(_COUNT, (caller, seconds, now, most))
        if rows:
            return Counted(True, rows[0][0], seconds)
        rows = await self._database.fetch(_BEGAN, (caller, seconds))
        return Counted(False, rows[0][0] if rows else now, seconds)

    async def count_out(self, caller: str, counted: Iterable[Counted]) -> None:
        """Takes back what was counted in, unless the count has begun anew."""
        await self._database.write(*((_COUNT_OUT, (caller, each.seconds, each.began)) for each in counted))

    async def _changing(self, sql: str, arguments: tuple[object, ...]) -> int:
        try:
            return (await self._database.write((sql, arguments)))[0]
        except StoreUnavailable as error:
            if isinstance(error.__cause__, sqlite3.IntegrityError):
                raise NameTaken from None
            raise


def _arguments(key: CallerKey, digest: bytes) -> tuple[object, ...]:
    return (key.id, key.name, digest, key.hint, key.use, _limits(key.limits), key.created_at, key.expires_at)


def _limits(limits: Limits) -> bytes:
    return msgspec.json.encode(limits)


def _kept(row: Row) -> KeptKey:
    key_id, name, digest, hint, use, limits, created_at, expires_at, revoked_at, last_used_at = row
    key = CallerKey(
        id=key_id,
        name=name,
        hint=hint,
        use=use,
        limits=msgspec.json.decode(limits, type=Limits),
        created_at=created_at,
        expires_at=expires_at,
        revoked_at=revoked_at,
        last_used_at=last_used_at,
    )
    return KeptKey(digest, key)


_COLUMNS = "id, name, digest, hint, use, limits, created_at, expires_at, revoked_at, last_used_at"
_ALL = "from caller_keys order by created_at, id"
_NEXT = "(select coalesce(max(changed), 0) + 1 from caller_keys)"
_ADD = f"""
insert into caller_keys (id, name, digest, hint, use, limits, created_at, expires_at, changed)
values (?, ?, ?, ?, ?, ?, ?, ?, {_NEXT})
"""  # noqa: S608
_CHANGE = f"""
update caller_keys set name = ?, limits = ?, expires_at = ?, changed = {_NEXT} where id = ? and revoked_at is null
"""  # noqa: S608
_REVOKE = f"update caller_keys set revoked_at = ?, changed = {_NEXT} where id = ? and revoked_at is null"  # noqa: S608
_USED = "update caller_keys set last_used_at = max(coalesce(last_used_at, 0), ?) where id = ?"
_COUNT = """
insert into caller_counts (caller, seconds, began, count) values (?1, ?2, ?3, 1)
on conflict (caller, seconds) do update set
  count = case when began + seconds <= ?3 or began > ?3 + 60 then 1 else count + 1 end,
  began = case when began + seconds <= ?3 or began > ?3 + 60 then ?3 else began end
where began + seconds <= ?3 or began > ?3 + 60 or count < ?4
returning began
"""  # a count that begins in the future: the machine's clock was put back
_COUNT_OUT = "update caller_counts set count = max(0, count - 1) where caller = ? and seconds = ? and began = ?"
_BEGAN = "select began from caller_counts where caller = ? and seconds = ?"
