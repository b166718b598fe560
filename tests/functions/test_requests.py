"""What is refused before anything is asked."""

from pathlib import Path

import pytest

from tests.cases.asking import ask, asked, refused
from tests.functions.listening import Listener, listening
from tests.functions.offering import QUESTION, WAYS, Json, called, named, offer, result, user
from tests.rig import Rig, running

BOTH = pytest.mark.parametrize("upstream", ["api", "session"])


def tools(*schemas: object) -> list[Json]:
    return [
        {"type": "function", "function": {"name": f"f{n}", "parameters": schema}} for n, schema in enumerate(schemas)
    ]


GOOD: Json = {"type": "object"}


def deep(levels: int) -> Json:
    schema: Json = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


@BOTH
async def test_a_schema_that_is_none_is_refused_by_its_place(tmp_path: Path, upstream: str) -> None:
    cases = [
        {"type": "nothing"},
        {"type": 5},
        {"properties": []},
        {"required": "city"},
        {"properties": {"a": {"minLength": -1}}},
        {"properties": {"a": {"pattern": "("}}},
        {"properties": {"a": {"$ref": "#/$defs/missing"}}},
        {"$ref": "other.json"},
        {"$schema": 5},
        {"$schema": "http://json-schema.org/draft-03/schema#"},
        {"type": "string"},
        {"type": ["array", "null"]},
    ]
    async with running(tmp_path, order=(upstream,)) as rig:
        for schema in cases:
            error = await refused(rig, offer(model="sonar", tools=tools(GOOD, schema)))
            assert error["param"] == "tools[1].function.parameters", schema
            assert error["type"] == "invalid_request_error"
            old = {"model": "sonar", "messages": [user(QUESTION)], "functions": [{"name": "f", "parameters": schema}]}
            assert (await refused(rig, old))["param"] == "functions[0].parameters"
        too_deep = await refused(rig, offer(model="sonar", tools=tools(deep(200))))
        assert too_deep["param"] == "tools"


@BOTH
@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef", "$schema", "$id"])
async def test_a_schema_loads_nothing_from_outside(tmp_path: Path, upstream: str, keyword: str) -> None:
    async with listening() as listener, running(tmp_path, order=(upstream,)) as rig:
        for address in (listener.url, f"{listener.url}#/a", "file:///etc/hostname", Path("/etc/hostname").as_uri()):
            schema: Json = {keyword: address}
            if keyword == "$id":
                schema["$ref"] = "beside.json"
            for placed in (schema, {"type": "object", "properties": {"a": schema}}):
                if keyword == "$schema" and placed is not schema:
                    continue  # inside a schema it names no dialect for it
                error = await refused(rig, offer(model="sonar", tools=tools(placed)))
                assert error["param"] == "tools[0].function.parameters"
            form = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
            error = await refused(rig, {"model": "sonar", "messages": [user(QUESTION)], "response_format": form})
            assert error["param"] == "response_format.json_schema.schema"
        assert listener.hits == 0


async def test_the_listener_would_have_noticed() -> None:
    async with listening() as listener:
        await Listener.knock(listener.url)
        assert listener.hits == 1


async def test_deep_research_calls_no_functions(session: Rig) -> None:
    body = offer(model="deep-research")
    assert (await refused(session, body))["param"] == "tools"
    body = {"model": "deep-research", "messages": [user(QUESTION), called(), result()]}
    assert (await refused(session, body))["param"] == "messages[2]"


async def test_functions_in_chat_can_be_refused_by_setting(tmp_path: Path) -> None:
    async with running(tmp_path, chat_tools="refuse") as rig:
        error = await refused(rig, offer(model="session/gpt"))
        assert (error["param"], error["code"]) == ("tools", "unsupported_parameter")
        after = {"model": "session/gpt", "messages": [user(QUESTION), called(), result()]}
        assert (await refused(rig, after))["param"] == "messages[2]"
        assert (await ask(rig, offer(model="api/sonar", tool_choice="required"))).reason == "tool_calls"


@WAYS
async def test_refused_functions_are_dropped_by_name_where_that_is_wanted(tmp_path: Path, streamed: bool) -> None:
    async with running(tmp_path, order=("session",), chat_tools="refuse", unsupported="drop") as rig:
        said = await ask(rig, offer(), streamed=streamed)
        assert said.dropped == ["tools"]
        assert said.reason == "stop"
        assert [sent["query_str"] for sent in await asked(rig)] == [QUESTION]


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"tools": [], "tool_choice": "required"}, "tool_choice"),
        ({"tool_choice": named("get_news")}, "tool_choice"),
        ({"tool_choice": {"type": "function"}}, "tool_choice"),
        ({"tool_choice": "sometimes"}, "tool_choice"),
        (
            {
                "tool_choice": {
                    "type": "allowed_tools",
                    "allowed_tools": {"mode": "auto", "tools": [named("get_weather"), named("get_news")]},
                }
            },
            "tool_choice",
        ),
    ],
)
async def test_a_choice_that_cannot_be_met_is_refused(session: Rig, more: Json, param: str) -> None:
    assert (await refused(session, offer(**more)))["param"] == param


async def test_only_the_allowed_tools_are_offered(session: Rig) -> None:
    allowed = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [named("get_tides")]}}
    said = await ask(session, offer(user("get_weather for 'Lyon', or the tides?"), tool_choice=allowed))
    assert [call["function"]["name"] for call in said.tool_calls] == ["get_tides"]


@BOTH
async def test_what_the_emulator_cannot_fill_is_an_error_in_words_at_once(tmp_path: Path, upstream: str) -> None:
    huge = {"type": "object", "properties": {"city": {"type": "string", "minLength": 10**15}}, "required": ["city"]}
    below = {"anyOf": [{"$ref": "#"}, {"type": "null"}]}
    three: Json = {"type": "object", "properties": {"a": below, "b": below, "c": below}}
    async with running(tmp_path, order=(upstream,)) as rig:
        said = await ask(rig, offer(model="sonar", tools=tools(huge), tool_choice="required"))
        assert said.status >= 400
        assert "characters" in str(said.error), said.error
        filled = await ask(rig, offer(model="sonar", tools=tools(three), tool_choice="required"))
        assert filled.status == 200
