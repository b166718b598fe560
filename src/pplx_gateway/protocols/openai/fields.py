"""Which field of a chat request asks for which feature, and which of its values ask for nothing.

Neutral values (a penalty of 0, `n` of 1, `logprobs: false`) pass everywhere. A field without a feature is advisory:
every upstream lives without it, and the caller is told that it was left out.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import compress, repeat
from operator import attrgetter, is_not
from typing import NamedTuple

from pplx_gateway.capabilities import Feature, Support, Use
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.protocols.openai import search
from pplx_gateway.protocols.openai.chat_request import (
    AssistantMessage,
    ChatRequest,
    FunctionMessage,
    JsonObject,
    JsonSchema,
    RegexFormat,
    ToolMessage,
    UserMessage,
)
from pplx_gateway.protocols.openai.content import FileContent, FileUrlContent, ImageContent, PdfUrlContent


class Field(NamedTuple):
    """`name` as callers write it; `used` is true where the request's value asks for something."""

    name: str
    feature: Feature | None
    used: Callable[[ChatRequest], object]


def stop_strings(request: ChatRequest) -> tuple[str, ...]:
    """An empty string stops nothing and is left out. Raises InvalidRequest for more than anybody needs: each of them is
    looked for in every piece of the answer."""
    listed = [request.stop] if isinstance(request.stop, str) else request.stop or []
    if len(listed) > MOST_STOPS:
        raise InvalidRequest(f"'stop' takes at most {MOST_STOPS} strings, not {len(listed)}.", param="stop")
    return tuple(filter(None, listed))


def thinks(request: ChatRequest) -> bool:
    switch = request.thinking
    return switch if isinstance(switch, bool) else switch is not None and switch.type != "disabled"


F = Feature
MOST_STOPS = 16

FIELDS: tuple[Field, ...] = (
    Field("tools", F.FUNCTIONS, lambda r: r.tools),
    Field("functions", F.FUNCTIONS, lambda r: r.functions),
    Field("response_format", F.JSON_OBJECT, lambda r: isinstance(r.response_format, JsonObject)),
    Field("response_format", F.JSON_SCHEMA, lambda r: isinstance(r.response_format, JsonSchema)),
    Field("response_format.type", F.REGEX_FORMAT, lambda r: isinstance(r.response_format, RegexFormat)),
    Field("reasoning_effort", F.EFFORT, lambda r: r.reasoning_effort not in (None, "none")),
    Field("reasoning.effort", F.EFFORT, lambda r: r.reasoning and r.reasoning.effort not in (None, "none")),
    Field("thinking", F.EFFORT, thinks),
    Field("verbosity", F.VERBOSITY, lambda r: r.verbosity not in (None, "medium")),
    Field("temperature", F.TEMPERATURE, lambda r: r.temperature not in (None, 1)),
    Field("top_p", F.TOP_P, lambda r: r.top_p not in (None, 1)),
    Field("top_k", F.TOP_K, lambda r: r.top_k),
    Field("max_tokens", F.MAX_OUTPUT_TOKENS, lambda r: r.max_tokens is not None),
    Field("max_completion_tokens", F.MAX_OUTPUT_TOKENS, lambda r: r.max_completion_tokens is not None),
    Field("stop", F.STOP, lambda r: any(stop_strings(r))),
    Field("n", F.CHOICES, lambda r: r.n not in (None, 1)),
    Field("best_of", F.CHOICES, lambda r: r.best_of not in (None, 1)),
    Field("seed", F.SEED, lambda r: r.seed is not None),
    Field("presence_penalty", F.PENALTIES, lambda r: r.presence_penalty),
    Field("frequency_penalty", F.PENALTIES, lambda r: r.frequency_penalty),
    Field("logit_bias", F.LOGIT_BIAS, lambda r: r.logit_bias),
    Field("logprobs", F.LOGPROBS, lambda r: r.logprobs),
    Field("top_logprobs", F.LOGPROBS, lambda r: r.top_logprobs),
    Field("prediction", F.PREDICTION, lambda r: r.prediction is not None),
    Field("modalities", F.AUDIO, lambda r: r.modalities is not None and r.modalities != ["text"]),
    Field("audio", F.AUDIO, lambda r: r.audio is not None),
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
    Field("metadata", F.METADATA, lambda r: r.metadata),
    Field("service_tier", F.SERVICE_TIER, lambda r: r.service_tier not in (None, "auto", "default")),
    Field("prompt_cache_key", F.PROMPT_CACHE_KEY, lambda r: r.prompt_cache_key),
    Field("truncation", F.TRUNCATION, lambda r: r.truncation == "auto"),
    Field("user", None, lambda r: r.user),
    Field("store", None, lambda r: r.store),
    Field("safety_identifier", None, lambda r: r.safety_identifier),
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
        lambda r: _options(r, "image_results_enhanced_relevance") or _options(r, "image_search_relevance_enhanced"),
    ),
)

