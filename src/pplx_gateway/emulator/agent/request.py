"""What the Agent API takes (docs/wire-agent.md 2.1 to 2.5). One key too many at any depth is a 400."""

from typing import Any, Literal

import msgspec

Json = dict[str, Any]
ItemStatus = Literal["in_progress", "completed", "incomplete"]


class Strict(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """An object of the API. Optional fields may be null, which means the same as leaving them out."""


class Tagged(Strict, tag_field="type"):
    """An object that says its `type`."""


class InputText(Tagged, tag="input_text"):
    text: str


class InputImage(Tagged, tag="input_image"):
    image_url: str


class DetailedImage(Tagged, tag="input_image"):
    """In a function's output alone an image may carry `detail`."""

    image_url: str
    detail: Literal["low", "high", "auto"] | None = None


class InputFile(Tagged, tag="input_file"):
    file_data: str | None = None
    file_url: str | None = None
    filename: str | None = None


class Message(Tagged, tag="message"):
    role: Literal["user", "assistant", "system", "developer"]
    content: str | list[InputText | InputImage | InputFile]


class FunctionCall(Tagged, tag="function_call"):
    call_id: str
    name: str
    arguments: str
    thought_signature: str | None = None


class FunctionCallOutput(Tagged, tag="function_call_output"):
    call_id: str
    output: str | list[InputText | DetailedImage]
    name: str | None = None
    id: str | None = None
    status: ItemStatus | None = None
    thought_signature: str | None = None


class SummaryText(Tagged, tag="summary_text"):
    text: str


class ReasoningText(Tagged, tag="reasoning_text"):
    text: str


class ReasoningItem(Tagged, tag="reasoning"):
    summary: list[SummaryText]
    content: list[ReasoningText] | None = None
    encrypted_content: str | None = None
    id: str | None = None
    status: ItemStatus | None = None


class McpApprovalRequest(Tagged, tag="mcp_approval_request"):
    id: str
    server_label: str
    name: str
    arguments: str
    connector_id: str | None = None
    thought_signature: str | None = None


class McpApprovalResponse(Tagged, tag="mcp_approval_response"):
    approval_request_id: str
    approve: bool
    id: str | None = None
    reason: str | None = None


class McpCall(Tagged, tag="mcp_call"):
    id: str
    server_label: str
    name: str
    arguments: str
    output: str | None = None
    error: str | None = None
    approval_request_id: str | None = None
    connector_id: str | None = None


class McpListTools(Tagged, tag="mcp_list_tools"):
    id: str | None = None
    server_label: str | None = None
    tools: list[Json] | None = None
    error: str | None = None


InputItem = (
    Message
    | FunctionCall
    | FunctionCallOutput
    | ReasoningItem
    | McpApprovalRequest
    | McpApprovalResponse
    | McpCall
    | McpListTools
)


class Filters(Strict):
    search_domain_filter: list[str] | None = None
    search_recency_filter: str | None = None
    search_after_date_filter: str | None = None
    search_before_date_filter: str | None = None
    last_updated_after_filter: str | None = None
    last_updated_before_filter: str | None = None


class UserLocation(Strict):
    country: str | None = None
    region: str | None = None
    city: str | None = None
    latitude: float | None = None
    longitude: float | None = None


class WebSearch(Tagged, tag="web_search"):
    filters: Filters | None = None
    max_results: int | None = None
    max_tokens: int | None = None
    max_tokens_per_page: int | None = None
    search_context_size: Literal["low", "medium", "high"] | None = None
    search_type: Literal["web", "fast"] | None = None
    user_location: UserLocation | None = None


class FetchUrl(Tagged, tag="fetch_url"):
    max_urls: int | None = None
    total_budget_tokens: int | None = None


class ImageFilters(Strict):
    domain_filter: list[str] | None = None
    format_filter: list[Literal["bmp", "gif", "jpeg", "png", "webp", "svg"]] | None = None
    safe_search: bool | None = None


class ImageSearch(Tagged, tag="image_search"):
    filters: ImageFilters | None = None
    max_results: int | None = None


class PeopleSearch(Tagged, tag="people_search"):
    pass


class FinanceSearch(Tagged, tag="finance_search"):
    pass


class Sandbox(Tagged, tag="sandbox"):
    pass


class Function(Tagged, tag="function"):
    name: str
    description: str | None = None
    parameters: Json | None = None
    strict: bool | None = None


class ApprovalRule(Strict):
    read_only: bool | None = None
    tool_names: list[str] | None = None


class Approval(Strict):
    always: ApprovalRule | None = None
    never: ApprovalRule | None = None


class Mcp(Tagged, tag="mcp"):
    server_label: str
    server_url: str
    allowed_tools: list[str] | None = None
    authorization: str | None = None
    headers: dict[str, str] | None = None
    require_approval: Literal["always", "never"] | Approval | None = None
    defer_loading: bool | None = None


class Connector(Tagged, tag="connector"):
    id: str
    server_label: str
    allowed_tools: list[str] | None = None
    require_approval: Literal["always", "never"] | Approval | None = None
    server_description: str | None = None


Tool = WebSearch | FetchUrl | ImageSearch | PeopleSearch | FinanceSearch | Sandbox | Function | Mcp | Connector


class BuiltinSkill(Tagged, tag="builtin"):
    name: Literal["office", "office/docx", "office/pdf", "office/pptx", "office/xlsx"]


class InlineSkill(Tagged, tag="inline"):
    name: str
    description: str
    instructions: str


class CustomSkill(Tagged, tag="custom"):
    id: str
    version: str | None = None


class Profile(Tagged, tag="custom"):
    id: str
    version: str | int | None = None


class Reasoning(Strict):
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None


class ToolChoice(Strict):
    """`{"name": function}`, `{"type": "web_search"}` or `{"type": "required"}`."""

    name: str | None = None
    type: str | None = None


class JsonSchema(Strict):
    name: str
    schema: Json
    strict: bool | None = None
    description: str | None = None


class ResponseFormat(Tagged, tag="json_schema"):
    json_schema: JsonSchema


class StreamOptions(Strict):
    include_usage: bool | None = None


class AgentBody(Strict):
    """The request as it is on the wire. `input` items are read in a second step, because a message may leave out its
    `type`."""

    input: str | list[Json] | None = None
    model: str | None = None
    models: list[str] | None = None
    effort: str | None = None
    preset: str | None = None
    profile: Profile | None = None
    instructions: str | None = None
    language_preference: str | None = None
    max_output_tokens: int | None = None
    max_steps: int | None = None
    step_budget_reminder: bool | None = None
    temperature: float | None = None
    top_p: float | None = None
    reasoning: Reasoning | None = None
    tools: list[Tool] | None = None
    tool_choice: Literal["none", "auto", "required"] | ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    max_tool_calls: int | None = None
    response_format: ResponseFormat | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    background: bool | None = None
    store: bool | None = None
    previous_response_id: str | None = None
    prompt_cache_key: str | None = None
    service_tier: Literal["auto", "default", "flex", "priority", "fast"] | None = None
    skills: list[BuiltinSkill | InlineSkill | CustomSkill] | None = None
    metadata: dict[str, str] | None = None
    truncation: Literal["auto", "disabled"] | None = None


class AgentRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request that was read and found well-formed."""

    body: AgentBody
    items: tuple[InputItem, ...]

    @property
    def level(self) -> str | None:
        """The effort level; `effort` wins over its old name `preset`."""
        return self.body.effort or self.body.preset

    @property
    def model(self) -> str | None:
        """The model that is asked first."""
        return self.body.models[0] if self.body.models else self.body.model

    @property
    def functions(self) -> list[Function]:
        return [tool for tool in self.body.tools or [] if isinstance(tool, Function)]
