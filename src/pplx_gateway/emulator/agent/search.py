"""`POST /search`: pages without an answer (docs/wire-agent.md 3)."""

import uuid
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from pplx_gateway.emulator import pages
from pplx_gateway.emulator.agent.errors import ApiError
from pplx_gateway.emulator.agent.request import Strict
from pplx_gateway.emulator.agent.rules import check_domains, check_recency
from pplx_gateway.emulator.agent.strictness import read_as, read_object
from pplx_gateway.emulator.prose import subject_of
from pplx_gateway.emulator.words import parse_controls

MAX_QUERIES = 5
CHARACTERS_PER_TOKEN = 4


class SearchBody(Strict):
    query: str | list[str]
    max_results: int | None = None
    search_type: Literal["web", "fast", "people"] | None = None
    max_tokens: int | None = None
    max_tokens_per_page: int | None = None
    search_context_size: Literal["low", "medium", "high"] | None = None
    country: str | None = None
    search_domain_filter: list[str] | None = None
    search_language_filter: list[str] | None = None
    search_mode: Literal["web", "academic", "sec"] | None = None
    search_recency_filter: str | None = None
    search_after_date_filter: str | None = None
    search_before_date_filter: str | None = None
    last_updated_after_filter: str | None = None
    last_updated_before_filter: str | None = None
    display_server_time: bool | None = None

    @property
    def queries(self) -> list[str]:
        return [self.query] if isinstance(self.query, str) else self.query


def read_search(body: bytes) -> SearchBody:
    """The search in `body`. Raises ApiError 400 and 413."""
    search = read_as(read_object(body), SearchBody)
    if not search.queries or not all(query.strip() for query in search.queries):
        raise ApiError(400, "query is required and cannot be empty", param="query")
    if len(search.queries) > MAX_QUERIES:
        raise _invalid(f"query takes at most {MAX_QUERIES} entries", "query")
    most = 50 if search.search_type == "people" else 20
    if search.max_results is not None and not 1 <= search.max_results <= most:
        raise _invalid(f"max_results must be between 1 and {most}", "max_results")
    if search.max_tokens is not None and not 1 <= search.max_tokens <= 1_000_000:
        raise _invalid("max_tokens must be between 1 and 1000000", "max_tokens")
    if len(search.search_language_filter or []) > 20:
        raise _invalid("search_language_filter takes at most 20 entries", "search_language_filter")
    check_recency(search.search_recency_filter, "search_recency_filter")
    check_domains(search.search_domain_filter, "search_domain_filter")
    return search


def _invalid(message: str, param: str) -> ApiError:
    return ApiError(400, message, "invalid_parameter", param=param)


def answer(search: SearchBody) -> dict[str, Any]:
    """One flat list over all queries, best first, whole results dropped where the token budget ends."""
    wanted = search.max_results or 10
    share = -(-wanted // len(search.queries))
    domains = tuple(search.search_domain_filter or ())
    lists = [pages.find(subject_of(parse_controls(query).question), share, domains=domains) for query in search.queries]
    merged = [page for rank in zip(*lists, strict=True) for page in rank][:wanted]
    found: dict[str, Any] = {"id": str(uuid.uuid4()), "results": _within(merged, search.max_tokens or 10_000)}
    if search.display_server_time:
        found["server_time"] = datetime.now(UTC).isoformat()
    return found


def _within(found: list[pages.Page], max_tokens: int) -> list[dict[str, Any]]:
    budget = max_tokens * CHARACTERS_PER_TOKEN
    kept = []
    for page in found:
        budget -= len(page.snippet)
        if budget < 0:
            break
        kept.append(msgspec.structs.asdict(page))
    return kept
