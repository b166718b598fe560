"""What a web_search tool says about the search, put together with the search fields of the request."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from pplx_gateway.capabilities import Feature, Use
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.protocols import narrowing, search_values
from pplx_gateway.protocols.openai.search_fields import ContextSize, Place, UserLocation
from pplx_gateway.question import Location, Search

F = Feature


class WebSearchFilters(msgspec.Struct, frozen=True, kw_only=True):
    """Subdomains count as well."""

    allowed_domains: list[str] | None = None


class WebSearchTool(msgspec.Struct, frozen=True, kw_only=True):
    """The search is built in, so that the tool only narrows it, and makes its steps visible."""

    type: Annotated[str, msgspec.Meta(description="web_search or web_search_preview, with or without a date")]
    filters: WebSearchFilters | None = None
    search_context_size: ContextSize | None = None
    user_location: UserLocation | None = None

    @property
    def place(self) -> Place:
        found = self.user_location or UserLocation()
        return found.approximate or found


def narrowed(search: Search, tool: WebSearchTool, at: str) -> Search:
    """Raises InvalidRequest, also where the tool contradicts a search field of the request."""
    domains = tuple(tool.filters.allowed_domains or ()) if tool.filters else ()
    found = Search(
        domains=search_values.domains(domains, f"{at}.filters.allowed_domains"),
        context_size=tool.search_context_size,
        location=_location(tool, at),
    )
    return narrowing.narrowed(search, found, {option: f"{at}{where}" for option, where in _PLACES})


def uses(tool: WebSearchTool, at: str) -> Iterator[Use]:
    if tool.filters and tool.filters.allowed_domains:
        yield Use(f"{at}.filters.allowed_domains", F.DOMAINS)
    if tool.search_context_size:
        yield Use(f"{at}.search_context_size", F.CONTEXT_SIZE)
    if _location(tool, at):
        yield Use(f"{at}.user_location", F.LOCATION)


def idle(tool: WebSearchTool, at: str) -> Iterator[str]:
    """What the tool carries without an effect."""
    if tool.place.timezone:
        yield f"{at}.user_location.timezone"


_PLACES = (
    ("domains", ".filters.allowed_domains"),
    ("context_size", ".search_context_size"),
    ("location", ".user_location"),
)


def _location(tool: WebSearchTool, at: str) -> Location | None:
    place = tool.place
    if (place.latitude is None) != (place.longitude is None):
        missing = f"{at}.user_location.{'latitude' if place.latitude is None else 'longitude'}"
        raise InvalidRequest("'latitude' and 'longitude' come together.", param=missing)
    found = Location(
        country=search_values.country(place.country, f"{at}.user_location.country"),
        region=place.region or None,
        city=place.city or None,
        latitude=place.latitude,
        longitude=place.longitude,
    )
    return None if found == Location() else found
