"""The shapes of the Agent API's event stream, and a decoder that puts up with surprises.

Only what is used is declared. What varies is `Raw` and read on its own, so that one odd entry costs that entry and not
the event (docs/wire-agent.md 2.6, 2.7).
"""

import json
from typing import Generic, TypeVar

import msgspec

NULL = msgspec.Raw(b"null")


class Head(msgspec.Struct):
    """All that is needed to know an event."""

    type: str | None = None


class OutputTextDelta(msgspec.Struct):
    delta: str | None = None
    sequence_number: int | None = None
    output_index: int | None = None
    content_index: int | None = None
    item_id: str | None = None


class OutputTextDone(msgspec.Struct):
    text: str | None = None
    sequence_number: int | None = None
    output_index: int | None = None
    content_index: int | None = None
    item_id: str | None = None


class Lifecycle(msgspec.Struct):
    """`response.created`, the terminal ones, and what lies between. `response` may be null."""

    sequence_number: int | None = None
    response: msgspec.Raw = NULL
    error: msgspec.Raw = NULL


class OutputItem(msgspec.Struct):
    item: msgspec.Raw = NULL
    sequence_number: int | None = None
    output_index: int | None = None


class Reasoning(msgspec.Struct):
    """Every `response.reasoning.*` event: each brings some of these."""

    sequence_number: int | None = None
    thought: str | None = None
    queries: list[str] | None = None
    results: list[msgspec.Raw] | None = None
    urls: list[str] | None = None
    contents: list[msgspec.Raw] | None = None


class Response(msgspec.Struct):
    id: str | None = None
    object: str | None = None
    status: str | None = None
    model: str | None = None
    output: list[msgspec.Raw] | None = None
    usage: msgspec.Raw = NULL
    error: msgspec.Raw = NULL
    incomplete_details: msgspec.Raw = NULL


class IncompleteDetails(msgspec.Struct):
    reason: str | None = None


class Item(msgspec.Struct):
    """Every output item: each kind brings some of these."""

    type: str | None = None
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: msgspec.Raw = NULL
    thought_signature: str | None = None
    content: msgspec.Raw = NULL
    queries: list[str] | None = None
    results: list[msgspec.Raw] | None = None
    contents: list[msgspec.Raw] | None = None


class ContentPart(msgspec.Struct):
    type: str | None = None
    text: str | None = None


class SearchResult(msgspec.Struct):
    """`id` is a number; digits in a string are taken too."""

    id: int | str | None = None
    url: str | None = None
    title: str | None = None
    snippet: str | None = None
    date: str | None = None
    last_updated: str | None = None
    source: str | None = None


class PageContent(msgspec.Struct):
    url: str | None = None


class ImageResult(msgspec.Struct):
    image_url: str | None = None
    origin_url: str | None = None
    title: str | None = None
    width: int | None = None
    height: int | None = None


class ToolUse(msgspec.Struct):
    invocation: int | None = None
    cost_usd: float | None = None


class InputDetails(msgspec.Struct):
    cached_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class OutputDetails(msgspec.Struct):
    reasoning_tokens: int | None = None


class WireCost(msgspec.Struct):
    currency: str | None = None
    total_cost: float | None = None
    input_cost: float | None = None
    output_cost: float | None = None
    tool_calls_cost: float | None = None
    cache_read_cost: float | None = None
    cache_creation_cost: float | None = None


class WireUsage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: msgspec.Raw = NULL
    output_tokens_details: msgspec.Raw = NULL
    tool_calls_details: dict[str, msgspec.Raw] | None = None
    cost: msgspec.Raw = NULL


T = TypeVar("T", bound=msgspec.Struct)


class NotJson(ValueError):
    """The bytes are no JSON at all."""


class Shape(Generic[T]):
    """Reads one of the structs above."""

    def __init__(self, kind: type[T]) -> None:
        self.decoder = msgspec.json.Decoder(kind)
        self._kind = kind
        self._fields = {
            field.encode_name: (field.name, msgspec.json.Decoder(field.type)) for field in msgspec.structs.fields(kind)
        }

    def read(self, data: bytes | msgspec.Raw) -> T | None:
        """The value, without those fields that have another type than declared; None if `data` is no JSON object.

        Raises NotJson.
        """
        try:
            return self.decoder.decode(data)
        except (msgspec.DecodeError, RecursionError):
            return self._piecewise(loose(bytes(data)))

    def _piecewise(self, value: object) -> T | None:
        if not isinstance(value, dict):
            return None
        found: dict[str, object] = {}
        for key, (name, decoder) in self._fields.items():
            if key in value:
                found.update(self._field(name, decoder, value[key]))
        return self._kind(**found)

    @staticmethod
    def _field(name: str, decoder: msgspec.json.Decoder[object], value: object) -> dict[str, object]:
        try:
            return {name: decoder.decode(msgspec.json.encode(without_halves(value)))}
        except (msgspec.ValidationError, RecursionError):
            return {}


def value_of(raw: msgspec.Raw | bytes) -> object:
    """`raw` as plain values that can be encoded again. Raises NotJson."""
    try:
        value: object = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return without_halves(loose(bytes(raw)))
    return value


def loose(data: bytes) -> object:
    """What the standard library makes of `data`: it takes what msgspec refuses, a surrogate half above all, which then
    stands in the strings. Raises NotJson."""
    try:
        value: object = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise NotJson from None
    return value


def without_halves(value: object) -> object:
    """`value` with U+FFFD in place of lone surrogate halves, which no encoder takes."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {without_halves(key): without_halves(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [without_halves(entry) for entry in value]
    return value
