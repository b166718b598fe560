import pytest

from pplx_gateway.capabilities import Feature, Support
from pplx_gateway.errors import RequestError, UnsupportedParameter
from pplx_gateway.protocols.anthropic.fields import MESSAGES_FIELDS
from pplx_gateway.protocols.anthropic.request import MessagesRequest
from pplx_gateway.question import JsonSchemaFormat, Sampling
from tests.anthropic.asking import USER, Json, asked, body, decoded, ready
from tests.openai.fakes import EVERYTHING

SCHEMA: Json = {"type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]}
FORMAT: Json = {"type": "json_schema", "schema": SCHEMA}
NOTHING = dict.fromkeys(Feature, Support.REFUSED)


def test_limits_and_sampling_reach_the_question() -> None:
    found = asked(max_tokens=500, temperature=0.5, top_p=0.9, stop_sequences=["END", ""])
    assert found.sampling == Sampling(max_output_tokens=500, temperature=0.5, top_p=0.9, stop=("END",))


@pytest.mark.parametrize(
    ("fields", "effort", "shown"),
    [
        ({}, None, False),
        ({"thinking": {"type": "disabled"}}, None, False),
        ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, "low", True),
        ({"thinking": {"type": "enabled", "budget_tokens": 4096}}, "low", True),
        ({"thinking": {"type": "enabled", "budget_tokens": 10_000}}, "medium", True),
        ({"thinking": {"type": "enabled", "budget_tokens": 31_999}}, "high", True),
        ({"thinking": {"type": "adaptive"}}, "medium", True),
        ({"thinking": {"type": "adaptive", "display": "omitted"}}, "medium", False),
        ({"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}, "high", True),
        ({"output_config": {"effort": "low"}}, "low", False),
        ({"output_config": {"effort": "max"}}, "xhigh", False),
    ],
)
def test_thinking_and_effort_are_one_effort_and_thoughts_are_shown_to_those_who_asked(
    fields: Json, effort: str | None, shown: bool
) -> None:
    found = ready(**fields)
    assert found.prepared.question.effort == effort
    assert found.shown.thoughts is shown


@pytest.mark.parametrize("fields", [{"output_config": {"format": FORMAT}}, {"output_format": FORMAT}])
def test_a_format_is_a_strict_schema(fields: Json) -> None:
    assert asked(**fields).format == JsonSchemaFormat(name="answer", schema=SCHEMA, strict=True)
    with pytest.raises(UnsupportedParameter) as caught:
        ready({**EVERYTHING, Feature.STRICT_SCHEMA: Support.REFUSED}, **fields)
    assert caught.value.param in ("output_config.format", "output_format")


def test_search_fields_of_ours_are_taken_here_too() -> None:
    found = asked(search_recency_filter="week", disable_search=True, citation_marks="link", source_list="append")
    assert (found.search.recency, found.search.enabled) == ("week", False)
    assert (found.citation_marks, found.source_list) == ("link", "append")


def test_an_upstream_without_a_limit_answers_and_the_caller_is_told() -> None:
    found = ready(NOTHING, upstream="session").prepared
    assert found.question.sampling == Sampling()
    assert found.dropped == ("max_tokens",)
    assert "max_tokens" in found.warnings[0]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"temperature": 0.5}, "temperature"),
        ({"top_p": 0.5}, "top_p"),
        ({"top_k": 5}, "top_k"),
        ({"stop_sequences": ["END"]}, "stop_sequences"),
        ({"thinking": {"type": "enabled", "budget_tokens": 2000}}, "thinking"),
        ({"output_config": {"effort": "low"}}, "output_config.effort"),
        ({"output_config": {"format": FORMAT}}, "output_config.format"),
        ({"search_domain_filter": ["a.example"]}, "search_domain_filter"),
        ({"messages": [USER, {"role": "assistant", "content": "The"}]}, "messages"),
    ],
)
def test_what_an_upstream_cannot_honour_is_refused_by_name_or_dropped_and_told(fields: Json, param: str) -> None:
    with pytest.raises(UnsupportedParameter) as caught:
        ready(NOTHING, upstream="session", **fields)
    assert caught.value.param == param
    assert f"'{param}'" in caught.value.message
    found = ready(NOTHING, "drop", "session", **fields).prepared
    assert param in found.dropped
    assert found.question.turns


