"""What each request counts for."""

from collections.abc import Callable, Collection, Iterator
from functools import cache

from pplx_gateway.errors import GatewayError, LimitError, SessionError, UpstreamError
from pplx_gateway.observing.meter import Meter
from pplx_gateway.observing.metrics import (
    COST,
    FAILOVERS,
    FIRST_TEXT,
    OTHER,
    REQUEST_ERRORS,
    REQUESTS,
    SEARCHES,
    SECONDS,
    TOKENS,
    UNKNOWN_COSTS,
    UPSTREAM_ERRORS,
)
from pplx_gateway.store.ledger import Entry

MOST_HELD = 2_000
_GATEWAY = "gateway"
_REFUSED = "refused"
_PAGES = ("/health", "/metrics", "/admin", "/chat", "/docs", "/static", "/openapi.json")


class RequestMeter:
    """A Watch. Entries are put aside as they come, and counted when the meter asks, or when there are many."""

    def __init__(self, meter: Meter, known: Callable[[], Collection[str]]) -> None:
        """`known` gives the ids of models that may be told."""
        self._meter = meter
        self._known = known
        self._ended: list[Entry] = []
        meter.sources.append(self.digest)

    def ended(self, entry: Entry) -> None:
        self._ended.append(entry)
        if len(self._ended) >= MOST_HELD:
            self.digest()

    def unlisted(self, path: str, status: int) -> None:
        """Of the path only that it is one of ours: it may hold a key, or anything else."""
        self._meter.count(REQUESTS, _GATEWAY, _page(path), str(status), "", "")

    def failed_over(self, source: str, target: str, code: str) -> None:
        self._meter.count(FAILOVERS, source, target, code)
        self._meter.count(UPSTREAM_ERRORS, source, code)

    def digest(self) -> None:
        entries, self._ended = self._ended, []
        if entries:
            known = self._known()
            for entry in entries:
                self._count(entry, self.label(entry.served, known))

    def label(self, model: str | None, known: Collection[str] | None = None) -> str:
        """The model as a label: an id of a list of ours, or OTHER; "" for none."""
        if model is None:
            return ""
        return model if model in (self._known() if known is None else known) else OTHER

    def _count(self, entry: Entry, model: str) -> None:
        meter, upstream = self._meter, entry.upstream or ""
        meter.count(REQUESTS, entry.face, entry.operation, str(entry.status), upstream, model)
        meter.observe(SECONDS, entry.milliseconds / 1000, entry.face, entry.operation, upstream)
        if entry.first_text_milliseconds is not None:
            meter.observe(FIRST_TEXT, entry.first_text_milliseconds / 1000, upstream, model)
        if entry.error is not None:
            meter.count(REQUEST_ERRORS, entry.face, entry.operation, entry.error)
            if upstream and entry.error in _codes_of_upstreams():
                meter.count(UPSTREAM_ERRORS, upstream, entry.error)
        if upstream:
            self._count_use(entry, upstream, model)

    def _count_use(self, entry: Entry, upstream: str, model: str) -> None:
        meter = self._meter
        for kind, tokens in _tokens(entry):
            meter.count(TOKENS, upstream, model, kind, by=tokens)
        if entry.cost is not None:
            meter.count(COST, upstream, model, entry.cost_source, by=entry.cost)
        if upstream == "api" and entry.cost_source == "unknown":
            meter.count(UNKNOWN_COSTS, upstream, model)
        if entry.searches:
            meter.count(SEARCHES, "billed", by=entry.searches)
        if entry.pro_searches:
            meter.count(SEARCHES, "pro", by=entry.pro_searches)


def _page(path: str) -> str:
    return next((page.lstrip("/") for page in _PAGES if path == page or path.startswith(f"{page}/")), _REFUSED)


def _tokens(entry: Entry) -> Iterator[tuple[str, int]]:
    counts = {
        "input": entry.input_tokens,
        "output": entry.output_tokens,
        "cached": entry.cached_tokens,
        "reasoning": entry.reasoning_tokens,
    }
    return ((kind, count) for kind, count in counts.items() if count)


@cache
def _codes_of_upstreams() -> frozenset[str]:
    """Codes that say that an upstream failed, and not a caller."""
    return frozenset(code for kind in (UpstreamError, LimitError, SessionError) for code in _codes(kind))


def _codes(kind: type[GatewayError]) -> Iterator[str]:
    yield kind.code
    for leaf in kind.__subclasses__():
        yield from _codes(leaf)
