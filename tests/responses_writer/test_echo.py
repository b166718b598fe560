"""What a response repeats of a real request is valid under every reading."""

import json
from typing import Any

import pytest

from pplx_gateway.answer import Finished, SearchStep, Sources, TextDelta
from pplx_gateway.decode import decode
from pplx_gateway.protocols.openai.reply import Told
from pplx_gateway.protocols.openai.responses.question import prepare
from pplx_gateway.protocols.openai.responses.request import ResponsesRequest
from pplx_gateway.protocols.openai.responses.writer import ResponseWriter
from pplx_gateway.protocols.openai.settling import Target
from tests.openai.fakes import EVERYTHING, LEIE, USAGE, gateway
from tests.readings import Json
from tests.responses_writer.telling import CREATED_AT, read, written

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
FUNCTION = {"type": "function", "name": "tide"}
NAMED = {"type": "function", "name": "tide"}


def repeated(**fields: Any) -> Json:
    """The last response of an answer to such a request, every event of which was read."""
    request = decode(json.dumps({"model": "sonar", "input": "Which rivers?", **fields}).encode(), ResponsesRequest)
    route = gateway().resolve("sonar")
    prepared = prepare(request, route, Target("api", EVERYTHING, "reject"))
    writer = ResponseWriter(
        "resp_1",
        prepared.echo,
        prepared.shown,
        Told("api"),
        CREATED_AT,
        answered_by=lambda _: "sonar",
        now=lambda: CREATED_AT,
    )
    search = SearchStep(kind="search", queries=("rivers",))
    end = Finished(reason="stop", usage=USAGE)
    response: Json = read(written(writer, [[search, Sources((LEIE,)), TextDelta("The Leie."), end]]))[-1]["response"]
    return response


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"instructions": "Be brief.", "metadata": {"a": "b"}, "user": "u", "safety_identifier": "s", "store": False},
        {"max_output_tokens": 99, "temperature": 0, "top_p": 0.5, "parallel_tool_calls": False},
        {"background": True, "prompt_cache_key": "k", "service_tier": "auto"},
        {"reasoning": {"effort": "minimal", "summary": "auto"}},
        {"reasoning": {"effort": "high"}, "text": {"verbosity": "low"}},
        {"text": {"format": {"type": "text"}}},
        {"text": {"format": {"type": "json_object"}}},
        {"text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}}},
        {
            "text": {
                "format": {"type": "json_schema", "name": "n", "schema": SCHEMA, "strict": True, "description": "d"}
            }
        },
        {"tools": [FUNCTION]},
        {"tools": [{**FUNCTION, "description": "d", "parameters": SCHEMA, "strict": False}], "tool_choice": NAMED},
        {"tools": [FUNCTION], "tool_choice": "required"},
        {"tools": [FUNCTION], "tool_choice": "none"},
        {"tools": [FUNCTION], "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [NAMED]}},
        {"tools": [{"type": "web_search"}, FUNCTION], "include": ["web_search_call.action.sources"]},
        {"tools": [{"type": "web_search_preview", "search_context_size": "low"}]},
        {"tools": [{"type": "web_search", "filters": {"allowed_domains": ["a.example"]}}], "tool_choice": "auto"},
    ],
)
def test_a_response_to_any_request_is_valid(fields: Json) -> None:
    found = repeated(**fields)
    for key in ("instructions", "max_output_tokens", "temperature", "top_p", "parallel_tool_calls", "metadata", "user"):
        assert key not in fields or found[key] == fields[key]


def test_a_search_tool_shows_searches_and_nothing_else_does() -> None:
    kinds = [item["type"] for item in repeated(tools=[{"type": "web_search"}])["output"]]
    assert kinds == ["web_search_call", "message"]
    assert [item["type"] for item in repeated(tools=[FUNCTION])["output"]] == ["message"]


def test_a_summary_that_was_asked_for_shows_reasoning() -> None:
    found = repeated(reasoning={"summary": "auto"})
    assert found["output"][0]["summary"][0]["text"].startswith("Searching: rivers\n")
