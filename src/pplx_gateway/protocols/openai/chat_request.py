"""The body of `POST /v1/chat/completions`: OpenAI's fields, and Perplexity's own beside them.

Types are strict and null means absent wherever clients send null. What a value means, and whether the upstream can
honour it, is decided elsewhere (fields.py, question.py); unknown fields are ignored and told.
"""

from typing import Annotated, Literal

import msgspec

from pplx_gateway.protocols.openai.common_request import CommonRequest, FunctionName, Positive, Verbosity
from pplx_gateway.protocols.openai.content import AssistantContent, TextContent, UserContent
from pplx_gateway.unknown import SKIPPED


class SystemMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="role", tag="system"):
    """`name` has no effect, here and below."""

    content: str | list[TextContent] | None = None
    name: str | None = None


class DeveloperMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="role", tag="developer"):
    content: str | list[TextContent] | None = None
    name: str | None = None


class UserMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="role", tag="user"):
    content: str | list[UserContent] | None = None
    name: str | None = None


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
    name: str | None = None


class ToolMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="role", tag="tool"):
    tool_call_id: str
    content: str | list[TextContent] | None = None
    name: str | None = None


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


class ChatRequest(CommonRequest, frozen=True, kw_only=True):
    """A chat completion request."""

    messages: Annotated[list[ChatMessage], msgspec.Meta(min_length=1), SKIPPED]
    stream_options: StreamOptions | None = None

    tools: list[Tool] | None = None
    tool_choice: str | ToolChoiceObject | None = None
    functions: list[FunctionDefinition] | None = None
    function_call: str | NamedFunction | None = None
    response_format: ResponseFormat | None = None
    verbosity: Verbosity | None = None

    max_tokens: Positive | None = None
    max_completion_tokens: Positive | None = None
    n: Positive | None = None
    best_of: Positive | None = None
    logit_bias: dict[str, float] | None = None
    logprobs: bool | None = None
    prediction: dict[str, object] | None = None
    modalities: list[str] | None = None
    audio: dict[str, object] | None = None

    @property
    def wants_usage(self) -> bool:
        return bool(self.stream_options and self.stream_options.include_usage)
