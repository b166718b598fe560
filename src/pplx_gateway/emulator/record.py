"""The record of every request that reached the emulator, and waiting for the next change in it."""

import asyncio
import base64
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from pplx_gateway.clock import Clock
from pplx_gateway.emulator.script import matches

KEPT_REQUESTS = 5000


class Record(msgspec.Struct, kw_only=True):
    """One request. Times are seconds since the epoch. `status` is None until the answer began; `ended` = it was sent
    whole, or broken off by the script; `closed_at` = when the client left before that. `refusal` is the error that a
    strict check answered with."""

    id: int
    method: str
    path: str
    query: str
    headers: Sequence[tuple[str, str]]
    body: bytes
    at: float
    status: int | None = None
    scripted: bool = False
    ended: bool = False
    closed_at: float | None = None
    refusal: str | None = None

    def view(self) -> dict[str, object]:
        """For `GET /_emulator/requests`: the body as `json`, or else as `base64`."""
        joined: dict[str, str] = {}
        for name, value in self.headers:
            joined[name] = f"{joined[name]}, {value}" if name in joined else value
        return {
            "id": self.id,
            "method": self.method,
            "path": self.path,
            "query": self.query,
            "headers": joined,
            "raw_headers": [list(pair) for pair in self.headers],
            **self._body_view(),
            "time": self.at,
            "status": self.status,
            "scripted": self.scripted,
            "ended": self.ended,
            "closed_early": self.closed_at is not None,
            "closed_at": self.closed_at,
            "refusal": self.refusal,
        }

    def _body_view(self) -> dict[str, object]:
        try:
            return {"json": msgspec.json.decode(self.body) if self.body else None}
        except (msgspec.DecodeError, RecursionError):
            return {"json": None, "base64": base64.b64encode(self.body).decode()}


class Recorder:
    """Keeps the last 5000 requests. Every change wakes those who wait."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._records: deque[Record] = deque(maxlen=KEPT_REQUESTS)
        self._counted = 0
        self._changed = asyncio.Event()

    def add(self, method: str, path: str, query: str, headers: Sequence[tuple[str, str]], body: bytes) -> Record:
        self._counted += 1
        now = self._clock.now()
        record = Record(id=self._counted, method=method, path=path, query=query, headers=headers, body=body, at=now)
        self._records.append(record)
        self.changed()
        return record

    def closed_early(self, record: Record) -> None:
        record.closed_at = self._clock.now()
        self.changed()

    def changed(self) -> None:
        """Wakes everybody who waits. Also called by the halves when something that can be waited for has changed."""
        self._changed.set()
        self._changed = asyncio.Event()

    def find(self, path: str | None = None, *, method: str | None = None, closed: bool = False) -> list[Record]:
        """Records in order of arrival; `path` may end with `*`; `closed` = only those that the client left early."""
        return [
            record
            for record in self._records
            if (path is None or matches(path, record.path))
            and method in (None, record.method)
            and not (closed and record.closed_at is None)
        ]

    def clear(self) -> None:
        self._records.clear()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Returns as soon as `holds()`, which is asked again after every change."""
        while not holds():
            changed: Awaitable[object] = self._changed.wait()
            await changed
