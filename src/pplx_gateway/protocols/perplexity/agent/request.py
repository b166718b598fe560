"""The body of `POST /v1/agent` (docs/wire-agent.md 2.1 to 2.5), every field that is known.

The API refuses a body for one key too many at any depth, and so does this face, before anything is paid. Input items
are decoded one by one (items.py), because a message may leave out its `type`.
"""

from typing import Annotated, Literal

import msgspec

from pplx_gateway.protocols.openai.common_request import Metadata, NotNegative, Positive, Share, Temperature
from pplx_gateway.protocols.openai.search_fields import ContextSize, Latitude, Longitude
from pplx_gateway.question import Recency
from pplx_gateway.unknown import SKIPPED

JsonObject = dict[str, object]
MOST_ITEMS = 10_000
MOST_TOOLS = 1000
MOST_MODELS = 5
MOST_SERVERS = 16
Label = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
FormatName = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]


class Fields(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Null means the same as leaving out, and is not sent."""


class Tagged(Fields, frozen=True, kw_only=True, tag_field="type"):
    pass


class Filters(Fields, frozen=True, kw_only=True):
    search_domain_filter: list[str] | None = None
    search_recency_filter: Recency | None = None
    search_after_date_filter: str | None = None
    search_before_date_filter: str | None = None
    last_updated_after_filter: str | None = None
    last_updated_before_filter: str | None = None


class Location(Fields, frozen=True, kw_only=True):
    country: str | None = None
    region: str | None = None
    city: str | None = None
    latitude: Latitude | None = None
    longitude: Longitude | None = None


class WebSearch(Tagged, frozen=True, kw_only=True, tag="web_search"):
    filters: Filters | None = None
    max_results: Annotated[int, msgspec.Meta(ge=1, le=50)] | None = None
    max_tokens: Positive | None = None
    max_tokens_per_page: Positive | None = None
    search_context_size: ContextSize | None = None
    search_type: Literal["web", "fast"] | None = None
    user_location: Location | None = None


class FetchUrl(Tagged, frozen=True, kw_only=True, tag="fetch_url"):
    max_urls: Annotated[int, msgspec.Meta(ge=1, le=10)] | None = None
    total_budget_tokens: Annotated[int, msgspec.Meta(ge=1, le=120_000)] | None = None


class ImageFilters(Fields, frozen=True, kw_only=True):
    domain_filter: list[str] | None = None
    format_filter: list[Literal["bmp", "gif", "jpeg", "png", "webp", "svg"]] | None = None
    safe_search: bool | None = None


class ImageSearch(Tagged, frozen=True, kw_only=True, tag="image_search"):
    filters: ImageFilters | None = None
    max_results: Positive | None = None


class PeopleSearch(Tagged, frozen=True, kw_only=True, tag="people_search"):
    pass


class FinanceSearch(Tagged, frozen=True, kw_only=True, tag="finance_search"):
    pass


class Sandbox(Tagged, frozen=True, kw_only=True, tag="sandbox"):
    pass


class Function(Tagged, frozen=True, kw_only=True, tag="function"):
    name: Label
    description: str | None = None
    parameters: JsonObject | None = None
    strict: bool | None = None


class ApprovalRule(Fields, frozen=True, kw_only=True):
    read_only: bool | None = None
    tool_names: list[str] | None = None


class Approval(Fields, frozen=True, kw_only=True):
    always: ApprovalRule | None = None
    never: ApprovalRule | None = None


class Mcp(Tagged, frozen=True, kw_only=True, tag="mcp"):
    server_label: Label
    server_url: Annotated[str, msgspec.Meta(pattern=r"^https://\S+$")]
    allowed_tools: list[str] | None = None
    authorization: str | None = None
    headers: dict[str, str] | None = None
    require_approval: Literal["always", "never"] | Approval | None = None
    defer_loading: bool | None = None


class Connector(Tagged, frozen=True, kw_only=True, tag="connector"):
    id: str
    server_label: Label
    allowed_tools: list[str] | None = None
    require_approval: Literal["always", "never"] | Approval | None = None
    server_description: str | None = None


Tool = WebSearch | FetchUrl | ImageSearch | PeopleSearch | FinanceSearch | Sandbox | Function | Mcp | Connector


class BuiltinSkill(Tagged, frozen=True, kw_only=True, tag="builtin"):
    name: str


class InlineSkill(Tagged, frozen=True, kw_only=True, tag="inline"):
    name: str
    description: str
    instructions: str


class CustomSkill(Tagged, frozen=True, kw_only=True, tag="custom"):
    id: str
    version: str | None = None


Skill = BuiltinSkill | InlineSkill | CustomSkill


class Profile(Fields, frozen=True, kw_only=True):
    type: Literal["custom"]
    id: str
    version: str | None = None


class Reasoning(Fields, frozen=True, kw_only=True):
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None


class ToolChoice(Fields, frozen=True, kw_only=True):
    """`{name}` of a function, or `{type}` of any other tool, or `{type: required}`."""

    name: str | None = None
    type: str | None = None


class SchemaForm(Fields, frozen=True, kw_only=True):
    name: FormatName
    schema: JsonObject
    strict: bool | None = None
    description: str | None = None


class ResponseFormat(Fields, frozen=True, kw_only=True):
    type: Literal["json_schema"]
    json_schema: SchemaForm


class StreamOptions(Fields, frozen=True, kw_only=True):
    include_usage: bool | None = None


class AgentRequest(Fields, frozen=True, kw_only=True):
    """`preset` is the older name of `effort`, which wins; `models` wins over `model`."""

    input: Annotated[str | Annotated[list[JsonObject], msgspec.Meta(max_length=MOST_ITEMS)], SKIPPED]
    model: str | None = None
    models: Annotated[list[str], msgspec.Meta(min_length=1, max_length=MOST_MODELS)] | None = None
    effort: str | None = None
    preset: str | None = None
    profile: Profile | None = None
    instructions: str | None = None
    language_preference: str | None = None
    max_output_tokens: Positive | None = None
    max_steps: Annotated[int, msgspec.Meta(ge=1, le=100)] | None = None
    step_budget_reminder: bool | None = None
    temperature: Temperature | None = None
    top_p: Share | None = None
    reasoning: Reasoning | None = None
    tools: Annotated[list[Tool], msgspec.Meta(max_length=MOST_TOOLS)] | None = None
    tool_choice: Literal["none", "auto", "required"] | ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    max_tool_calls: NotNegative | None = None
    response_format: ResponseFormat | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    background: bool | None = None
    store: bool | None = None
    previous_response_id: str | None = None
    prompt_cache_key: str | None = None
    service_tier: Literal["auto", "default", "flex", "priority", "fast"] | None = None
    skills: list[Skill] | None = None
    metadata: Metadata | None = None
    truncation: Literal["auto", "disabled"] | None = None

    @property
    def level(self) -> str | None:
        return self.effort or self.preset
