"""Requests by the API's own words: what reaches the upstream, and what comes back of it."""

import json
from typing import Any

import pytest

from tests.agent_face.calling import (
    AGENT,
    ASK,
    PATHS,
    QUESTION,
    RUN,
    create,
    last_response,
    opened,
    raw,
    stream,
    text_of,
)
from tests.cases.scripts import A_BASE, TEXT, agent_steps, sse
from tests.perplexity.calling import Caller, native_error

STRANGE = '{"type":"response.tea.poured","sequence_number":6,"cup":{"ml" : 2.50,"für":"dich"}}'


@pytest.mark.parametrize("path", PATHS)
async def test_every_address_answers(caller: Caller, path: str) -> None:
    await caller.rig.script(AGENT, agent_steps())
    assert await create(caller, path) == last_response()


async def test_events_pass_byte_for_byte(caller: Caller) -> None:
    """Also those that nobody here knows, with their spaces and digits."""
    steps = agent_steps()
    steps[6:6] = [{"bytes": f"data: {STRANGE}\n\n"}]
    renumbered = [{"bytes": sse({**event, "sequence_number": number + 1})} for number, event in enumerate(A_BASE)][6:]
    steps = [*steps[:7], *renumbered]
    await caller.rig.script(AGENT, steps)
    async with opened(caller) as reply:
        assert await reply.aread() == raw(steps)
    assert STRANGE.encode() in raw(steps)


async def test_a_plain_answer_is_the_response_as_it_came(caller: Caller) -> None:
    response = '{"id" : "resp_t1","status":"completed","object":"response","price":0.10,"output":[{"type":"tea"}]}'
    event = '{"type":"response.completed","sequence_number":1,"response":' + response + "}"
    await caller.rig.script(AGENT, [*agent_steps()[:1], {"bytes": f"data: {event}\n\n"}])
    reply = await caller.post(AGENT, ASK)
    assert reply.content == response.encode()
    (sent,) = await caller.rig.requests(AGENT)
    assert sent["json"] == {**ASK, "stream": True}, "only a stream can be left"


async def test_a_reply_without_a_stream_is_an_answer_too(caller: Caller) -> None:
    await caller.rig.script(
        AGENT, {"steps": [{"bytes": json.dumps(last_response())}]}, {"steps": [{"bytes": json.dumps(last_response())}]}
    )
    assert await create(caller) == last_response()
    (event,) = await stream(caller)
    assert (event["type"], event["response"]) == ("response.completed", last_response())


async def test_a_last_event_without_its_response_is_completed(caller: Caller) -> None:
    bare = {"bytes": sse({"type": "response.completed", "sequence_number": 9, "response": None})}
    await caller.rig.script(AGENT, [*agent_steps()[:-1], bare])
    await caller.rig.script(RUN, {"steps": [{"bytes": json.dumps(last_response())}]})
    assert await create(caller) == last_response()


