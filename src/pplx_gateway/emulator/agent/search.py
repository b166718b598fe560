"""`POST /search`: pages without an answer (docs/wire-agent.md 3)."""

import re
import uuid
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from pplx_gateway.emulator import pages
from pplx_gateway.emulator.agent.desk import Desk
from pplx_gateway.emulator.agent.errors import ApiError
from pplx_gateway.emulator.agent.guards import guard
from pplx_gateway.emulator.agent.request import Strict
from pplx_gateway.emulator.agent.rules import check_domains, check_recency
from pplx_gateway.emulator.agent.strictness import read_as, read_object
from pplx_gateway.emulator.dice import Dice
from pplx_gateway.emulator.prose import subject_of
from pplx_gateway.emulator.stage import Stage
from pplx_gateway.emulator.words import parse_controls

PATHS = ("/search", "/v1/search")
MAX_QUERIES = 5
MAX_LANGUAGES = 20
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


class Searches:
    """The endpoint, at both of its paths, over one Stage."""

    def __init__(self, stage: Stage) -> None:
        self._desk = Desk(stage)
        for path in PATHS:
            stage.guard("POST", path, guard(read_search))

    def routes(self) -> list[BaseRoute]:
        return [Route(path, self.search, methods=["POST"]) for path in PATHS]

    async def search(self, request: Request) -> Response:
        self._desk.key(request)
        asked = read_search(await request.body())
        found = answer(asked, datetime.fromtimestamp(self._desk.stage.clock.now(), UTC))
        return self._desk.told(asked.queries[0], found, empty={**found, "results": []})


def read_search(body: bytes) -> SearchBody:
    """The search in `body`. Raises ApiError 400 and 413."""
    search = read_as(read_object(body), SearchBody)
    _check_queries(search)
    _check_sizes(search)
    _check_filters(search)
    return search


def _check_queries(search: SearchBody) -> None:
    if not search.queries or not all(query.strip() for query in search.queries):
        raise ApiError(400, "query is required and cannot be empty", param="query")
    if len(search.queries) > MAX_QUERIES:
        raise _invalid(f"query takes at most {MAX_QUERIES} entries", "query")


def _check_sizes(search: SearchBody) -> None:
    most = 50 if search.search_type == "people" else 20
    if search.max_results is not None and not 1 <= search.max_results <= most:
        raise _invalid(f"max_results must be between 1 and {most}", "max_results")
    for name in ("max_tokens", "max_tokens_per_page"):
        value = getattr(search, name)
        if value is not None and not 1 <= value <= 1_000_000:
            raise _invalid(f"{name} must be between 1 and 1000000", name)
        if value is not None and search.search_context_size is not None:
            raise _invalid(f"search_context_size cannot be combined with {name}", "search_context_size")


def _check_filters(search: SearchBody) -> None:
    """Dates in the wrong form and mixed domain lists pass: the API takes, and bills, them too."""
    languages = search.search_language_filter or []
    if len(languages) > MAX_LANGUAGES:
        raise _invalid(f"search_language_filter takes at most {MAX_LANGUAGES} entries", "search_language_filter")
    if not all(re.fullmatch("[a-z]{2}", language) for language in languages):
        raise _invalid("search_language_filter takes ISO 639-1 codes", "search_language_filter")
    if search.country is not None and not re.fullmatch("[A-Za-z]{2}", search.country):
        raise _invalid("country must be an ISO 3166-1 alpha-2 code", "country")
    check_recency(search.search_recency_filter, "search_recency_filter")
    dated = search.search_after_date_filter or search.search_before_date_filter
    if search.search_recency_filter and dated:
        message = "search_recency_filter cannot be combined with published date filters"
        raise _invalid(message, "search_recency_filter")
    check_domains(search.search_domain_filter, "search_domain_filter")


def _invalid(message: str, param: str) -> ApiError:
    return ApiError(400, message, "invalid_parameter", param=param)


def answer(search: SearchBody, now: datetime) -> dict[str, Any]:
    """One flat list over all queries, best first, whole results dropped where the token budget ends."""
    wanted = search.max_results or 10
    share = -(-wanted // len(search.queries))
    lists = [list(_pages(search, query, share, now.date())) for query in search.queries]
    deepest = max(map(len, lists))
    merged = [found[rank] for rank in range(deepest) for found in lists if rank < len(found)][:wanted]
    found: dict[str, Any] = {"id": str(uuid.uuid4()), "results": _within(search, merged)}
    if search.display_server_time:
        found["server_time"] = now.isoformat()
    return found


# Where pages of a mode are found, unless the caller names domains.
_MODE_DOMAINS = {"academic": ("papers.example", "journal.example"), "sec": ("filings.example",)}


def _pages(search: SearchBody, query: str, count: int, today: date) -> Iterator[pages.Page]:
    subject = subject_of(parse_controls(query).question)
    domains = tuple(search.search_domain_filter or _MODE_DOMAINS.get(search.search_mode or "web", ()))
    for place, page in enumerate(pages.find(subject, count, domains=domains)):
        shown = page
        if search.search_recency_filter:
            shown = _recent(page, search.search_recency_filter, Dice(f"{subject} {place}"), today)
        if _fits(shown.date, search.search_after_date_filter, search.search_before_date_filter) and _fits(
            shown.last_updated, search.last_updated_after_filter, search.last_updated_before_filter
        ):
            yield shown


_RECENT_DAYS = {"hour": 0, "day": 0, "week": 6, "month": 29, "year": 364}


def _recent(page: pages.Page, recency: str, dice: Dice, today: date) -> pages.Page:
    """`page`, published as lately as was asked for."""
    day = today - timedelta(days=dice.number("age", 0, _RECENT_DAYS[recency]))
    return msgspec.structs.replace(page, date=day.isoformat(), last_updated=day.isoformat())


def _fits(shown: str | None, after: str | None, before: str | None) -> bool:
    """Whether an ISO date lies between two American ones. What cannot be read limits nothing."""
    first, last = _american(after), _american(before)
    if first is None and last is None:
        return True
    return shown is not None and (first is None or shown >= first) and (last is None or shown <= last)


def _american(text: str | None) -> str | None:
    found = re.fullmatch(r"(\d{1,2})/(\d{1,2})/(\d{4})", text or "")
    return f"{found[3]}-{int(found[1]):02}-{int(found[2]):02}" if found else None


def _within(search: SearchBody, found: list[pages.Page]) -> list[dict[str, Any]]:
    budget = (search.max_tokens or 10_000) * CHARACTERS_PER_TOKEN
    page_budget = (search.max_tokens_per_page or 4096) * CHARACTERS_PER_TOKEN
    kept = []
    for page in found:
        snippet = page.snippet[:page_budget]
        budget -= len(snippet)
        if budget < 0:
            break
        kept.append({**msgspec.structs.asdict(page), "snippet": snippet})
    return kept
