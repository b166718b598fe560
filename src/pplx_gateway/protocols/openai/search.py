"""Perplexity's search fields on a request, checked and normalised.

Upstream accepts several mistakes silently and bills them (docs/wire-agent.md 2.2, 2.3), so they are caught here.
"""

from operator import attrgetter
from typing import Literal, NamedTuple

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.protocols.openai.search_fields import Place, SearchFields, UserLocation, WebSearchOptions
from pplx_gateway.protocols.search_values import check_order, country, day, domains, languages
from pplx_gateway.question import Location, Search

IMAGE_FORMATS = ("bmp", "gif", "jpeg", "png", "webp", "svg")

SourceName = Literal["web", "academic", "social", "finance"]
_SOURCES: dict[str, SourceName] = {
    "web": "web",
    "academic": "academic",
    "scholar": "academic",
    "social": "social",
    "finance": "finance",
    "sec": "finance",
}


_values = attrgetter(*SearchFields.__struct_fields__)
_ABSENT = (None,) * len(SearchFields.__struct_fields__)


class Asked(NamedTuple):
    """The search, and sentences about what has no effect."""

    search: Search
    warnings: tuple[str, ...]


_NOTHING = Asked(Search(), ())


def search(request: SearchFields) -> Asked:
    """Raises InvalidRequest that names the field."""
    if _values(request) == _ABSENT:
        return _NOTHING
    return _search(request)


def _search(request: SearchFields) -> Asked:
    options = web_options(request)
    warnings: list[str] = []
    after = day(request.search_after_date_filter, "search_after_date_filter")
    before = day(request.search_before_date_filter, "search_before_date_filter")
    updated_after = day(request.last_updated_after_filter, "last_updated_after_filter")
    updated_before = day(request.last_updated_before_filter, "last_updated_before_filter")
    recency = request.search_recency_filter or None
    if recency and (after or before):
        other = "search_after_date_filter" if after else "search_before_date_filter"
        raise InvalidRequest(
            f"'search_recency_filter' cannot be combined with '{other}'.", param="search_recency_filter"
        )
    check_order(after, before, "search_after_date_filter")
    check_order(updated_after, updated_before, "last_updated_after_filter")
    found = Search(
        enabled=False if request.disable_search else None,
        sources=_sources(request, warnings),
        domains=domains(request.search_domain_filter or (), "search_domain_filter"),
        languages=languages(request.search_language_filter or (), "search_language_filter"),
        recency=recency,
        after=after,
        before=before,
        updated_after=updated_after,
        updated_before=updated_before,
        context_size=options.search_context_size,
        max_results=request.num_search_results,
        location=_location(request, options, warnings),
        language=request.language_preference or None,
        images=wants_images(request),
        image_formats=_image_formats(request.image_format_filter or ()),
        image_domains=domains(request.image_domain_filter or (), "image_domain_filter"),
        related_questions=bool(request.return_related_questions),
    )
    return Asked(found, tuple(warnings))


def web_options(request: SearchFields) -> WebSearchOptions:
    """`web_search_options` as the one object that it is; a list of one is an older form."""
    options = request.web_search_options
    if options is None or options == []:
        return WebSearchOptions()
    if isinstance(options, WebSearchOptions):
        return options
    if len(options) > 1:
        raise InvalidRequest("'web_search_options' may hold one entry only.", param="web_search_options")
    return options[0]


def user_place(options: WebSearchOptions) -> Place:
    """`user_location`, with or without OpenAI's inner `approximate`."""
    location = options.user_location or UserLocation()
    return location.approximate or location


def wants_images(request: SearchFields) -> bool:
    overrides = request.media_response.overrides if request.media_response else None
    return bool(request.return_images or (overrides and overrides.return_images))


def listed_sources(request: SearchFields) -> list[str]:
    """`sources` as names in small letters; a string holds them separated by commas."""
    listed = request.sources.split(",") if isinstance(request.sources, str) else request.sources or []
    return [name.strip().lower() for name in listed if name.strip()]


def _sources(request: SearchFields, warnings: list[str]) -> tuple[SourceName, ...]:
    mode = request.search_mode
    if mode == "news":
        warnings.append("search_mode 'news' does not exist any more; the whole web was searched.")
        mode = "web"
    names = listed_sources(request)
    unknown = next((name for name in names if name not in _SOURCES), None)
    if unknown is not None:
        raise InvalidRequest(f"'sources' knows no '{unknown}'. Use: web, academic, social, finance.", param="sources")
    if names and mode and mode != "web":
        raise InvalidRequest("'search_mode' and 'sources' say the same. Send one of them.", param="search_mode")
    if not names and mode and mode != "web":
        names = [mode]
    return tuple(dict.fromkeys(_SOURCES[name] for name in names))


def _image_formats(entries: list[str] | tuple[()]) -> tuple[str, ...]:
    param = "image_format_filter"
    found = tuple(dict.fromkeys("jpeg" if (name := entry.strip().lower()) == "jpg" else name for entry in entries))
    if not set(found) <= set(IMAGE_FORMATS):
        raise InvalidRequest(f"'{param}' takes: {', '.join(IMAGE_FORMATS)}.", param=param)
    return found


def _location(request: SearchFields, options: WebSearchOptions, warnings: list[str]) -> Location | None:
    """The place of `web_search_options`, filled up by the top-level fields."""
    place = user_place(options)
    if place.timezone:
        warnings.append("web_search_options.user_location: timezone has no effect and was left out.")
    found = Location(
        country=country(place.country or request.country, "country"),
        region=place.region or None,
        city=place.city or None,
        latitude=request.latitude if place.latitude is None else place.latitude,
        longitude=request.longitude if place.longitude is None else place.longitude,
    )
    if (found.latitude is None) != (found.longitude is None):
        missing = "latitude" if found.latitude is None else "longitude"
        raise InvalidRequest("'latitude' and 'longitude' come together.", param=missing)
    return None if found == Location() else found
