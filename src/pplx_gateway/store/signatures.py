"""Thought signatures, for all workers and across restarts: a bounded table, and no caller crowds out the others."""

import json
from collections.abc import Collection, Mapping
from typing import NamedTuple

from pplx_gateway.clock import Clock
from pplx_gateway.store.database import Database

KEEP_ROWS = 20_000
KEEP_ROWS_A_CALLER = 2_000
KEEP_CHARACTERS = 64 << 20
DAY_SECONDS = 24 * 3600


class Kept(NamedTuple):
    """`key_name` is the key that the call was made with."""

    signature: str
    key_name: str


class StoredSignatures:
    """Methods raise StoreUnavailable."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        *,
        keep_days: int,
        rows: int = KEEP_ROWS,
        a_caller: int = KEEP_ROWS_A_CALLER,
        characters: int = KEEP_CHARACTERS,
    ) -> None:
        self._database = database
        self._clock = clock
        self._keep_seconds = keep_days * DAY_SECONDS
        self._rows = rows
        self._a_caller = a_caller
        self._characters = characters

    async def put(self, caller: str, key_name: str, signatures: Mapping[str, str]) -> None:
        """`signatures` by call id."""
        now = self._clock.now()
        rows = [
            (_PUT, (caller, call_id, key_name, signature, len(signature), now))
            for call_id, signature in signatures.items()
        ]
        await self._database.write(
            *rows,
            ("delete from signatures where written_at <= ?", (now - self._keep_seconds,)),
            (_TRIM_CALLER, (caller, caller, self._a_caller)),
            (_TRIM, (self._rows,)),
            (_TRIM_SIZE, (self._characters,)),
        )

    async def find(self, caller: str, call_ids: Collection[str]) -> dict[str, Kept]:
        """Those of `call_ids` that are there."""
        oldest = self._clock.now() - self._keep_seconds
        rows = await self._database.fetch(_FIND, (caller, json.dumps(list(call_ids)), oldest))
        return {call_id: Kept(signature, key_name) for call_id, signature, key_name in rows}


_PUT = """
insert or replace into signatures (caller, call_id, key_name, signature, size, written_at) values (?, ?, ?, ?, ?, ?)
"""
_FIND = """
select call_id, signature, key_name from signatures
where caller = ? and call_id in (select value from json_each(?)) and written_at > ?
"""
_TRIM_CALLER = """
delete from signatures where caller = ? and number <= (
  select number from signatures where caller = ? order by number desc limit 1 offset ?
)
"""
_TRIM = "delete from signatures where number <= (select number from signatures order by number desc limit 1 offset ?)"
_TRIM_SIZE = """
delete from signatures where number in (
  select number from (select number, sum(size) over (order by number desc) as together from signatures)
  where together > ?
)
"""
