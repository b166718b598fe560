from typing import Any

import pytest

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.question import FunctionTool, NamedFunction
from tests.openai.asking import asked

SCHEMA: dict[str, object] = {"type": "object", "properties": {"city": {"type": "string"}}}
DEFINITION = {"name": "get_weather", "description": "Weather.", "parameters": SCHEMA, "strict": True}
TOOL = {"type": "function", "function": DEFINITION}
OTHER = {"type": "function", "function": {"name": "get_time"}}
NAMED = {"type": "function", "function": {"name": "get_weather"}}


def allowed(mode: str, *names: str) -> dict[str, Any]:
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools}}


def test_functions_come_through_whole() -> None:
    question = asked(tools=[TOOL, OTHER], parallel_tool_calls=False)
    assert question.functions == (
        FunctionTool(name="get_weather", description="Weather.", parameters=SCHEMA, strict=True),
        FunctionTool(name="get_time"),
    )
    assert question.tool_choice == "auto"
    assert question.parallel_tool_calls is False


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (None, "auto"),
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ("any", "required"),
        (NAMED, NamedFunction("get_weather")),
    ],
)
def test_every_form_of_tool_choice(choice: object, expected: object) -> None:
    assert asked(tools=[TOOL], tool_choice=choice).tool_choice == expected


def test_allowed_tools_leave_only_those() -> None:
    question = asked(tools=[TOOL, OTHER], tool_choice=allowed("required", "get_time"))
    assert [function.name for function in question.functions] == ["get_time"]
    assert question.tool_choice == "required"


@pytest.mark.parametrize("choice", ["auto", "none", None])
def test_without_tools_a_choice_that_asks_for_nothing_passes(choice: str | None) -> None:
    assert asked(tool_choice=choice).functions == ()


@pytest.mark.parametrize(
    ("tools", "choice"),
    [
        (None, "required"),
        ([], "required"),
        ([TOOL], "maybe"),
        ([TOOL], {"type": "function", "function": {"name": "get_time"}}),
        ([TOOL], {"type": "function"}),
        ([TOOL], {"type": "custom", "custom": {"name": "x"}}),
        ([TOOL], allowed("auto", "get_weather", "get_time")),
        ([TOOL], allowed("auto")),
        ([TOOL], {"type": "allowed_tools"}),
    ],
)
def test_an_impossible_choice_is_a_400(tools: object, choice: object) -> None:
    with pytest.raises(InvalidRequest) as caught:
        asked(tools=tools, tool_choice=choice)
    assert caught.value.param == "tool_choice"


@pytest.mark.parametrize(
    ("tools", "param"),
    [
        ([{"type": "function", "function": {"name": "a b"}}], "tools[0].function.name"),
        ([{"type": "function", "function": {"name": ""}}], "tools[0].function.name"),
        ([{"type": "function", "function": {}}], "tools[0].function.name"),
        ([{"type": "function"}], "tools[0].function"),
        ([{"type": "web_search"}], "tools[0].type"),
        ([{"type": "function", "function": {"name": "f", "parameters": "x"}}], "tools[0].function.parameters"),
        ([TOOL, TOOL], "tools"),
        ("x", "tools"),
    ],
)
def test_wrong_tools_are_refused_by_their_path(tools: object, param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        asked(tools=tools)
    assert caught.value.param == param


def test_a_schema_that_is_nested_too_deep_names_tools() -> None:
    schema: dict[str, Any] = {}
    for _ in range(400):
        schema = {"a": schema}
    with pytest.raises(InvalidRequest) as caught:
        asked(tools=[{"type": "function", "function": {"name": "f", "parameters": schema}}])
    assert caught.value.param == "tools"


def test_the_old_names_are_converted() -> None:
    question = asked(functions=[DEFINITION], function_call={"name": "get_weather"})
    assert question.functions[0].name == "get_weather"
    assert question.tool_choice == NamedFunction("get_weather")
    assert asked(functions=[DEFINITION], function_call="none").tool_choice == "none"


def test_old_and_new_names_together_are_refused() -> None:
    with pytest.raises(InvalidRequest) as caught:
        asked(functions=[DEFINITION], tools=[TOOL])
    assert caught.value.param == "functions"
    with pytest.raises(InvalidRequest) as caught:
        asked(functions=[DEFINITION], function_call={"name": "get_time"})
    assert caught.value.param == "function_call"
