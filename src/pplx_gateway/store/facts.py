"""Small values that all workers share, by name: the session's token, the quota, the models found."""

import json
from typing import NamedTuple

from pplx_gateway.store.database import Database


class Fact(NamedTuple):
    """`version` grows by one with each change."""

    value: bytes
    version: int


class Facts:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, name: str) -> Fact | None:
        rows = await self._database.fetch("select value, version from facts where name = ?", (name,))
        return Fact(bytes(rows[0][0]), rows[0][1]) if rows else None

    async def put(self, name: str, value: bytes) -> Fact:
        """Replaces, last writer wins. Gives the fact as it stands then."""
        await self._database.write((_PUT, (name, value)))
        fact = await self.get(name)
        return fact or Fact(value, 1)

    async def add(self, name: str, value: bytes) -> Fact:
        """Keeps what is there already; else writes. Gives what holds."""
        await self._database.write((_ADD, (name, value)))
        fact = await self.get(name)
        return fact or Fact(value, 1)

    async def swap(self, name: str, value: bytes, version: int) -> Fact | None:
        """Replaces if the fact is still at `version`, 0 for one that is not there. Gives the fact as it stands then,
        None where another was first."""
        sql, arguments = (_SWAP, (value, name, version)) if version else (_FIRST, (name, value))
        rows = await self._database.fetch(sql, arguments)  # one statement, so a transaction of its own
        return Fact(value, rows[0][0]) if rows else None

    async def among(self, *names: str) -> dict[str, Fact]:
        """Those of `names` that are there, in one read."""
        rows = await self._database.fetch(_AMONG, (json.dumps(names),))
        return {name: Fact(bytes(value), version) for name, value, version in rows}

    async def remove(self, name: str) -> None:
        await self._database.write(("delete from facts where name = ?", (name,)))


_PUT = """
insert into facts (name, value) values (?, ?)
on conflict (name) do update set value = excluded.value, version = version + 1
"""
_ADD = "insert into facts (name, value) values (?, ?) on conflict (name) do nothing"
_AMONG = "select name, value, version from facts where name in (select value from json_each(?))"
_SWAP = "update facts set value = ?, version = version + 1 where name = ? and version = ? returning version"
_FIRST = f"{_ADD} returning version"
