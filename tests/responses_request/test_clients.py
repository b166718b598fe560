"""Requests as clients write them: taken from what the libraries build, or written down from their source."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI

from pplx_gateway.question import FunctionCall, FunctionResult, Message
from tests.responses_request.asking import FUNCTION, SESSION, Json, prepared, refused, said, text, user

PARAMETERS: Json = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"place": {"type": "string"}},
    "required": ["place"],
    "additionalProperties": False,
}

CODEX_TOOLS: list[Json] = [
    {
        "type": "function",
        "name": "shell",
        "description": "Runs a command.",
        "strict": False,
        "parameters": {"type": "object", "properties": {"command": {"type": "array", "items": {"type": "string"}}}},
    },
    {"type": "custom", "name": "apply_patch", "description": "", "format": {"type": "grammar", "syntax": "lark"}},
    {"type": "local_shell"},
    {"type": "web_search", "external_web_access": True},
]
CODEX: Json = {
    "model": "sonar",
    "instructions": "You write code.",
    "input": [
        {"type": "message", "role": "developer", "content": [text("<permissions>")]},
        {"type": "message", "role": "user", "content": [text("<environment>")]},
        {"type": "message", "role": "user", "content": [text("List the files.")]},
        {"type": "reasoning", "summary": [], "content": None, "encrypted_content": "gAAAA"},
        {"type": "function_call", "name": "shell", "arguments": '{"command":["ls"]}', "call_id": "call_1"},
        {"type": "function_call_output", "call_id": "call_1", "output": '{"output":"a.py"}'},
    ],
    "tool_choice": "auto",
    "parallel_tool_calls": False,
    "reasoning": {"effort": "medium", "summary": "auto"},
    "store": False,
    "stream": True,
    "include": ["reasoning.encrypted_content"],
    "prompt_cache_key": "0199f0a2",
    "text": {"verbosity": "medium"},
}


def test_codex_is_told_which_of_its_tools_is_not_here() -> None:
    error = refused("tools[1].type", support=SESSION, upstream="session", **CODEX, tools=CODEX_TOOLS)
    assert "'custom'" in error.message


def test_codex_works_where_tools_are_dropped() -> None:
    found = prepared(SESSION, "drop", "session", **CODEX, tools=CODEX_TOOLS)
    assert [turn.role for turn in found.question.turns if isinstance(turn, Message)] == ["system"] * 2 + ["user"] * 2
    assert found.question.turns[-1] == FunctionResult("call_1", '{"output":"a.py"}')
    assert [function.name for function in found.question.functions] == ["shell"]
    assert found.question.parallel_tool_calls is False
    assert found.question.effort == "medium"
    assert found.shown.reasoning is True
    assert found.shown.searches is True
    assert (found.store, found.stream) == (False, True)
    assert found.dropped == (
        "tools[1]",
        "tools[2]",
        "include[0]",
        "tools[3].external_web_access",
        "input[] (reasoning)",
    )


def test_the_ai_sdk_replays_its_function_loop_inline() -> None:
    found = prepared(
        model="sonar",
        input=[
            {"role": "system", "content": "Be brief."},
            user(text("What is the tide in Ostend?")),
            {"role": "assistant", "content": [{"type": "output_text", "text": "I look."}], "id": "msg_1"},
            {"type": "function_call", "call_id": "call_1", "name": "tide", "arguments": '{"place":"Ostend"}'},
            {"type": "function_call_output", "call_id": "call_1", "output": '{"level":"high"}'},
        ],
        tools=[{"type": "function", "name": "tide", "description": "d", "parameters": PARAMETERS, "strict": False}],
        tool_choice="auto",
        stream=True,
    )
    assert found.question.turns[-2:] == (
        FunctionCall("call_1", "tide", '{"place":"Ostend"}'),
        FunctionResult("call_1", '{"level":"high"}'),
    )
    assert found.question.functions[0].parameters == PARAMETERS
    assert (found.dropped, found.warnings) == ((), ())


def test_the_ai_sdk_searches_with_sources() -> None:
    found = prepared(
        tools=[{"type": "web_search", "search_context_size": "high", "user_location": {"type": "approximate"}}],
        tool_choice={"type": "web_search"},
        include=["web_search_call.action.sources"],
    )
    assert (found.shown.searches, found.shown.search_sources) == (True, True)
    assert found.question.search.location is None


def test_the_loop_without_a_store_is_served_from_what_is_sent() -> None:
    found = prepared(
        store=False,
        stream=True,
        input=[
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Tide?"},
            {"type": "function_call", "call_id": "call_1", "name": "tide", "arguments": "{}", "id": "fc_1"},
            {"type": "function_call_output", "call_id": "call_1", "output": "high"},
            {"role": "assistant", "content": "High."},
            {"role": "user", "content": "And now?"},
        ],
        tools=[{"type": "function", "name": "tide", "description": None, "parameters": {}}],
    )
    assert len(found.question.turns) == 6
    assert found.echo.store is False


def test_lobehub_sends_its_search_switch_and_its_user() -> None:
    found = prepared(
        SESSION,
        upstream="session",
        input=[{"role": "developer", "content": "Be brief."}, user("Tide?")],
        tools=[{"type": "web_search"}],
        reasoning={"effort": "medium", "summary": "auto"},
        include=["reasoning.encrypted_content"],
        prompt_cache_key="tpc_1",
        store=False,
        stream=True,
        user="user-1",
    )
    assert found.shown == (True, True, False)
    assert found.dropped == ("user", "include[0]")


@pytest.mark.parametrize("streamed", [False, True])
def test_what_langchain_builds_is_understood(streamed: bool) -> None:
    chat = ChatOpenAI(
        model="sonar", api_key="k", use_responses_api=True, reasoning={"effort": "low", "summary": "auto"}
    )
    answer = AIMessage(
        content=[{"type": "text", "text": "I look.", "annotations": [], "id": "msg_1"}],
        tool_calls=[{"name": "tide", "args": {"place": "Ostend"}, "id": "call_1"}],
        response_metadata={"id": "resp_1"},
    )
    payload: dict[str, Any] = chat._get_request_payload(
        [
            SystemMessage("Be brief."),
            HumanMessage("Tide?"),
            answer,
            ToolMessage("high", tool_call_id="call_1"),
            HumanMessage([{"type": "text", "text": "And now?"}]),
        ],
        tools=[FUNCTION, {"type": "web_search_preview"}],
        stream=streamed,
    )
    found = prepared(**payload)
    assert [type(turn) for turn in found.question.turns] == [
        *(Message, Message, Message, FunctionCall, FunctionResult, Message)
    ]
    assert (found.question.effort, found.shown.reasoning, found.shown.searches) == ("low", True, True)
    assert found.dropped == ()


def test_output_goes_back_as_input_unchanged() -> None:
    annotation = {"type": "url_citation", "url": "https://a.example/", "title": "", "start_index": 0, "end_index": 0}
    part = {"type": "output_text", "text": "The Leie.", "annotations": [annotation], "logprobs": []}
    output = [
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Rivers."}], "status": None},
        {
            "type": "web_search_call",
            "id": "ws_1",
            "status": "completed",
            "action": {"type": "search", "query": "q", "sources": [{"type": "url", "url": "https://a.example/"}]},
        },
        said("", content=[part], phase="final_answer"),
    ]
    found = prepared(input=[user("Which river?"), *output, user("And?")])
    assert [turn.text for turn in found.question.turns if isinstance(turn, Message)] == [
        *("Which river?", "The Leie.", "And?")
    ]
