"""The body of `POST /v1/messages`: Anthropic's fields, and Perplexity's own search fields beside them.

Types are strict and null means absent. What a value means, and whether the upstream can honour it, is decided
elsewhere (fields.py, question.py); unknown fields are ignored and told.
"""

from typing import Annotated, Literal

import msgspec

from pplx_gateway.protocols.anthropic.content import AssistantBlock, CacheControl, TextBlock, UserBlock
from pplx_gateway.protocols.openai.common_request import NotNegative, Positive, Share
from pplx_gateway.protocols.openai.search_fields import SearchFields
from pplx_gateway.unknown import SKIPPED

EffortName = Literal["low", "medium", "high", "xhigh", "max"]
JsonObject = dict[str, object]


class UserInput(msgspec.Struct, frozen=True, tag_field="role", tag="user"):
    content: str | list[UserBlock]


class AssistantInput(msgspec.Struct, frozen=True, tag_field="role", tag="assistant"):
    content: str | list[AssistantBlock]


class SystemInput(msgspec.Struct, frozen=True, tag_field="role", tag="system"):
    content: str | list[TextBlock]


AnyMessage = UserInput | AssistantInput | SystemInput


class ToolChoice(msgspec.Struct, frozen=True, kw_only=True):
    """`name` is there if, and only if, the type is `tool`."""

    type: Literal["auto", "any", "tool", "none"]
    name: str | None = None
    disable_parallel_tool_use: bool | None = None


class ThinkingConfig(msgspec.Struct, frozen=True, kw_only=True):
    """`display: omitted`: the model thinks, and its thoughts are not shown."""

    type: Literal["enabled", "disabled", "adaptive", "between_tools"]
    budget_tokens: Positive | None = None
    display: Literal["summarized", "omitted"] | None = None


class OutputFormat(msgspec.Struct, frozen=True):
    type: Literal["json_schema"]
    schema: JsonObject


class OutputConfig(msgspec.Struct, frozen=True, kw_only=True):
    effort: EffortName | None = None
    format: OutputFormat | None = None


class Metadata(msgspec.Struct, frozen=True):
    user_id: str | None = None


class CountRequest(SearchFields, frozen=True, kw_only=True):
    """What a message is made of, without how the answer is to be written: the body of `/v1/messages/count_tokens`.

    `model` may be left out; DEFAULT_MODEL then answers. `output_format` is the older place of `output_config.format`.
    """

    model: str | None = None
    messages: Annotated[list[AnyMessage], msgspec.Meta(min_length=1), SKIPPED]
    system: Annotated[str | list[TextBlock] | None, SKIPPED] = None
    tools: list[JsonObject] | None = None
    tool_choice: ToolChoice | None = None
    thinking: ThinkingConfig | None = None
    output_config: OutputConfig | None = None
    output_format: OutputFormat | None = None

    cache_control: CacheControl | None = None
    context_management: JsonObject | None = None
    mcp_servers: list[JsonObject] | None = None
    speed: Literal["standard", "fast"] | None = None
    user_profile_id: str | None = None
    workspace_id: str | None = None

    citation_marks: Literal["strip", "keep", "link"] | None = None
    source_list: Literal["off", "append"] | None = None


class MessagesRequest(CountRequest, frozen=True, kw_only=True):
    """A request for a message."""

    max_tokens: Positive
    stream: bool | None = None
    temperature: Share | None = None
    top_p: Share | None = None
    top_k: NotNegative | None = None
    stop_sequences: list[str] | None = None
    metadata: Metadata | None = None
    service_tier: Literal["auto", "standard_only"] | None = None
    container: str | JsonObject | None = None
    inference_geo: str | None = None
    thread: JsonObject | None = None
    diagnostics: JsonObject | None = None
