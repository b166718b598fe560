from typing import Any

import pytest
from openai.types.responses import Tool as SdkTool
from openai.types.responses.response import ToolChoice as SdkChoice
from pydantic import TypeAdapter

from pplx_gateway.capabilities import Feature, Support
from pplx_gateway.errors import UnsupportedParameter
from pplx_gateway.question import FunctionTool, Location, NamedFunction
from tests.openai.fakes import EVERYTHING
from tests.responses_request.asking import (
    CALL,
    FUNCTION,
    NOTHING,
    RESULT,
    SESSION,
    Json,
    asked,
    prepared,
    refused,
    user,
)

TOOL: TypeAdapter[Any] = TypeAdapter(SdkTool)
CHOICE: TypeAdapter[Any] = TypeAdapter(SdkChoice)

SEARCH: Json = {"type": "web_search"}
OTHER: Json = {**FUNCTION, "name": "moon", "description": "Its phase", "strict": True}
SEARCH_TYPES = ("web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11")
REFUSED_KINDS = (
    "file_search",
    "computer",
    "computer_use",
    "computer_use_preview",
    "image_generation",
    "mcp",
    "local_shell",
    "shell",
    "custom",
    "apply_patch",
    "namespace",
    "tool_search",
    "programmatic_tool_calling",
    "fetch_url",
    "nope",
    "",
)


def test_functions_come_through_and_are_repeated_whole() -> None:
    found = prepared(tools=[FUNCTION, OTHER])
    parameters = FUNCTION["parameters"]
    assert found.question.functions == (
        FunctionTool(name="tide", parameters=parameters),
        FunctionTool(name="moon", description="Its phase", parameters=parameters, strict=True),
    )
    assert found.question.tool_choice == "auto"
    assert found.echo.tools == [
        {"type": "function", "name": "tide", "description": None, "parameters": parameters, "strict": None},
        {"type": "function", "name": "moon", "description": "Its phase", "parameters": parameters, "strict": True},
    ]
    assert found.shown.searches is False


@pytest.mark.parametrize("kind", SEARCH_TYPES)
def test_a_search_tool_narrows_the_search_and_shows_it(kind: str) -> None:
    place = {"type": "approximate", "country": "be", "city": "Ghent", "region": None}
    tool = {"type": kind, "filters": {"allowed_domains": ["https://A.example/"]}, "search_context_size": "low"}
    found = prepared(tools=[{**tool, "user_location": place}])
    search = found.question.search
    assert (search.domains, search.context_size) == (("a.example",), "low")
    assert search.location == Location(country="BE", city="Ghent")
    assert found.question.functions == ()
    assert found.shown.searches is True
    assert found.dropped == ()
    assert found.echo.tools[0]["type"] == kind


@pytest.mark.parametrize("kind", SEARCH_TYPES)
def test_repeated_tools_and_choices_are_read_strictly_by_the_sdk(kind: str) -> None:
    tools = [FUNCTION, OTHER, {"type": kind, "filters": None, "user_location": {"country": "BE"}}]
    for choice in (
        None,
        "none",
        "auto",
        "required",
        {"type": kind},
        {"type": "function", "name": "moon"},
        {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "moon"}, {"type": kind}]},
    ):
        found = prepared(tools=tools, tool_choice=choice).echo
        CHOICE.validate_python(found.tool_choice, strict=True)
        for tool in found.tools:
            TOOL.validate_python(tool, strict=True)


def test_what_a_search_tool_asks_for_is_refused_by_its_path_where_it_cannot_be_had() -> None:
    domains = {**SEARCH, "filters": {"allowed_domains": ["a.example"]}}
    assert refused("tools[1].filters.allowed_domains", support=NOTHING, tools=[SEARCH, domains]).code == (
        "unsupported_parameter"
    )
    found = prepared(NOTHING, "drop", tools=[domains])
    assert found.question.search.domains == ()
    assert found.dropped == ("tools[0].filters.allowed_domains",)
    hint = {Feature.CONTEXT_SIZE: Support.HINT, Feature.LOCATION: Support.HINT}
    found = prepared(hint, tools=[{**SEARCH, "search_context_size": "high", "user_location": {"city": "Ghent"}}])
    assert found.dropped == ("tools[0].search_context_size", "tools[0].user_location")
    assert (found.question.search.context_size, found.question.search.location) == (None, None)