@pytest.mark.parametrize(
    "fields",
    [
        {"temperature": 1, "top_p": 1, "top_k": 0, "stop_sequences": [], "service_tier": "auto"},
        {"thinking": {"type": "disabled"}, "metadata": {}, "speed": "standard", "inference_geo": "global"},
        {"tools": [], "mcp_servers": [], "tool_choice": {"type": "auto"}, "stream": False},
        dict.fromkeys(("system", "temperature", "tools", "thinking", "metadata", "container", "stop_sequences")),
    ],
)
def test_neutral_values_pass_everywhere(fields: Json) -> None:
    assert ready(NOTHING, upstream="session", **fields).prepared.dropped == ("max_tokens",)


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"metadata": {"user_id": "user_1"}}, "metadata.user_id"),
        ({"cache_control": {"type": "ephemeral"}}, "cache_control"),
        ({"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}, "context_management"),
        ({"speed": "fast"}, "speed"),
        ({"diagnostics": {"previous_message_id": "msg_1"}}, "diagnostics"),
        ({"workspace_id": "wrkspc_1"}, "workspace_id"),
        ({"betas": ["x"]}, "betas"),
        ({"output_config": {"odd": 1}}, "output_config.odd"),
    ],
)
def test_what_has_no_effect_is_told(fields: Json, name: str) -> None:
    found = ready(**fields).prepared
    assert found.dropped == (name,)
    assert found.question.metadata is None


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"mcp_servers": [{"type": "url", "url": "https://a.example", "name": "a"}]}, "mcp_servers"),
        ({"container": "container_1"}, "container"),
        ({"inference_geo": "us"}, "inference_geo"),
        ({"thread": {"type": "continue", "id": "thread_1"}}, "thread"),
    ],
)
def test_what_nobody_here_has_is_refused_by_name_or_dropped(fields: Json, name: str) -> None:
    with pytest.raises(UnsupportedParameter) as caught:
        ready(**fields)
    assert caught.value.param == name
    assert ready(policy="drop", **fields).prepared.dropped == (name,)


def test_a_slip_of_the_pen_is_answered_with_the_right_name() -> None:
    found = ready(stop=["END"], max_completion_tokens=5).prepared
    assert found.dropped == ("stop", "max_completion_tokens")
    assert "'stop_sequences'" in " ".join(found.warnings)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"max_tokens": None}, "max_tokens"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": "many"}, "max_tokens"),
        ({"max_tokens": 1.5}, "max_tokens"),
        ({"temperature": 1.5}, "temperature"),
        ({"temperature": "hot"}, "temperature"),
        ({"top_p": -1}, "top_p"),
        ({"top_k": -1}, "top_k"),
        ({"stop_sequences": "END"}, "stop_sequences"),
        ({"stop_sequences": ["x"] * 17}, "stop_sequences"),
        ({"stream": "yes"}, "stream"),
        ({"model": 5}, "model"),
        ({"metadata": {"user_id": 5}}, "metadata.user_id"),
        ({"service_tier": "gold"}, "service_tier"),
        ({"thinking": {"type": "deep"}}, "thinking.type"),
        ({"thinking": {"type": "enabled", "budget_tokens": 0}}, "thinking.budget_tokens"),
        ({"thinking": True}, "thinking"),
        ({"output_config": {"effort": "huge"}}, "output_config.effort"),
        ({"output_config": {"format": {"type": "xml", "schema": {}}}}, "output_config.format.type"),
        ({"output_config": {"format": {"type": "json_schema"}}}, "output_config.format.schema"),
        ({"output_format": {"type": "json_schema", "schema": {"type": "x"}}}, "output_format.schema"),
        ({"output_format": FORMAT, "output_config": {"format": FORMAT}}, "output_format"),
        ({"search_recency_filter": "decade"}, "search_recency_filter"),
        ({"context_management": "none"}, "context_management"),
    ],
)
def test_a_wrong_field_is_named(fields: Json, param: str) -> None:
    with pytest.raises(RequestError) as caught:
        ready(**fields)
    assert caught.value.param == param, caught.value


@pytest.mark.parametrize("name", ["max_tokens", "messages"])
def test_a_field_that_must_be_there_is_missed_by_name(name: str) -> None:
    whole = body()
    del whole[name]
    with pytest.raises(RequestError) as caught:
        decoded(whole)
    assert caught.value.param == name
    assert "Missing" in caught.value.message


def test_every_field_of_the_tables_is_one_of_the_requests() -> None:
    known = set(MessagesRequest.__struct_fields__)
    without = {"model", "messages", "system", "tools", "tool_choice", "stream", "citation_marks", "source_list"}
    elsewhere = {"mcp_servers", "container", "inference_geo", "thread", "service_tier"}
    named = {field.name.partition(".")[0] for field in MESSAGES_FIELDS.fields}
    assert named | without | elsewhere == known
