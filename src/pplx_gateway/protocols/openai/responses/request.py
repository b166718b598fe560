"""The body of `POST /v1/responses`: OpenAI's fields, and Perplexity's own beside them.

Input items and tools are decoded one by one (items.py, tools.py), so that a kind that is not served can be refused by
its name. What a value means is decided elsewhere (fields.py, question.py); unknown fields are ignored and told.
"""

from typing import Annotated, Literal

import msgspec

from pplx_gateway.protocols.openai.common_request import CommonRequest, Positive, Reasoning, Verbosity
from pplx_gateway.unknown import SKIPPED

SummaryWish = Literal["auto", "concise", "detailed"]
JsonObject = dict[str, object]

# Bounds for the work that a body of many small things makes; no client comes near.
MOST_ITEMS = 10_000
MOST_TOOLS = 1000
MOST_INCLUDED = 50


class ReasoningWish(Reasoning, frozen=True, kw_only=True):
    """`generate_summary` is the old name of `summary`."""

    summary: SummaryWish | None = None
    generate_summary: SummaryWish | None = None


class PlainTextFormat(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    pass


class ObjectFormat(msgspec.Struct, frozen=True, tag_field="type", tag="json_object"):
    pass


class SchemaFormat(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="json_schema"):
    name: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    schema: JsonObject
    strict: bool | None = None
    description: str | None = None


class TextOptions(msgspec.Struct, frozen=True, kw_only=True):
    format: PlainTextFormat | ObjectFormat | SchemaFormat | None = None
    verbosity: Verbosity | None = None


class EventOptions(msgspec.Struct, frozen=True):
    """Obfuscation is padding against those who watch the line; there is none here."""

    include_obfuscation: bool | None = None


class AllowedTool(msgspec.Struct, frozen=True, kw_only=True):
    type: str
    name: str | None = None


class ChoiceOfTool(msgspec.Struct, frozen=True, kw_only=True):
    """`{type: function, name}`, `{type: allowed_tools, mode, tools}`, or the type of a tool that searches."""

    type: str
    name: str | None = None
    mode: Literal["auto", "required"] | None = None
    tools: list[AllowedTool] | None = None


class ResponsesRequest(CommonRequest, frozen=True, kw_only=True):
    """A request for a response. Search fields are the same as those of chat completions."""

    input: Annotated[str | Annotated[list[JsonObject], msgspec.Meta(max_length=MOST_ITEMS)], SKIPPED]
    instructions: str | None = None
    previous_response_id: str | None = None
    background: bool | None = None
    include: Annotated[list[str], msgspec.Meta(max_length=MOST_INCLUDED)] | None = None
    stream_options: EventOptions | None = None

    reasoning: ReasoningWish | None = None
    text: TextOptions | None = None
    tools: Annotated[list[JsonObject], msgspec.Meta(max_length=MOST_TOOLS)] | None = None
    tool_choice: str | ChoiceOfTool | None = None
    max_output_tokens: Positive | None = None
    max_tool_calls: Positive | None = None

    conversation: str | JsonObject | None = None
    prompt: JsonObject | None = None
    prompt_cache_retention: str | None = None

    @property
    def kept(self) -> bool:
        """True unless the caller wants nothing of it stored."""
        return self.store is not False

    @property
    def summary(self) -> SummaryWish | None:
        return (self.reasoning.summary or self.reasoning.generate_summary) if self.reasoning else None
