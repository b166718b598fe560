"""How to leave a feature out of a question, where whoever answers does not honour it."""

from collections.abc import Callable

import msgspec

from pplx_gateway.capabilities import Feature, by_address
from pplx_gateway.question import FilePart, ImagePart, JsonSchemaFormat, Message, Part, Question, Turn

F = Feature
_Change = Callable[[Question], Question]


def without(question: Question, feature: Feature) -> Question:
    """`turns` may come out empty."""
    return _WITHOUT.get(feature, _unchanged)(question)


def _search(**changes: object) -> _Change:
    def change(question: Question) -> Question:
        return msgspec.structs.replace(question, search=msgspec.structs.replace(question.search, **changes))

    return change


def _sample(**changes: object) -> _Change:
    def change(question: Question) -> Question:
        return msgspec.structs.replace(question, sampling=msgspec.structs.replace(question.sampling, **changes))

    return change


def _set(**changes: object) -> _Change:
    return lambda question: msgspec.structs.replace(question, **changes)


def _without_parts(kind: type[ImagePart | FilePart], such: Callable[[Part], bool] = lambda _: True) -> _Change:
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


def _not_strict(question: Question) -> Question:
    form = question.format
    if not isinstance(form, JsonSchemaFormat):
        return question
    return msgspec.structs.replace(question, format=msgspec.structs.replace(form, strict=False))


def _unchanged(question: Question) -> Question:
    return question


# What is not here never reached a question.
_WITHOUT: dict[Feature, _Change] = {
    F.TEMPERATURE: _sample(temperature=None),
    F.TOP_P: _sample(top_p=None),
    F.MAX_OUTPUT_TOKENS: _sample(max_output_tokens=None),
    F.STOP: _sample(stop=()),
    F.JSON_OBJECT: _set(format=None),
    F.JSON_SCHEMA: _set(format=None),
    F.STRICT_SCHEMA: _not_strict,
    F.SANDBOX: _set(sandbox=False),
    F.FUNCTIONS: _set(functions=(), tool_choice="auto"),
    F.MAX_TOOL_CALLS: _set(max_tool_calls=None),
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
