"""Which field of a request asks for which feature, and which of its values ask for nothing.

Neutral values (a penalty of 0, `n` of 1, `logprobs: false`) pass everywhere. A field without a feature is advisory:
every upstream lives without it, and the caller is told that it was left out. Here is what both protocols take;
chat_fields.py and responses/fields.py add their own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import compress, repeat
from operator import attrgetter, is_not
from typing import Generic, NamedTuple, TypeVar

from pplx_gateway.capabilities import Feature, Support, Use
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.protocols.openai import search
from pplx_gateway.protocols.openai.common_request import CommonRequest
from pplx_gateway.protocols.openai.search_fields import SearchFields

R_contra = TypeVar("R_contra", bound=SearchFields, contravariant=True)
F = Feature
MOST_STOPS = 16


class Field(NamedTuple, Generic[R_contra]):
    """`name` as callers write it; `used` is true where the request's value asks for something."""

    name: str
    feature: Feature | None
    used: Callable[[R_contra], object]


class Fields(Generic[R_contra]):
    """The fields of one kind of request, in the order in which they are looked at.

    `elsewhere`: features asked for inside messages, items or tools, with the places where callers write them.
    """

    def __init__(self, fields: tuple[Field[R_contra], ...], elsewhere: tuple[tuple[str, Feature], ...]) -> None:
        self.fields = fields
        self.elsewhere = elsewhere
        self._values = attrgetter(*(field.name.partition(".")[0] for field in fields))
        self._none = (None,) * len(fields)

    def uses(self, request: R_contra) -> Iterator[Use]:
        """What the fields of the request really ask for."""
        for field in self._given(request):
            if field.feature is not None and field.used(request):
                yield Use(field.name, field.feature)

    def advisory(self, request: R_contra) -> tuple[str, ...]:
        """The advisory fields that the request carries."""
        return tuple(field.name for field in self._given(request) if field.feature is None and field.used(request))

    def _given(self, request: R_contra) -> Iterator[Field[R_contra]]:
        """Nearly every field is absent in nearly every request, so all are looked at in one go."""
        values = self._values(request)
        return iter(()) if values == self._none else compress(self.fields, map(is_not, values, repeat(None)))


def stop_strings(request: CommonRequest) -> tuple[str, ...]:
    """An empty string stops nothing and is left out. Raises InvalidRequest for more than anybody needs: each of them is
    looked for in every piece of the answer."""
    return stops([request.stop] if isinstance(request.stop, str) else request.stop or [], "stop")


def stops(listed: Sequence[str], param: str) -> tuple[str, ...]:
    """The same for a list under the name `param`."""
    if len(listed) > MOST_STOPS:
        raise InvalidRequest(f"'{param}' takes at most {MOST_STOPS} strings, not {len(listed)}.", param=param)
    return tuple(filter(None, listed))


def thinks(request: CommonRequest) -> bool:
    switch = request.thinking
    return switch if isinstance(switch, bool) else switch is not None and switch.type != "disabled"


def _options(request: SearchFields, name: str) -> object:
    return request.web_search_options and getattr(search.web_options(request), name)


def _overrides(request: SearchFields, name: str) -> object:
    media = request.media_response
    return media and media.overrides and getattr(media.overrides, name)


