"""What the API would take, bill and not do, or refuse in words that help nobody: caught before anything is sent."""

from datetime import date

import msgspec

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.protocols import search_values as values
from pplx_gateway.protocols.perplexity.agent.request import (
    MOST_SERVERS,
    AgentRequest,
    Connector,
    Filters,
    Function,
    ImageSearch,
    Location,
    Mcp,
    Tool,
    ToolChoice,
    WebSearch,
)
from pplx_gateway.schema import Schema


def checked(request: AgentRequest) -> AgentRequest:
    """The request with its values in the forms that the API reads. Raises InvalidRequest."""
    if not (request.model or request.models or request.level or request.profile):
        raise InvalidRequest("One of 'model', 'models', 'effort' and 'profile' must be there.", param="model")
    if request.background and request.store is False:
        raise InvalidRequest("A run in the background is found again by its id: leave 'store' out.", param="store")
    _check_format(request)
    tools = None if request.tools is None else [_tool(tool, f"tools[{at}]") for at, tool in enumerate(request.tools)]
    servers = [tool for tool in tools or () if isinstance(tool, Mcp | Connector)]
    if len(servers) > MOST_SERVERS:
        raise InvalidRequest(f"'tools' takes at most {MOST_SERVERS} MCP servers.", param="tools")
    return msgspec.structs.replace(request, tools=tools, tool_choice=_choice(request))


def _check_format(request: AgentRequest) -> None:
    if request.response_format is None:
        return
    at, schema = "response_format.json_schema.schema", request.response_format.json_schema.schema
    if schema.get("type") != "object":
        raise InvalidRequest(f"'{at}' must be of type 'object' at its root.", param=f"{at}.type")
    Schema(schema, at)  # which must be one


def _tool(tool: Tool, at: str) -> Tool:
    match tool:
        case WebSearch():
            return _web_search(tool, at)
        case ImageSearch(filters=filters) if filters and filters.domain_filter:
            found = values.domains(filters.domain_filter, f"{at}.filters.domain_filter")
            narrowed = msgspec.structs.replace(filters, domain_filter=list(found))
            return msgspec.structs.replace(tool, filters=narrowed)
        case Function(parameters=dict(parameters)):
            Schema(parameters, f"{at}.parameters")
            return tool
        case _:
            return tool


def _web_search(tool: WebSearch, at: str) -> WebSearch:
    budgets = ("max_tokens", "max_tokens_per_page")
    if tool.search_context_size and any(getattr(tool, name) for name in budgets):
        where = f"{at}.search_context_size"
        raise InvalidRequest(f"'{where}' does not go with a token budget. Send one of them.", param=where)
    return msgspec.structs.replace(
        tool,
        filters=None if tool.filters is None else _filters(tool.filters, f"{at}.filters"),
        user_location=None if tool.user_location is None else _location(tool.user_location, f"{at}.user_location"),
    )


def _filters(filters: Filters, at: str) -> Filters:
    days = {name: values.day(getattr(filters, name), f"{at}.{name}") for name in _DAYS}
    after, before = days["search_after_date_filter"], days["search_before_date_filter"]
    if filters.search_recency_filter and (after or before):
        where = f"{at}.search_recency_filter"
        raise InvalidRequest(f"'{where}' does not go with dates of publication.", param=where)
    values.check_order(after, before, f"{at}.search_after_date_filter")
    updated = days["last_updated_after_filter"], days["last_updated_before_filter"]
    values.check_order(*updated, f"{at}.last_updated_after_filter")
    domains = values.domains(filters.search_domain_filter or (), f"{at}.search_domain_filter")
    return Filters(
        search_domain_filter=list(domains) or None,
        search_recency_filter=filters.search_recency_filter,
        **{name: american(day) for name, day in days.items()},
    )


_DAYS = (
    "search_after_date_filter",
    "search_before_date_filter",
    "last_updated_after_filter",
    "last_updated_before_filter",
)


def american(day: date | None) -> str | None:
    """MM/DD/YYYY, the one form that the API reads; it ignores others without a word (docs/wire-agent.md 2.1)."""
    return None if day is None else f"{day.month:02}/{day.day:02}/{day.year:04}"


def _location(location: Location, at: str) -> Location:
    if (location.latitude is None) != (location.longitude is None):
        missing = f"{at}.{'latitude' if location.latitude is None else 'longitude'}"
        raise InvalidRequest("'latitude' and 'longitude' come together.", param=missing)
    return msgspec.structs.replace(location, country=values.country(location.country, f"{at}.country"))


def _choice(request: AgentRequest) -> str | ToolChoice | None:
    """OpenAI's way to name a function is understood, too."""
    choice = request.tool_choice
    if not isinstance(choice, ToolChoice):
        return choice
    if choice.type == "function" and choice.name is not None:
        choice = ToolChoice(name=choice.name)
    if (choice.name is None) == (choice.type is None):
        raise InvalidRequest("'tool_choice' has a 'name' or a 'type'.", param="tool_choice")
    names = [tool.name for tool in request.tools or () if isinstance(tool, Function)]
    if choice.name is not None and choice.name not in names:
        raise InvalidRequest(f"'tools' has no function '{choice.name[:80]}'.", param="tool_choice.name")
    return choice
