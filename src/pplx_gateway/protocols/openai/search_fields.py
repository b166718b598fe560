"""Perplexity's own search fields, which chat completions and Responses take alike, at the top level of the body."""

from typing import Annotated, Literal

import msgspec

from pplx_gateway.question import Recency

Latitude = Annotated[float, msgspec.Meta(ge=-90, le=90)]
Longitude = Annotated[float, msgspec.Meta(ge=-180, le=180)]
ContextSize = Literal["low", "medium", "high"]


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """`type` is `approximate`, and says nothing."""

    type: str | None = None
    country: str | None = None
    region: str | None = None
    city: str | None = None
    timezone: str | None = None
    latitude: Latitude | None = None
    longitude: Longitude | None = None


class UserLocation(Place, frozen=True, kw_only=True):
    """A place, or `{type: approximate, approximate: {...}}` around one."""

    approximate: Place | None = None


class WebSearchOptions(msgspec.Struct, frozen=True, kw_only=True):
    search_context_size: ContextSize | None = None
    user_location: UserLocation | None = None
    search_type: str | None = None
    image_results_enhanced_relevance: bool | None = None
    image_search_relevance_enhanced: bool | None = None


class MediaOverrides(msgspec.Struct, frozen=True):
    return_images: bool | None = None
    return_videos: bool | None = None


class MediaResponse(msgspec.Struct, frozen=True):
    overrides: MediaOverrides | None = None


class SearchFields(msgspec.Struct, frozen=True, kw_only=True):
    """How to search, and what of the findings to return."""

    sources: str | list[str] | None = None
    search_mode: Literal["web", "academic", "sec", "news"] | None = None
    disable_search: bool | None = None
    search_domain_filter: list[str] | None = None
    search_language_filter: list[str] | None = None
    search_recency_filter: Recency | Literal[""] | None = None
    search_after_date_filter: str | None = None
    search_before_date_filter: str | None = None
    last_updated_after_filter: str | None = None
    last_updated_before_filter: str | None = None
    web_search_options: WebSearchOptions | list[WebSearchOptions] | None = None
    num_search_results: Annotated[int, msgspec.Meta(ge=1, le=50)] | None = None
    return_images: bool | None = None
    image_format_filter: list[str] | None = None
    image_domain_filter: list[str] | None = None
    media_response: MediaResponse | None = None
    return_related_questions: bool | None = None
    language_preference: str | None = None
    country: str | None = None
    latitude: Latitude | None = None
    longitude: Longitude | None = None
