"""The API refuses what it does not know, in its own words."""

from typing import Any

import pytest

from tests.emulator.caller import GHENT, WEATHER, Caller, Json

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


def web(**fields: object) -> Json:
    return {"tools": [{"type": "web_search", **fields}]}


def json_schema(schema: object, name: str = "place") -> Json:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": name, "schema": schema}}}


def user(content: object) -> Json:
    return {"input": [{"role": "user", "content": content}]}


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"verbosity": "low"}, "verbosity"),
        ({"text": {"format": {"type": "text"}}}, "text"),
        ({"reasoning": {"effort": "low", "summary": "auto"}}, "summary"),
        (web(domains=[]), "domains"),
        (web(filters={"search_after_date": "01/01/2026"}), "search_after_date"),
        (web(user_location={"type": "approximate", "country": "BE"}), "type"),
        (web(user_location={"country": "BE", "timezone": "Europe/Brussels"}), "timezone"),
        ({"tools": [{"type": "function", "function": {"name": "f"}, "name": "f"}]}, "function"),
        ({"tools": [{"type": "fetch_url", "urls": []}]}, "urls"),
        ({"tools": [{"type": "sandbox", "container": {}}]}, "container"),
        ({"input": [{"role": "user", "content": "x", "name": "me"}]}, "name"),
        ({"input": [{"type": "message", "id": "m", "role": "user", "content": "x"}]}, "id"),
        (user([{"type": "input_image", "image_url": "https://a.example/i.png", "detail": "low"}]), "detail"),
        ({"input": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "id": "x"}]}, "id"),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, "function"),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA, "x": 1}}}, "x"),
        ({"stream_options": {"include_usage": True, "include_obfuscation": False}}, "include_obfuscation"),
        ({"profile": {"type": "custom", "id": "p", "name": "n"}}, "name"),
        ({"skills": [{"type": "inline", "name": "a", "description": "b", "instructions": "c", "files": []}]}, "files"),
    ],
)
def test_an_unknown_field_at_any_depth_is_named(caller: Caller, fields: Json, name: str) -> None:
    reply = caller.send("POST", "/v1/agent", {"model": "perplexity/sonar", "input": GHENT, **fields})
    assert reply.status == 400
    message = f'invalid request body: json: unknown field "{name}"'
    assert reply.error == {"message": message, "type": "invalid_request", "code": 400, "param": name}


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"input": ""}, "input"),
        ({"input": []}, "input"),
        ({"input": 5}, "input"),
        ({"input": None}, "input"),
        ({"stream": "true"}, "stream"),
        ({"stream": 1}, "stream"),
        ({"temperature": "hot"}, "temperature"),
        ({"temperature": 2.5}, "temperature"),
        ({"top_p": -0.1}, "top_p"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"max_output_tokens": 1.5}, "max_output_tokens"),
        ({"max_steps": 0}, "max_steps"),
        ({"max_steps": 101}, "max_steps"),
        ({"input": [{"role": "tool", "content": "x"}]}, "input[0].role"),
        ({"input": [{"role": "user", "content": None}]}, "input[0].content"),
        ({"input": [{"role": "user"}]}, "input[0].content"),
        ({"input": [{"type": "item_reference", "id": "x"}]}, "input[0].type"),
        (user([{"type": "text", "text": "x"}]), "input[0].content[0].type"),
        (user([{"type": "output_text", "text": "x"}]), "input[0].content[0].type"),
        (user([{"type": "input_text"}]), "input[0].content[0].text"),
        (user([{"type": "input_image", "image_url": {"url": "https://a.example"}}]), "input[0].content[0].image_url"),
        (user([{"type": "input_image", "image_url": "http://169.254.169.254/x"}]), "input[0]"),
        ({"tools": [{"type": "file_search"}]}, "tools[0].type"),
        ({"tools": [{"name": "f"}]}, "tools[0].type"),
        ({"tools": [{"type": "function"}]}, "tools[0].name"),
        ({"tools": [{"type": "function", "name": "bad name"}]}, "tools[0].name"),
        (web(max_results=51), "tools[0].max_results"),
        (web(search_context_size="huge"), "tools[0].search_context_size"),
        (web(user_location={"country": "Belgium"}), "tools[0].user_location.country"),
        ({"tools": [{"type": "fetch_url", "max_urls": 11}]}, "tools[0].max_urls"),
        ({"tools": [{"type": "mcp", "server_label": "a b", "server_url": "https://m.example"}]}, "tools"),
        ({"tools": [{"type": "mcp", "server_label": "a", "server_url": "http://m.example"}]}, "tools"),
        ({"tool_choice": "always"}, "tool_choice"),
        ({"tool_choice": {}}, "tool_choice"),
        ({"tools": [WEATHER], "tool_choice": {"name": "other"}}, "tool_choice"),
        ({"tool_choice": {"type": "web_search"}}, "tool_choice"),
        ({"background": True, "store": False}, "store"),
        ({"metadata": {"k": 1}}, "metadata[...]"),
        ({"metadata": {f"k{n}": "v" for n in range(17)}}, "metadata"),
        ({"response_format": {"type": "json_object"}}, "response_format.type"),
        ({"service_tier": "scale"}, "service_tier"),
        ({"reasoning": {"effort": "huge"}}, "reasoning.effort"),
        ({"models": []}, "models"),
        ({"models": ["perplexity/sonar"] * 6}, "models"),
    ],
)
def test_a_value_of_the_wrong_kind_or_size_names_its_place(caller: Caller, fields: Json, param: str) -> None:
    reply = caller.send("POST", "/v1/agent", {"model": "perplexity/sonar", "input": GHENT, **fields})
    assert (reply.status, reply.error["code"], reply.error.get("param")) == (400, 400, param), reply.body


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'"x"', b'{"a":NaN}', b"\xff\xfe", b"[" * 100_000])
def test_a_body_that_is_no_object_is_a_400(caller: Caller, body: bytes) -> None:
    reply = caller.send("POST", "/v1/agent", body)
    assert (reply.status, reply.error["type"]) == (400, "invalid_request")
    assert reply.error["message"].startswith("invalid request body: json: ")


