"""What the web_search tool says about the search. The search is built in, so the tool narrows it, and makes it seen."""

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec

from pplx_gateway.capabilities import Feature, Use
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.protocols import search_values
from pplx_gateway.protocols.narrowing import narrowed as narrowed_by
from pplx_gateway.protocols.openai.common_request import Positive
from pplx_gateway.question import Location, Search

F = Feature


class UserPlace(msgspec.Struct, frozen=True, kw_only=True):
    type: Literal["approximate"] = "approximate"
    city: str | None = None
    country: str | None = None
    region: str | None = None
    timezone: str | None = None


class WebSearchTool(msgspec.Struct, frozen=True, kw_only=True):
    type: Annotated[str, msgspec.Meta(description="web_search_ and a date")]
    name: Literal["web_search"]
    allowed_domains: list[str] | None = None
    blocked_domains: list[str] | None = None
    max_uses: Positive | None = None
    user_location: UserPlace | None = None
    cache_control: dict[str, object] | None = None
    allowed_callers: list[str] | None = None
    defer_loading: bool | None = None
    strict: bool | None = None


def narrowed(search: Search, tool: WebSearchTool, at: str) -> Search:
    """Raises InvalidRequest, also where the tool contradicts a search field of the request."""
    if tool.allowed_domains and tool.blocked_domains:
        where = f"{at}.blocked_domains"
        raise InvalidRequest(f"'{where}' cannot be combined with 'allowed_domains'.", param=where)
    found = Search(domains=_domains(tool, at), location=_location(tool, at))
    return narrowed_by(search, found, {"domains": _domains_at(tool, at), "location": f"{at}.user_location"})


def uses(tool: WebSearchTool, at: str) -> Iterator[Use]:
    if tool.allowed_domains or tool.blocked_domains:
        yield Use(_domains_at(tool, at), F.DOMAINS)
    if _location(tool, at):
        yield Use(f"{at}.user_location", F.LOCATION)
    if tool.max_uses is not None:
        yield Use(f"{at}.max_uses", F.MAX_TOOL_CALLS)


def idle(tool: WebSearchTool, at: str) -> Iterator[str]:
    """What the tool carries without an effect."""
    if tool.user_location and tool.user_location.timezone:
        yield f"{at}.user_location.timezone"


def _domains_at(tool: WebSearchTool, at: str) -> str:
    return f"{at}.blocked_domains" if tool.blocked_domains else f"{at}.allowed_domains"


def _domains(tool: WebSearchTool, at: str) -> tuple[str, ...]:
    for name, entries in (("allowed_domains", tool.allowed_domains), ("blocked_domains", tool.blocked_domains)):
        if any(entry.strip().startswith("-") for entry in entries or ()):
            raise InvalidRequest(f"'{at}.{name}' takes domains without a '-' before them.", param=f"{at}.{name}")
    blocked = [f"-{entry}" for entry in tool.blocked_domains or ()]
    return search_values.domains(blocked or tool.allowed_domains or (), _domains_at(tool, at))


def _location(tool: WebSearchTool, at: str) -> Location | None:
    place = tool.user_location or UserPlace()
    found = Location(
        country=search_values.country(place.country, f"{at}.user_location.country"),
        region=place.region or None,
        city=place.city or None,
    )
    return None if found == Location() else found
