"""The objects of the Responses API that go out: the response, its items and their parts.

`null` and absence are not the same to the clients: what must be there is there, and what may be left out is left out
where it says nothing.
"""

from collections.abc import Iterable
from typing import Literal

import msgspec

from pplx_gateway.answer import Annotation
from pplx_gateway.protocols.openai.chat_objects import Extension, ImageObject, SearchResult
from pplx_gateway.protocols.openai.usage import ResponseUsage

Status = Literal["queued", "in_progress", "completed", "failed", "incomplete", "cancelled"]
ItemStatus = Literal["in_progress", "completed", "incomplete"]
Repeated = dict[str, object]  # as the request had it


class OutputCitation(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="url_citation"):
    """`text[start_index:end_index]` is the mark, in code points; both are equal where the mark was stripped."""

    start_index: int
    end_index: int
    url: str
    title: str


class OutputText(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="output_text"):
    text: str
    annotations: tuple[OutputCitation, ...] = ()
    logprobs: tuple[object, ...] = ()


class SummaryText(msgspec.Struct, frozen=True, tag_field="type", tag="summary_text"):
    text: str


class SearchedPage(msgspec.Struct, frozen=True, tag_field="type", tag="url"):
    url: str


class SearchAction(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="search"):
    """`query` is the first of `queries`. `sources` only where `include` asked for them."""

    query: str
    queries: tuple[str, ...]
    sources: tuple[SearchedPage, ...] | msgspec.UnsetType = msgspec.UNSET


class OutputMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="message"):
    id: str
    status: ItemStatus
    role: Literal["assistant"] = "assistant"
    content: tuple[OutputText, ...] = ()


class OutputFunctionCall(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="function_call"):
    """`thought_signature` is the upstream's own and may be sent back with the call."""

    id: str
    status: ItemStatus
    call_id: str
    name: str
    arguments: str
    thought_signature: str | msgspec.UnsetType = msgspec.UNSET


class OutputReasoning(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="reasoning"):
    id: str
    status: ItemStatus
    summary: tuple[SummaryText, ...] = ()


class OutputSearch(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="web_search_call"):
    id: str
    status: ItemStatus
    action: SearchAction


OutputItem = OutputMessage | OutputFunctionCall | OutputReasoning | OutputSearch


class ResponseFailure(msgspec.Struct, frozen=True, kw_only=True):
    """`code` is one of OpenAI's closed list; `type` is the gateway's own code, which the message names as well."""

    code: str
    message: str
    type: str
    param: str | msgspec.UnsetType = msgspec.UNSET


class IncompleteDetails(msgspec.Struct, frozen=True):
    reason: Literal["max_output_tokens", "content_filter"]


class ReasoningSettings(msgspec.Struct, frozen=True):
    effort: str | None
    summary: str | None


class ResponseObject(msgspec.Struct, frozen=True, kw_only=True):
    """A response as it stands. `model` is what answered once that is known. Times are in seconds since the epoch."""

    id: str
    object: Literal["response"] = "response"
    created_at: int
    completed_at: int | None
    status: Status
    background: bool
    error: ResponseFailure | None
    incomplete_details: IncompleteDetails | None
    instructions: str | None
    max_output_tokens: int | None
    max_tool_calls: int | None
    metadata: dict[str, str]
    model: str
    output: tuple[OutputItem, ...]
    parallel_tool_calls: bool
    previous_response_id: str | None
    prompt_cache_key: str | None
    safety_identifier: str | None
    reasoning: ReasoningSettings
    service_tier: str
    store: bool
    temperature: float
    top_p: float
    presence_penalty: float = 0
    frequency_penalty: float = 0
    top_logprobs: int = 0
    text: Repeated
    tool_choice: str | Repeated
    tools: list[Repeated]
    truncation: str
    usage: ResponseUsage | None
    user: str | msgspec.UnsetType = msgspec.UNSET
    citations: list[str] | msgspec.UnsetType = msgspec.UNSET
    search_results: list[SearchResult] | msgspec.UnsetType = msgspec.UNSET
    images: list[ImageObject] | msgspec.UnsetType = msgspec.UNSET
    related_questions: list[str] | msgspec.UnsetType = msgspec.UNSET
    pplx: Extension | msgspec.UnsetType = msgspec.UNSET


def output_citations(annotations: Iterable[Annotation]) -> tuple[OutputCitation, ...]:
    return tuple(
        OutputCitation(start_index=a.start, end_index=a.end, url=a.source.url, title=a.source.title)
        for a in annotations
    )