async def test_every_known_field_reaches_the_upstream(caller: Caller) -> None:
    body: dict[str, Any] = {
        "input": [
            {"role": "developer", "content": "Be brief."},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": QUESTION}]},
            {"type": "function_call", "call_id": "c1", "name": "tide", "arguments": "{}", "thought_signature": "s"},
            {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "06:12"}]},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "t"}], "encrypted_content": "x"},
            {"type": "mcp_approval_response", "approval_request_id": "a", "approve": True},
        ],
        "models": ["openai/gpt-6-luna", "perplexity/sonar"],
        "instructions": "",
        "language_preference": "nl",
        "max_output_tokens": 900,
        "max_steps": 3,
        "step_budget_reminder": True,
        "temperature": 0.2,
        "top_p": 0.9,
        "reasoning": {"effort": "minimal"},
        "tools": [
            {
                "type": "web_search",
                "filters": {"search_domain_filter": ["https://A.example/"], "search_after_date_filter": "2026-03-01"},
                "max_results": 7,
                "search_context_size": "low",
                "user_location": {"country": "be", "latitude": 51.0, "longitude": 3.7},
            },
            {"type": "fetch_url", "max_urls": 2, "total_budget_tokens": 1000},
            {"type": "image_search", "filters": {"format_filter": ["png"], "safe_search": True}, "max_results": 2},
            {"type": "people_search"},
            {"type": "finance_search"},
            {"type": "sandbox"},
            {"type": "function", "name": "tide", "parameters": {"type": "object"}, "strict": False},
            {"type": "mcp", "server_label": "m", "server_url": "https://mcp.example", "require_approval": "never"},
            {"type": "connector", "id": "c", "server_label": "d", "require_approval": {"always": {"read_only": True}}},
        ],
        "tool_choice": {"type": "function", "name": "tide"},
        "parallel_tool_calls": False,
        "max_tool_calls": 4,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "n", "schema": {"type": "object"}, "strict": True},
        },
        "store": True,
        "prompt_cache_key": "k",
        "service_tier": "flex",
        "skills": [{"type": "builtin", "name": "office"}, {"type": "custom", "id": "s1", "version": "2"}],
        "metadata": {"a": "b"},
        "truncation": "auto",
    }
    await caller.rig.script(AGENT, agent_steps())
    reply = await caller.post(AGENT, body)
    assert reply.status_code == 200, reply.text
    (sent,) = await caller.rig.requests(AGENT)
    expected = {**body, "stream": True, "tool_choice": {"name": "tide"}}
    expected["input"] = [{"type": "message", **body["input"][0]}, *body["input"][1:]]
    expected["tools"] = [
        {
            **body["tools"][0],
            "filters": {"search_domain_filter": ["a.example"], "search_after_date_filter": "03/01/2026"},
            "user_location": {"country": "BE", "latitude": 51.0, "longitude": 3.7},
        },
        *body["tools"][1:],
    ]
    assert sent["json"] == expected
    await caller.rig.check()


async def test_the_old_body_becomes_the_new_one(caller: Caller) -> None:
    old = {
        "model": "sonar-pro",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": QUESTION},
        ],
        "tools": [
            {
                "type": "function",
                "function": {"name": "calculator", "description": "d", "parameters": {"type": "object"}},
            }
        ],
        "file_url": "https://example.com/doc.pdf",
        "web_search_options": {"search_context_size": "medium"},
        "search_domain": "sec",
        "search_domain_filter": ["sec.example"],
        "published_after": "3/1/2026",
        "published_before": "04/01/2026",
        "latest_updated": False,
        "language_preference": "en",
        "reasoning_effort": "low",
    }
    reply = await caller.post(AGENT, old)
    assert reply.status_code == 200, reply.text
    (sent,) = await caller.rig.requests(AGENT)
    assert sent["refusal"] is None
    assert sent["json"] == {
        "effort": "low",
        "stream": True,
        "input": [
            {"type": "message", "role": "system", "content": "Be brief."},
            {
                "type": "message",
                "role": "user",
                "content": [
                    {"type": "input_text", "text": QUESTION},
                    {"type": "input_file", "file_url": "https://example.com/doc.pdf"},
                ],
            },
        ],
        "tools": [
            {"type": "function", "name": "calculator", "description": "d", "parameters": {"type": "object"}},
            {
                "type": "web_search",
                "filters": {
                    "search_domain_filter": ["sec.example"],
                    "search_after_date_filter": "03/01/2026",
                    "search_before_date_filter": "04/01/2026",
                },
                "search_context_size": "medium",
            },
            {"type": "finance_search"},
        ],
        "language_preference": "en",
        "reasoning": {"effort": "low"},
    }


