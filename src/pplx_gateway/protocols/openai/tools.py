"""The functions that a request offers, and which of them the model may or must call."""

from collections.abc import Collection, Iterable, Sequence
from typing import Literal, NamedTuple, Protocol

from pplx_gateway import question, schema
from pplx_gateway.errors import InvalidRequest, UnsupportedParameter
from pplx_gateway.protocols.openai.chat_request import ChatRequest, ToolChoiceObject
from pplx_gateway.question import FunctionTool, ToolChoice

_WORDS: dict[str, ToolChoice] = {"auto": "auto", "none": "none", "required": "required", "any": "required"}
_LONGEST_SHOWN = 60


class Offer(NamedTuple):
    functions: tuple[FunctionTool, ...] = ()
    choice: ToolChoice = "auto"


class Definition(Protocol):
    """A function as either protocol writes it."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str | None: ...
    @property
    def parameters(self) -> dict[str, object] | None: ...
    @property
    def strict(self) -> bool | None: ...


def offer(request: ChatRequest) -> Offer:
    """`functions` and `function_call` are the old names of `tools` and `tool_choice`. Raises InvalidRequest."""
    if request.tools and request.functions:
        raise InvalidRequest("'functions' is the old name of 'tools'. Send one of them.", param="functions")
    definitions = [tool.function for tool in request.tools or ()] or request.functions or []
    offered = functions(definitions, "tools" if request.tools else "functions")
    path = "tools[{}].function" if request.tools else "functions[{}]"
    check_parameters((path.format(index), definition) for index, definition in enumerate(definitions))
    param, wanted = ("tool_choice", request.tool_choice)
    if wanted is None and request.function_call is not None:
        old = request.function_call
        param, wanted = "function_call", old if isinstance(old, str) else ToolChoiceObject("function", old)
    return _choose(offered, wanted, param)


def functions(definitions: Sequence[Definition], param: str) -> tuple[FunctionTool, ...]:
    """Raises InvalidRequest where two have one name."""
    seen: set[str] = set()
    for definition in definitions:
        if definition.name in seen:
            raise InvalidRequest(f"Two functions are called '{definition.name}'.", param=param)
        seen.add(definition.name)
    return tuple(_function(definition) for definition in definitions)


def check_parameters(definitions: Iterable[tuple[str, Definition]]) -> None:
    """Looks at the functions' schemas; each comes with its path in the request. Raises InvalidRequest."""
    for path, definition in definitions:
        schema.of_arguments(definition.parameters, f"{path}.parameters")


def word(wanted: str, offered: bool, param: str) -> ToolChoice:
    """A choice in one word. `offered`: there is a tool that could be called. Raises InvalidRequest."""
    if wanted not in _WORDS:
        raise InvalidRequest(f"'{param}' must be none, auto, required or an object, not '{wanted}'.", param=param)
    if _WORDS[wanted] == "required" and not offered:
        raise InvalidRequest(f"'{param}' is '{wanted}', but no tools are offered.", param=param)
    return _WORDS[wanted]


def named(offered: Sequence[FunctionTool], name: str, param: str) -> Offer:
    """One function, which must be called. Raises InvalidRequest where it is not offered."""
    _all_known(offered, (name,), param)
    return Offer(tuple(offered), question.NamedFunction(name))


def allowed(
    offered: Sequence[FunctionTool], names: Collection[str], mode: Literal["auto", "required"], param: str
) -> Offer:
    """A part of the functions. Raises InvalidRequest where one of them is not offered."""
    _all_known(offered, names, param)
    return Offer(tuple(function for function in offered if function.name in names), mode)


def nothing_allowed(param: str) -> InvalidRequest:
    return InvalidRequest(f"'{param}' allows no tool at all. Use 'none'.", param=param)


def no_such_tool(kind: object, at: str, upstream: str, works: str) -> UnsupportedParameter:
    """For the tool at `at`, whose type is `kind`; `works` is a sentence about those that there are."""
    shown = kind[:_LONGEST_SHOWN] if isinstance(kind, str) and kind.isprintable() else "no name"
    return UnsupportedParameter(
        f"'{at}.type' is '{shown}': the {upstream} upstream has no such tool. {works} Leave it out, or set "
        "PPLX_UNSUPPORTED=drop to have such tools dropped and named in the x-pplx-dropped header.",
        param=f"{at}.type",
    )


def _function(definition: Definition) -> FunctionTool:
    return FunctionTool(
        name=definition.name,
        description=definition.description,
        parameters=definition.parameters,
        strict=definition.strict,
    )


def _choose(offered: tuple[FunctionTool, ...], wanted: str | ToolChoiceObject | None, param: str) -> Offer:
    if wanted is None:
        return Offer(offered)
    if isinstance(wanted, ToolChoiceObject):
        return _chosen_by_object(offered, wanted, param)
    return Offer(offered, word(wanted, bool(offered), param))


def _chosen_by_object(offered: tuple[FunctionTool, ...], wanted: ToolChoiceObject, param: str) -> Offer:
    if wanted.type == "function" and wanted.function:
        return named(offered, wanted.function.name, param)
    if wanted.type == "allowed_tools" and wanted.allowed_tools:
        names = {reference.function.name for reference in wanted.allowed_tools.tools}
        if not names:
            raise nothing_allowed(param)
        return allowed(offered, names, wanted.allowed_tools.mode, param)
    raise InvalidRequest(
        f"'{param}' must be {{type: function, function: {{name}}}} or {{type: allowed_tools, allowed_tools: ...}}.",
        param=param,
    )


def _all_known(offered: Sequence[FunctionTool], names: Collection[str], param: str) -> None:
    unknown = sorted(set(names) - {function.name for function in offered})
    if unknown:
        raise InvalidRequest(f"'{param}' names '{unknown[0]}', which is not among the tools.", param=param)