def test_nulls_mean_the_same_as_nothing(caller: Caller) -> None:
    nulls: dict[str, Any] = dict.fromkeys(
        ("tools", "stream", "temperature", "effort", "reasoning", "metadata", "store")
    )
    assert caller.ask(GHENT, model="perplexity/sonar", **nulls).status == 200


def test_something_must_say_what_runs(caller: Caller) -> None:
    reply = caller.send("POST", "/v1/agent", {"input": GHENT})
    assert reply.status == 400
    assert all(word in reply.error["message"] for word in ("model", "models", "preset", "effort", "profile"))
    assert caller.send("POST", "/v1/agent", {"input": GHENT, "profile": {"type": "custom", "id": "p"}}).status == 200


@pytest.mark.parametrize("model", ["sonar", "sonar-pro", "perplexity/sonar-pro", "gpt-4o", "openai/gpt-4o", ""])
def test_names_that_are_no_agent_models_are_invalid(caller: Caller, model: str) -> None:
    reply = caller.ask(GHENT, model=model)
    assert reply.status == 400
    if model:
        assert reply.error["type"] == "invalid_model"
        assert model in reply.error["message"]


def test_anthropic_models_need_an_output_limit(caller: Caller) -> None:
    assert caller.ask(GHENT, model="anthropic/claude-opus-5").error["param"] == "max_output_tokens"
    fallback = ["perplexity/sonar", "anthropic/claude-opus-5"]
    assert caller.ask(GHENT, models=fallback).error["param"] == "max_output_tokens"
    assert caller.ask(GHENT, model="anthropic/claude-opus-5", max_output_tokens=4096).status == 200


@pytest.mark.parametrize(
    "name", ["web_search", "search_web", "people_search", "search_people", "fetch_url", "finance_search", "sandbox"]
)
def test_reserved_function_names_are_refused(caller: Caller, name: str) -> None:
    reply = caller.ask(GHENT, tools=[{"type": "function", "name": name}])
    assert reply.status == 400
    assert name in reply.error["message"]


def test_a_bad_recency_names_the_tool_and_the_five_values(caller: Caller) -> None:
    reply = caller.ask(GHENT, **web(filters={"search_recency_filter": "DAY"}))
    assert reply.status == 400
    for word in ("tools[0]", "hour", "day", "week", "month", "year"):
        assert word in reply.error["message"]


def test_recency_excludes_the_published_dates(caller: Caller) -> None:
    filters = {"search_recency_filter": "week", "search_after_date_filter": "03/01/2026"}
    assert caller.ask(GHENT, **web(filters=filters)).status == 400
    filters = {"search_recency_filter": "week", "last_updated_after_filter": "03/01/2026"}
    assert caller.ask(GHENT, **web(filters=filters)).status == 200


