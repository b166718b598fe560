import pytest

from pplx_gateway.capabilities import Feature, Support
from pplx_gateway.errors import RequestError, UnsupportedParameter
from pplx_gateway.question import FunctionTool, Location, NamedFunction
from tests.anthropic.asking import SEARCH, TIDES, Json, asked, ready
from tests.openai.fakes import EVERYTHING

DISTANCE: Json = {"name": "distance", "input_schema": {"type": "object", "properties": {}}}


def test_a_tool_of_the_callers_is_a_function() -> None:
    (tool,) = asked(tools=[{**TIDES, "type": "custom", "strict": True}]).functions
    assert tool == FunctionTool(
        name="tide_table", description="The tides of a port", parameters=TIDES["input_schema"], strict=True
    )


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (None, "auto"),
        ({"type": "auto"}, "auto"),
        ({"type": "any"}, "required"),
        ({"type": "none"}, "none"),
        ({"type": "tool", "name": "distance"}, NamedFunction("distance")),
    ],
)
def test_each_choice_has_its_counterpart(choice: Json | None, expected: object) -> None:
    question = asked(tools=[TIDES, DISTANCE], tool_choice=choice)
    assert question.tool_choice == expected
    assert [function.name for function in question.functions] == ["tide_table", "distance"]


@pytest.mark.parametrize("kind", ["auto", "any"])
def test_calls_at_once_can_be_forbidden(kind: str) -> None:
    assert asked(tools=[TIDES], tool_choice={"type": kind}).parallel_tool_calls is None
    one = {"type": kind, "disable_parallel_tool_use": True}
    assert asked(tools=[TIDES], tool_choice=one).parallel_tool_calls is False


def test_the_search_tool_narrows_the_search_and_makes_it_seen() -> None:
    place = {"type": "approximate", "city": "Ghent", "country": "be", "timezone": "Europe/Brussels"}
    found = ready(tools=[{**SEARCH, "allowed_domains": ["a.example"], "max_uses": 3, "user_location": place}])
    question = found.prepared.question
    assert question.search.domains == ("a.example",)
    assert question.search.location == Location(country="BE", city="Ghent")
    assert question.max_tool_calls == 3
    assert question.functions == ()
    assert found.shown.searches
    assert found.prepared.dropped == ("tools[0].user_location.timezone",)


def test_blocked_domains_are_denied_ones() -> None:
    assert asked(tools=[{**SEARCH, "blocked_domains": ["a.example", "b.example"]}]).search.domains == (
        "-a.example",
        "-b.example",
    )


@pytest.mark.parametrize("kind", ["web_search_20250305", "web_search_20260209", "web_search_20991231"])
def test_every_version_of_the_search_tool_is_known(kind: str) -> None:
    assert ready(tools=[{**SEARCH, "type": kind}]).shown.searches


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "web_search"}])
def test_a_search_that_is_called_for_happens_in_any_case(choice: Json) -> None:
    found = ready(tools=[SEARCH], tool_choice=choice)
    assert found.prepared.question.tool_choice == "auto"
    assert found.prepared.question.search.enabled is True
    assert found.prepared.dropped == ()
    assert found.shown.searches


def test_no_tool_means_no_search_either() -> None:
    found = ready(tools=[SEARCH], tool_choice={"type": "none"})
    assert found.prepared.question.search.enabled is False
    assert not found.shown.searches
    level = {**EVERYTHING, Feature.SEARCH_OFF: Support.REFUSED}
    with pytest.raises(UnsupportedParameter) as caught:
        ready(level, tools=[SEARCH], tool_choice={"type": "none"})
    assert caught.value.param == "tool_choice"


def test_without_the_tool_the_search_is_as_always_and_not_shown() -> None:
    found = ready(tools=[TIDES])
    assert found.prepared.question.search.enabled is None
    assert not found.shown.searches


def test_a_bound_on_searches_is_none_beside_functions() -> None:
    found = ready(tools=[{**SEARCH, "max_uses": 2}, TIDES])
    assert found.prepared.question.max_tool_calls is None
    assert found.prepared.dropped == ("tools[0].max_uses",)


def test_a_bound_that_an_upstream_does_not_know_is_told_and_not_refused() -> None:
    support = {**EVERYTHING, Feature.MAX_TOOL_CALLS: Support.REFUSED, Feature.MAX_OUTPUT_TOKENS: Support.REFUSED}
    found = ready(support, upstream="session", tools=[{**SEARCH, "max_uses": 2}])
    assert found.prepared.question.max_tool_calls is None
    assert found.prepared.question.sampling.max_output_tokens is None
    assert found.prepared.dropped == ("tools[0].max_uses", "max_tokens")


