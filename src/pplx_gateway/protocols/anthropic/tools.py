"""The tools of a request: functions that the caller runs, and the search that is built in. All others are refused."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, NamedTuple

import msgspec

from pplx_gateway import schema
from pplx_gateway.capabilities import Feature, Policy, Use
from pplx_gateway.decode import convert
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.protocols.anthropic import web_search
from pplx_gateway.protocols.anthropic.parts import CACHE_CONTROL
from pplx_gateway.protocols.anthropic.request import CountRequest, JsonObject, ToolChoice
from pplx_gateway.protocols.anthropic.web_search import WebSearchTool
from pplx_gateway.protocols.openai import tools as functions_of
from pplx_gateway.protocols.openai.tools import Offer
from pplx_gateway.question import FunctionTool, Search
from pplx_gateway.question import ToolChoice as Choice
from pplx_gateway.unknown import unknown_paths

F = Feature
SEARCH_TOOL = "web_search_"
"""What the types of search tools begin with; a date follows."""
_WORKS = "What works: tools of your own (with input_schema), web_search_20250305."
_IDLE = (CACHE_CONTROL, "defer_loading", "allowed_callers", "input_examples", "eager_input_streaming")


class CustomTool(msgspec.Struct, frozen=True, kw_only=True):
    """A function of the caller's."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{1,128}$")]
    input_schema: JsonObject
    type: Literal["custom"] | None = None
    description: str | None = None
    strict: bool | None = None
    cache_control: JsonObject | None = None
    defer_loading: bool | None = None
    allowed_callers: list[str] | None = None
    input_examples: list[JsonObject] | None = None
    eager_input_streaming: bool | None = None

    @property
    def parameters(self) -> JsonObject:
        return self.input_schema


class Offered(NamedTuple):
    """`search`: the search as the tools narrow it. `searching`: it is offered, and may be used. `most_uses` bounds it,
    where nothing but the search could be called."""

    functions: tuple[FunctionTool, ...]
    choice: Choice
    search: Search
    searching: bool
    most_uses: int | None
    uses: tuple[Use, ...]
    idle: tuple[str, ...]
    dropped: tuple[str, ...]


def offered(request: CountRequest, search: Search, policy: Policy, upstream: str) -> Offered:
    """Raises InvalidRequest; UnsupportedParameter for a tool that nobody here has, unless the policy drops."""
    taken = _Taken(request.tools or (), policy, upstream)
    functions = functions_of.functions(list(taken.functions.values()), "tools")
    chosen = _choose(request.tool_choice, functions, taken.search_name)
    if chosen.search and search.enabled is False:
        raise InvalidRequest("'tool_choice' wants the search that 'disable_search' turns off.", param="tool_choice")
    for at, tool in taken.searches():
        search = web_search.narrowed(search, tool, at)
    return Offered(
        functions=chosen.offer.functions,
        choice=chosen.offer.choice,
        search=search if chosen.search is None else msgspec.structs.replace(search, enabled=chosen.search),
        searching=taken.search is not None and chosen.search is not False,
        most_uses=taken.search.max_uses if taken.search and not functions else None,
        uses=tuple(taken.uses(stays_still=chosen.search is False)),
        idle=tuple(taken.idle),
        dropped=tuple(taken.dropped),
    )


class _Taken:
    """The tools by kind, each under its path."""

    def __init__(self, tools: Sequence[JsonObject], policy: Policy, upstream: str) -> None:
        self.functions: dict[str, CustomTool] = {}
        self.search: WebSearchTool | None = None
        self.idle: dict[str, None] = {}
        self.dropped: list[str] = []
        self._search_at = ""
        for index, fields in enumerate(tools):
            self._take(fields, f"tools[{index}]", policy, upstream)
        self._finish()

    @property
    def search_name(self) -> str | None:
        return self.search.name if self.search else None

    def searches(self) -> Iterator[tuple[str, WebSearchTool]]:
        if self.search is not None:
            yield self._search_at, self.search

    def uses(self, *, stays_still: bool) -> Iterator[Use]:
        for at in list(self.functions)[:1]:
            yield Use(at, F.FUNCTIONS)
        for at, tool in self.searches():
            bounded = not self.functions
            yield from (use for use in web_search.uses(tool, at) if bounded or use.feature is not F.MAX_TOOL_CALLS)
        if stays_still:
            yield Use("tool_choice", F.SEARCH_OFF)

    def _finish(self) -> None:
        """With all tools known."""
        if self.search_name in [tool.name for tool in self.functions.values()]:
            raise InvalidRequest(f"Two tools are called '{self.search_name}'.", param="tools")
        if self.functions and self.search and self.search.max_uses is not None:
            self.idle[f"{self._search_at}.max_uses"] = None  # upstream the bound would hold for all tools together

    def _take(self, fields: JsonObject, at: str, policy: Policy, upstream: str) -> None:
        match fields.get("type"):
            case None | "custom":
                self._take_function(fields, at)
            case str(kind) if kind.startswith(SEARCH_TOOL):
                self._take_search(fields, at)
            case str() if policy == "drop":
                self.dropped.append(at)
            case kind:
                raise functions_of.no_such_tool(kind, at, upstream, _WORKS)

    def _take_function(self, fields: JsonObject, at: str) -> None:
        tool = convert(fields, CustomTool, at)
        schema.of_arguments(tool.input_schema, f"{at}.input_schema")  # which must be one
        self.functions[at] = tool
        self._look(tool, fields, at)

    def _take_search(self, fields: JsonObject, at: str) -> None:
        if self.search is not None:
            raise InvalidRequest("Two tools are called 'web_search'.", param="tools")
        self.search, self._search_at = convert(fields, WebSearchTool, at), at
        self._look(self.search, fields, at)
        self.idle.update(dict.fromkeys(web_search.idle(self.search, at)))

    def _look(self, tool: CustomTool | WebSearchTool, fields: JsonObject, at: str) -> None:
        """For what has no effect: what is known by its name alone, the rest by its path."""
        given = [name for name in _IDLE if getattr(tool, name, None) not in (None, False)]
        self.idle.update({name if name == CACHE_CONTROL else f"tools[].{name}": None for name in given})
        self.idle.update({f"{at}.{path}": None for path in unknown_paths(fields, type(tool))})


class _Chosen(NamedTuple):
    """`search`: whether there must be one, None = as the model likes."""

    offer: Offer
    search: bool | None = None


def _choose(wanted: ToolChoice | None, functions: tuple[FunctionTool, ...], search: str | None) -> _Chosen:
    """`search` is the search tool's name. Raises InvalidRequest."""
    match wanted:
        case None:
            return _Chosen(Offer(functions))
        case ToolChoice(type="tool", name=None):
            raise InvalidRequest("'tool_choice.name' is missing: which tool?", param="tool_choice.name")
        case ToolChoice(type="tool", name=str(name)) if name != search:
            return _Chosen(functions_of.named(functions, name, "tool_choice.name"))
        case ToolChoice(type="tool"):
            return _Chosen(Offer(functions), search=True)
        case ToolChoice(type="any") if search is not None and not functions:
            return _Chosen(Offer(functions), search=True)
        case ToolChoice(type=kind):
            choice = functions_of.word(kind, bool(functions), "tool_choice")
            still = choice == "none" and search is not None
            return _Chosen(Offer(functions, choice), search=False if still else None)
