"""Perplexity's search fields on a chat request, checked and normalised.

Upstream accepts several mistakes silently and bills them (docs/wire-agent.md 2.2, 2.3), so they are caught here.
"""

import re
from datetime import date, datetime
from operator import attrgetter
from typing import Literal, NamedTuple

import idna

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.protocols.openai.chat_request import ChatRequest, Place, UserLocation, WebSearchOptions
from pplx_gateway.question import Location, Search

MAX_DOMAINS = 20
MAX_LANGUAGES = 20
MAX_DOMAIN_LENGTH = 253
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
_AMERICAN = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(T|$)")
_HOST = re.compile(r"\.?[a-z0-9_]([a-z0-9_.-]*[a-z0-9])?")
_LANGUAGE = re.compile(r"[a-z]{2}")
_COUNTRY = re.compile(r"[A-Z]{2}")


_FIELDS = (
    "sources",
    "search_mode",
    "disable_search",
    "search_domain_filter",
    "search_language_filter",
    "search_recency_filter",
    "search_after_date_filter",
    "search_before_date_filter",
    "last_updated_after_filter",
    "last_updated_before_filter",
    "web_search_options",
    "num_search_results",
    "return_images",
    "image_format_filter",
    "image_domain_filter",
    "media_response",
    "return_related_questions",
    "language_preference",
    "country",
    "latitude",
    "longitude",
)
_values = attrgetter(*_FIELDS)
_ABSENT = (None,) * len(_FIELDS)


class Asked(NamedTuple):
    """The search, and sentences about what has no effect."""

    search: Search
    warnings: tuple[str, ...]


_NOTHING = Asked(Search(), ())


def search(request: ChatRequest) -> Asked:
    """Raises InvalidRequest that names the field."""
    if _values(request) == _ABSENT:
        return _NOTHING
    return _search(request)


def _search(request: ChatRequest) -> Asked:
    options = web_options(request)
    warnings: list[str] = []
    after = _date(request.search_after_date_filter, "search_after_date_filter")
    before = _date(request.search_before_date_filter, "search_before_date_filter")
    updated_after = _date(request.last_updated_after_filter, "last_updated_after_filter")
    updated_before = _date(request.last_updated_before_filter, "last_updated_before_filter")
    recency = request.search_recency_filter or None
    if recency and (after or before):
        other = "search_after_date_filter" if after else "search_before_date_filter"
        raise InvalidRequest(
            f"'search_recency_filter' cannot be combined with '{other}'.", param="search_recency_filter"
        )
    _in_order(after, before, "search_after_date_filter")
    _in_order(updated_after, updated_before, "last_updated_after_filter")
    found = Search(
        enabled=False if request.disable_search else None,
        sources=_sources(request, warnings),
        domains=_domains(request.search_domain_filter or (), "search_domain_filter"),
        languages=_languages(request.search_language_filter or ()),
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
        image_domains=_domains(request.image_domain_filter or (), "image_domain_filter"),
        related_questions=bool(request.return_related_questions),
    )
    return Asked(found, tuple(warnings))


def web_options(request: ChatRequest) -> WebSearchOptions:
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


def wants_images(request: ChatRequest) -> bool:
    overrides = request.media_response.overrides if request.media_response else None
    return bool(request.return_images or (overrides and overrides.return_images))


def listed_sources(request: ChatRequest) -> list[str]:
    """`sources` as names in small letters; a string holds them separated by commas."""
    listed = request.sources.split(",") if isinstance(request.sources, str) else request.sources or []
    return [name.strip().lower() for name in listed if name.strip()]


def _sources(request: ChatRequest, warnings: list[str]) -> tuple[SourceName, ...]:
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


def _domains(entries: list[str] | tuple[()], param: str) -> tuple[str, ...]:
    if len(entries) > MAX_DOMAINS:
        raise InvalidRequest(f"'{param}' takes at most {MAX_DOMAINS} domains, not {len(entries)}.", param=param)
    found = tuple(dict.fromkeys(_domain(entry, param) for entry in entries))
    denied = sum(domain.startswith("-") for domain in found)
    if 0 < denied < len(found):
        raise InvalidRequest(f"'{param}' allows or denies (with a leading '-'), but not both.", param=param)
    return found


