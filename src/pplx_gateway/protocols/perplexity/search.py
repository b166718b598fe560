"""`POST /search`: pages, without an answer."""

from datetime import date
from typing import Literal

import msgspec

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.operations import Lookup
from pplx_gateway.permits import permit
from pplx_gateway.protocols.operation import Operation, Reply, told
from pplx_gateway.protocols.perplexity.strict import decode_strict
from pplx_gateway.protocols.search_values import check_order, country, day, domains, languages, month_ago
from pplx_gateway.question import Recency

NAME = "search"
"""What a caller's key is allowed it by."""


class SearchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Dates are MM/DD/YYYY or ISO. `published_after` and `published_before` are older names of two of them, and
    `latest_updated` means: updated within the last month."""

    query: str | list[str]
    max_results: int | None = None
    max_tokens: int | None = None
    max_tokens_per_page: int | None = None
    search_type: Literal["web", "fast", "people"] | None = None
    search_mode: Literal["web", "academic", "sec"] | None = None
    search_context_size: Literal["low", "medium", "high"] | None = None
    country: str | None = None
    search_domain_filter: list[str] | None = None
    search_language_filter: list[str] | None = None
    search_recency_filter: Recency | None = None
    search_after_date_filter: str | None = None
    search_before_date_filter: str | None = None
    last_updated_after_filter: str | None = None
    last_updated_before_filter: str | None = None
    display_server_time: bool | None = None
    published_after: str | None = None
    published_before: str | None = None
    latest_updated: bool | None = None


async def search(asked: Operation) -> Reply:
    """Raises GatewayError."""
    request = decode_strict(await asked.body(), SearchRequest)
    permit(NAME, "api")
    wanted = lookup(request, asked)
    searcher = asked.gateway.operations.searcher
    async with asked.leaving():
        found = await searcher.search(wanted, asked.note())
    return Reply(found.body, told(found.receipt))


def lookup(request: SearchRequest, asked: Operation) -> Lookup:
    """Raises InvalidRequest."""
    after = _day(request, "search_after_date_filter", "published_after")
    before = _day(request, "search_before_date_filter", "published_before")
    check_order(after, before, "search_after_date_filter")
    updated_after = day(request.last_updated_after_filter, "last_updated_after_filter")
    updated_before = day(request.last_updated_before_filter, "last_updated_before_filter")
    check_order(updated_after, updated_before, "last_updated_after_filter")
    if request.latest_updated and updated_after is None:
        updated_after = month_ago(asked.gateway.clock.now())
    return Lookup(
        queries=_queries(request.query),
        kind=request.search_type,
        mode=request.search_mode,
        max_results=request.max_results,
        max_tokens=request.max_tokens,
        max_tokens_per_page=request.max_tokens_per_page,
        context_size=request.search_context_size,
        country=country(request.country, "country"),
        domains=domains(request.search_domain_filter or (), "search_domain_filter"),
        languages=languages(request.search_language_filter or (), "search_language_filter"),
        recency=request.search_recency_filter,
        after=after,
        before=before,
        updated_after=updated_after,
        updated_before=updated_before,
        show_time=bool(request.display_server_time),
        key_name=asked.key_name,
    )


def _queries(query: str | list[str]) -> tuple[str, ...]:
    if isinstance(query, str):
        query = [query]
    for index, text in enumerate(query):
        if not text.strip():
            at = f"query[{index}]" if len(query) > 1 else "query"
            raise InvalidRequest(f"'{at}' is empty.", param=at)
    return tuple(query)


def _day(request: SearchRequest, name: str, older_name: str) -> date | None:
    given, older = getattr(request, name), getattr(request, older_name)
    if given is not None and older is not None:
        raise InvalidRequest(f"'{older_name}' is an older name of '{name}'. Send one of them.", param=older_name)
    return day(given, name) if older is None else day(older, older_name)