def test_mistakes_that_the_api_bills_in_silence_pass(caller: Caller) -> None:
    filters = {"search_domain_filter": ["a.example", "-b.example"], "search_after_date_filter": "2026-13-99"}
    assert caller.ask(GHENT, **web(filters=filters)).status == 200


@pytest.mark.parametrize("domains", [[f"d{n}.example" for n in range(21)], ["https://a.example"], ["x" * 254], [""]])
def test_a_domain_list_has_limits(caller: Caller, domains: list[str]) -> None:
    reply = caller.ask(GHENT, **web(filters={"search_domain_filter": domains}))
    assert (reply.status, reply.error["type"]) == (400, "invalid_search_domain_filter")


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        (json_schema({"type": "array", "items": {}}), "invalid_parameter"),
        (json_schema({"properties": {}}), "invalid_parameter"),
        (json_schema(SCHEMA, name=""), "invalid_parameter"),
        (json_schema(SCHEMA, name="n" * 65), "invalid_parameter"),
        (json_schema({"type": "object", "properties": {"a": {"type": "text"}}}), "invalid_request"),
        (json_schema({"type": "object", "properties": []}), "invalid_request"),
        (json_schema({"type": "object", "required": "a"}), "invalid_request"),
    ],
)
def test_response_formats_have_rules(caller: Caller, fields: Json, kind: str) -> None:
    reply = caller.ask(GHENT, **fields)
    assert (reply.status, reply.error["type"]) == (400, kind), reply.body
    if kind == "invalid_request":
        assert reply.error["message"] == "invalid request", "a bad schema gets no hint"


@pytest.mark.parametrize(
    "level", ["fast", "low", "medium@2026-10-16.0", "high", "xhigh", "pro-search", "deep-research", "fast-search"]
)
def test_levels_old_names_and_pinned_forms_are_taken(caller: Caller, level: str) -> None:
    assert caller.ask(GHENT, effort=level).status == 200
    assert caller.ask(GHENT, preset=level).status == 200


def test_an_unknown_level_is_refused_and_effort_wins_over_preset(caller: Caller) -> None:
    assert caller.ask(GHENT, effort="turbo").error["param"] == "effort"
    assert caller.ask(GHENT, effort="low", preset="turbo").status == 200


def test_wide_research_runs_in_the_background_alone(caller: Caller) -> None:
    assert caller.ask(GHENT, effort="wide-research").error["param"] == "background"
    assert caller.ask(GHENT, effort="wide-research", background=True).json["status"] == "queued"


def test_a_body_above_the_limit_is_a_413(caller: Caller) -> None:
    reply = caller.ask("x" * (33 << 20))
    assert (reply.status, reply.error["type"], reply.error["code"]) == (413, "payload_too_large", 413)


@pytest.mark.parametrize(
    ("key", "status"),
    [
        (None, 401),
        ("", 401),
        ("sk-1", 401),
        ("pplx-", 401),
        ("pplx-bad", 401),
        ("pplx-broke", 402),
        ("pplx-throttled-1", 429),
    ],
)
def test_keys_are_judged_by_their_names(caller: Caller, key: str | None, status: int) -> None:
    reply = caller.with_key(key).ask(GHENT)
    assert (reply.status, reply.error["code"]) == (status, status)
    assert (reply.headers.get("retry-after") is not None) == (status == 429)


def test_the_key_is_judged_before_the_body(caller: Caller) -> None:
    assert caller.with_key("pplx-bad").send("POST", "/v1/agent", b"{").status == 401


def test_a_wrong_method_is_an_empty_405(caller: Caller) -> None:
    reply = caller.send("GET", "/v1/agent")
    assert (reply.status, reply.body) == (405, b"")


@pytest.mark.parametrize(
    "path",
    ["/chat/completions", "/v1/sonar", "/v1/chat/completions", "/async/chat/completions", "/v1/async/sonar/some-id"],
)
def test_the_old_sonar_paths_are_a_403_that_names_the_successor(caller: Caller, path: str) -> None:
    reply = caller.send("POST", path, {})
    assert (reply.status, reply.error["type"]) == (403, "chat_completions_not_available")
    assert "/v1/responses" in reply.error["message"]


def test_an_unknown_path_is_a_404_in_the_apis_shape(caller: Caller) -> None:
    reply = caller.send("POST", "/v1/nothing", {})
    assert reply.status == 404
    assert reply.json == {"error": {"message": "resource not found", "type": "not_found", "code": 404}}
