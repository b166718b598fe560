from typing import Any

import msgspec
import pytest

from pplx_gateway.capabilities import Feature, Support
from pplx_gateway.errors import UnsupportedParameter
from pplx_gateway.protocols.openai.responses import fields
from pplx_gateway.protocols.openai.responses.fields import RESPONSES_FIELDS
from tests.openai.fakes import EVERYTHING
from tests.openai.test_fields import USED as USED_BY_CHAT
from tests.responses_request.asking import NOTHING, SESSION, prepared, refused, request

SCHEMA: dict[str, object] = {"type": "object", "properties": {"capital": {"type": "string"}}}
FORM: dict[str, object] = {"type": "json_schema", "name": "place", "schema": SCHEMA}
SHARED = {field.name for field in RESPONSES_FIELDS.fields}

# One value of every field of its own that asks for something, and what it asks for.
OWN: list[tuple[dict[str, Any], str, Feature]] = [
    ({"text": {"format": {"type": "json_object"}}}, "text.format", Feature.JSON_OBJECT),
    ({"text": {"format": FORM}}, "text.format", Feature.JSON_SCHEMA),
    ({"text": {"format": {**FORM, "strict": True}}}, "text.format.strict", Feature.STRICT_SCHEMA),
    ({"text": {"verbosity": "low"}}, "text.verbosity", Feature.VERBOSITY),
    ({"max_output_tokens": 16}, "max_output_tokens", Feature.MAX_OUTPUT_TOKENS),
    ({"max_tool_calls": 2}, "max_tool_calls", Feature.MAX_TOOL_CALLS),
    ({"include": ["message.output_text.logprobs"]}, "include[0]", Feature.LOGPROBS),
]
USED = [*OWN, *(used for used in USED_BY_CHAT if used[1] in SHARED)]

NEUTRAL: list[dict[str, Any]] = [
    {"temperature": 1, "top_p": 1.0, "top_k": 0, "presence_penalty": 0, "frequency_penalty": 0, "top_logprobs": 0},
    {"text": {"format": {"type": "text"}}, "truncation": "disabled", "service_tier": "auto"},
    {"text": {"verbosity": "medium"}, "reasoning": {"effort": "none", "summary": None}, "parallel_tool_calls": True},
    {"text": None, "reasoning": None, "tools": [], "tool_choice": "auto", "include": [], "metadata": {}},
    {"stream": None, "stream_options": {"include_obfuscation": False}, "store": True, "background": False},
    {"metadata": {"a": "b"}, "store": None, "include": ["web_search_call.action.sources"], "tools": None},
    {"conversation": None, "prompt": None, "previous_response_id": None, "instructions": None, "user": None},
    {"max_output_tokens": None, "max_tool_calls": None, "temperature": None, "stop": [], "disable_search": False},
]


@pytest.mark.parametrize(("given", "param", "feature"), USED)
def test_what_an_upstream_refuses_is_a_400_that_names_the_field(
    given: dict[str, Any], param: str, feature: Feature
) -> None:
    support = EVERYTHING | {feature: Support.REFUSED}
    assert isinstance(refused(param, support=support, **given), UnsupportedParameter)


@pytest.mark.parametrize(("given", "param", "feature"), USED)
def test_by_policy_a_field_is_left_out_and_told(given: dict[str, Any], param: str, feature: Feature) -> None:
    found = prepared(NOTHING, "drop", "session", **given)
    assert param in found.dropped
    assert any(param in warning for warning in found.warnings)
    assert found.question == prepared(NOTHING, "drop", "session").question
    assert found.echo == prepared(NOTHING, "drop", "session", **given, metadata={}).echo


def test_every_feature_that_a_field_can_ask_for_is_tried_above() -> None:
    tried = {feature for _, _, feature in USED}
    assert {field.feature for field in RESPONSES_FIELDS.fields} - {None} <= tried


@pytest.mark.parametrize("given", NEUTRAL)
def test_neutral_values_pass_an_upstream_that_honours_nothing(given: dict[str, Any]) -> None:
    found = prepared(NOTHING, **given)
    assert (found.dropped, found.warnings) == ((), ())
    question = msgspec.structs.replace(found.question, effort=None, parallel_tool_calls=None)
    assert question == prepared(NOTHING).question


def test_advisory_fields_are_accepted_everywhere_and_told() -> None:
    found = prepared(
        NOTHING,
        user="u1",
        safety_identifier="s",
        prompt_cache_retention="24h",
        include=["reasoning.encrypted_content", "web_search_call.action.sources", "file_search_call.results"],
    )
    assert found.dropped == ("user", "safety_identifier", "prompt_cache_retention", "include[0]", "include[2]")
    assert (found.echo.user, found.echo.safety_identifier) == ("u1", "s")


