"""The body of a Sonar request: OpenAI's chat request with Perplexity's own fields, and the forms that only Sonar took.

`SonarBody` is what callers write, `SonarRequest` the same with messages and format as chat completions have them.
"""

from typing import Annotated, Literal

import msgspec

from pplx_gateway.protocols.openai.chat_request import (
    AssistantMessage,
    ChatRequest,
    DeveloperMessage,
    FunctionMessage,
    JsonObject,
    RegexFormat,
    SystemMessage,
    TextFormat,
    ToolMessage,
)
from pplx_gateway.protocols.openai.content import (
    AudioContent,
    FileContent,
    FileUrlContent,
    ImageAddress,
    PdfUrlContent,
    TextContent,
    VideoContent,
)
from pplx_gateway.unknown import SKIPPED

MOST_TOKENS = 128_000
MOST_IMAGES = 30

Moment = Annotated[int, msgspec.Meta(ge=0)]


class SonarImage(msgspec.Struct, frozen=True, tag_field="type", tag="image_url"):
    """An image as chat completions have it, or its address alone."""

    image_url: ImageAddress | str


SonarContent = TextContent | SonarImage | FileContent | FileUrlContent | PdfUrlContent | AudioContent | VideoContent


class SonarUserMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="role", tag="user"):
    content: str | list[SonarContent] | None = None
    name: str | None = None


SonarMessage = SystemMessage | DeveloperMessage | SonarUserMessage | AssistantMessage | ToolMessage | FunctionMessage


class SonarSchema(msgspec.Struct, frozen=True, kw_only=True):
    """A schema needs no name here."""

    schema: dict[str, object]
    name: str | None = None
    strict: bool | None = None
    description: str | None = None


class SonarJsonSchema(msgspec.Struct, frozen=True, tag_field="type", tag="json_schema"):
    json_schema: SonarSchema


SonarFormat = TextFormat | JsonObject | SonarJsonSchema | RegexFormat


class SonarRequest(ChatRequest, frozen=True, kw_only=True):
    """What Sonar took beside the fields of a chat completion. `published_after`, `published_before` and
    `latest_updated` are its older names for dates; `updated_*_timestamp` are seconds since the epoch."""

    max_tokens: Annotated[int, msgspec.Meta(ge=1, le=MOST_TOKENS)] | None = None
    stream_mode: Literal["full", "concise"] | None = None
    num_images: Annotated[int, msgspec.Meta(ge=0, le=MOST_IMAGES)] | None = None
    cum_logprobs: bool | None = None

    published_after: str | None = None
    published_before: str | None = None
    latest_updated: bool | None = None
    updated_after_timestamp: Moment | None = None
    updated_before_timestamp: Moment | None = None

    thread_id: str | None = None
    use_threads: bool | None = None
    file_workspace_id: str | None = None

    enable_search_classifier: bool | None = None
    safe_search: bool | None = None
    response_formatting_locale: str | None = None
    search_tenant: str | None = None
    ranking_model: str | None = None
    search_internal_properties: dict[str, object] | None = None
    user_original_query: str | None = None
    response_metadata: dict[str, object] | None = None
    has_image_url: bool | None = None
    diverse_first_token: bool | None = None
    _debug_pro_search: bool | None = None
    _force_new_agent: bool | None = None
    _inputs: list[int] | None = None
    _prompt_token_length: int | None = None


class SonarBody(SonarRequest, frozen=True, kw_only=True):
    """A Sonar request as it is sent. `model` must be there: no default applies on Perplexity's own paths."""

    # What comes in is wider than what the base is read as: normal.py makes the one of the other.
    messages: Annotated[list[SonarMessage], msgspec.Meta(min_length=1), SKIPPED]  # type: ignore[assignment]
    response_format: SonarFormat | None = None  # type: ignore[assignment]
