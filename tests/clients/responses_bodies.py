"""What clients send to `/v1/responses` by default, put down from their source or from what they were seen to send.

`model` and `stream` are added by whoever replays it.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from tests.clients.bodies import AI_SDK, LOBEHUB, NODE, OPEN_WEBUI, PYTHON, QUESTION, names

Json = dict[str, Any]

SYSTEM = "Answer in English."
TIDE_PARAMETERS: Json = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"port": {"type": "string"}},
    "required": ["port"],
    "additionalProperties": False,
}
TIDE_TABLE: Json = {
    "type": "function",
    "name": "tide_table",
    "description": "The tides of a port",
    "parameters": TIDE_PARAMETERS,
    "strict": False,
}
TIDES = "Use tide_table for 'Ostend'."
CALL: Json = {"type": "function_call", "call_id": "call_1", "name": "tide_table", "arguments": '{"port":"Ostend"}'}
RESULT: Json = {"type": "function_call_output", "call_id": "call_1", "output": "06:12 and 18:40"}
SOURCES = ["web_search_call.action.sources"]
ENCRYPTED = ["reasoning.encrypted_content"]


def text(said: str) -> Json:
    return {"type": "input_text", "text": said}


def user(said: str = QUESTION) -> Json:
    return {"role": "user", "content": [text(said)]}


class Sent(NamedTuple):
    """`policy` is the PPLX_UNSUPPORTED that it takes; `refused` is the field that is named under the other one, where
    there is one. `session` and `api` are what an upstream leaves out and tells. `answers` = the kinds of items that
    must come; `said` = what the answer's text must hold."""

    body: Json
    headers: Mapping[str, str] = {}
    policy: str = "reject"
    refused: str | None = None
    session: frozenset[str] = frozenset()
    api: frozenset[str] = frozenset()
    answers: frozenset[str] = frozenset({"message"})
    said: str = ""
    streams_only: bool = False


CODEX: Json = {
    "instructions": "Answer in English.",
    "input": [
        {"type": "message", "role": "developer", "content": [text("<permissions>")]},
        {"type": "message", "role": "user", "content": [text("<environment_context>")]},
        {"type": "message", "role": "user", "content": [text(TIDES)]},
    ],
    "tools": [
        TIDE_TABLE,
        {"type": "custom", "name": "apply_patch", "description": "Edits files", "format": {"type": "grammar"}},
        {"type": "local_shell"},
        {"type": "web_search", "external_web_access": True},
    ],
    "tool_choice": "auto",
    "parallel_tool_calls": False,
    "reasoning": {"effort": "medium", "summary": "auto"},
    "store": False,
    "include": ENCRYPTED,
    "prompt_cache_key": "0199f0a2-0000-7000-8000-000000000000",
    "text": {"verbosity": "medium"},
}
CODEX_HEADERS = {
    "user-agent": "codex_cli_rs/0.99.0 (Debian 12.0.0; x86_64)",
    "accept": "text/event-stream",
    "originator": "codex_cli_rs",
    "conversation_id": "0199f0a2-0000-7000-8000-000000000000",
    "session_id": "0199f0a2-0000-7000-8000-000000000000",
    "openai-beta": "responses=experimental",
}
CODEX_DROPPED = names("tools[1]", "tools[2]", "tools[3].external_web_access", "include[0]")
CODEX_SESSION = names("prompt_cache_key", "system", *CODEX_DROPPED)