@pytest.mark.parametrize(
    ("tool", "param"),
    [
        ({"filters": {"allowed_domains": ["no domain"]}}, "tools[0].filters.allowed_domains"),
        ({"filters": {"allowed_domains": "a.example"}}, "tools[0].filters.allowed_domains"),
        ({"filters": []}, "tools[0].filters"),
        ({"search_context_size": "huge"}, "tools[0].search_context_size"),
        ({"user_location": {"country": "Belgium"}}, "tools[0].user_location.country"),
        ({"user_location": {"latitude": 51.0}}, "tools[0].user_location.longitude"),
    ],
)
def test_bad_options_of_a_search_tool_are_refused_by_their_path(tool: Json, param: str) -> None:
    refused(param, tools=[{**SEARCH, **tool}])


def test_a_search_tool_and_a_search_field_may_not_contradict_each_other() -> None:
    tool = {**SEARCH, "filters": {"allowed_domains": ["a.example"]}}
    assert asked(tools=[tool], search_domain_filter=["a.example"]).search.domains == ("a.example",)
    assert asked(tools=[SEARCH], search_domain_filter=["b.example"]).search.domains == ("b.example",)
    refused("tools[0].filters.allowed_domains", tools=[tool], search_domain_filter=["b.example"])


def test_unknown_options_of_tools_are_told_by_their_path() -> None:
    search = {**SEARCH, "external_web_access": False, "filters": {"blocked": []}, "user_location": {"timezone": "UTC"}}
    found = prepared(tools=[{**FUNCTION, "cache_control": {}}, search])
    assert found.dropped == (
        "tools[0].cache_control",
        "tools[1].external_web_access",
        "tools[1].filters.blocked",
        "tools[1].user_location.timezone",
    )


@pytest.mark.parametrize("kind", REFUSED_KINDS)
def test_tools_that_nobody_has_here_are_refused_by_name(kind: str) -> None:
    error = refused("tools[1].type", tools=[FUNCTION, {"type": kind, "name": "x"}])
    assert isinstance(error, UnsupportedParameter)
    assert f"'{kind}'" in error.message
    assert "function, web_search" in error.message
    assert "PPLX_UNSUPPORTED=drop" in error.message


@pytest.mark.parametrize("kind", REFUSED_KINDS)
def test_by_policy_such_tools_are_left_out_and_told(kind: str) -> None:
    found = prepared(policy="drop", tools=[{"type": kind, "name": "x"}, FUNCTION])
    assert found.dropped == ("tools[0]",)
    assert [tool["name"] for tool in found.echo.tools] == ["tide"]
    refused("tool_choice", policy="drop", tools=[{"type": kind}, FUNCTION], tool_choice={"type": kind, "name": "x"})


@pytest.mark.parametrize(
    ("tools", "param"),
    [
        ("web_search", "tools"),
        (["web_search"], "tools[0]"),
        ([{}], "tools[0].type"),
        ([{"type": None}], "tools[0].type"),
        ([{"type": 5}], "tools[0].type"),
        ([{"type": "function"}], "tools[0].name"),
        ([{"type": "function", "function": {"name": "tide"}}], "tools[0].name"),
        ([{"type": "function", "name": "two words"}], "tools[0].name"),
        ([{"type": "function", "name": "a" * 65}], "tools[0].name"),
        ([{**FUNCTION, "parameters": []}], "tools[0].parameters"),
        ([{**FUNCTION, "strict": "yes"}], "tools[0].strict"),
        ([FUNCTION, FUNCTION], "tools"),
        ([FUNCTION] * 1001, "tools"),
    ],
)
def test_bad_tools_are_refused_by_their_path(tools: object, param: str) -> None:
    refused(param, tools=tools)


def test_a_deep_schema_is_refused_by_the_name_of_the_field() -> None:
    deep: Json = {}
    for _ in range(150):
        deep = {"properties": {"a": deep}}
    assert refused("tools", tools=[{**FUNCTION, "parameters": deep}]).code == "invalid_json"


# tool_choice


@pytest.mark.parametrize(
    ("choice", "question", "echo"),
    [
        (None, "auto", "auto"),
        ("auto", "auto", "auto"),
        ("none", "none", "none"),
        ("required", "required", "required"),
        ({"type": "function", "name": "tide"}, NamedFunction("tide"), {"type": "function", "name": "tide"}),
    ],
)
def test_every_choice_comes_through(choice: object, question: object, echo: object) -> None:
    found = prepared(tools=[FUNCTION, OTHER], tool_choice=choice)
    assert found.question.tool_choice == question
    assert found.echo.tool_choice == echo