def test_formats_that_are_asked_for_in_words_pass() -> None:
    for form in ({"type": "json_object"}, FORM, {**FORM, "strict": False}):
        found = prepared(SESSION, upstream="session", text={"format": form})
        assert found.question.format is not None
        assert found.dropped == ()
    strict: dict[str, Any] = {"text": {"format": {**FORM, "strict": True}}}
    refused("text.format.strict", support=SESSION, upstream="session", **strict)
    tried = prepared(SESSION, "drop", "session", **strict)
    assert tried.dropped == ("text.format.strict",)
    assert tried.echo.text["format"]["strict"] is False  # type: ignore[index]


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({"conversation": "conv_1"}, "conversation"),
        ({"conversation": {"id": "conv_1"}}, "conversation"),
        ({"prompt": {"id": "pmpt_1"}}, "prompt"),
        ({"background": True, "store": False}, "background"),
        ({"include": ["everything"]}, "include[0]"),
        ({"include": ["web_search_call.action.sources", ""]}, "include[1]"),
    ],
)
@pytest.mark.parametrize("policy", ["reject", "drop"])
def test_what_no_policy_lets_pass_is_refused(given: dict[str, Any], param: str, policy: str) -> None:
    refused(param, policy=policy, **given)


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({"stream": "true"}, "stream"),
        ({"stream": 1}, "stream"),
        ({"instructions": 5}, "instructions"),
        ({"instructions": ["Be brief."]}, "instructions"),
        ({"background": "yes"}, "background"),
        ({"store": 1}, "store"),
        ({"previous_response_id": 5}, "previous_response_id"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"max_tool_calls": -1}, "max_tool_calls"),
        ({"temperature": 3}, "temperature"),
        ({"top_p": "1"}, "top_p"),
        ({"metadata": {"a": 1}}, "metadata[...]"),
        ({"metadata": {"a": "b" * 513}}, "metadata[...]"),
        ({"metadata": {str(n): "" for n in range(17)}}, "metadata"),
        ({"reasoning": {"effort": "huge"}}, "reasoning.effort"),
        ({"reasoning": {"summary": "long"}}, "reasoning.summary"),
        ({"reasoning": {"effort": "low"}, "reasoning_effort": "high"}, "reasoning.effort"),
        ({"text": {"format": {"type": "grammar"}}}, "text.format.type"),
        ({"text": {"format": {"type": "json_schema", "name": "n"}}}, "text.format.schema"),
        ({"text": {"format": {"type": "json_schema", "schema": {}}}}, "text.format.name"),
        ({"text": {"format": {"type": "json_schema", "name": "", "schema": {}}}}, "text.format.name"),
        ({"text": {"verbosity": "loud"}}, "text.verbosity"),
        ({"truncation": "middle"}, "truncation"),
        ({"include": "all"}, "include"),
        ({"include": [5]}, "include[0]"),
        ({"model": 5}, "model"),
        ({"search_recency_filter": "day", "search_after_date_filter": "1/1/2026"}, "search_recency_filter"),
        ({"search_domain_filter": ["a.example", "-b.example"]}, "search_domain_filter"),
    ],
)
def test_wrong_values_are_refused_by_name(given: dict[str, Any], param: str) -> None:
    refused(param, **given)


def test_unknown_fields_are_told_by_path_at_any_depth() -> None:
    found = prepared(
        safe_prompt=True,
        text={"format": {"type": "text", "x": 1}, "y": 2},
        reasoning={"effort": "low", "context": "auto"},
        stream_options={"include_usage": True},
        web_search_options={"user_location": {"approximate": {"zip": "9000"}}},
        tool_choice=None,
    )
    assert found.dropped == (
        "safe_prompt",
        "text.format.x",
        "text.y",
        "reasoning.context",
        "stream_options.include_usage",
        "web_search_options.user_location.approximate.zip",
    )


@pytest.mark.parametrize(("name", "meant"), fields.MISNAMED.items())
def test_a_name_of_chat_completions_is_told_with_what_it_is_called_here(name: str, meant: str) -> None:
    given: dict[str, Any] = {name: 16}
    found = prepared(**given)
    assert name in found.dropped
    assert any(f"'{name}'" in warning and f"'{meant}'" in warning for warning in found.warnings)


def test_the_request_is_asked_for_alone() -> None:
    assert list(fields.uses(request())) == []
