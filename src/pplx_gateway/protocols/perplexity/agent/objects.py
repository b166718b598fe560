"""The objects of the Agent API that go out where it did not make them itself (docs/wire-agent.md 2.6)."""

from typing import Literal

import msgspec

from pplx_gateway.protocols.openai.chat_objects import Extension, SearchResult
from pplx_gateway.protocols.openai.responses.objects import IncompleteDetails, ItemStatus, OutputCitation, Repeated
from pplx_gateway.protocols.openai.usage import InputDetails, OutputDetails, ResponseCost

Status = Literal["queued", "in_progress", "completed", "failed", "incomplete", "cancelled"]


class AgentText(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="output_text"):
    text: str
    annotations: tuple[OutputCitation, ...] = ()


class AgentMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="message"):
    id: str
    role: Literal["assistant"] = "assistant"
    status: ItemStatus
    content: tuple[AgentText, ...] = ()


class AgentCall(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="function_call"):
    id: str
    call_id: str
    name: str
    arguments: str
    status: ItemStatus
    thought_signature: str | msgspec.UnsetType = msgspec.UNSET


class AgentSearch(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="search_results"):
    """`[N]` in the text is the result whose `id` is N."""

    queries: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    results: tuple[SearchResult, ...]


class AgentImage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    image_url: str
    origin_url: str | None = None
    title: str | None = None
    width: int | None = None
    height: int | None = None


class AgentImages(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="image_search_results"):
    results: tuple[AgentImage, ...]


AgentItem = AgentMessage | AgentCall | AgentSearch | AgentImages


class ToolUse(msgspec.Struct, frozen=True):
    invocation: int


class AgentUsage(msgspec.Struct, frozen=True, kw_only=True):
    """`estimated`: counted by the gateway from characters. `cost` only where the upstream names one."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    input_tokens_details: InputDetails
    output_tokens_details: OutputDetails
    tool_calls_details: dict[str, ToolUse] | msgspec.UnsetType = msgspec.UNSET
    cost: ResponseCost | msgspec.UnsetType = msgspec.UNSET
    estimated: bool | msgspec.UnsetType = msgspec.UNSET


class AgentFailure(msgspec.Struct, frozen=True, kw_only=True):
    code: str
    message: str
    type: str


class AgentReasoning(msgspec.Struct, frozen=True):
    effort: str | None
    summary: None = None


class AgentResponse(msgspec.Struct, frozen=True, kw_only=True):
    """Times are in seconds since the epoch. `pplx` only where it has something."""

    id: str
    object: Literal["response"] = "response"
    created_at: int
    completed_at: int | None
    status: Status
    background: bool
    error: AgentFailure | None
    incomplete_details: IncompleteDetails | None
    instructions: str | None
    max_output_tokens: int | None
    max_tool_calls: int | None
    metadata: dict[str, str]
    model: str
    output: tuple[AgentItem, ...]
    parallel_tool_calls: bool
    previous_response_id: str | None
    prompt_cache_key: str | None
    reasoning: AgentReasoning | None
    service_tier: str
    store: bool
    temperature: float
    top_p: float
    text: Repeated
    tool_choice: str | Repeated
    tools: list[Repeated]
    truncation: str
    usage: AgentUsage | None
    pplx: Extension | msgspec.UnsetType = msgspec.UNSET


class Cancelling(msgspec.Struct, frozen=True, kw_only=True):
    response_id: str
    status: Literal["cancelling"] = "cancelling"


class FileList(msgspec.Struct, frozen=True, kw_only=True):
    object: Literal["list"] = "list"
    data: tuple[()] = ()