async def test_old_turns_of_functions_become_items(caller: Caller) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "tide", "arguments": "{}"}}
    turns = [
        {"role": "user", "content": "Tide?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "06:12"},
    ]
    tools = [{"type": "function", "name": "tide"}]
    await caller.rig.script(AGENT, agent_steps())
    reply = await caller.post(AGENT, {"model": "perplexity/sonar", "messages": turns, "tools": tools})
    assert reply.status_code == 200, reply.text
    (sent,) = await caller.rig.requests(AGENT)
    assert sent["json"]["input"][1:] == [
        {"type": "function_call", "call_id": "c1", "name": "tide", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "06:12"},
    ]


async def test_latest_means_within_a_month(caller: Caller) -> None:
    await create(caller, latest_updated=True, search_mode="academic")
    (sent,) = await caller.rig.requests(AGENT)
    (tool,) = sent["json"]["tools"]
    assert list(tool["filters"]) == ["last_updated_after_filter"]


@pytest.mark.parametrize(
    ("model", "sent"),
    [
        (
            "sonar",
            {"model": "perplexity/sonar", "tools": [{"type": "web_search"}], "tool_choice": {"type": "web_search"}},
        ),
        ("sonar-pro", {"effort": "low"}),
        ("sonar-deep-research", {"effort": "medium"}),
        ("perplexity/sonar-pro", {"effort": "low"}),
        ("perplexity/sonar", {"model": "perplexity/sonar"}),
        ("api/fast", {"effort": "fast"}),
        ("openai/gpt-6-luna", {"model": "openai/gpt-6-luna"}),
    ],
)
async def test_names_of_sonar_lead_to_what_took_their_place(caller: Caller, model: str, sent: dict[str, Any]) -> None:
    await create(caller, model=model)
    (request,) = await caller.rig.requests(AGENT)
    assert request["json"] == {**sent, "input": QUESTION, "stream": True}


async def test_a_level_beside_a_sonar_name_wins(caller: Caller) -> None:
    await create(caller, model="sonar", preset="pro-search")
    (request,) = await caller.rig.requests(AGENT)
    assert request["json"] == {"model": "perplexity/sonar", "preset": "pro-search", "input": QUESTION, "stream": True}


async def test_a_level_that_nobody_knows_is_for_the_upstream_to_judge(caller: Caller) -> None:
    error = native_error(await caller.post(AGENT, {"effort": "heroic", "input": "x"}), 400)
    assert error["message"] == 'unknown effort "heroic"'
    assert error["param"] == "effort"


async def test_usage_always_comes(caller: Caller) -> None:
    """Else nobody would know what the run has cost."""
    await caller.rig.script(AGENT, agent_steps())
    reply = await caller.post(AGENT, {**ASK, "stream_options": {"include_usage": False}})
    assert reply.headers["x-pplx-dropped"] == "stream_options.include_usage"
    (sent,) = await caller.rig.requests(AGENT)
    assert "stream_options" not in sent["json"]


async def test_no_key_of_ours_passes(caller: Caller) -> None:
    leak = {"code": "x", "message": "the key pplx-SECRET-KEY is tired", "type": "x"}
    failed = {
        "type": "response.failed",
        "sequence_number": 6,
        "error": leak,
        "response": {"id": "resp_t1", "status": "failed", "error": leak},
    }
    for _ in range(2):
        await caller.rig.script(AGENT, [*agent_steps()[:6], {"bytes": sse(failed)}])
    told = await stream(caller)
    assert told[-1]["error"]["message"] == "the key [redacted] is tired"
    assert (await create(caller))["error"]["message"] == "the key [redacted] is tired"


async def test_a_call_of_a_function_that_was_not_offered_is_told_as_the_api_tells_it(caller: Caller) -> None:
    question = "fault:tool_unknown_name Tide?"
    asked = {**ASK, "input": question, "tools": [{"type": "function", "name": "tide"}]}
    nested = {"type": "function", "function": {"name": "tide"}}
    sonar = {"model": "sonar", "messages": [{"role": "user", "content": question}], "tools": [nested]}
    reply = await caller.post(AGENT, asked)
    (called,) = [item["name"] for item in reply.json()["output"] if item["type"] == "function_call"]
    assert (reply.status_code, called == "tide") == (200, False)
    for path, body in (("/v1/responses", asked), ("/v1/sonar", sonar)):
        refused = await caller.post(path, body)
        assert (refused.status_code, "not offered" in refused.json()["error"]["message"]) == (502, True)


async def test_text_is_whole(caller: Caller) -> None:
    await caller.rig.script(AGENT, agent_steps())
    assert text_of(await stream(caller)) == TEXT
