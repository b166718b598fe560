"""Who has used what, and what it cost: one row for each request that was let in. Never what was asked or answered.

While a request runs, its row fills up in a Tab, which everything on its way finds in `current_tab` (tab.py). Rows are
written behind the requests' backs, in batches: a store that fails touches no request, and a kill loses the last batch
at most.
"""

import asyncio
import logging
from collections.abc import Sequence

from pplx_gateway import fresh
from pplx_gateway.clock import Clock
from pplx_gateway.errors import StoreUnavailable
from pplx_gateway.observing.watching import Nobody, Watch
from pplx_gateway.prices import prices
from pplx_gateway.receipts import Note, Receipt
from pplx_gateway.store.ledger import (
    KEPT_DAYS_OF_SPENDING,
    Choice,
    Dimension,
    Entry,
    Group,
    LedgerRows,
    Numbered,
    day_of,
)
from pplx_gateway.tab import Tab, current_tab

logger = logging.getLogger("pplx_gateway.ledger")

BATCH_SECONDS = 0.5
MOST_WAITING = 20_000
"""Rows that wait for a store that fails; further ones are lost, and counted."""
MOST_AT_ONCE = 500
RETRY_SECONDS = 5.0
CLOSE_SECONDS = 1.0
FORGET_SECONDS = 3600.0
DAY_SECONDS = 86_400.0


class Ledger:
    """`rows` None = nothing is written anywhere. `days` 0 = only what each caller has spent is remembered."""

    def __init__(self, rows: LedgerRows | None, clock: Clock, *, days: int = 90) -> None:
        self.prices = prices()
        self.clock = clock
        self.watch: Watch = Nobody()
        self._rows = rows
        self._days = days
        self._waiting: list[Entry] = []
        self._writing: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self._none_open = asyncio.Event()
        self._open = 0
        self._lost = 0
        self._failing = False

    @property
    def open(self) -> int:
        """Requests under way."""
        return self._open

    # a request's tab

    def tab(self, entry: Entry) -> Tab:
        """For a request that begins now, found by all that works for it in this context."""
        tab = Tab(self, entry)
        current_tab.set(tab)
        return tab

    def claimed(self, caller: str, asked: str | None) -> Tab:
        """The tab of the request at work, else one of its own, for work that nobody's request waits for."""
        tab = current_tab.get()
        if tab is None or not tab.open:
            tab = self._apart(caller, tab)
        tab.claim()
        tab.entry.asked = tab.entry.asked or asked
        return tab

    def notes(self, caller: str, asked: str | None = None) -> Note:
        """What an operation tells of the calls that it paid (operations.py)."""

        def note(receipt: Receipt) -> None:
            tab = self.claimed(caller, asked)
            tab.paid(receipt)
            tab.settle()

        return note

    def apart(self, caller: str, operation: str, asked: str | None = None) -> Note:
        """The same for calls that a request takes beside what it asks for: each in a row of its own."""

        def note(receipt: Receipt) -> None:
            tab = self._apart(caller, current_tab.get())
            tab.entry.operation, tab.entry.asked = operation, asked
            tab.paid(receipt)
            tab.end(200, None)

        return note

    def _apart(self, caller: str, beside: Tab | None) -> Tab:
        entry = Entry(id=fresh.name("req_"), at=self.clock.now(), caller=caller)
        if beside is not None:
            entry.face, entry.operation = beside.entry.face, beside.entry.operation
            entry.caller_name = beside.entry.caller_name
        return Tab(self, entry, alone=True)

    # what is written

    def begun(self) -> None:
        self._open += 1

    def add(self, entry: Entry) -> None:
        self._open -= 1
        if not self._open:
            self._none_open.set()
        self.watch.ended(entry)
        if self._rows is None:
            return
        if len(self._waiting) >= MOST_WAITING:
            self._lost += 1
            return
        self._waiting.append(entry)
        self._news.set()

    async def spent(self, caller: str) -> tuple[int, int]:
        """Trillionths of a dollar that a caller has spent today and in this month (UTC), with what is not written yet.
        Raises StoreUnavailable."""
        if self._rows is None:
            return 0, 0
        day = day_of(self.clock.now())
        await self._written()
        today, month = await self._rows.spent(caller, day)
        mine = [entry for entry in self._waiting if entry.caller == caller and entry.cost]
        for entry in mine:
            spent_on = day_of(entry.at)
            today += (entry.cost or 0) if spent_on == day else 0
            month += (entry.cost or 0) if spent_on[:7] == day[:7] else 0
        return today, month

    async def groups(self, choice: Choice, by: Sequence[Dimension]) -> list[Group]:
        """As LedgerRows does, with all that has ended by now. Raises StoreUnavailable."""
        return await (await self._up_to_date()).groups(choice, by)

    async def recent(self, choice: Choice, *, limit: int, before: int | None = None) -> list[Numbered]:
        """As LedgerRows does, with all that has ended by now. Raises StoreUnavailable."""
        return await (await self._up_to_date()).recent(choice, limit=limit, before=before)

    async def _up_to_date(self) -> LedgerRows:
        if self._rows is None:
            raise StoreUnavailable("This gateway keeps no ledger.")
        await self.flush()
        return self._rows

    async def run(self) -> None:
        """For the supervisor: writes what comes, for ever."""
        while True:
            await self._news.wait()
            await self.clock.sleep(RETRY_SECONDS if self._failing else BATCH_SECONDS)
            await self.flush()

    async def forget(self) -> None:
        """For the supervisor: drops what is too old. Raises StoreUnavailable."""
        if self._rows is not None:
            now = self.clock.now()
            oldest = day_of(now - KEPT_DAYS_OF_SPENDING * DAY_SECONDS)
            await self._rows.drop(now - self._days * DAY_SECONDS, oldest)

    async def flush(self) -> None:
        """Writes what waits. What fails to be written waits on."""
        await self._written()
        while self._waiting and self._rows is not None:
            self._writing = asyncio.create_task(self._write(self._waiting[:MOST_AT_ONCE]))
            before = len(self._waiting)
            await self._written()
            if len(self._waiting) == before:
                return

    async def close(self) -> None:
        """Waits a moment for requests that are ending, and writes what there is."""
        if self._open:
            self._none_open.clear()
            try:
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self._none_open.wait()
            except TimeoutError:
                logger.warning("closed before requests had ended", extra={"requests": self._open})
        await self.flush()

    async def _written(self) -> None:
        """A batch on its way is never cut: it could be written and yet wait to be written again."""
        if self._writing is not None:
            await asyncio.shield(self._writing)

    async def _write(self, batch: Sequence[Entry]) -> None:
        if self._rows is None:
            return
        try:
            await self._rows.add(batch, keep=self._days > 0)
        except StoreUnavailable as error:
            if not self._failing:
                logger.warning("the ledger cannot be written", extra={"why": error.message})
            self._failing = True
            return
        del self._waiting[: len(batch)]
        if not self._waiting:
            self._news.clear()
        if self._failing or self._lost:
            logger.warning("the ledger is written again", extra={"lost": self._lost})
        self._failing, self._lost = False, 0
