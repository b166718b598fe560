"""The tools of a request: functions that the caller runs, the search that is built in, and the code interpreter, which
is the upstream's sandbox where there is one. All others are refused.

Which tools there are, and what the model is told to do with them, also goes back in the response as it came into
effect.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec

from pplx_gateway.capabilities import Feature, Policy, Use
from pplx_gateway.decode import convert
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.protocols.openai import tools as functions_of
from pplx_gateway.protocols.openai.common_request import FunctionName
from pplx_gateway.protocols.openai.responses import web_search
from pplx_gateway.protocols.openai.responses.request import AllowedTool, ChoiceOfTool, JsonObject, ResponsesRequest
from pplx_gateway.protocols.openai.responses.web_search import WebSearchTool
from pplx_gateway.protocols.openai.tools import Offer
from pplx_gateway.question import FunctionTool, ToolChoice
from pplx_gateway.unknown import unknown_paths

SEARCHES = frozenset(("web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11"))
CODE = "code_interpreter"
_ANY_CONTAINER = {"type": "auto"}
_WORKS = "What works: function, web_search, and on the api code_interpreter."


class FunctionDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """Flat, other than in chat completions."""

    type: str
    name: FunctionName
    description: str | None = None
    parameters: dict[str, object] | None = None
    strict: bool | None = None


class Offered(NamedTuple):
    """`functions` and `choice` are for the question; `echo` and `echo_choice` for the response, with everything that
    was offered. `searches` are the search tools with their paths; `searching` = the model may use them. `stays_still` =
    search tools are offered, and no tool may be used."""

    functions: tuple[FunctionTool, ...]
    choice: ToolChoice
    searches: tuple[tuple[str, WebSearchTool], ...]
    searching: bool
    sandbox: bool
    stays_still: bool
    echo: tuple[JsonObject, ...]
    echo_choice: str | JsonObject
    uses: tuple[Use, ...]
    idle: tuple[str, ...]
    dropped: tuple[str, ...]


def offered(request: ResponsesRequest, policy: Policy, upstream: str) -> Offered:
    """Raises InvalidRequest; UnsupportedParameter for a kind of tool that nobody here has, unless the policy drops."""
    taken = _Taken(request.tools or (), policy, upstream)
    functions = functions_of.functions(tuple(taken.functions.values()), "tools")
    functions_of.check_parameters(taken.functions.items())
    choice = _choose(request.tool_choice, functions, bool(taken.searches), bool(taken.interpreters))
    return Offered(
        functions=choice.offer.functions,
        choice=choice.offer.choice,
        searches=tuple(taken.searches.items()),
        searching=bool(taken.searches) and choice.offer.choice != "none" and choice.may_search,
        sandbox=bool(taken.interpreters) and choice.offer.choice != "none" and choice.may_run,
        stays_still=bool(taken.searches) and choice.offer.choice == "none",
        echo=tuple(taken.echo),
        echo_choice=choice.echo,
        uses=tuple(taken.uses()),
        idle=(*taken.idle, *choice.idle),
        dropped=tuple(taken.dropped),
    )


class _Taken:
    """The tools by kind, each under its path."""

    def __init__(self, tools: Sequence[JsonObject], policy: Policy, upstream: str) -> None:
        self.functions: dict[str, FunctionDefinition] = {}
        self.searches: dict[str, WebSearchTool] = {}
        self.interpreters: list[str] = []
        self.echo: list[JsonObject] = []
        self.idle: list[str] = []
        self.dropped: list[str] = []
        for index, fields in enumerate(tools):
            self._take(fields, f"tools[{index}]", policy, upstream)

    def _take(self, fields: JsonObject, at: str, policy: Policy, upstream: str) -> None:
        match fields.get("type"):
            case "function":
                definition = convert(fields, FunctionDefinition, at)
                self.functions[at] = definition
                self._keep(definition, fields, at)
                self.echo.append(msgspec.to_builtins(definition))
            case str(kind) if kind in SEARCHES:
                tool = convert(fields, WebSearchTool, at)
                self.searches[at] = tool
                self._keep(tool, fields, at)
                self.idle.extend(web_search.idle(tool, at))
                self.echo.append(_echo_of_search(tool))
            case str(kind) if kind == CODE:
                self._take_interpreter(fields, at)
            case None:
                raise InvalidRequest(f"Missing required parameter: '{at}.type'.", param=f"{at}.type")
            case kind if policy == "drop" and isinstance(kind, str):
                self.dropped.append(at)
            case kind:
                raise functions_of.no_such_tool(kind, at, upstream, _WORKS)

    def _take_interpreter(self, fields: JsonObject, at: str) -> None:
        """The sandbox is the upstream's own, so a container of the caller's choice has no effect."""
        self.interpreters.append(at)
        container = fields.get("container") or _ANY_CONTAINER
        self.idle.extend([f"{at}.container"] if container != _ANY_CONTAINER else [])
        self.idle.extend(f"{at}.{name}" for name in fields if name not in ("type", "container"))
        self.echo.append({"type": CODE, "container": container})

    def _keep(self, tool: msgspec.Struct, fields: JsonObject, at: str) -> None:
        self.idle.extend(f"{at}.{path}" for path in unknown_paths(fields, type(tool)))

    def uses(self) -> list[Use]:
        found = [Use(at, Feature.FUNCTIONS) for at in list(self.functions)[:1]]
        found += [Use(f"{at}.type", Feature.SANDBOX) for at in self.interpreters]
        return found + [use for at, tool in self.searches.items() for use in web_search.uses(tool, at)]


def _echo_of_search(tool: WebSearchTool) -> JsonObject:
    echo: JsonObject = {"type": tool.type}
    if tool.filters and tool.filters.allowed_domains is not None:
        echo["filters"] = {"allowed_domains": tool.filters.allowed_domains}
    if tool.search_context_size:
        echo["search_context_size"] = tool.search_context_size
    if tool.user_location:
        place: JsonObject = msgspec.to_builtins(tool.place)
        echo["user_location"] = {**{key: value for key, value in place.items() if value}, "type": "approximate"}
    return echo


class _Choice(NamedTuple):
    """`may_search`: the search tools are among those that the model may use; `may_run`: the code interpreter is."""

    offer: Offer
    echo: str | JsonObject
    may_search: bool = True
    may_run: bool = True
    idle: tuple[str, ...] = ()


# The search runs by itself, so that it need not, and cannot, be called for.
_NOT_FORCED = ("tool_choice",)


def _choose(
    wanted: str | ChoiceOfTool | None, functions: tuple[FunctionTool, ...], searches: bool, interpreters: bool
) -> _Choice:
    match wanted:
        case None:
            return _Choice(Offer(functions), "auto")
        case str():
            return _by_word(wanted, functions, searches or interpreters)
        case ChoiceOfTool(type="function", name=str(name)):
            return _Choice(functions_of.named(functions, name, "tool_choice"), {"type": "function", "name": name})
        case ChoiceOfTool(type="function"):
            raise InvalidRequest("'tool_choice.name' is missing: which function?", param="tool_choice")
        case ChoiceOfTool(type="allowed_tools", tools=tools, mode=mode):
            return _allowed(functions, tools or [], mode or "auto", searches)
        case ChoiceOfTool(type=kind) if (kind in SEARCHES and searches) or (kind == CODE and interpreters):
            return _Choice(Offer(functions), "auto", idle=_NOT_FORCED)
    raise InvalidRequest(
        "'tool_choice' must be none, auto, required, {type: function, name}, {type: allowed_tools, mode, tools} or the "
        "type of a search tool that is offered.",
        param="tool_choice",
    )


def _by_word(wanted: str, functions: tuple[FunctionTool, ...], others: bool) -> _Choice:
    choice = functions_of.word(wanted, bool(functions) or others, "tool_choice")
    if choice == "required" and not functions:
        return _Choice(Offer(functions), "auto", idle=_NOT_FORCED)
    return _Choice(Offer(functions, choice), choice if isinstance(choice, str) else "auto")


def _allowed(
    functions: tuple[FunctionTool, ...], tools: Sequence[AllowedTool], mode: Literal["auto", "required"], searches: bool
) -> _Choice:
    if not tools:
        raise functions_of.nothing_allowed("tool_choice")
    for tool in tools:
        if tool.type not in SEARCHES and not (tool.type == "function" and tool.name):
            raise InvalidRequest("'tool_choice.tools' names functions and search tools only.", param="tool_choice")
        if tool.type in SEARCHES and not searches:
            raise InvalidRequest("'tool_choice' allows a search tool, which is not offered.", param="tool_choice")
    names = {tool.name for tool in tools if tool.type == "function" and tool.name}
    offer = functions_of.allowed(functions, names, mode if names else "auto", "tool_choice")
    listed: list[JsonObject] = [msgspec.to_builtins(tool) for tool in tools]
    echo: JsonObject = {
        "type": "allowed_tools",
        "mode": mode,
        "tools": [{name: value for name, value in tool.items() if value is not None} for tool in listed],
    }
    may_search = any(tool.type in SEARCHES for tool in tools)
    return _Choice(offer, echo, may_search, False, _NOT_FORCED if mode == "required" and not names else ())