def test_allowed_tools_are_a_part_of_the_tools_and_all_are_repeated() -> None:
    choice = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "moon"}]}
    found = prepared(tools=[FUNCTION, OTHER], tool_choice=choice)
    assert [function.name for function in found.question.functions] == ["moon"]
    assert found.question.tool_choice == "required"
    assert found.echo.tool_choice == choice
    assert len(found.echo.tools) == 2
    only_search = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "web_search"}]}
    found = prepared(tools=[FUNCTION, SEARCH], tool_choice=only_search)
    assert (found.question.functions, found.question.tool_choice) == ((), "auto")
    assert len(found.echo.tools) == 2
    assert found.shown.searches is True


def test_a_search_tool_outside_the_allowed_ones_is_not_shown() -> None:
    choice = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "tide"}]}
    assert prepared(tools=[FUNCTION, SEARCH], tool_choice=choice).shown.searches is False


@pytest.mark.parametrize("choice", ["required", {"type": "web_search"}, {"type": "web_search_preview"}])
def test_a_search_that_is_called_for_runs_by_itself_and_that_is_told(choice: object) -> None:
    found = prepared(tools=[SEARCH], tool_choice=choice)
    assert found.question.tool_choice == found.echo.tool_choice == "auto"
    assert found.dropped == ("tool_choice",)
    assert found.shown.searches is True


def test_no_tool_at_all_means_no_search_where_a_search_tool_is_offered() -> None:
    found = prepared(tools=[SEARCH, FUNCTION], tool_choice="none")
    assert found.question.search.enabled is False
    assert found.shown.searches is False
    assert asked(tools=[FUNCTION], tool_choice="none").search.enabled is None
    refused("tool_choice", support={}, tools=[SEARCH], tool_choice="none")


@pytest.mark.parametrize(
    ("choice", "tools"),
    [
        ("required", []),
        ("sometimes", [FUNCTION]),
        ({"type": "function"}, [FUNCTION]),
        ({"type": "function", "function": {"name": "tide"}}, [FUNCTION]),
        ({"type": "function", "name": "sun"}, [FUNCTION]),
        ({"type": "function", "name": "tide"}, []),
        ({"type": "web_search"}, [FUNCTION]),
        ({"type": "custom", "name": "tide"}, [FUNCTION]),
        ({"type": "mcp", "server_label": "x"}, [FUNCTION]),
        ({"type": "allowed_tools"}, [FUNCTION]),
        ({"type": "allowed_tools", "mode": "auto", "tools": []}, [FUNCTION]),
        ({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "sun"}]}, [FUNCTION]),
        ({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function"}]}, [FUNCTION]),
        ({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "web_search"}]}, [FUNCTION]),
        ({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "mcp", "name": "tide"}]}, [FUNCTION]),
        (5, [FUNCTION]),
        ([], [FUNCTION]),
    ],
)
def test_a_choice_that_cannot_be_made_is_refused(choice: object, tools: list[Json]) -> None:
    refused("tool_choice", tools=tools, tool_choice=choice)


# functions where there are none


def test_functions_are_refused_by_the_path_of_the_first() -> None:
    support = {**EVERYTHING, Feature.FUNCTIONS: Support.REFUSED}
    refused("tools[1]", support=support, tools=[SEARCH, FUNCTION, OTHER])
    refused("input[1]", support=support, input=[user("a"), CALL, RESULT])
    refused("previous_response_id", support=support, context=[user("a"), CALL], input=[RESULT])


def test_functions_left_out_are_not_repeated_and_cannot_be_chosen() -> None:
    choice = {"type": "function", "name": "tide"}
    found = prepared(NOTHING, "drop", tools=[FUNCTION, SEARCH], tool_choice=choice)
    assert (found.question.functions, found.question.tool_choice) == ((), "auto")
    assert [tool["type"] for tool in found.echo.tools] == ["web_search"]
    assert found.echo.tool_choice == "auto"
    assert found.dropped == ("tools[0]",)


def test_a_continuation_with_a_search_tool_alone_may_search() -> None:
    found = prepared(SESSION, context=[user("a"), CALL], input=[RESULT], tools=[SEARCH])
    assert found.question.functions == ()
    assert found.echo.tool_choice == "auto"
    assert found.shown.searches is True


def test_without_calls_a_request_without_tools_leaves_the_choice_as_it_is() -> None:
    assert prepared().echo.tool_choice == "auto"
    assert prepared(tool_choice="none").echo.tool_choice == "none"
    refused("tool_choice", context=[user("a"), CALL], input=[RESULT], tool_choice="required")
