"""What the API refuses, and what it would take, bill and not do: told by name, before anything is paid."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pplx_gateway.errors import RequestError
from pplx_gateway.protocols.perplexity.agent.reading import read
from tests.agent_face.calling import AGENT, ASK
from tests.perplexity.calling import Caller, native_error


def tool(**more: object) -> dict[str, Any]:
    return {"tools": [{"type": "web_search", **more}]}


def filters(**more: object) -> dict[str, Any]:
    return tool(filters=more)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"verbosity": "low"}, "verbosity"),
    ({"text": {"format": {"type": "text"}}}, "text"),
    ({"reasoning": {"effort": "low", "summary": "auto"}}, "reasoning.summary"),
    ({"reasoning": {"effort": "much"}}, "reasoning.effort"),
    (tool(cache=1), "tools[0].cache"),
    (tool(user_location={"country": "BE", "timezone": "UTC"}), "tools[0].user_location.timezone"),
    (tool(user_location={"country": "Belgium"}), "tools[0].user_location.country"),
    (tool(user_location={"latitude": 51.0}), "tools[0].user_location.longitude"),
    (filters(search_domain_filter=["a.example", "-b.example"]), "tools[0].filters.search_domain_filter"),
    (filters(search_domain_filter=["a.example"] * 21), "tools[0].filters.search_domain_filter"),
    (filters(search_domain_filter=["no domain"]), "tools[0].filters.search_domain_filter"),
    (filters(search_recency_filter="fortnight"), "tools[0].filters.search_recency_filter"),
    (filters(search_after_date_filter="31/31/2026"), "tools[0].filters.search_after_date_filter"),
    (filters(last_updated_before_filter="last week"), "tools[0].filters.last_updated_before_filter"),
    (
        filters(search_recency_filter="day", search_before_date_filter="03/01/2026"),
        "tools[0].filters.search_recency_filter",
    ),
    (
        filters(search_after_date_filter="03/02/2026", search_before_date_filter="03/01/2026"),
        "tools[0].filters.search_after_date_filter",
    ),
    (tool(max_results=51), "tools[0].max_results"),
    (tool(search_context_size="low", max_tokens=100), "tools[0].search_context_size"),
    ({"tools": [{"type": "fetch_url", "max_urls": 11}]}, "tools[0].max_urls"),
    ({"tools": [{"type": "teapot"}]}, "tools[0].type"),
    ({"tools": [{"type": "function", "name": "a b"}]}, "tools[0].name"),
    ({"tools": [{"type": "function", "name": "f", "parameters": {"type": 1}}]}, "tools[0].parameters"),
    ({"tools": [{"type": "mcp", "server_label": "m", "server_url": "http://x.example"}]}, "tools[0].server_url"),
    ({"tools": [{"type": "mcp", "server_label": "m", "server_url": "https://x.example"}] * 17}, "tools"),
    ({"tool_choice": {"name": "f"}}, "tool_choice.name"),
    ({"tool_choice": {}}, "tool_choice"),
    ({"temperature": 3}, "temperature"),
    ({"top_p": -1}, "top_p"),
    ({"max_steps": 0}, "max_steps"),
    ({"max_output_tokens": 0}, "max_output_tokens"),
    ({"max_tool_calls": -1}, "max_tool_calls"),
    ({"models": ["a/b"] * 6}, "models"),
    ({"models": []}, "models"),
    ({"models": ["openai/gpt-6-luna", "sonar-pro"]}, "models[1]"),
    ({"model": None}, "model"),
    ({"model": "perplexity/sonar", "background": True, "store": False}, "store"),
    ({"response_format": {"type": "regex", "regex": "x"}}, "response_format.type"),
    (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "array"}}}},
        "response_format.json_schema.schema.type",
    ),
    ({"input": ""}, "input"),
    ({"input": []}, "input"),
    ({"input": [{"role": "user", "content": "  "}]}, "input"),
    ({"input": [{"role": "user", "content": "x", "name": "n"}]}, "input[0].name"),
    ({"input": [{"role": "teapot", "content": "x"}]}, "input[0].role"),
    ({"input": [{"type": "item_reference", "id": "x"}]}, "input[0].type"),
    ({"input": [{"role": "user", "content": [{"type": "input_text"}]}]}, "input[0].content[0].text"),
    (
        {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "http://10.0.0.1/x"}]}]},
        "input[0].content[0].image_url",
    ),
    (
        {"input": [{"role": "user", "content": [{"type": "input_file", "file_url": "file:///etc/passwd"}]}]},
        "input[0].content[0].file_url",
    ),
    ({"input": [{"role": "user", "content": [{"type": "input_file"}]}]}, "input[0].content[0].file_data"),
    ({"messages": [{"role": "user", "content": "x"}]}, "messages"),
    ({"reasoning_effort": "much"}, "reasoning_effort"),
    ({"reasoning_effort": "low", "reasoning": {"effort": "low"}}, "reasoning_effort"),
    ({"search_domain": "teapots"}, "search_domain"),
    ({"published_after": "soon"}, "published_after"),
    ({"published_after": "03/01/2026", "search_after_date_filter": "03/01/2026"}, "published_after"),
    ({"search_domain_filter": ["a.example"], **tool()}, "search_domain_filter"),
    ({"latest_updated": "yes"}, "latest_updated"),
    ({"file_url": 1}, "file_url"),
    ({"previous_response_id": "resp_of_nobody"}, "previous_response_id"),
]


@pytest.mark.parametrize(("wrong", "param"), BAD, ids=[f"{n}-{param}" for n, (_, param) in enumerate(BAD)])
async def test_a_bad_body_is_refused_by_name(caller: Caller, wrong: dict[str, Any], param: str) -> None:
    error = native_error(await caller.post(AGENT, {**ASK, **wrong}), 400)
    assert error["param"] == param, error
    assert await caller.rig.requests("*") == [], "nothing may be asked, nor billed"


async def test_an_unknown_field_is_the_api_s_own_kind_of_error(caller: Caller) -> None:
    error = native_error(await caller.post(AGENT, {**ASK, "verbosity": "low"}), 400)
    assert (error["type"], error["code"]) == ("invalid_request", 400)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b'"x"', b"[" * 5000])
async def test_what_is_no_object_is_refused(caller: Caller, body: bytes) -> None:
    native_error(await caller.send("POST", AGENT, content=body), 400)


async def test_names_that_do_not_exist(caller: Caller) -> None:
    for name in ("gpt-99", "r1-1776", "session/sonar"):
        error = native_error(await caller.post(AGENT, {**ASK, "model": name}), 404)
        assert error["type"] == "model_not_found"
    assert await caller.rig.requests("*") == []


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("stream=maybe", "stream"),
        ("format=long", "format"),
        ("starting_after=3", "starting_after"),
        ("stream=true&starting_after=-1", "starting_after"),
    ],
)
async def test_a_bad_query_is_refused(caller: Caller, query: str, param: str) -> None:
    assert native_error(await caller.get(f"{AGENT}/resp_x?{query}"), 400)["param"] == param


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(
    ["input", "messages", "tools", "model", "file_url", "search_mode", "published_after", "reasoning", "tool_choice"]
)


@given(st.dictionaries(NAMES, JSON | st.just([{"role": "user", "content": "x"}]), max_size=5))
def test_any_body_is_read_or_refused(body: dict[str, Any]) -> None:
    try:
        found = read(json.dumps(body).encode(), 0.0)
    except RequestError as error:
        assert error.message
    else:
        assert found.items
