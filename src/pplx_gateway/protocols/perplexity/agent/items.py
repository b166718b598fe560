"""Input items of the Agent API (docs/wire-agent.md 2.2), each known by its `type`; a message may leave it out."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from pplx_gateway.decode import convert
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.protocols.openai import attachments
from pplx_gateway.protocols.perplexity.agent.request import Fields, JsonObject, Tagged
from pplx_gateway.protocols.perplexity.strict import unknown_field
from pplx_gateway.unknown import unknown_paths

ItemStatus = Literal["in_progress", "completed", "incomplete"]
MESSAGE = "message"


class InputText(Tagged, frozen=True, kw_only=True, tag="input_text"):
    text: str


class InputImage(Tagged, frozen=True, kw_only=True, tag="input_image"):
    image_url: str


class DetailedImage(Tagged, frozen=True, kw_only=True, tag="input_image"):
    """Only what a function gives back may say how closely to look."""

    image_url: str
    detail: Literal["low", "high", "auto"] | None = None


class InputFile(Tagged, frozen=True, kw_only=True, tag="input_file"):
    file_data: str | None = None
    file_url: str | None = None
    filename: str | None = None


InputPart = InputText | InputImage | InputFile


class Message(Tagged, frozen=True, kw_only=True, tag=MESSAGE):
    role: Literal["user", "assistant", "system", "developer"]
    content: str | list[InputPart]


class FunctionCall(Tagged, frozen=True, kw_only=True, tag="function_call"):
    call_id: str
    name: str
    arguments: str
    thought_signature: str | None = None


class FunctionCallOutput(Tagged, frozen=True, kw_only=True, tag="function_call_output"):
    call_id: str
    output: str | list[InputText | DetailedImage]
    name: str | None = None
    id: str | None = None
    status: ItemStatus | None = None
    thought_signature: str | None = None


class SummaryText(Tagged, frozen=True, kw_only=True, tag="summary_text"):
    text: str


class ReasoningText(Tagged, frozen=True, kw_only=True, tag="reasoning_text"):
    text: str


class ReasoningItem(Tagged, frozen=True, kw_only=True, tag="reasoning"):
    summary: list[SummaryText]
    content: list[ReasoningText] | None = None
    encrypted_content: str | None = None
    id: str | None = None
    status: ItemStatus | None = None


class McpApprovalRequest(Tagged, frozen=True, kw_only=True, tag="mcp_approval_request"):
    id: str
    server_label: str
    name: str
    arguments: str
    connector_id: str | None = None
    thought_signature: str | None = None


class McpApprovalResponse(Tagged, frozen=True, kw_only=True, tag="mcp_approval_response"):
    approval_request_id: str
    approve: bool
    id: str | None = None
    reason: str | None = None


class McpCall(Tagged, frozen=True, kw_only=True, tag="mcp_call"):
    id: str
    server_label: str
    name: str
    arguments: str
    output: str | None = None
    error: str | None = None
    approval_request_id: str | None = None
    connector_id: str | None = None


class ToolAnnotations(Fields, frozen=True, kw_only=True):
    read_only: bool | None = None


class McpToolDefinition(Fields, frozen=True, kw_only=True):
    name: str
    input_schema: JsonObject
    description: str | None = None
    annotations: ToolAnnotations | None = None


class McpListTools(Tagged, frozen=True, kw_only=True, tag="mcp_list_tools"):
    id: str | None = None
    server_label: str | None = None
    tools: list[McpToolDefinition] | None = None
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
_KINDS: Mapping[object, type[InputItem]] = {
    kind.__struct_config__.tag: kind
    for kind in (
        Message,
        FunctionCall,
        FunctionCallOutput,
        ReasoningItem,
        McpApprovalRequest,
        McpApprovalResponse,
        McpCall,
        McpListTools,
    )
}


def input_items(given: str | Sequence[JsonObject]) -> str | list[InputItem]:
    """Raises InvalidRequest with the path of what is wrong."""
    if isinstance(given, str):
        if not given.strip():
            raise InvalidRequest("'input' is empty.", param="input")
        return given
    if not given:
        raise InvalidRequest("'input' is an empty list.", param="input")
    found = [_item(fields, f"input[{place}]") for place, fields in enumerate(given)]
    if not any(_says_something(item) for item in found):
        raise InvalidRequest("'input' holds no text.", param="input")
    return found


def _item(fields: JsonObject, at: str) -> InputItem:
    fields = {"type": MESSAGE, **fields}
    kind = fields["type"]
    found = _KINDS.get(kind) if isinstance(kind, str) else None
    if found is None:
        known = ", ".join(map(str, _KINDS))
        raise InvalidRequest(f"'{at}.type' must be one of: {known}.", param=f"{at}.type")
    item = convert(fields, found, at)
    for path in unknown_paths(fields, found):
        raise unknown_field(f"{at}.{path}")
    for place, part in enumerate(_parts(item)):
        _check(part, f"{at}.{'output' if isinstance(item, FunctionCallOutput) else 'content'}[{place}]")
    return item


def _parts(item: InputItem) -> Iterator[InputPart | DetailedImage]:
    given = item.content if isinstance(item, Message) else item.output if isinstance(item, FunctionCallOutput) else ()
    if not isinstance(given, str):
        yield from given


def _check(part: InputPart | DetailedImage, at: str) -> None:
    """Nothing is fetched by the gateway, and only `https:` is handed on."""
    match part:
        case InputImage(image_url=url) | DetailedImage(image_url=url):
            attachments.image(url, f"{at}.image_url")
        case InputFile(file_data=None, file_url=None):
            raise InvalidRequest(f"'{at}' needs 'file_data' or 'file_url'.", param=f"{at}.file_data")
        case InputFile(file_url=str(url)):
            attachments.document_address(url, None, f"{at}.file_url")
        case _:
            return


def _says_something(item: InputItem) -> bool:
    if not isinstance(item, Message):
        return True
    if isinstance(item.content, str):
        return bool(item.content.strip())
    return any(not isinstance(part, InputText) or part.text.strip() for part in item.content)


def with_file(given: object, url: str) -> list[JsonObject]:
    """`input` with a file at the end of its last user message. Raises InvalidRequest where there is none."""
    file: JsonObject = {"type": "input_file", "file_url": url}
    items: list[JsonObject] = [{"role": "user", "content": given}]
    if isinstance(given, list):
        items = [dict(item) if isinstance(item, dict) else {"type": item} for item in given]
    for item in reversed(items):
        content = item.get("content")
        if item.get("role") == "user" and isinstance(content, str | list):
            parts = [{"type": "input_text", "text": content}] if isinstance(content, str) else content
            item["content"] = [*parts, file]
            return items
    raise InvalidRequest("'file_url' needs a message of the user that it belongs to.", param="file_url")
