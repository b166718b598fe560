"""The objects of replies and streams: Anthropic's own, and what it has no place for at the top level."""

from typing import Literal

import msgspec

from pplx_gateway.answer import Citations, Finished, Source, Usage
from pplx_gateway.protocols.openai.chat_objects import Extension, ImageObject, SearchResult

Unset = msgspec.UnsetType
StopReason = Literal["end_turn", "max_tokens", "stop_sequence", "tool_use", "refusal"]
_REASONS: dict[str, StopReason] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
}
LONGEST_CITED_TEXT = 150
"""In characters, as Anthropic cuts it."""


class WebSearchCitation(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="web_search_result_location"):
    """`cited_text` is the beginning of the page's snippet. `encrypted_index` is empty: nothing needs it here."""

    url: str
    title: str | None
    cited_text: str
    encrypted_index: str = ""


class Text(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="text"):
    text: str
    citations: list[WebSearchCitation] | None = None


class Thinking(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="thinking"):
    """`signature` names the text and proves nothing."""

    thinking: str
    signature: str


class ToolUse(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="tool_use"):
    id: str
    name: str
    input: msgspec.Raw


class ServerToolUse(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="server_tool_use"):
    """`input` holds the `query`; it is empty where the upstream does not tell what it searched for."""

    id: str
    input: msgspec.Raw
    name: Literal["web_search"] = "web_search"


class WebSearchResult(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="web_search_result"):
    url: str
    title: str
    page_age: str | None
    encrypted_content: str = ""


class WebSearchToolResult(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="web_search_tool_result"):
    tool_use_id: str
    content: list[WebSearchResult]


ContentBlock = Text | Thinking | ToolUse | ServerToolUse | WebSearchToolResult


class OutputTokensDetails(msgspec.Struct, frozen=True):
    thinking_tokens: int


class ServerToolUsage(msgspec.Struct, frozen=True, kw_only=True):
    web_search_requests: int
    web_fetch_requests: int = 0


class DeltaUsage(msgspec.Struct, frozen=True, kw_only=True):
    """`input_tokens` are those that no cache had or took."""

    input_tokens: int
    cache_creation_input_tokens: int
    cache_read_input_tokens: int
    output_tokens: int
    output_tokens_details: OutputTokensDetails | None = None
    server_tool_use: ServerToolUsage | None = None


class MessageUsage(DeltaUsage, frozen=True, kw_only=True):
    service_tier: Literal["standard"] = "standard"


class MessageObject(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="message"):
    """A whole answer. `model` is what answered. `stop_reason` is null at the start of a stream alone."""

    id: str
    model: str
    content: list[ContentBlock]
    stop_reason: StopReason | None
    stop_sequence: str | None
    usage: MessageUsage
    role: Literal["assistant"] = "assistant"
    search_results: list[SearchResult] | Unset = msgspec.UNSET
    images: list[ImageObject] | Unset = msgspec.UNSET
    related_questions: list[str] | Unset = msgspec.UNSET
    pplx: Extension | Unset = msgspec.UNSET


class TextPiece(msgspec.Struct, frozen=True, tag_field="type", tag="text_delta"):
    text: str


class ThinkingDelta(msgspec.Struct, frozen=True, tag_field="type", tag="thinking_delta"):
    thinking: str


class SignatureDelta(msgspec.Struct, frozen=True, tag_field="type", tag="signature_delta"):
    signature: str


class InputJsonDelta(msgspec.Struct, frozen=True, tag_field="type", tag="input_json_delta"):
    partial_json: str


class CitationsDelta(msgspec.Struct, frozen=True, tag_field="type", tag="citations_delta"):
    citation: WebSearchCitation


Delta = TextPiece | ThinkingDelta | SignatureDelta | InputJsonDelta | CitationsDelta


class MessageStart(msgspec.Struct, frozen=True, tag_field="type", tag="message_start"):
    """Its usage is an estimate; that of `message_delta` takes its place."""

    message: MessageObject


class ContentBlockStart(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="content_block_start"):
    index: int
    content_block: ContentBlock


class ContentBlockDelta(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="content_block_delta"):
    index: int
    delta: Delta


class ContentBlockStop(msgspec.Struct, frozen=True, tag_field="type", tag="content_block_stop"):
    index: int


class Ping(msgspec.Struct, frozen=True, tag_field="type", tag="ping"):
    pass


class End(msgspec.Struct, frozen=True, kw_only=True):
    stop_reason: StopReason
    stop_sequence: str | None


class MessageDelta(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="message_delta"):
    """With what a whole answer has beside its content."""

    delta: End
    usage: DeltaUsage
    search_results: list[SearchResult] | Unset = msgspec.UNSET
    images: list[ImageObject] | Unset = msgspec.UNSET
    related_questions: list[str] | Unset = msgspec.UNSET
    pplx: Extension | Unset = msgspec.UNSET


class MessageStop(msgspec.Struct, frozen=True, tag_field="type", tag="message_stop"):
    pass


Event = MessageStart | ContentBlockStart | ContentBlockDelta | ContentBlockStop | Ping | MessageDelta | MessageStop


def end_of(finished: Finished) -> End:
    if finished.stopped_by is not None and finished.reason == "stop":
        return End(stop_reason="stop_sequence", stop_sequence=finished.stopped_by)
    return End(stop_reason=_REASONS[finished.reason], stop_sequence=None)


def delta_usage(usage: Usage, searches: int) -> DeltaUsage:
    """`searches`: how many were seen, where the upstream does not count them."""
    asked = searches if usage.search_queries is None else usage.search_queries
    return DeltaUsage(
        input_tokens=max(0, usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens),
        cache_creation_input_tokens=usage.cache_write_tokens,
        cache_read_input_tokens=usage.cached_tokens,
        output_tokens=usage.output_tokens,
        output_tokens_details=OutputTokensDetails(usage.reasoning_tokens) if usage.reasoning_tokens else None,
        server_tool_use=ServerToolUsage(web_search_requests=asked) if asked else None,
    )


def message_usage(usage: DeltaUsage) -> MessageUsage:
    return MessageUsage(**msgspec.structs.asdict(usage))


def citations_of(found: Citations) -> list[WebSearchCitation]:
    """Each page once, in the order in which the text names them."""
    sources = {annotation.source.id: annotation.source for annotation in found.annotations}
    return [
        WebSearchCitation(url=source.url, title=source.title or None, cited_text=source.snippet[:LONGEST_CITED_TEXT])
        for source in sources.values()
    ]


def web_search_result(source: Source) -> WebSearchResult:
    return WebSearchResult(url=source.url, title=source.title, page_age=source.date)
