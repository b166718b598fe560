"""Which tools a question takes along, and whether one of them must be used.

A bare model searches only if it is offered web_search, and even then only if it likes; ids that promise a search force
it. A level brings its own tools. Whether listing one tool takes the level's others away is not settled
(docs/wire-agent.md 2.1), so as soon as one is listed, search and page reading are listed too.

One `tool_choice` has to serve two masters. A choice that the caller made for functions (required, or one by name) wins
over a forced search: search is then offered, and the instructions ask for it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from pplx_gateway.catalogue import AgentRoute
from pplx_gateway.errors import UnsupportedParameter
from pplx_gateway.question import NamedFunction, Question, Search, ToolChoice
from pplx_gateway.upstreams.api.mapping import Fields, function_tool, image_search_tool, is_narrowed, web_search_tool
from pplx_gateway.upstreams.names import Names

SEARCH_FIRST = "Search the web with the web_search tool before you answer."
FIND_IMAGES = "Also look for fitting images with the image_search tool."
_WEB_INSTEAD = "The upstream has no search for {} sources of their own; the web was searched."
_SEARCH_IS_OFF = "Search is off for this answer, so its other options were left out."


class ToolPlan(NamedTuple):
    """`fields` of the body, `sentences` for the instructions, `warnings` for the caller; `callable` are
    the caller's functions that the model may call."""

    fields: Fields
    sentences: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    callable: frozenset[str] = frozenset()


def plan(question: Question, route: AgentRoute, names: Names) -> ToolPlan:
    """Raises UnsupportedParameter: a level cannot be kept from searching, a model without tools calls no functions."""
    if route.search == "never":
        return _without_tools(question)
    if route.effort and question.search.enabled is False:
        message = f"The level '{route.effort}' always searches. For an answer without a search choose a bare model."
        raise UnsupportedParameter(message, param="disable_search")
    # Under "none" no call may come out; leaving the functions out keeps the promise and leaves search alone.
    offered = () if question.tool_choice == "none" else question.functions
    functions = [function_tool(function, names) for function in offered]
    callable_ = frozenset(function.name for function in offered)
    native = _native_tools(question.search, route, others=bool(functions) or question.sandbox)
    native += [{"type": "sandbox"}] if question.sandbox else []
    forced = bool(native) and _searches_first(question.search, route)
    choice, sentences = _choice(question.tool_choice if functions else "auto", names, forced=forced)
    fields: Fields = {"tools": [*native, *functions]} if native or functions else {}
    if choice is not None:
        fields["tool_choice"] = choice
    if question.search.images and native:
        sentences = (*sentences, FIND_IMAGES)
    return ToolPlan(fields, sentences, _warnings(question.search), callable_)


def _without_tools(question: Question) -> ToolPlan:
    if question.functions and question.tool_choice != "none":
        raise UnsupportedParameter("This model uses no tools, so it cannot call functions.", param="tools")
    if question.sandbox:
        raise UnsupportedParameter("This model uses no tools, so it runs no code.", param="tools")
    fields: Fields = {"max_tool_calls": 0}
    unused = is_narrowed(question.search) or question.search.images
    return ToolPlan(fields, warnings=(_SEARCH_IS_OFF,) if unused else ())


def _native_tools(search: Search, route: AgentRoute, *, others: bool) -> list[Fields]:
    if search.enabled is False:
        return []
    wanted: list[Fields] = []
    if "finance" in search.sources:
        wanted.append({"type": "finance_search"})
    if search.images:
        wanted.append(image_search_tool(search))
    if not route.effort:
        return [web_search_tool(search), *wanted]
    if wanted or others or is_narrowed(search):
        return [web_search_tool(search), {"type": "fetch_url"}, *wanted]
    return []


def _searches_first(search: Search, route: AgentRoute) -> bool:
    """A level searches by itself, and takes no choice beside it."""
    return route.search == "force" or (search.enabled is True and not route.effort)


def _choice(choice: ToolChoice, names: Names, *, forced: bool) -> tuple[object | None, tuple[str, ...]]:
    if isinstance(choice, NamedFunction):
        return {"name": names.sent(choice.name)}, (SEARCH_FIRST,) if forced else ()
    if choice == "required":
        return choice, (SEARCH_FIRST,) if forced else ()
    return {"type": "web_search"} if forced else None, ()


def _warnings(search: Search) -> tuple[str, ...]:
    if search.enabled is False:
        return (_SEARCH_IS_OFF,) if is_narrowed(search) or search.images or set(search.sources) - {"web"} else ()
    missing: Sequence[str] = [source for source in search.sources if source in ("academic", "social")]
    return (_WEB_INSTEAD.format(" or ".join(missing)),) if missing else ()
