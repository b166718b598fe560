"""A response on its way into the store, by whoever holds it."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from pplx_gateway.errors import GatewayError
from pplx_gateway.store import Responses
from pplx_gateway.store.records import Ending, Hold, StoredEvent

BATCH_SECONDS = 0.05


class Lost(Exception):
    """The response is not ours any more: it was deleted, cancelled or taken over."""


class Keeping:
    """`write` events as they come: they are in the store within BATCH_SECONDS. `end` brings the last ones along.

    `changed` is called after each change that followers can see.
    """

    def __init__(self, responses: Responses, hold: Hold, changed: Callable[[], None]) -> None:
        self.hold = hold
        self._responses = responses
        self._changed = changed
        self._pending: list[StoredEvent] = []
        self._storing = asyncio.Lock()
        self._soon: asyncio.Task[None] | None = None
        self._failure: GatewayError | Lost | None = None

    def write(self, events: Sequence[StoredEvent]) -> None:
        """Raises Lost, StoreUnavailable, also for events that were written before."""
        if self._failure is not None:
            raise self._failure
        self._pending += events
        if self._pending and self._soon is None:
            self._soon = asyncio.create_task(self._store_soon())

    async def end(self, ending: Ending) -> None:
        """`ending.events` come after those that were written. Raises Lost, StoreUnavailable."""
        async with self._storing:
            self.close()
            await self._responses.retention.trim(len(ending.object))
            whole = msgspec.structs.replace(ending, events=[*self._pending, *ending.events])
            if not await self._responses.runs.finish(self.hold, whole):
                raise Lost
        self._changed()

    def close(self) -> None:
        """What was not stored yet is left to whoever goes on."""
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None

    async def _store_soon(self) -> None:
        try:
            while self._pending:
                await asyncio.sleep(BATCH_SECONDS)
                async with self._storing:
                    await self._store()
        except (GatewayError, Lost) as error:
            self._failure = error
        self._soon = None

    async def _store(self) -> None:
        batch, self._pending = self._pending, []
        if not await self._responses.runs.append(self.hold, batch):
            raise Lost
        self._changed()