SEARCH: tuple[Field[SearchFields], ...] = (
    Field("sources", F.SOURCE_CHOICE, lambda r: set(search.listed_sources(r)) - {"web"}),
    Field("search_mode", F.SOURCE_CHOICE, lambda r: r.search_mode in ("academic", "sec")),
    Field("disable_search", F.SEARCH_OFF, lambda r: r.disable_search),
    Field("search_domain_filter", F.DOMAINS, lambda r: r.search_domain_filter),
    Field("search_language_filter", F.LANGUAGES, lambda r: r.search_language_filter),
    Field("search_recency_filter", F.RECENCY, lambda r: r.search_recency_filter),
    Field("search_after_date_filter", F.DATES, lambda r: r.search_after_date_filter),
    Field("search_before_date_filter", F.DATES, lambda r: r.search_before_date_filter),
    Field("last_updated_after_filter", F.UPDATED_DATES, lambda r: r.last_updated_after_filter),
    Field("last_updated_before_filter", F.UPDATED_DATES, lambda r: r.last_updated_before_filter),
    Field("num_search_results", F.MAX_RESULTS, lambda r: r.num_search_results is not None),
    Field("web_search_options.search_context_size", F.CONTEXT_SIZE, lambda r: _options(r, "search_context_size")),
    Field("web_search_options.user_location", F.LOCATION, lambda r: _options(r, "user_location")),
    Field("country", F.LOCATION, lambda r: r.country),
    Field("latitude", F.LOCATION, lambda r: r.latitude is not None),
    Field("longitude", F.LOCATION, lambda r: r.longitude is not None),
    Field("language_preference", F.LANGUAGE, lambda r: r.language_preference),
    Field("return_images", F.IMAGES_OUT, lambda r: r.return_images),
    Field("media_response.overrides.return_images", F.IMAGES_OUT, lambda r: _overrides(r, "return_images")),
    Field("image_format_filter", F.IMAGE_FILTERS, lambda r: r.image_format_filter),
    Field("image_domain_filter", F.IMAGE_FILTERS, lambda r: r.image_domain_filter),
    Field("return_related_questions", F.RELATED_QUESTIONS, lambda r: r.return_related_questions),
)
IDLE_SEARCH: tuple[Field[SearchFields], ...] = (
    Field("media_response.overrides.return_videos", None, lambda r: _overrides(r, "return_videos")),
    Field(
        "web_search_options.user_location.timezone",
        None,
        lambda r: search.user_place(search.web_options(r)).timezone,
    ),
    Field("web_search_options.search_type", None, lambda r: _options(r, "search_type")),
    Field(
        "web_search_options.image_results_enhanced_relevance",
        None,
        lambda r: _options(r, "image_results_enhanced_relevance"),
    ),
    Field(
        "web_search_options.image_search_relevance_enhanced",
        None,
        lambda r: _options(r, "image_search_relevance_enhanced"),
    ),
)
COMMON: tuple[Field[CommonRequest], ...] = (
    Field("reasoning_effort", F.EFFORT, lambda r: r.reasoning_effort not in (None, "none")),
    Field("reasoning.effort", F.EFFORT, lambda r: r.reasoning and r.reasoning.effort not in (None, "none")),
    Field("thinking", F.EFFORT, thinks),
    Field("temperature", F.TEMPERATURE, lambda r: r.temperature not in (None, 1)),
    Field("top_p", F.TOP_P, lambda r: r.top_p not in (None, 1)),
    Field("top_k", F.TOP_K, lambda r: r.top_k),
    Field("stop", F.STOP, lambda r: any(stop_strings(r))),
    Field("seed", F.SEED, lambda r: r.seed is not None),
    Field("presence_penalty", F.PENALTIES, lambda r: r.presence_penalty),
    Field("frequency_penalty", F.PENALTIES, lambda r: r.frequency_penalty),
    Field("top_logprobs", F.LOGPROBS, lambda r: r.top_logprobs),
    *SEARCH,
    Field("service_tier", F.SERVICE_TIER, lambda r: r.service_tier not in (None, "auto", "default")),
    Field("prompt_cache_key", F.PROMPT_CACHE_KEY, lambda r: r.prompt_cache_key),
    Field("truncation", F.TRUNCATION, lambda r: r.truncation == "auto"),
    Field("user", None, lambda r: r.user),
    Field("safety_identifier", None, lambda r: r.safety_identifier),
    *IDLE_SEARCH,
)

Supports = Mapping[str, Mapping[Feature, Support]]


def markdown(rows: list[tuple[str, Feature | None]], supports: Supports) -> str:
    """A table field x upstream for the docs. A field with several features has one row that names them all."""
    names = list(supports)
    lines = [f"| field | {' | '.join(names)} |", "| --- |" + " --- |" * len(names)]
    by_name: dict[str, list[Feature | None]] = {}
    for name, feature in rows:
        by_name.setdefault(name, []).append(feature)
    for name, features in by_name.items():
        lines.append(f"| `{name}` | {' | '.join(_verdicts(supports[upstream], features) for upstream in names)} |")
    return "\n".join(lines) + "\n"


def _verdicts(support: Mapping[Feature, Support], features: list[Feature | None]) -> str:
    verdicts = [_verdict(support, feature) for feature in features]
    if len(set(verdicts)) == 1:
        return verdicts[0]
    return ", ".join(f"{feature}: {verdict}" for feature, verdict in zip(features, verdicts, strict=True))


def _verdict(support: Mapping[Feature, Support], feature: Feature | None) -> str:
    return (Support.HINT if feature is None else support.get(feature, Support.REFUSED)).value
