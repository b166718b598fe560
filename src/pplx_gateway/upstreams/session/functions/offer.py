"""What a question offers the model to call, and how it may choose."""

from typing import NamedTuple

from pplx_gateway.question import FunctionCall, NamedFunction, Question
from pplx_gateway.schema import Schema, of_arguments
from pplx_gateway.upstreams.names import Names


class Function(NamedTuple):
    """`name` is the caller's; the model is shown the document of `schema`, and held to it."""

    name: str
    description: str | None
    schema: Schema


class Offer(NamedTuple):
    """`functions` by the names that the model knows them by. `must`: a call is wanted, words are not. `named`: it is
    one call of the only function here. `single`: one call at most."""

    functions: dict[str, Function]
    must: bool
    named: bool
    single: bool


def offer_of(question: Question) -> Offer | None:
    """None if nothing may be called. Raises InvalidRequest for parameters that no arguments can be held against."""
    choice = question.tool_choice
    if not question.functions or choice == "none":
        return None
    named = isinstance(choice, NamedFunction)
    names = names_of(question)
    functions = {
        names.sent(tool.name): Function(
            tool.name,
            tool.description,
            of_arguments(tool.parameters, f"tools[{index}].parameters", strict=bool(tool.strict)),
        )
        for index, tool in enumerate(question.functions)
        if not isinstance(choice, NamedFunction) or tool.name == choice.name
    }
    return Offer(
        functions,
        must=named or choice == "required",
        named=named,
        single=named or question.parallel_tool_calls is False,
    )


def names_of(question: Question) -> Names:
    """A function may be called what the model's own tools are called. The model then knows it by another name, or it
    would use its own."""
    called = (turn.name for turn in question.turns if isinstance(turn, FunctionCall))
    return Names((*called, *(tool.name for tool in question.functions)))
