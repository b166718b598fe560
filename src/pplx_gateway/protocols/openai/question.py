"""A chat request as a Question, and what the caller is told about the difference."""

import difflib
from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from pplx_gateway.capabilities import Feature, Policy, Support, by_address, settle
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.protocols.openai import fields, messages, search, tools
from pplx_gateway.protocols.openai.attachments import NO_FILES, Attached
from pplx_gateway.protocols.openai.chat_request import ChatRequest, JsonObject, JsonSchema
from pplx_gateway.question import (
    Effort,
    FilePart,
    ImagePart,
    JsonObjectFormat,
    JsonSchemaFormat,
    Message,
    OutputFormat,
    Part,
    Question,
    Sampling,
    Turn,
)

F = Feature

# Their neutral values pass everywhere, and reach only an upstream that honours them.
_WITH_NEUTRAL_VALUES = (F.TEMPERATURE, F.TOP_P, F.SERVICE_TIER, F.TRUNCATION)
_LONGEST_NAME = 64
_MOST_HINTS = 8


class Prepared(NamedTuple):
    """`dropped` holds names of fields, `warnings` sentences."""

    question: Question
    dropped: tuple[str, ...]
    warnings: tuple[str, ...]


class Target(NamedTuple):
    """What the protocol must know of whoever will answer."""

    upstream: str
    support: Mapping[Feature, Support]
    policy: Policy


def prepare(
    request: ChatRequest, model: str, target: Target, unknown: tuple[str, ...] = (), attached: Attached = NO_FILES
) -> Prepared:
    """`unknown` are the body's keys that ChatRequest does not know, `attached` the files that its messages name by id.
    Raises InvalidRequest and its kinds."""
    question, warnings = _question(request, model, attached)
    settlement = settle(fields.uses(request), target.support, target.policy, target.upstream)
    for feature in settlement.without:
        question = _WITHOUT.get(feature, _unchanged)(question)
    for feature in _WITH_NEUTRAL_VALUES:
        if target.support.get(feature) is not Support.HONOURED:
            question = _WITHOUT[feature](question)
    if not question.turns:
        raise InvalidRequest("'messages' holds nothing that this upstream can be asked.", param="messages")
    if settlement.dropped:
        names = ", ".join(settlement.dropped)
        warnings.append(f"The {target.upstream} upstream does not know these fields, so they were left out: {names}.")
    warnings.extend(_hints(unknown))
    return Prepared(question, settlement.dropped + fields.advisory(request) + unknown, tuple(warnings))


def _question(request: ChatRequest, model: str, attached: Attached) -> tuple[Question, list[str]]:
    offer = tools.offer(request)
    asked = search.search(request)
    warnings = list(asked.warnings)
    question = Question(
        model=model,
        turns=messages.turns(request.messages, attached),
        streamed=bool(request.stream),
        effort=_effort(request, warnings),
        search=asked.search,
        functions=offer.functions,
        tool_choice=offer.choice,
        parallel_tool_calls=request.parallel_tool_calls,
        format=_format(request),
        sampling=_sampling(request, warnings),
        metadata=request.metadata or None,
        service_tier=request.service_tier,
        prompt_cache_key=request.prompt_cache_key,
        truncation=request.truncation,
        citation_marks=request.citation_marks,
        source_list=request.source_list,
    )
    return question, warnings


def _sampling(request: ChatRequest, warnings: list[str]) -> Sampling:
    limit = request.max_tokens if request.max_completion_tokens is None else request.max_completion_tokens
    if request.max_tokens not in (None, limit):
        warnings.append("'max_completion_tokens' was used and 'max_tokens' was not: they differ.")
    return Sampling(
        temperature=request.temperature,
        top_p=request.top_p,
        max_output_tokens=limit,
        stop=fields.stop_strings(request),
    )


def _format(request: ChatRequest) -> OutputFormat | None:
    match request.response_format:
        case JsonObject():
            return JsonObjectFormat()
        case JsonSchema(definition):
            return JsonSchemaFormat(
                name=definition.name,
                schema=definition.schema,
                strict=definition.strict,
                description=definition.description,
            )
        case _:
            return None


def _effort(request: ChatRequest, warnings: list[str]) -> Effort | None:
    """`thinking: true` alone is a medium effort."""
    named = request.reasoning.effort if request.reasoning else None
    if request.reasoning_effort and named and request.reasoning_effort != named:
        raise InvalidRequest("'reasoning_effort' and 'reasoning.effort' differ.", param="reasoning.effort")
    effort = request.reasoning_effort or named
    if effort == "max":
        warnings.append("An effort of 'max' was taken as 'xhigh', the highest there is.")
        effort = "xhigh"
    if request.thinking is None:
        return effort
    wanted = fields.thinks(request)
    if effort is not None and wanted != (effort != "none"):
        raise InvalidRequest(f"'thinking' contradicts an effort of '{effort}'.", param="thinking")
    return effort or ("medium" if wanted else None)