IN_MESSAGES: dict[Feature, str] = {
    F.IMAGES_IN: "messages[].content[].image_url",
    F.FILES_IN: "messages[].content[].file",
    F.IMAGE_ADDRESSES: "messages[].content[].image_url (an https address)",
    F.FILE_ADDRESSES: "messages[].content[].file_url",
    F.PREFILL: "messages (the last one by the assistant)",
}

_CONTENT: dict[type, Feature] = {
    ImageContent: F.IMAGES_IN,
    FileContent: F.FILES_IN,
    FileUrlContent: F.FILE_ADDRESSES,
    PdfUrlContent: F.FILE_ADDRESSES,
}
_OF_TOOLS = (ToolMessage, FunctionMessage)


def uses(request: ChatRequest) -> Iterator[Use]:
    """Everything that the request really asks for."""
    yield from _uses_of_messages(request)
    for field in _given(request):
        if field.feature is not None and field.used(request):
            yield Use(field.name, field.feature)


def advisory(request: ChatRequest) -> tuple[str, ...]:
    """The advisory fields that the request carries."""
    return tuple(field.name for field in _given(request) if field.feature is None and field.used(request))


def _given(request: ChatRequest) -> Iterator[Field]:
    """Nearly every field is absent in nearly every request, so all are looked at in one go."""
    return compress(FIELDS, map(is_not, _values(request), repeat(None)))


_values = attrgetter(*(field.name.partition(".")[0] for field in FIELDS))


def markdown(supports: Mapping[str, Mapping[Feature, Support]]) -> str:
    """The table field x upstream for the docs."""
    names = list(supports)
    lines = [f"| field | {' | '.join(names)} |", "| --- |" + " --- |" * len(names)]
    rows = [(field.name, field.feature) for field in FIELDS] + [
        (name, feature) for feature, name in IN_MESSAGES.items()
    ]
    lines += [f"| `{name}` | {' | '.join(_verdict(supports[n], feature) for n in names)} |" for name, feature in rows]
    return "\n".join(lines) + "\n"


def _verdict(support: Mapping[Feature, Support], feature: Feature | None) -> str:
    return (Support.HINT if feature is None else support.get(feature, Support.REFUSED)).value


def _uses_of_messages(request: ChatRequest) -> Iterator[Use]:
    for index, message in enumerate(request.messages):
        if isinstance(message, UserMessage) and isinstance(message.content, list):
            for place, part in enumerate(message.content):
                at = f"messages[{index}].content[{place}]"
                if feature := _CONTENT.get(type(part)):
                    yield Use(at, feature)
                if isinstance(part, ImageContent) and part.image_url.url[:5].lower() != "data:":
                    yield Use(f"{at}.image_url.url", F.IMAGE_ADDRESSES)
        elif isinstance(message, _OF_TOOLS) and not (request.tools or request.functions):
            yield Use(f"messages[{index}]", F.FUNCTIONS)
    last = request.messages[-1]
    if isinstance(last, AssistantMessage) and last.content:
        yield Use("messages", F.PREFILL)


def _options(request: ChatRequest, name: str) -> object:
    return request.web_search_options and getattr(search.web_options(request), name)


def _overrides(request: ChatRequest, name: str) -> object:
    media = request.media_response
    return media and media.overrides and getattr(media.overrides, name)
