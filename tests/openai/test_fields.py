from typing import Any

import pytest

from pplx_gateway.capabilities import Feature, Support, Use
from pplx_gateway.errors import UnsupportedParameter
from pplx_gateway.protocols.openai import chat_fields, fields
from pplx_gateway.protocols.openai.chat_fields import CHAT_FIELDS
from tests.openai.asking import USER, prepared, request

TOOL = {"type": "function", "function": {"name": "f"}}
PNG = "data:image/png;base64,iVBORw0KGgo="
CALLED = {"name": "f", "arguments": "{}"}
PLACE = {"user_location": {"country": "BE"}}

# One value of every field that asks for something, and what it asks for.
USED: list[tuple[dict[str, Any], str, Feature]] = [
    ({"tools": [TOOL]}, "tools", Feature.FUNCTIONS),
    ({"functions": [{"name": "f"}]}, "functions", Feature.FUNCTIONS),
    ({"response_format": {"type": "json_object"}}, "response_format", Feature.JSON_OBJECT),
    (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}}}},
        "response_format",
        Feature.JSON_SCHEMA,
    ),
    (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}, "strict": True}}},
        "response_format.json_schema.strict",
        Feature.STRICT_SCHEMA,
    ),
    ({"response_format": {"type": "regex", "regex": {"regex": "x"}}}, "response_format.type", Feature.REGEX_FORMAT),
    ({"reasoning_effort": "high"}, "reasoning_effort", Feature.EFFORT),
    ({"reasoning": {"effort": "low"}}, "reasoning.effort", Feature.EFFORT),
    ({"thinking": True}, "thinking", Feature.EFFORT),
    ({"verbosity": "low"}, "verbosity", Feature.VERBOSITY),
    ({"temperature": 0}, "temperature", Feature.TEMPERATURE),
    ({"top_p": 0.9}, "top_p", Feature.TOP_P),
    ({"top_k": 5}, "top_k", Feature.TOP_K),
    ({"max_tokens": 4}, "max_tokens", Feature.MAX_OUTPUT_TOKENS),
    ({"max_completion_tokens": 4}, "max_completion_tokens", Feature.MAX_OUTPUT_TOKENS),
    ({"stop": "x"}, "stop", Feature.STOP),
    ({"stop": ["\n"]}, "stop", Feature.STOP),
    ({"n": 2}, "n", Feature.CHOICES),
    ({"best_of": 2}, "best_of", Feature.CHOICES),
    ({"seed": 0}, "seed", Feature.SEED),
    ({"presence_penalty": 0.5}, "presence_penalty", Feature.PENALTIES),
    ({"frequency_penalty": -1}, "frequency_penalty", Feature.PENALTIES),
    ({"logit_bias": {"50256": -100}}, "logit_bias", Feature.LOGIT_BIAS),
    ({"logprobs": True}, "logprobs", Feature.LOGPROBS),
    ({"top_logprobs": 2}, "top_logprobs", Feature.LOGPROBS),
    ({"prediction": {"type": "content", "content": "x"}}, "prediction", Feature.PREDICTION),
    ({"modalities": ["text", "audio"]}, "modalities", Feature.AUDIO),
    ({"audio": {"voice": "alloy", "format": "wav"}}, "audio", Feature.AUDIO),
    ({"sources": ["academic"]}, "sources", Feature.SOURCE_CHOICE),
    ({"search_mode": "sec"}, "search_mode", Feature.SOURCE_CHOICE),
    ({"disable_search": True}, "disable_search", Feature.SEARCH_OFF),
    ({"search_domain_filter": ["a.example"]}, "search_domain_filter", Feature.DOMAINS),
    ({"search_language_filter": ["en"]}, "search_language_filter", Feature.LANGUAGES),
    ({"search_recency_filter": "day"}, "search_recency_filter", Feature.RECENCY),
    ({"search_after_date_filter": "1/1/2026"}, "search_after_date_filter", Feature.DATES),
    ({"search_before_date_filter": "1/1/2026"}, "search_before_date_filter", Feature.DATES),
    ({"last_updated_after_filter": "1/1/2026"}, "last_updated_after_filter", Feature.UPDATED_DATES),
    ({"last_updated_before_filter": "1/1/2026"}, "last_updated_before_filter", Feature.UPDATED_DATES),
    ({"num_search_results": 5}, "num_search_results", Feature.MAX_RESULTS),
    (
        {"web_search_options": {"search_context_size": "low"}},
        "web_search_options.search_context_size",
        Feature.CONTEXT_SIZE,
    ),
    ({"web_search_options": PLACE}, "web_search_options.user_location", Feature.LOCATION),
    ({"web_search_options": [PLACE]}, "web_search_options.user_location", Feature.LOCATION),
    ({"country": "BE"}, "country", Feature.LOCATION),
    ({"language_preference": "fr"}, "language_preference", Feature.LANGUAGE),
    ({"return_images": True}, "return_images", Feature.IMAGES_OUT),
    (
        {"media_response": {"overrides": {"return_images": True}}},
        "media_response.overrides.return_images",
        Feature.IMAGES_OUT,
    ),
    ({"image_format_filter": ["png"]}, "image_format_filter", Feature.IMAGE_FILTERS),
    ({"image_domain_filter": ["a.example"]}, "image_domain_filter", Feature.IMAGE_FILTERS),
    ({"return_related_questions": True}, "return_related_questions", Feature.RELATED_QUESTIONS),
    ({"metadata": {"a": "b"}}, "metadata", Feature.METADATA),
    ({"truncation": "auto"}, "truncation", Feature.TRUNCATION),
    ({"service_tier": "flex"}, "service_tier", Feature.SERVICE_TIER),
    ({"prompt_cache_key": "k"}, "prompt_cache_key", Feature.PROMPT_CACHE_KEY),
    (
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": PNG}}]}]},
        "messages[0].content[0]",
        Feature.IMAGES_IN,
    ),
    (
        {"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_data": "JVBERi0="}}]}]},
        "messages[0].content[0]",
        Feature.FILES_IN,
    ),
    (
        {
            "messages": [
                {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a.example/a"}}]}
            ]
        },
        "messages[0].content[0].image_url.url",
        Feature.IMAGE_ADDRESSES,
    ),
    (
        {"messages": [{"role": "user", "content": [{"type": "file_url", "file_url": "https://a.example/a.pdf"}]}]},
        "messages[0].content[0]",
        Feature.FILE_ADDRESSES,
    ),
    ({"messages": [USER, {"role": "assistant", "content": "The"}]}, "messages", Feature.PREFILL),
    (
        {
            "messages": [
                USER,
                {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
                {"role": "function", "name": "f", "content": "1"},
            ]
        },
        "messages[2]",
        Feature.FUNCTIONS,
    ),
]

NEUTRAL: list[dict[str, Any]] = [
    {"frequency_penalty": 0, "presence_penalty": 0.0, "n": 1, "best_of": 1, "temperature": 1, "top_p": 1.0, "top_k": 0},
    {"temperature": None, "top_p": None, "stop": None, "n": None, "max_tokens": None, "seed": None},
    {"stop": [], "logit_bias": {}, "logprobs": False, "top_logprobs": 0, "modalities": ["text"], "tools": []},
    {"stop": "", "response_format": {"type": "text"}, "verbosity": "medium", "parallel_tool_calls": True},
    {"reasoning_effort": "none", "thinking": False, "search_mode": "web", "sources": ["web"], "disable_search": False},
    {"thinking": {"type": "disabled"}, "service_tier": "auto", "metadata": {}, "store": False, "user": None},
    {"return_images": False, "return_related_questions": None, "search_domain_filter": [], "web_search_options": {}},
    {"search_after_date_filter": "", "search_recency_filter": "", "country": "", "language_preference": ""},
    {"tool_choice": "auto", "stream": False, "stream_options": None, "user": "u1", "safety_identifier": "s"},
]


@pytest.mark.parametrize(("given", "param", "feature"), USED)
def test_a_field_asks_for_its_feature_by_its_own_name(given: dict[str, Any], param: str, feature: Feature) -> None:
    assert Use(param, feature) in set(chat_fields.uses(request(**given)))


@pytest.mark.parametrize(("given", "param", "feature"), USED)
def test_what_an_upstream_refuses_is_a_400_that_names_the_field(
    given: dict[str, Any], param: str, feature: Feature
) -> None:
    support = dict.fromkeys(Feature, Support.HONOURED) | {feature: Support.REFUSED}
    with pytest.raises(UnsupportedParameter) as caught:
        prepared(support, **given)
    assert caught.value.param == param


@pytest.mark.parametrize("given", NEUTRAL)
def test_neutral_values_pass_an_upstream_that_honours_nothing(given: dict[str, Any]) -> None:
    assert list(chat_fields.uses(request(**given))) == []
    found = prepared({}, **given)
    assert found.question.sampling.temperature is None
    assert found.warnings == ()


def test_every_feature_that_a_field_can_ask_for_is_tried_above() -> None:
    tried = {feature for _, _, feature in USED}
    assert {field.feature for field in CHAT_FIELDS.fields} - {None} <= tried
    assert {feature for _, feature in CHAT_FIELDS.elsewhere} <= tried


def test_a_tool_result_beside_tools_asks_only_for_tools() -> None:
    messages = [
        USER,
        {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "1"},
    ]
    found = list(chat_fields.uses(request(messages=messages, tools=[TOOL])))
    assert found == [Use("tools", Feature.FUNCTIONS)]


def test_advisory_fields_are_accepted_everywhere_and_told() -> None:
    found = prepared({}, user="u1", store=True, safety_identifier="s")
    assert found.dropped == ("user", "safety_identifier", "store")
    assert found.warnings == ()


def test_the_table_for_the_docs_has_a_row_for_every_name_and_a_column_for_every_upstream() -> None:
    rows = [(field.name, field.feature) for field in CHAT_FIELDS.fields]
    session = {Feature.STOP: Support.EMULATED, Feature.JSON_OBJECT: Support.PROMPTED}
    lines = fields.markdown(rows, {"session": session, "api": {Feature.STOP: Support.HONOURED}}).splitlines()
    assert lines[0] == "| field | session | api |"
    assert "| `stop` | emulated | honoured |" in lines
    assert "| `seed` | refused | refused |" in lines
    assert "| `user` | dropped | dropped |" in lines
    assert "| `response_format` | json_object: by prompt, json_schema: refused | refused |" in lines
    assert len(lines) == 2 + len({name for name, _ in rows})


# what has no effect inside messages


def test_names_and_details_inside_messages_are_told() -> None:
    image = {"type": "image_url", "image_url": {"url": PNG, "detail": "high"}}
    plain = {"type": "image_url", "image_url": {"url": PNG, "detail": "auto"}}
    messages = [
        {"role": "system", "content": "Be brief.", "name": "rules"},
        {"role": "user", "content": [plain, image], "name": "ann"},
        {"role": "assistant", "content": "Yes?", "name": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "1"},
        {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": CALLED}]},
        {"role": "tool", "tool_call_id": "c", "content": "1", "name": "f"},
        USER,
    ]
    assert chat_fields.advisory(request(messages=messages)) == (
        "messages[0].name",
        "messages[1].name",
        "messages[1].content[1].image_url.detail",
        "messages[5].name",
    )