def _hints(unknown: tuple[str, ...]) -> list[str]:
    """A sentence for every unknown field that looks like a slip."""
    hints = []
    for name in unknown[:_MOST_HINTS]:
        near = _meant(name) if len(name) <= _LONGEST_NAME else None
        if near:
            hints.append(f"The field '{name}' does not exist and was ignored; did you mean '{near}'?")
    return hints


def _meant(name: str) -> str | None:
    if name in _MISNAMED:
        return _MISNAMED[name]
    near = difflib.get_close_matches(name, _KNOWN, n=1, cutoff=0.85)
    return near[0] if near else None


_KNOWN = [field.encode_name for field in msgspec.structs.fields(ChatRequest)]
_MISNAMED = {
    "search_after_date": "search_after_date_filter",
    "search_before_date": "search_before_date_filter",
    "date_after": "search_after_date_filter",
    "date_before": "search_before_date_filter",
    "after_date_filter": "search_after_date_filter",
    "before_date_filter": "search_before_date_filter",
    "published_after": "search_after_date_filter",
    "published_before": "search_before_date_filter",
    "last_updated_after": "last_updated_after_filter",
    "last_updated_before": "last_updated_before_filter",
    "recency": "search_recency_filter",
    "search_recency": "search_recency_filter",
    "domains": "search_domain_filter",
    "search_domain": "search_domain_filter",
    "search_context_size": "web_search_options.search_context_size",
    "user_location": "web_search_options.user_location",
    "max_results": "num_search_results",
}


def _search(**changes: object) -> Callable[[Question], Question]:
    def change(question: Question) -> Question:
        return msgspec.structs.replace(question, search=msgspec.structs.replace(question.search, **changes))

    return change


def _sample(**changes: object) -> Callable[[Question], Question]:
    def change(question: Question) -> Question:
        return msgspec.structs.replace(question, sampling=msgspec.structs.replace(question.sampling, **changes))

    return change


def _set(**changes: object) -> Callable[[Question], Question]:
    return lambda question: msgspec.structs.replace(question, **changes)


def _without_parts(
    kind: type[ImagePart | FilePart], such: Callable[[Part], bool] = lambda _: True
) -> Callable[[Question], Question]:
    def stripped(turn: Turn) -> Turn:
        if not isinstance(turn, Message):
            return turn
        return Message(turn.role, tuple(part for part in turn.parts if not (isinstance(part, kind) and such(part))))

    def change(question: Question) -> Question:
        turns = tuple(map(stripped, question.turns))
        left = tuple(turn for turn in turns if not isinstance(turn, Message) or turn.parts)
        return msgspec.structs.replace(question, turns=left)

    return change


def _without_prefill(question: Question) -> Question:
    turns = list(question.turns)
    while turns and isinstance(turns[-1], Message) and turns[-1].role == "assistant":
        turns.pop()
    return msgspec.structs.replace(question, turns=tuple(turns))


def _unchanged(question: Question) -> Question:
    return question


# How to leave a feature out of a question. What is not here never reached it.
_WITHOUT: dict[Feature, Callable[[Question], Question]] = {
    F.TEMPERATURE: _sample(temperature=None),
    F.TOP_P: _sample(top_p=None),
    F.MAX_OUTPUT_TOKENS: _sample(max_output_tokens=None),
    F.STOP: _sample(stop=()),
    F.JSON_OBJECT: _set(format=None),
    F.JSON_SCHEMA: _set(format=None),
    F.FUNCTIONS: _set(functions=(), tool_choice="auto"),
    F.EFFORT: _set(effort=None),
    F.IMAGES_IN: _without_parts(ImagePart),
    F.FILES_IN: _without_parts(FilePart),
    F.IMAGE_ADDRESSES: _without_parts(ImagePart, by_address),
    F.FILE_ADDRESSES: _without_parts(FilePart, by_address),
    F.SEARCH_OFF: _search(enabled=None),
    F.SOURCE_CHOICE: _search(sources=()),
    F.DOMAINS: _search(domains=()),
    F.LANGUAGES: _search(languages=()),
    F.RECENCY: _search(recency=None),
    F.DATES: _search(after=None, before=None),
    F.UPDATED_DATES: _search(updated_after=None, updated_before=None),
    F.CONTEXT_SIZE: _search(context_size=None),
    F.MAX_RESULTS: _search(max_results=None),
    F.LOCATION: _search(location=None),
    F.LANGUAGE: _search(language=None),
    F.IMAGES_OUT: _search(images=False),
    F.IMAGE_FILTERS: _search(image_formats=(), image_domains=()),
    F.RELATED_QUESTIONS: _search(related_questions=False),
    F.METADATA: _set(metadata=None),
    F.SERVICE_TIER: _set(service_tier=None),
    F.PROMPT_CACHE_KEY: _set(prompt_cache_key=None),
    F.TRUNCATION: _set(truncation=None),
    F.PREFILL: _without_prefill,
}
