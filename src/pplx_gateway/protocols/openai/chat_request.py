"""The body of `POST /v1/chat/completions`: OpenAI's fields, and Perplexity's own beside them.

Types are strict and null means absent wherever clients send null. What a value means, and whether the upstream can
honour it, is decided elsewhere (fields.py, question.py); unknown fields are ignored and told.
"""

from typing import Annotated, Literal

import msgspec

from pplx_gateway.protocols.openai.content import AssistantContent, TextContent, UserContent
from pplx_gateway.question import Effort, Recency

Temperature = Annotated[float, msgspec.Meta(ge=0, le=2)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Penalty = Annotated[float, msgspec.Meta(ge=-2, le=2)]
Positive = Annotated[int, msgspec.Meta(ge=1)]
NotNegative = Annotated[int, msgspec.Meta(ge=0)]
FunctionName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
MetadataKey = Annotated[str, msgspec.Meta(max_length=64)]
MetadataValue = Annotated[str, msgspec.Meta(max_length=512)]
Metadata = Annotated[dict[MetadataKey, MetadataValue], msgspec.Meta(max_length=16)]


class SystemMessage(msgspec.Struct, frozen=True, tag_field="role", tag="system"):
    content: str | list[TextContent] | None = None


class DeveloperMessage(msgspec.Struct, frozen=True, tag_field="role", tag="developer"):
    content: str | list[TextContent] | None = None


class UserMessage(msgspec.Struct, frozen=True, tag_field="role", tag="user"):
    content: str | list[UserContent] | None = None


class CalledFunction(msgspec.Struct, frozen=True):
    """`arguments` is JSON text, as the model wrote it."""

    name: str
    arguments: str


class CallOfTool(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="function"):
    id: str
    function: CalledFunction
    thought_signature: str | None = None


class AssistantMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="role", tag="assistant"):
    content: str | list[AssistantContent] | None = None
    tool_calls: list[CallOfTool] | None = None
    function_call: CalledFunction | None = None


class ToolMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="role", tag="tool"):
    tool_call_id: str
    content: str | list[TextContent] | None = None


class FunctionMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="role", tag="function"):
    """What a function returned, in the form from before tools."""

    name: str
    content: str | None = None


ChatMessage = SystemMessage | DeveloperMessage | UserMessage | AssistantMessage | ToolMessage | FunctionMessage


class FunctionDefinition(msgspec.Struct, frozen=True, kw_only=True):
    name: FunctionName
    description: str | None = None
    parameters: dict[str, object] | None = None
    strict: bool | None = None


class Tool(msgspec.Struct, frozen=True, tag_field="type", tag="function"):
    function: FunctionDefinition


class NamedFunction(msgspec.Struct, frozen=True):
    name: str


class ToolReference(msgspec.Struct, frozen=True, tag_field="type", tag="function"):
    function: NamedFunction


class AllowedTools(msgspec.Struct, frozen=True):
    mode: Literal["auto", "required"]
    tools: list[ToolReference]


class ToolChoiceObject(msgspec.Struct, frozen=True):
    """`{type: function, function: {name}}`, or `{type: allowed_tools, allowed_tools: {mode, tools}}`."""

    type: str
    function: NamedFunction | None = None
    allowed_tools: AllowedTools | None = None