BODIES = {
    "openai-python": Sent({"input": QUESTION}, PYTHON),
    "openai-node, its stream helper": Sent({"input": QUESTION}, {**NODE, "x-stainless-helper-method": "stream"}),
    "AI SDK": Sent({"input": [{"role": "system", "content": SYSTEM}, user()]}, AI_SDK),
    "AI SDK, web search": Sent(
        {"input": [user()], "tools": [{"type": "web_search"}], "tool_choice": "auto", "include": SOURCES},
        AI_SDK,
        answers=names("web_search_call", "message"),
    ),
    "AI SDK, tools": Sent(
        {"input": [user(TIDES)], "tools": [TIDE_TABLE], "tool_choice": "auto"}, AI_SDK, answers=names("function_call")
    ),
    "AI SDK, after its tools": Sent(
        {"input": [user(TIDES), CALL, RESULT], "tools": [TIDE_TABLE], "tool_choice": "auto"}, AI_SDK, said="18:40"
    ),
    "AI SDK, an object": Sent(
        {
            "input": [user("How high is the tide in 'Ostend', 4.5 or less?")],
            "text": {"format": {"type": "json_schema", "strict": False, "name": "response", "schema": TIDE_PARAMETERS}},
        },
        AI_SDK,
        said='"port"',
    ),
    "LangChain": Sent(
        {
            "input": [
                {"role": "system", "content": SYSTEM, "type": "message"},
                {"role": "user", "content": QUESTION, "type": "message"},
            ]
        },
        PYTHON,
    ),
    "LangChain, an agent after its first call": Sent(
        {
            "input": [
                {"role": "user", "content": TIDES, "type": "message"},
                {
                    "type": "message",
                    "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
                    "role": "assistant",
                    "id": "msg_1",
                },
                CALL,
                RESULT,
            ],
            "tools": [{**TIDE_TABLE, "strict": None}],
        },
        PYTHON,
        said="18:40",
    ),
    "llm": Sent(
        {
            "input": [
                {"role": "user", "content": "What is a confluence?"},
                {"role": "assistant", "content": "A place where rivers meet."},
                {"role": "user", "content": QUESTION},
            ],
            "store": False,
        },
        PYTHON,
    ),
    "instructor, RESPONSES_TOOLS": Sent(
        {
            "input": [{"role": "user", "content": TIDES}],
            "tools": [TIDE_TABLE],
            "tool_choice": {"type": "function", "name": "tide_table"},
        },
        PYTHON,
        answers=names("function_call"),
    ),
    "Agents SDK": Sent(
        {
            "instructions": SYSTEM,
            "input": [{"content": TIDES, "role": "user"}],
            "tools": [{**TIDE_TABLE, "strict": True}],
            "include": [],
            "parallel_tool_calls": True,
            "metadata": {},
        },
        {**PYTHON, "user-agent": "Agents/Python 0.9.0"},
        answers=names("function_call"),
    ),
    "Agents SDK, hosted search": Sent(
        {
            "instructions": SYSTEM,
            "input": [{"content": QUESTION, "role": "user"}],
            "tools": [
                {
                    "type": "web_search",
                    "filters": None,
                    "user_location": None,
                    "search_context_size": "medium",
                }
            ],
            "include": [],
            "tool_choice": "auto",
        },
        {**PYTHON, "user-agent": "Agents/Python 0.9.0"},
        session=names("tools[0].search_context_size"),
        answers=names("web_search_call", "message"),
    ),
    "Agents SDK, after its tools": Sent(
        {
            "instructions": SYSTEM,
            "input": [
                {"content": TIDES, "role": "user"},
                {**CALL, "id": "fc_1", "status": "completed"},
                RESULT,
            ],
            "tools": [{**TIDE_TABLE, "strict": True}],
            "include": [],
        },
        {**PYTHON, "user-agent": "Agents/Python 0.9.0"},
        said="18:40",
    ),
    "Agents SDK, its other hosted tools": Sent(
        {
            "input": [{"content": QUESTION, "role": "user"}],
            "tools": [
                {"type": "file_search", "vector_store_ids": ["vs_1"]},
                {"type": "code_interpreter", "container": {"type": "auto"}},
                {"type": "mcp", "server_label": "docs", "server_url": "https://mcp.example/"},
            ],
        },
        PYTHON,
        policy="drop",
        refused="tools[0].type",
        session=names("tools[0]", "tools[1].type", "tools[2]"),
        api=names("tools[0]", "tools[2]"),
    ),
    "Codex CLI": Sent(
        CODEX,
        CODEX_HEADERS,
        policy="drop",
        refused="tools[1].type",
        session=CODEX_SESSION,
        api=CODEX_DROPPED,
        answers=names("reasoning", "web_search_call", "function_call"),
        streams_only=True,
    ),
    "Codex CLI, after its tools": Sent(
        {
            **CODEX,
            "input": [
                *CODEX["input"],
                {"type": "reasoning", "summary": [], "content": None, "encrypted_content": "gAAAA"},
                CALL,
                RESULT,
            ],
        },
        CODEX_HEADERS,
        policy="drop",
        refused="tools[1].type",
        session=names(*CODEX_SESSION, "input[](reasoning)"),
        api=names(*CODEX_DROPPED, "input[](reasoning)"),
        answers=names("reasoning", "web_search_call", "message"),
        said="18:40",
        streams_only=True,
    ),
    "LobeHub, with its search switch": Sent(
        {
            "input": [{"role": "developer", "content": SYSTEM}, {"role": "user", "content": QUESTION}],
            "tools": [{"type": "web_search"}],
            "reasoning": {"effort": "medium", "summary": "auto"},
            "include": ENCRYPTED,
            "prompt_cache_key": "tpc_1",
            "store": False,
            "user": "ann",
        },
        LOBEHUB,
        session=names("prompt_cache_key", "user", "include[0]"),
        api=names("user", "include[0]"),
        answers=names("reasoning", "web_search_call", "message"),
    ),
    "Open WebUI, api_type responses": Sent(
        {
            "input": [
                {"type": "message", "role": "user", "content": [text("What is a confluence?")]},
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "A place where rivers meet."}],
                },
                {"type": "message", "role": "user", "content": [text(QUESTION)]},
            ],
            "instructions": SYSTEM,
        },
        OPEN_WEBUI,
    ),
    "Open WebUI, its limits": Sent(
        {"input": [{"type": "message", "role": "user", "content": [text(QUESTION)]}], "max_output_tokens": 1000},
        OPEN_WEBUI,
        policy="drop",
        session=names("max_output_tokens"),
    ),
    "LibreChat, its web search switch": Sent(
        {
            "input": [{"role": "user", "content": QUESTION}],
            "tools": [{"type": "web_search_preview"}],
            "user": "65f0c0ffee",
        },
        NODE,
        session=names("user"),
        api=names("user"),
        answers=names("web_search_call", "message"),
    ),
    "Cherry Studio": Sent(
        {
            "input": [{"role": "system", "content": SYSTEM}, user()],
            "include": [*ENCRYPTED, *SOURCES],
            "tools": [{"type": "web_search"}],
            "store": False,
        },
        AI_SDK,
        session=names("include[0]"),
        api=names("include[0]"),
        answers=names("web_search_call", "message"),
    ),
}
