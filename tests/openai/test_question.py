import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pplx_gateway.capabilities import Feature, Support
from pplx_gateway.decode import decode
from pplx_gateway.errors import InvalidRequest, UnsupportedParameter
from pplx_gateway.protocols.openai.chat_request import ChatRequest
from pplx_gateway.protocols.openai.question import Target, prepare
from pplx_gateway.question import JsonObjectFormat, JsonSchemaFormat, Message, Sampling, TextPart
from tests.openai.asking import USER, asked, prepared, request
from tests.openai.fakes import EVERYTHING
from tests.openai.test_fields import USED

SCHEMA: dict[str, object] = {"type": "object", "properties": {"capital": {"type": "string"}}}
NOTHING: dict[Feature, Support] = {}


def test_sampling_comes_through() -> None:
    found = asked(temperature=0.3, top_p=0.5, max_tokens=100, stop=["\n", "", "END"])
    assert found.sampling == Sampling(temperature=0.3, top_p=0.5, max_output_tokens=100, stop=("\n", "END"))


def test_a_neutral_temperature_reaches_an_upstream_that_honours_it() -> None:
    assert asked(temperature=1, top_p=1).sampling == Sampling(temperature=1, top_p=1)


def test_the_newer_limit_wins_and_a_difference_is_told() -> None:
    found = prepared(max_tokens=100, max_completion_tokens=200)
    assert found.question.sampling.max_output_tokens == 200
    assert any("max_tokens" in warning for warning in found.warnings)
    assert prepared(max_tokens=100, max_completion_tokens=100).warnings == ()


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": -1}, "max_tokens"),
        ({"max_completion_tokens": 0}, "max_completion_tokens"),
        ({"max_tokens": "5"}, "max_tokens"),
        ({"temperature": 2.5}, "temperature"),
        ({"temperature": "0"}, "temperature"),
        ({"top_p": -0.1}, "top_p"),
        ({"n": 0}, "n"),
        ({"presence_penalty": 3}, "presence_penalty"),
        ({"stream": "true"}, "stream"),
        ({"stream": 1}, "stream"),
        ({"stop": 5}, "stop"),
        ({"stop": [5]}, "stop[0]"),
        ({"reasoning_effort": "huge"}, "reasoning_effort"),
        ({"response_format": {"type": "grammar"}}, "response_format.type"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "n"}}},
            "response_format.json_schema.schema",
        ),
        ({"citation_marks": "bold"}, "citation_marks"),
        ({"source_list": True}, "source_list"),
        ({"model": 5}, "model"),
    ],
)
def test_wrong_values_are_refused_by_name(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        asked(**fields)
    assert caught.value.param == param


@pytest.mark.parametrize(("value", "streams"), [(None, False), (False, False), (True, True)])
def test_stream_may_be_null(value: bool | None, streams: bool) -> None:
    assert bool(request(stream=value).stream) is streams


@pytest.mark.parametrize(
    ("fields", "effort"),
    [
        ({}, None),
        ({"reasoning_effort": "minimal"}, "minimal"),
        ({"reasoning": {"effort": "high", "summary": "auto"}}, "high"),
        ({"reasoning": {"effort": "high"}, "reasoning_effort": "high"}, "high"),
        ({"thinking": True}, "medium"),
        ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, "medium"),
        ({"thinking": True, "reasoning_effort": "low"}, "low"),
        ({"thinking": False}, None),
        ({"thinking": False, "reasoning_effort": "none"}, "none"),
        ({"reasoning_effort": "none"}, "none"),
    ],
)
def test_every_way_to_ask_for_thought(fields: dict[str, Any], effort: str | None) -> None:
    assert asked(**fields).effort == effort


