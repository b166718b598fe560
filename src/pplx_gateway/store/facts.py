"""Small values that all workers share, by name: the session's token, the quota, the models found."""

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

    async def remove(self, name: str) -> None:
        await self._database.write(("delete from facts where name = ?", (name,)))


_PUT = """
insert into facts (name, value) values (?, ?)
on conflict (name) do update set value = excluded.value, version = version + 1
"""
_ADD = "insert into facts (name, value) values (?, ?) on conflict (name) do nothing"
