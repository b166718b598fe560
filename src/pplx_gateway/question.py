"""What is asked: the one shape that every protocol writes and every upstream reads.

A protocol has already refused or dropped what the target cannot honour (capabilities.py) and normalised values, so
an upstream finds only what it promised to understand.
"""

from collections.abc import Iterable
from datetime import date
from typing import Literal

import msgspec

Role = Literal["system", "user", "assistant"]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]
Recency = Literal["hour", "day", "week", "month", "year"]


TURNS = "turns"
"""The `param` of an upstream's error about the conversation. Each protocol puts its own field's name there."""


class TextPart(msgspec.Struct, frozen=True, tag="text"):
    text: str


class ImagePart(msgspec.Struct, frozen=True, tag="image"):
    """An image by address: `https:` (never fetched by us) or a checked `data:` URL. `filename` where it has one."""

    url: str
    filename: str | None = None


class FilePart(msgspec.Struct, frozen=True, kw_only=True, tag="file"):
    """A document: its bytes as a `data:` URL, or an `https:` address that the upstream may read."""

    data: str | None = None
    url: str | None = None
    filename: str | None = None


Part = TextPart | ImagePart | FilePart


def apart(texts: Iterable[str]) -> str:
    """One text of several: where no white space does, a blank line keeps them from running into each other, as it does
    turns of one role."""
    pieces: list[str] = []
    for text in filter(None, texts):
        if pieces and not (pieces[-1][-1].isspace() or text[0].isspace()):
            pieces.append("\n\n")
        pieces.append(text)
    return "".join(pieces)


class Message(msgspec.Struct, frozen=True, tag="message"):
    """One turn of text. OpenAI's `developer` is `system` here; parts keep the caller's order."""

    role: Role
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """The text parts. An answer's are pieces of one text; others stand for themselves, a document before the
        question about it, say."""
        texts = (part.text for part in self.parts if isinstance(part, TextPart))
        return "".join(texts) if self.role == "assistant" else apart(texts)


class FunctionCall(msgspec.Struct, frozen=True, tag="function_call"):
    """A call that the model made in an earlier turn. `arguments` is JSON text; `signature` is the upstream's own
    `thought_signature`, to be given back unchanged."""

    call_id: str
    name: str
    arguments: str
    signature: str | None = None


class FunctionResult(msgspec.Struct, frozen=True, tag="function_result"):
    """What the caller's function returned for `call_id`, as text."""

    call_id: str
    output: str


Turn = Message | FunctionCall | FunctionResult


class FunctionTool(msgspec.Struct, frozen=True, kw_only=True):
    """A function that the caller offers. `parameters` is a JSON Schema object, or None."""

    name: str
    description: str | None = None
    parameters: dict[str, object] | None = None
    strict: bool | None = None


class NamedFunction(msgspec.Struct, frozen=True, tag="function"):
    name: str


ToolChoice = Literal["auto", "none", "required"] | NamedFunction


class JsonObjectFormat(msgspec.Struct, frozen=True, tag="json_object"):
    """Any JSON object."""


class JsonSchemaFormat(msgspec.Struct, frozen=True, kw_only=True, tag="json_schema"):
    name: str
    schema: dict[str, object]
    strict: bool | None = None
    description: str | None = None


OutputFormat = JsonObjectFormat | JsonSchemaFormat


class Location(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where the asker is. `country` is ISO 3166-1 alpha-2 in capitals."""

    country: str | None = None
    region: str | None = None
    city: str | None = None
    latitude: float | None = None
    longitude: float | None = None


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """How to search. Every field None or empty = the target's own default.

    `enabled=False` asks for no search, True for one even where the model would rather not; `domains` is an allow list
    or, with leading `-`, a deny list, never both.
    """

    enabled: bool | None = None
    sources: tuple[Literal["web", "academic", "social", "finance"], ...] = ()
    domains: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    recency: Recency | None = None
    after: date | None = None
    before: date | None = None
    updated_after: date | None = None
    updated_before: date | None = None
    context_size: Literal["low", "medium", "high"] | None = None
    max_results: int | None = None
    location: Location | None = None
    language: str | None = None
    images: bool = False
    image_formats: tuple[str, ...] = ()
    image_domains: tuple[str, ...] = ()
    related_questions: bool = False


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    temperature: float | None = None
    top_p: float | None = None
    max_output_tokens: int | None = None
    stop: tuple[str, ...] = ()


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One request, in nobody's dialect.

    `turns` is never empty where a question is asked; one that is kept beside its run (operations.py) goes without, and
    comes back from JSON as it was. `sandbox`: the upstream may run code of its own. `remembered`: a handle may be kept,
    for the next turn to go on with; under `response_id` it goes when that response goes. `thinking` asks for visible
    reasoning; `effort` is how much. `model` is what the caller wrote; which target serves it is routing's affair.
    `streamed` = the caller reads while it comes; else only the whole answer counts, and an upstream may wait for its
    final text. `background` = the upstream runs it so that it outlives the connection, where it can: whoever stops
    reading detaches and cancels nothing. `key_name` pins one of the owner's keys, where the upstream has several.
    """

    model: str
    turns: tuple[Turn, ...]
    streamed: bool = True
    effort: Effort | None = None
    search: Search = Search()
    sandbox: bool = False
    remembered: bool = True
    response_id: str | None = None
    functions: tuple[FunctionTool, ...] = ()
    tool_choice: ToolChoice = "auto"
    parallel_tool_calls: bool | None = None
    max_tool_calls: int | None = None
    format: OutputFormat | None = None
    sampling: Sampling = Sampling()
    metadata: dict[str, str] | None = None
    service_tier: str | None = None
    prompt_cache_key: str | None = None
    truncation: Literal["auto", "disabled"] | None = None
    citation_marks: Literal["strip", "keep", "link"] | None = None
    source_list: Literal["off", "append"] | None = None
    background: bool = False
    key_name: str | None = None

    @property
    def thinking(self) -> bool:
        """True if the caller wants the model to reason, and to see it."""
        return self.effort not in (None, "none")
