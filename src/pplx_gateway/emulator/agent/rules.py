"""What the API refuses in a well-formed request (docs/wire-agent.md 2.1 to 2.5, 2.8). One rule a function.

What the real API accepts in silence passes here too: mixed allow and deny lists, dates in the wrong form.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pplx_gateway.emulator.agent import models
from pplx_gateway.emulator.agent.errors import ApiError
from pplx_gateway.emulator.agent.request import (
    AgentRequest,
    Connector,
    DetailedImage,
    FetchUrl,
    FunctionCallOutput,
    InlineSkill,
    InputImage,
    Mcp,
    Message,
    ToolChoice,
    WebSearch,
)
from pplx_gateway.emulator.words import RESERVED_NAMES

RECENCIES = ("hour", "day", "week", "month", "year")
MAX_DOMAINS = 20
_FUNCTION_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LABEL = re.compile(r"[A-Za-z0-9_-]{1,64}")


def check(request: AgentRequest) -> None:
    """Raises ApiError for the first rule that is broken."""
    for rule in _RULES:
        rule(request)


def _parameter(message: str, param: str, kind: str = "invalid_parameter") -> ApiError:
    return ApiError(400, message, kind, param=param)


def _within(value: float | None, low: float, high: float, name: str) -> None:
    if value is not None and not low <= value <= high:
        raise _parameter(f"{name} must be between {low:g} and {high:g}", name)


def _input(request: AgentRequest) -> None:
    if not request.items:
        raise ApiError(400, "input is required and cannot be empty", param="input")


def _images(request: AgentRequest) -> None:
    for place, image in _images_of(request):
        if not re.match(r"https://|data:image/", image.image_url, re.IGNORECASE):
            raise _parameter("image_url must be an https URL or a data URI", f"input[{place}]")


def _images_of(request: AgentRequest) -> Iterator[tuple[int, InputImage | DetailedImage]]:
    for place, item in enumerate(request.items):
        parts = (
            item.content if isinstance(item, Message) else item.output if isinstance(item, FunctionCallOutput) else ""
        )
        if not isinstance(parts, str):
            yield from ((place, part) for part in parts if isinstance(part, (InputImage, DetailedImage)))


def _something_to_run(request: AgentRequest) -> None:
    body = request.body
    if not (body.model or body.models or body.effort or body.preset or body.profile):
        raise ApiError(400, "one of model, models, preset, effort or profile is required", param="model")
    if body.models is not None and not 1 <= len(body.models) <= 5:
        raise _parameter("models must contain 1 to 5 entries", "models")


def _model_names(request: AgentRequest) -> None:
    for name in request.body.models or ([request.body.model] if request.body.model else []):
        if name not in models.PRICES:
            raise ApiError(400, f'model "{name}" is not supported', "invalid_model", param="model")


def _level(request: AgentRequest) -> None:
    name = request.level
    if name is None:
        return
    param = "effort" if request.body.effort else "preset"
    if models.find_level(name) is None:
        raise _parameter(f'unknown {param} "{name}"', param)
    if models.is_wide(name) and not request.body.background:
        raise _parameter("wide-research requires background to be true", "background")


def _output_limit(request: AgentRequest) -> None:
    limit = request.body.max_output_tokens
    if limit is not None and limit < 1:
        raise _parameter("max_output_tokens must be at least 1", "max_output_tokens")
    asked = request.body.models or [request.body.model or ""]
    if limit is None and any(name.startswith("anthropic/") for name in asked):
        raise _parameter("max_output_tokens is required for anthropic models", "max_output_tokens")


def _steps(request: AgentRequest) -> None:
    steps = request.body.max_steps
    if steps is not None and steps < 1:
        raise _parameter("max steps must be at least 1", "max_steps")
    _within(steps, 1, 100, "max_steps")


def _sampling(request: AgentRequest) -> None:
    _within(request.body.temperature, 0, 2, "temperature")
    _within(request.body.top_p, 0, 1, "top_p")
    _within(request.body.max_tool_calls, 0, 1000, "max_tool_calls")


def _format(request: AgentRequest) -> None:
    if request.body.response_format is None:
        return
    form = request.body.response_format.json_schema
    if not 1 <= len(form.name) <= 64:
        raise _parameter("response_format.json_schema.name must be 1 to 64 characters", "response_format")
    if form.schema.get("type") != "object":
        raise _parameter('response_format.json_schema.schema must have root type "object"', "response_format")
    if not _sound_schema(form.schema):
        raise ApiError(400, "invalid request")


_TYPES = frozenset(("object", "array", "string", "number", "integer", "boolean", "null"))


def _sound_schema(schema: object, depth: int = 0) -> bool:
    """Whether `schema` is built as JSON Schema is: known types, schemas as properties, a list as `required`."""
    if isinstance(schema, bool):
        return True
    if not isinstance(schema, Mapping) or depth > 100:
        return False
    kinds = schema.get("type", "object")
    required: Any = schema.get("required", [])
    properties: Any = schema.get("properties", {})
    return (
        all(kind in _TYPES for kind in (kinds if isinstance(kinds, list) else [kinds]))
        and isinstance(required, list)
        and isinstance(properties, Mapping)
        and all(_sound_schema(part, depth + 1) for part in properties.values())
        and ("items" not in schema or _sound_schema(schema["items"], depth + 1))
    )


def _functions(request: AgentRequest) -> None:
    for place, tool in enumerate(request.functions):
        if tool.name in RESERVED_NAMES:
            raise ApiError(400, f'function name "{tool.name}" is reserved', param=f"tools[{place}].name")
        if not _FUNCTION_NAME.fullmatch(tool.name):
            raise ApiError(400, "function name must match ^[A-Za-z0-9_-]{1,64}$", param=f"tools[{place}].name")


def _searches(request: AgentRequest) -> None:
    for place, tool in enumerate(request.body.tools or []):
        if isinstance(tool, WebSearch):
            _search(tool, f"tools[{place}]")
        elif isinstance(tool, FetchUrl):
            _within(tool.max_urls, 1, 10, f"tools[{place}].max_urls")
            _within(tool.total_budget_tokens, 1, 120_000, f"tools[{place}].total_budget_tokens")


def _search(tool: WebSearch, at: str) -> None:
    _within(tool.max_results, 1, 50, f"{at}.max_results")
    if tool.user_location and tool.user_location.country and not re.fullmatch("[A-Z]{2}", tool.user_location.country):
        raise _parameter(f"{at}: country must be an ISO 3166-1 alpha-2 code", f"{at}.user_location.country")
    if tool.filters is None:
        return
    filters = tool.filters
    check_recency(filters.search_recency_filter, at)
    if filters.search_recency_filter and (filters.search_after_date_filter or filters.search_before_date_filter):
        raise _parameter(f"{at}: search_recency_filter cannot be combined with published date filters", at)
    check_domains(filters.search_domain_filter, at)


def check_recency(value: str | None, at: str) -> None:
    if value is not None and value not in RECENCIES:
        allowed = ", ".join(RECENCIES)
        raise _parameter(f"{at}: invalid search_recency_filter {value!r}: must be one of {allowed}", at)


def check_domains(domains: list[str] | None, at: str) -> None:
    """Mixed allow and deny entries are not refused here: the API takes, and bills, them too."""
    if domains is None:
        return
    kind = "invalid_search_domain_filter"
    if len(domains) > MAX_DOMAINS:
        raise _parameter(f"{at}: search_domain_filter takes at most {MAX_DOMAINS} entries", at, kind)
    for domain in domains:
        if not domain.strip("-") or len(domain) > 253 or "://" in domain or " " in domain:
            raise _parameter(f"{at}: invalid domain {domain[:80]!r} in search_domain_filter", at, kind)


def _servers(request: AgentRequest) -> None:
    servers = [tool for tool in request.body.tools or [] if isinstance(tool, (Mcp, Connector))]
    if len(servers) > 16:
        raise _parameter("at most 16 MCP servers are allowed", "tools")
    for tool in servers:
        if not _LABEL.fullmatch(tool.server_label):
            raise _parameter("server_label must match ^[A-Za-z0-9_-]{1,64}$", "tools")
        if isinstance(tool, Mcp) and not tool.server_url.startswith("https://"):
            raise _parameter("server_url must be an https URL", "tools")


def _choice(request: AgentRequest) -> None:
    choice = request.body.tool_choice
    if not isinstance(choice, ToolChoice):
        return
    if (choice.name is None) == (choice.type is None):
        raise _parameter("tool_choice must have either name or type", "tool_choice")
    if choice.name is not None and choice.name not in [tool.name for tool in request.functions]:
        raise _parameter(f'tool_choice names "{choice.name}", which is not among the tools', "tool_choice")
    if choice.type is not None and choice.type != "required" and not _has_tool(request, choice.type):
        raise _parameter(f'tool_choice type "{choice.type}" is not among the tools', "tool_choice")


def _has_tool(request: AgentRequest, kind: str) -> bool:
    own = {tool.__struct_config__.tag for tool in request.body.tools or []}
    level = models.find_level(request.level) if request.level else None
    return kind in own or (level is not None and kind in level.tools)


def _background(request: AgentRequest) -> None:
    if request.body.background and request.body.store is False:
        raise _parameter("background requires store to be true", "store")


def _metadata(request: AgentRequest) -> None:
    metadata = request.body.metadata or {}
    if len(metadata) > 16 or any(len(key) > 64 or len(value) > 512 for key, value in metadata.items()):
        raise _parameter("metadata takes at most 16 keys of 64 characters with values of 512", "metadata")


def _skills(request: AgentRequest) -> None:
    inline = [skill for skill in request.body.skills or [] if isinstance(skill, InlineSkill)]
    sizes = [len(skill.instructions.encode(errors="replace")) for skill in inline]
    if any(size > 65_536 for size in sizes) or sum(sizes) > 262_144:
        raise _parameter("skill instructions are too long", "skills")
    for skill in inline:
        if not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", skill.name) or len(skill.description.encode()) > 1024:
            raise _parameter("skill names are lowercase-hyphenated, descriptions at most 1024 bytes", "skills")


_RULES: tuple[Callable[[AgentRequest], None], ...] = (
    _input,
    _images,
    _something_to_run,
    _model_names,
    _level,
    _output_limit,
    _steps,
    _sampling,
    _format,
    _functions,
    _searches,
    _servers,
    _choice,
    _background,
    _metadata,
    _skills,
)