def test_the_highest_effort_of_others_is_taken_as_ours_and_told() -> None:
    found = prepared(reasoning_effort="max")
    assert found.question.effort == "xhigh"
    assert any("xhigh" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"thinking": False, "reasoning_effort": "high"}, "thinking"),
        ({"thinking": True, "reasoning_effort": "none"}, "thinking"),
        ({"reasoning": {"effort": "low"}, "reasoning_effort": "high"}, "reasoning.effort"),
    ],
)
def test_contradictions_about_thought_are_refused(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        asked(**fields)
    assert caught.value.param == param


def test_formats_come_through() -> None:
    definition = {"name": "place", "schema": SCHEMA, "strict": True}
    assert asked(response_format={"type": "json_object"}).format == JsonObjectFormat()
    assert asked(response_format={"type": "json_schema", "json_schema": definition}).format == JsonSchemaFormat(
        name="place", schema=SCHEMA, strict=True
    )
    assert asked(response_format={"type": "text"}).format is None


def test_the_rest_comes_through() -> None:
    found = asked(
        metadata={"a": "b"},
        service_tier="flex",
        prompt_cache_key="k",
        citation_marks="link",
        source_list="append",
    )
    assert found.model == "sonar"
    assert (found.metadata, found.service_tier, found.prompt_cache_key) == ({"a": "b"}, "flex", "k")
    assert (found.citation_marks, found.source_list) == ("link", "append")


# dropping


@pytest.mark.parametrize(("given", "param", "feature"), USED)
def test_by_policy_a_field_is_left_out_and_told(given: dict[str, Any], param: str, feature: Feature) -> None:
    text = {"role": "user", "content": "Before."}
    messages = [text, *given.get("messages", [USER])]
    found = prepared(NOTHING, "drop", "session", **{**given, "messages": messages})
    param = param.replace("messages[2]", "messages[3]").replace("messages[0]", "messages[1]")
    assert param in found.dropped
    assert any(param in warning for warning in found.warnings)


@pytest.mark.parametrize("given", [given for given, _, _ in USED if "messages" not in given])
def test_a_question_does_not_carry_what_was_left_out(given: dict[str, Any]) -> None:
    plain = prepared(NOTHING, "drop", "session").question
    assert prepared(NOTHING, "drop", "session", **given).question == plain


def test_a_hint_is_dropped_even_where_refusal_rules() -> None:
    found = prepared({Feature.RELATED_QUESTIONS: Support.HINT}, return_related_questions=True)
    assert found.question.search.related_questions is False
    assert found.dropped == ("return_related_questions",)
    assert "return_related_questions" in found.warnings[0]


def test_images_left_out_leave_the_text() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://img.example/a.png"}}
    content = [{"type": "text", "text": "What is this?"}, image]
    found = prepared(NOTHING, "drop", messages=[{"role": "user", "content": content}])
    assert found.question.turns == (Message("user", (TextPart("What is this?"),)),)
    with pytest.raises(InvalidRequest) as caught:
        prepared(NOTHING, "drop", messages=[{"role": "user", "content": [image]}])
    assert caught.value.param == "messages"


def test_a_last_turn_by_the_assistant_is_passed_refused_or_left_out() -> None:
    messages = [USER, {"role": "assistant", "content": "The two"}]
    assert len(asked(messages=messages).turns) == 2
    assert len(prepared(NOTHING, "drop", messages=messages).question.turns) == 1
    with pytest.raises(UnsupportedParameter) as caught:
        prepared(NOTHING, messages=messages)
    assert caught.value.param == "messages"


# unknown fields


def test_unknown_fields_are_ignored_and_told() -> None:
    found = prepared(safe_prompt=True, stream_mode="concise", user="u1")
    assert found.dropped == ("user", "safe_prompt", "stream_mode")
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("search_after_date", "search_after_date_filter"),
        ("date_after", "search_after_date_filter"),
        ("search_domain_filters", "search_domain_filter"),
        ("temprature", "temperature"),
    ],
)
def test_a_slip_is_told_with_the_name_that_was_meant(name: str, meant: str) -> None:
    fields: dict[str, Any] = {name: "03/01/2026"}
    found = prepared(**fields)
    assert name in found.dropped
    assert any(name in warning and meant in warning for warning in found.warnings)


def test_a_thousand_unknown_fields_cost_little() -> None:
    fields: dict[str, Any] = {f"temperatur_{n}" * 10: n for n in range(1000)}
    found = prepared(**fields)
    assert len(found.dropped) == 1000
    assert len(found.warnings) == 0


# anything at all

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["", "text", "auto", "user"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "role", "content", "url", "function", "name", "x"]), inner, max_size=4
        )
    ),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from([field.name for field in msgspec.structs.fields(ChatRequest)]), VALUES, max_size=4)
)
@settings(max_examples=300)
def test_any_json_is_a_question_or_a_400(given_fields: dict[str, Any]) -> None:
    body = json.dumps({"messages": [USER], **given_fields}).encode()
    try:
        request = decode(body, ChatRequest)
        prepare(request, "sonar", Target("api", EVERYTHING, "reject"))
    except InvalidRequest as error:
        assert error.message
        assert error.status == 400
    else:
        prepare(request, "sonar", Target("session", NOTHING, "drop"))
