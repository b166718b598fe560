"""What one request has used so far: the row of the ledger that it becomes."""

import asyncio
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Protocol

from pplx_gateway.answer import Batch, Finished, Started, TextDelta, ToolCall, Usage
from pplx_gateway.catalogue import Model
from pplx_gateway.clock import Clock
from pplx_gateway.complexity import Rating
from pplx_gateway.errors import GatewayError
from pplx_gateway.money import trillionths
from pplx_gateway.observing.watching import Watch
from pplx_gateway.prices import Prices
from pplx_gateway.receipts import Receipt
from pplx_gateway.store.ledger import CostSource, Entry

current_tab: ContextVar["Tab | None"] = ContextVar("current_tab", default=None)
"""That of the request at work, for everything on its way."""

CANCELLED = 499
_LONGEST_REASON = 200
_WORST = ("given", "computed", "unknown")


class Sink(Protocol):
    """Where rows go, and who takes care of what."""

    prices: Prices
    clock: Clock
    watch: Watch

    def begun(self) -> None: ...

    def add(self, entry: Entry) -> None: ...


class Tab:
    """`headers` are told with the answer. The row is written once the request is over (`end`) and nothing works for it
    any more (`claim`, `settle`): a response in the background outlives the request that began it."""

    __slots__ = ("_alone", "_began", "_claims", "_ended", "_paid", "_sink", "_written", "entry", "headers", "refusal")

    def __init__(self, sink: Sink, entry: Entry, *, alone: bool = False) -> None:
        """`alone`: there is no request that it could wait for."""
        self.entry = entry
        self.headers: list[tuple[bytes, bytes]] = []
        self.refusal: GatewayError | None = None
        self._sink = sink
        self._began = sink.clock.monotonic()
        self._claims = 0
        self._alone = self._ended = alone
        self._paid = False
        self._written = False
        sink.begun()

    @property
    def open(self) -> bool:
        return not self._written

    # the request

    def told(self, headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """The answer begins with `headers`; gives those that are told beside them."""
        self.entry.dropped = next((value.decode() for name, value in headers if name == b"x-pplx-dropped"), "")
        return self.headers

    def refused(self, error: GatewayError) -> None:
        """The caller is told `error` instead of an answer."""
        self.refusal = error
        self.entry.error = self.entry.error or error.code

    def end(self, status: int, error: str | None) -> None:
        """`error`: the code of what the caller was told instead of an answer, or where the answer broke off."""
        self._ended = True
        self.entry.status = status
        self.entry.error = self.entry.error or error
        if not self._claims:
            self._write()

    # the work

    def claim(self) -> None:
        self._claims += 1

    def settle(self, error: BaseException | None = None) -> None:
        """`error`: what the work ended with instead of an answer."""
        if isinstance(error, GatewayError):
            self._failed(error.code, error.status)
        elif isinstance(error, asyncio.CancelledError) and self._ended:
            self._failed("cancelled", CANCELLED)
        self._claims -= 1
        if self._ended and not self._claims:
            self._write()

    def heard(self, batch: Batch) -> None:
        """Batches until the first text, for its time and the key that pays."""
        for event in batch:
            if isinstance(event, Started):
                self.entry.key_name = event.key_name or self.entry.key_name
            elif isinstance(event, TextDelta | ToolCall):
                self.entry.first_text_milliseconds = self._milliseconds()
                return

    @property
    def heard_text(self) -> bool:
        return self.entry.first_text_milliseconds is not None

    def asking(self, model: Model) -> None:
        """A target is tried. What another one told before it failed does not count."""
        self.entry.upstream, self.entry.served, self.entry.key_name = model.upstream, model.id, None

    def failed_over(self, source: Model, target: Model, code: str) -> None:
        """`source` failed with that code before it had said anything, and `target` is tried."""
        self._sink.watch.failed_over(source.upstream, target.upstream, code)

    def routed(self, rating: Rating) -> None:
        """Tells the caller why the router chose as it did."""
        reason = rating.reason.encode("ascii", "replace")[:_LONGEST_REASON]
        self.headers += [(b"x-pplx-router-tier", rating.tier.encode()), (b"x-pplx-router-reason", reason)]

    def answered(self, model: str, finished: Finished) -> None:
        """`model`: the id of what answered, as callers are told it."""
        self.entry.served = model
        self.entry.pro_searches += finished.took_pro
        if finished.usage is not None:
            self._count(finished.usage, finished.served_model)

    def _failed(self, code: str, status: int) -> None:
        self.entry.error = code
        if self._alone:
            self.entry.status = status

    def paid(self, receipt: Receipt) -> None:
        """A call of an operation. Several of one request add up; of them all the last one's key and model are told."""
        entry = self.entry
        entry.upstream, entry.key_name = "api", receipt.key_name
        entry.served = receipt.model or entry.served
        entry.input_tokens += receipt.input_tokens
        entry.output_tokens += receipt.output_tokens
        entry.searches += receipt.searches
        cost = None if receipt.cost is None else trillionths(receipt.cost.total)
        self._add_cost(cost, "computed" if receipt.computed else "given")

    def _count(self, usage: Usage, model: str | None) -> None:
        entry = self.entry
        entry.input_tokens += usage.input_tokens
        entry.output_tokens += usage.output_tokens
        entry.cached_tokens += usage.cached_tokens
        entry.reasoning_tokens += usage.reasoning_tokens
        entry.estimated = entry.estimated or usage.estimated
        entry.searches += usage.search_queries or 0
        if usage.cost is not None and usage.cost.currency == "USD":
            self._add_cost(trillionths(usage.cost.total), "given")
        elif entry.upstream == "api":
            amount = self._sink.prices.of_answer(model, usage)
            self._add_cost(None if amount is None else trillionths(amount), "computed")

    def _add_cost(self, cost: int | None, source: CostSource) -> None:
        """A sum is only as good as its worst part."""
        source = "unknown" if cost is None else source
        if cost is not None:
            self.entry.cost = (self.entry.cost or 0) + cost
        if not self._paid or _WORST.index(source) > _WORST.index(self.entry.cost_source):
            self.entry.cost_source = source
        self._paid = True

    def _milliseconds(self) -> int:
        return round((self._sink.clock.monotonic() - self._began) * 1000)

    def _write(self) -> None:
        if self._written:
            return
        self._written = True
        self.entry.milliseconds = self._milliseconds()
        self._sink.add(self.entry)