def test_what_has_no_effect_in_tools_is_told_once() -> None:
    idle = {"cache_control": {"type": "ephemeral"}, "defer_loading": True, "eager_input_streaming": True, "odd": 1}
    found = ready(tools=[{**TIDES, **idle}, {**DISTANCE, **idle}])
    assert found.prepared.dropped == (
        "cache_control",
        "tools[].defer_loading",
        "tools[].eager_input_streaming",
        "tools[0].odd",
        "tools[1].odd",
    )


OTHERS = [
    "bash_20250124",
    "text_editor_20250728",
    "computer_20250124",
    "memory_20250818",
    "code_execution_20250825",
    "web_fetch_20250910",
    "tool_search_tool_regex_20251119",
    "mcp_toolset",
    "browser_toolset_20260801",
]


@pytest.mark.parametrize("kind", OTHERS)
def test_other_tools_of_anthropics_are_refused_by_name_or_dropped(kind: str) -> None:
    with pytest.raises(UnsupportedParameter) as caught:
        ready(tools=[TIDES, {"type": kind, "name": "x"}])
    assert caught.value.param == "tools[1].type"
    assert kind in caught.value.message
    found = ready(policy="drop", tools=[TIDES, {"type": kind, "name": "x"}])
    assert found.prepared.dropped == ("tools[1]",)
    assert [function.name for function in found.prepared.question.functions] == ["tide_table"]


WRONG: dict[str, tuple[Json, str]] = {
    "no name": ({"tools": [{"input_schema": {}}]}, "tools[0].name"),
    "a bad name": ({"tools": [{**TIDES, "name": "tide table"}]}, "tools[0].name"),
    "no schema": ({"tools": [{"name": "tide_table"}]}, "tools[0].input_schema"),
    "a schema that is none": ({"tools": [{**TIDES, "input_schema": {"type": "x"}}]}, "tools[0].input_schema"),
    "a schema of no object": ({"tools": [{**TIDES, "input_schema": {"type": "string"}}]}, "tools[0].input_schema"),
    "a schema from elsewhere": (
        {"tools": [{**TIDES, "input_schema": {"$ref": "https://a.example/schema"}}]},
        "tools[0].input_schema",
    ),
    "two of one name": ({"tools": [TIDES, TIDES]}, "tools"),
    "one called as the search": ({"tools": [SEARCH, {**TIDES, "name": "web_search"}]}, "tools"),
    "two searches": ({"tools": [SEARCH, SEARCH]}, "tools"),
    "a type of no text": ({"tools": [{"type": 3}]}, "tools[0].type"),
    "a search by another name": ({"tools": [{**SEARCH, "name": "look"}]}, "tools[0].name"),
    "domains both ways": (
        {"tools": [{**SEARCH, "allowed_domains": ["a.example"], "blocked_domains": ["b.example"]}]},
        "tools[0].blocked_domains",
    ),
    "no domain": ({"tools": [{**SEARCH, "allowed_domains": ["not a domain"]}]}, "tools[0].allowed_domains"),
    "a sign before a domain": ({"tools": [{**SEARCH, "allowed_domains": ["-a.example"]}]}, "tools[0].allowed_domains"),
    "no country": (
        {"tools": [{**SEARCH, "user_location": {"country": "Belgium"}}]},
        "tools[0].user_location.country",
    ),
    "no uses": ({"tools": [{**SEARCH, "max_uses": 0}]}, "tools[0].max_uses"),
    "other domains than the request's": (
        {"tools": [{**SEARCH, "allowed_domains": ["a.example"]}], "search_domain_filter": ["b.example"]},
        "tools[0].allowed_domains",
    ),
    "a choice of an unknown kind": ({"tools": [TIDES], "tool_choice": {"type": "required"}}, "tool_choice.type"),
    "a choice in a word": ({"tools": [TIDES], "tool_choice": "auto"}, "tool_choice"),
    "any of none": ({"tool_choice": {"type": "any"}}, "tool_choice"),
    "a tool without its name": ({"tools": [TIDES], "tool_choice": {"type": "tool"}}, "tool_choice.name"),
    "a tool that is not offered": (
        {"tools": [TIDES], "tool_choice": {"type": "tool", "name": "x"}},
        "tool_choice.name",
    ),
    "a search that is called for and turned off": (
        {"tools": [SEARCH], "tool_choice": {"type": "tool", "name": "web_search"}, "disable_search": True},
        "tool_choice",
    ),
    "tools of a wrong type": ({"tools": ["tide_table"]}, "tools[0]"),
}


@pytest.mark.parametrize(("fields", "param"), WRONG.values(), ids=WRONG)
def test_a_wrong_tool_is_named_by_its_path(fields: Json, param: str) -> None:
    with pytest.raises(RequestError) as caught:
        ready(**fields)
    assert caught.value.param == param, caught.value
    assert caught.value.message