class TextFormat(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    pass


class JsonObject(msgspec.Struct, frozen=True, tag_field="type", tag="json_object"):
    pass


class JsonSchemaDefinition(msgspec.Struct, frozen=True, kw_only=True):
    name: Annotated[str, msgspec.Meta(min_length=1)]
    schema: dict[str, object]
    strict: bool | None = None
    description: str | None = None


class JsonSchema(msgspec.Struct, frozen=True, tag_field="type", tag="json_schema"):
    json_schema: JsonSchemaDefinition


class RegexFormat(msgspec.Struct, frozen=True, tag_field="type", tag="regex"):
    """Sonar knew it; no upstream does any more."""


ResponseFormat = TextFormat | JsonObject | JsonSchema | RegexFormat


class StreamOptions(msgspec.Struct, frozen=True):
    include_usage: bool | None = None
    include_obfuscation: bool | None = None


EffortName = Effort | Literal["max"]


class Reasoning(msgspec.Struct, frozen=True):
    effort: EffortName | None = None


class ThinkingSwitch(msgspec.Struct, frozen=True):
    """Thinking as an object; other keys, such as a budget, have no effect."""

    type: Literal["enabled", "disabled", "adaptive"]


class Place(msgspec.Struct, frozen=True, kw_only=True):
    country: str | None = None
    region: str | None = None
    city: str | None = None
    timezone: str | None = None
    latitude: Annotated[float, msgspec.Meta(ge=-90, le=90)] | None = None
    longitude: Annotated[float, msgspec.Meta(ge=-180, le=180)] | None = None


class UserLocation(Place, frozen=True, kw_only=True):
    """A place, or `{type: approximate, approximate: {...}}` around one."""

    approximate: Place | None = None


class WebSearchOptions(msgspec.Struct, frozen=True, kw_only=True):
    search_context_size: Literal["low", "medium", "high"] | None = None
    user_location: UserLocation | None = None
    search_type: str | None = None
    image_results_enhanced_relevance: bool | None = None
    image_search_relevance_enhanced: bool | None = None


class MediaOverrides(msgspec.Struct, frozen=True):
    return_images: bool | None = None
    return_videos: bool | None = None


class MediaResponse(msgspec.Struct, frozen=True):
    overrides: MediaOverrides | None = None


class ChatRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A chat completion request. `model` may be left out; DEFAULT_MODEL then answers."""

    messages: Annotated[list[ChatMessage], msgspec.Meta(min_length=1)]
    model: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None

    tools: list[Tool] | None = None
    tool_choice: str | ToolChoiceObject | None = None
    parallel_tool_calls: bool | None = None
    functions: list[FunctionDefinition] | None = None
    function_call: str | NamedFunction | None = None
    response_format: ResponseFormat | None = None

    reasoning_effort: EffortName | None = None
    reasoning: Reasoning | None = None
    thinking: bool | ThinkingSwitch | None = None
    verbosity: Literal["low", "medium", "high"] | None = None

    temperature: Temperature | None = None
    top_p: Share | None = None
    top_k: NotNegative | None = None
    max_tokens: Positive | None = None
    max_completion_tokens: Positive | None = None
    stop: str | list[str] | None = None
    n: Positive | None = None
    best_of: Positive | None = None
    seed: int | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    logit_bias: dict[str, float] | None = None
    logprobs: bool | None = None
    top_logprobs: NotNegative | None = None
    prediction: dict[str, object] | None = None
    modalities: list[str] | None = None
    audio: dict[str, object] | None = None

    user: str | None = None
    metadata: Metadata | None = None
    store: bool | None = None
    service_tier: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    truncation: Literal["auto", "disabled"] | None = None

    citation_marks: Literal["strip", "keep", "link"] | None = None
    source_list: Literal["off", "append"] | None = None
    sources: str | list[str] | None = None
    search_mode: Literal["web", "academic", "sec", "news"] | None = None
    disable_search: bool | None = None
    search_domain_filter: list[str] | None = None
    search_language_filter: list[str] | None = None
    search_recency_filter: Recency | Literal[""] | None = None
    search_after_date_filter: str | None = None
    search_before_date_filter: str | None = None
    last_updated_after_filter: str | None = None
    last_updated_before_filter: str | None = None
    web_search_options: WebSearchOptions | list[WebSearchOptions] | None = None
    num_search_results: Annotated[int, msgspec.Meta(ge=1, le=50)] | None = None
    return_images: bool | None = None
    image_format_filter: list[str] | None = None
    image_domain_filter: list[str] | None = None
    media_response: MediaResponse | None = None
    return_related_questions: bool | None = None
    language_preference: str | None = None
    country: str | None = None
    latitude: Annotated[float, msgspec.Meta(ge=-90, le=90)] | None = None
    longitude: Annotated[float, msgspec.Meta(ge=-180, le=180)] | None = None

    @property
    def wants_usage(self) -> bool:
        return bool(self.stream_options and self.stream_options.include_usage)