def _domain(entry: str, param: str) -> str:
    """`-HTTPS://Bücher.example/Path/` gives `-xn--bcher-kva.example/Path`."""
    text = entry.strip()
    sign, text = ("-", text[1:].strip()) if text.startswith("-") else ("", text)
    text = re.sub(r"^[a-z][a-z0-9+.-]*://", "", text, flags=re.IGNORECASE).rstrip("/")
    host, slash, path = text.partition("/")
    host = host.lower()
    if not host.isascii():
        try:
            host = idna.encode(host, uts46=True).decode()
        except idna.IDNAError:
            raise InvalidRequest(f"'{param}' holds '{entry}', which is no domain.", param=param) from None
    result = f"{sign}{host}{slash}{path}"
    if not _HOST.fullmatch(host) or ".." in host or len(result) > MAX_DOMAIN_LENGTH or not result.isprintable():
        raise InvalidRequest(f"'{param}' holds '{entry}', which is no domain.", param=param)
    return result


def _languages(entries: list[str] | tuple[()]) -> tuple[str, ...]:
    param = "search_language_filter"
    if len(entries) > MAX_LANGUAGES:
        raise InvalidRequest(f"'{param}' takes at most {MAX_LANGUAGES} languages.", param=param)
    found = tuple(dict.fromkeys(entry.strip().lower() for entry in entries))
    if not all(_LANGUAGE.fullmatch(language) for language in found):
        raise InvalidRequest(f"'{param}' takes two-letter codes (ISO 639-1), such as 'en'.", param=param)
    return found


def _image_formats(entries: list[str] | tuple[()]) -> tuple[str, ...]:
    param = "image_format_filter"
    found = tuple(dict.fromkeys("jpeg" if (name := entry.strip().lower()) == "jpg" else name for entry in entries))
    if not set(found) <= set(IMAGE_FORMATS):
        raise InvalidRequest(f"'{param}' takes: {', '.join(IMAGE_FORMATS)}.", param=param)
    return found


def _date(text: str | None, param: str) -> date | None:
    """`3/1/2026`, `03/01/2026`, `2026-03-01` and `2026-03-01T00:00:00Z` are the same day; "" is none."""
    if text is None or not text.strip():
        return None
    found = _parse_date(text.strip())
    if found is None:
        raise InvalidRequest(f"'{param}' is '{text}', which is no date. Write MM/DD/YYYY.", param=param)
    return found


def _parse_date(text: str) -> date | None:
    american = _AMERICAN.fullmatch(text)
    try:
        if american:
            month, day, year = map(int, american.groups())
            return date(year, month, day)
        return datetime.fromisoformat(text).date() if _ISO.match(text) else None
    except ValueError:
        return None


def _in_order(after: date | None, before: date | None, param: str) -> None:
    if after and before and after > before:
        raise InvalidRequest(f"'{param}' lies after its counterpart, so no page could match.", param=param)


def _location(request: ChatRequest, options: WebSearchOptions, warnings: list[str]) -> Location | None:
    """The place of `web_search_options`, filled up by the top-level fields."""
    place = user_place(options)
    if place.timezone:
        warnings.append("web_search_options.user_location: timezone has no effect and was left out.")
    found = Location(
        country=_country(place.country or request.country),
        region=place.region or None,
        city=place.city or None,
        latitude=request.latitude if place.latitude is None else place.latitude,
        longitude=request.longitude if place.longitude is None else place.longitude,
    )
    if (found.latitude is None) != (found.longitude is None):
        missing = "latitude" if found.latitude is None else "longitude"
        raise InvalidRequest("'latitude' and 'longitude' come together.", param=missing)
    return None if found == Location() else found


def _country(text: str | None) -> str | None:
    if not text or not text.strip():
        return None
    country = text.strip().upper()
    if not _COUNTRY.fullmatch(country):
        raise InvalidRequest(f"'country' is '{text}'. Write two letters (ISO 3166-1), such as BE.", param="country")
    return country
