"""Searches for pages (docs/wire-agent.md 3)."""

import re
from collections.abc import Iterator
from datetime import date

import msgspec

from pplx_gateway.errors import InvalidRequest, UpstreamError
from pplx_gateway.operations import Found, Lookup, Page
from pplx_gateway.receipts import Note
from pplx_gateway.upstreams.api.events import SearchResult, Shape
from pplx_gateway.upstreams.api.operations.calls import Calls
from pplx_gateway.upstreams.api.operations.prices import search_cost

PATH = "/search"
NAMES = ("search",)
"""What an allow-list calls it."""
MOST_QUERIES = 5
MOST_RESULTS = 20
MOST_PEOPLE = 50
MOST_TOKENS = 1_000_000
MOST_DOMAINS = 20
LONGEST_DOMAIN = 253
MOST_LANGUAGES = 20


class _Reply(msgspec.Struct):
    id: str | None = None
    results: list[msgspec.Raw] | None = None


_REPLY = Shape(_Reply)
_RESULT = Shape(SearchResult)


class ApiSearcher:
    """A Searcher (operations.py)."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def search(self, lookup: Lookup, note: Note) -> Found:
        check(lookup)
        sent = msgspec.json.encode(body(lookup))
        answered = await self._calls.paid(PATH, sent, NAMES, lookup.key_name, note=note)
        cost = search_cost(lookup.kind)
        receipt = msgspec.structs.replace(answered.receipt(), searches=1, cost=cost, computed=cost is not None)
        note(receipt)
        reply = answered.read(_REPLY)
        if reply.results is None:
            raise UpstreamError("Perplexity's reply to the search holds no list of results.")
        pages = tuple(_pages(reply.results))
        return Found(id=reply.id or receipt.request_id or "", pages=pages, body=answered.body, receipt=receipt)


def _pages(results: list[msgspec.Raw]) -> Iterator[Page]:
    for raw in results:
        found = _RESULT.read(raw)
        if found is not None and found.url:
            yield Page(
                url=found.url,
                title=found.title or "",
                snippet=found.snippet or "",
                date=found.date,
                last_updated=found.last_updated,
            )


def body(lookup: Lookup) -> dict[str, object]:
    """Every key is one that the API documents: it refuses a body for any other."""
    fields: dict[str, object] = {
        "query": lookup.queries[0] if len(lookup.queries) == 1 else lookup.queries,
        "search_type": lookup.kind,
        "search_mode": lookup.mode,
        "max_results": lookup.max_results,
        "max_tokens": lookup.max_tokens,
        "max_tokens_per_page": lookup.max_tokens_per_page,
        "search_context_size": lookup.context_size,
        "country": lookup.country,
        "search_domain_filter": lookup.domains or None,
        "search_language_filter": lookup.languages or None,
        "search_recency_filter": lookup.recency,
        "search_after_date_filter": _american(lookup.after),
        "search_before_date_filter": _american(lookup.before),
        "last_updated_after_filter": _american(lookup.updated_after),
        "last_updated_before_filter": _american(lookup.updated_before),
        "display_server_time": lookup.show_time or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _american(day: date | None) -> str | None:
    return None if day is None else f"{day:%m/%d/%Y}"


def check(lookup: Lookup) -> None:
    """Raises InvalidRequest for what the API refuses, and for what it would take, bill and not do."""
    _check_queries(lookup.queries)
    _check_sizes(lookup)
    _check_domains(lookup.domains)
    _check_dates(lookup)
    if len(lookup.languages) > MOST_LANGUAGES or not all(re.fullmatch("[a-z]{2}", each) for each in lookup.languages):
        raise _wrong("search_language_filter", f"takes up to {MOST_LANGUAGES} two-letter codes, such as 'en'")
    if lookup.country is not None and not re.fullmatch("[A-Z]{2}", lookup.country):
        raise _wrong("country", "takes two capitals (ISO 3166-1), such as BE")


def _wrong(param: str, words: str) -> InvalidRequest:
    return InvalidRequest(f"'{param}' {words}.", param=param)


def _check_queries(queries: tuple[str, ...]) -> None:
    if not 1 <= len(queries) <= MOST_QUERIES:
        raise _wrong("query", f"takes 1 to {MOST_QUERIES} queries, not {len(queries)}")
    if not all(query.strip() for query in queries):
        raise _wrong("query", "holds an empty query")


def _check_sizes(lookup: Lookup) -> None:
    most = MOST_PEOPLE if lookup.kind == "people" else MOST_RESULTS
    sizes = (
        ("max_results", lookup.max_results, most),
        ("max_tokens", lookup.max_tokens, MOST_TOKENS),
        ("max_tokens_per_page", lookup.max_tokens_per_page, MOST_TOKENS),
    )
    for name, value, limit in sizes:
        if value is not None and not 1 <= value <= limit:
            raise _wrong(name, f"takes 1 to {limit}, not {value}")
    if lookup.context_size and (lookup.max_tokens or lookup.max_tokens_per_page):
        raise _wrong("search_context_size", "does not go with a token budget. Send one of them")


def _check_domains(domains: tuple[str, ...]) -> None:
    param = "search_domain_filter"
    if len(domains) > MOST_DOMAINS:
        raise _wrong(param, f"takes at most {MOST_DOMAINS} domains, not {len(domains)}")
    denied = sum(domain.startswith("-") for domain in domains)
    if 0 < denied < len(domains):
        raise _wrong(param, "allows or denies (with a leading '-'), but not both")
    for domain in domains:
        bare = domain.removeprefix("-")
        if not bare or len(domain) > LONGEST_DOMAIN or "://" in bare or not bare.isascii() or re.search(r"\s", bare):
            raise _wrong(param, f"holds '{domain[:80]}', which is no domain")


def _check_dates(lookup: Lookup) -> None:
    if lookup.recency and (lookup.after or lookup.before):
        raise _wrong("search_recency_filter", "does not go with dates of publication")
    pairs = (
        ("search_after_date_filter", lookup.after, lookup.before),
        ("last_updated_after_filter", lookup.updated_after, lookup.updated_before),
    )
    for param, after, before in pairs:
        if after and before and after > before:
            raise _wrong(param, "lies after its counterpart, so no page could match")
