"""The functions that a chat request offers, and which of them the model may or must call."""

from typing import NamedTuple

from pplx_gateway import question
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.protocols.openai.chat_request import AllowedTools, ChatRequest, FunctionDefinition, ToolChoiceObject
from pplx_gateway.question import FunctionTool, ToolChoice

_WORDS: dict[str, ToolChoice] = {"auto": "auto", "none": "none", "required": "required", "any": "required"}


class Offer(NamedTuple):
    functions: tuple[FunctionTool, ...] = ()
    choice: ToolChoice = "auto"


def offer(request: ChatRequest) -> Offer:
    """`functions` and `function_call` are the old names of `tools` and `tool_choice`. Raises InvalidRequest."""
    functions = _functions(request)
    param, wanted = ("tool_choice", request.tool_choice)
    if wanted is None and request.function_call is not None:
        old = request.function_call
        param, wanted = "function_call", old if isinstance(old, str) else ToolChoiceObject("function", old)
    return _choose(functions, wanted, param)


def _functions(request: ChatRequest) -> tuple[FunctionTool, ...]:
    if request.tools and request.functions:
        raise InvalidRequest("'functions' is the old name of 'tools'. Send one of them.", param="functions")
    definitions = [tool.function for tool in request.tools or ()] or request.functions or []
    names = [definition.name for definition in definitions]
    if len(set(names)) < len(names):
        name = next(name for name in names if names.count(name) > 1)
        raise InvalidRequest(f"Two functions are called '{name}'.", param="tools" if request.tools else "functions")
    return tuple(_function(definition) for definition in definitions)


def _function(definition: FunctionDefinition) -> FunctionTool:
    return FunctionTool(
        name=definition.name,
        description=definition.description,
        parameters=definition.parameters,
        strict=definition.strict,
    )


def _choose(functions: tuple[FunctionTool, ...], wanted: str | ToolChoiceObject | None, param: str) -> Offer:
    if wanted is None:
        return Offer(functions)
    if isinstance(wanted, ToolChoiceObject):
        return _chosen_by_object(functions, wanted, param)
    if wanted not in _WORDS:
        raise InvalidRequest(f"'{param}' must be none, auto, required or an object, not '{wanted}'.", param=param)
    if _WORDS[wanted] == "required" and not functions:
        raise InvalidRequest(f"'{param}' is '{wanted}', but no tools are offered.", param=param)
    return Offer(functions, _WORDS[wanted])


def _chosen_by_object(functions: tuple[FunctionTool, ...], wanted: ToolChoiceObject, param: str) -> Offer:
    if wanted.type == "function" and wanted.function:
        _known(functions, wanted.function.name, param)
        return Offer(functions, question.NamedFunction(wanted.function.name))
    if wanted.type == "allowed_tools" and wanted.allowed_tools:
        return _allowed(functions, wanted.allowed_tools, param)
    raise InvalidRequest(
        f"'{param}' must be {{type: function, function: {{name}}}} or {{type: allowed_tools, allowed_tools: ...}}.",
        param=param,
    )


def _allowed(functions: tuple[FunctionTool, ...], allowed: AllowedTools, param: str) -> Offer:
    names = {reference.function.name for reference in allowed.tools}
    for name in sorted(names):
        _known(functions, name, param)
    if not names:
        raise InvalidRequest(f"'{param}' allows no tool at all. Use 'none'.", param=param)
    return Offer(tuple(function for function in functions if function.name in names), allowed.mode)


def _known(functions: tuple[FunctionTool, ...], name: str, param: str) -> None:
    if all(function.name != name for function in functions):
        raise InvalidRequest(f"'{param}' names '{name}', which is not among the tools.", param=param)
