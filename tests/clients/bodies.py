"""What clients send when nobody has told them anything but an address, a key and a model.

Each entry is one kind of request of one client, put down from its source or from what it was seen to send. `model` and
`stream` are added by whoever replays it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

Json = dict[str, Any]

QUESTION = "Which two rivers meet in Ghent?"
FOLLOW_UP = "And which of them is longer?"
ASSISTANT = "You are a helpful assistant."
USER: Json = {"role": "user", "content": QUESTION}
SYSTEM: Json = {"role": "system", "content": ASSISTANT}
# A line that shapes the answer, so the session lets it through.
GERMAN: Json = {"role": "system", "content": "Always answer in German."}
EARLIER: Sequence[Json] = (
    {"role": "user", "content": "What is a confluence?"},
    {"role": "assistant", "content": "A place where rivers meet."},
)
WITH_USAGE: Json = {"stream_options": {"include_usage": True}}


class Sent(NamedTuple):
    """`plain` and `streamed` are what is added to `body` in either way; None = the client never asks that way.
    `policy` is the PPLX_UNSUPPORTED that docs/clients.md names for the client. `session` and `api` are the fields that
    an upstream leaves out and tells. `prompts` = what the session asks for in words, under the policy `drop` only.
    `answers` = what comes of it: text, JSON text, or a call."""

    body: Json
    headers: Mapping[str, str] = {}
    plain: Mapping[str, Any] | None = {}
    streamed: Mapping[str, Any] | None = {}
    policy: Literal["reject", "drop"] = "reject"
    session: frozenset[str] = frozenset()
    api: frozenset[str] = frozenset()
    prompts: frozenset[str] = frozenset()
    answers: Literal["text", "json", "call"] = "text"
    reads_first_chunk: bool = False


def names(*fields: str) -> frozenset[str]:
    return frozenset(fields)


def stainless(language: str, version: str, runtime: str) -> dict[str, str]:
    """The headers of OpenAI's SDKs."""
    return {
        "user-agent": f"OpenAI/{language} {version}",
        "accept": "application/json",
        "accept-encoding": "gzip, deflate",
        "x-stainless-lang": language.lower(),
        "x-stainless-package-version": version,
        "x-stainless-os": "Linux",
        "x-stainless-arch": "x64",
        "x-stainless-runtime": runtime,
        "x-stainless-retry-count": "0",
    }


PYTHON = {
    **stainless("Python", "3.57.0", "CPython"),
    "x-stainless-runtime-version": "3.11.7",
    "x-stainless-async": "false",
    "x-stainless-read-timeout": "600",
}
NODE = {**stainless("JS", "6.49.0", "node"), "x-stainless-runtime-version": "v24.19.0"}
AI_SDK = {"user-agent": "ai/7.0.173 ai-sdk/provider-utils/5.0.81 runtime/node.js/24"}
BROWSER = {"user-agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36", "accept": "*/*"}


def parameters(**properties: Json) -> Json:
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


TIDES = parameters(port={"type": "string", "description": "A port by the sea"})
TIDE_TABLE: Json = {"type": "function", "function": {"name": "tide_table", "parameters": TIDES}}
TIDES_PLEASE: Json = {"role": "user", "content": "Use tide_table for 'Ostend'."}
FORCED: Json = {"type": "function", "function": {"name": "tide_table"}}
STRICT_SCHEMA: Json = {"type": "json_schema", "json_schema": {"name": "tide", "schema": TIDES, "strict": True}}

TITLE = (
    "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n### Output:\n"
    'JSON format: { "title": "your concise title here" }\n### Chat History:\n<chat_history>\nUSER: '
    f"{QUESTION}\n</chat_history>"
)

SDKS = {
    "openai-python": Sent({"messages": [SYSTEM, USER]}, PYTHON, session=names("system")),
    "openai-python that counts tokens": Sent({"messages": [USER]}, PYTHON, streamed=WITH_USAGE),
    "openai-node": Sent({"messages": [SYSTEM, *EARLIER, USER]}, NODE, session=names("system")),
    "openai-node, the stream helper": Sent(
        {"messages": [USER]}, {**NODE, "x-stainless-helper-method": "stream"}, plain=None
    ),
    "openai-node, the functions helper": Sent(
        {"messages": [TIDES_PLEASE], "tools": [TIDE_TABLE], "tool_choice": "auto"},
        {**NODE, "x-stainless-helper-method": "runTools"},
        answers="call",
    ),
    "AI SDK, openai.chat": Sent({"messages": [SYSTEM, USER]}, AI_SDK, streamed=WITH_USAGE, session=names("system")),
    "AI SDK, openai.chat, a name that looks like a reasoning model's": Sent(
        {"messages": [{**SYSTEM, "role": "developer"}, USER]}, AI_SDK, streamed=WITH_USAGE, session=names("system")
    ),
    "AI SDK, openai.chat with tools": Sent(
        {
            "messages": [TIDES_PLEASE],
            "tools": [{**TIDE_TABLE, "function": {**TIDE_TABLE["function"], "strict": False}}],
            "tool_choice": "auto",
        },
        AI_SDK,
        streamed=WITH_USAGE,
        answers="call",
    ),
    "AI SDK, openai-compatible": Sent({"messages": [SYSTEM, USER]}, AI_SDK, session=names("system")),
    "AI SDK, openai-compatible with usage": Sent({"messages": [USER]}, AI_SDK, streamed=WITH_USAGE),
    "AI SDK, openai-compatible, an object": Sent(
        {"messages": [USER], "response_format": STRICT_SCHEMA},
        AI_SDK,
        policy="drop",
        session=names("response_format.json_schema.strict"),
        prompts=names("response_format"),
        answers="json",
    ),
    "AI SDK, perplexity": Sent({"messages": [SYSTEM, USER]}, AI_SDK, session=names("system"), reads_first_chunk=True),
    "LangChain, openai": Sent({"messages": [SYSTEM, USER]}, PYTHON, plain={"stream": False}, session=names("system")),
    "LangChain, openai, with usage": Sent({"messages": [USER]}, PYTHON, streamed=WITH_USAGE),
    "LangChain, openai, an agent after its first call": Sent(
        {
            "messages": [
                TIDES_PLEASE,
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "type": "function",
                            "id": "call_1",
                            "function": {"name": "tide_table", "arguments": '{"port": "Ostend"}'},
                        }
                    ],
                },
                {"role": "tool", "tool_call_id": "call_1", "content": "06:12 and 18:40"},
                {"role": "user", "content": QUESTION},
            ],
            "tools": [TIDE_TABLE],
        },
        PYTHON,
    ),
    "LangChain, perplexity": Sent(
        {"messages": [SYSTEM, USER], "temperature": 0.7, "max_tokens": None},
        {"user-agent": "perplexity-python/0.46.1"},
        plain={"stream": False},
        policy="drop",
        session=names("temperature", "system"),
        reads_first_chunk=True,
    ),
    "LiteLLM, openai/": Sent({"messages": [USER]}, PYTHON),
    "LiteLLM, perplexity/": Sent(
        {"messages": [USER]}, {"user-agent": "litellm/1.110.2", "x-pplx-integration": "litellm/1.110.2"}
    ),
    "llm": Sent({"messages": [SYSTEM, *EARLIER, USER]}, PYTHON, streamed=WITH_USAGE, session=names("system")),
    "instructor, TOOLS": Sent(
        {"messages": [TIDES_PLEASE], "tools": [TIDE_TABLE], "tool_choice": FORCED},
        PYTHON,
        answers="call",
    ),
    "instructor, JSON": Sent(
        {
            "messages": [{"role": "system", "content": "Answer with a JSON object that fits the schema."}, USER],
            "response_format": {"type": "json_object"},
        },
        PYTHON,
        policy="drop",
        prompts=names("response_format"),
        answers="json",
    ),
    "instructor, JSON_SCHEMA": Sent(
        {"messages": [USER], "response_format": STRICT_SCHEMA},
        PYTHON,
        policy="drop",
        session=names("response_format.json_schema.strict"),
        prompts=names("response_format"),
        answers="json",
    ),
    "instructor, MD_JSON": Sent(
        {
            "messages": [
                {"role": "system", "content": "Understand the content and give the object in JSON."},
                {"role": "user", "content": f"{QUESTION}\n\nReturn the JSON in a ```json code block."},
            ]
        },
        PYTHON,
    ),
}

OPEN_WEBUI = {
    "user-agent": "Python/3.11 aiohttp/3.14.5",
    "x-openwebui-user-name": "Ann",
    "x-openwebui-user-id": "5b0f1c1e",
    "x-openwebui-chat-id": "c-1",
}


def side_call(text: str, limit: int) -> Sent:
    """Titles, tags and so on: one long user turn, a limit, never streamed."""
    return Sent(
        {"messages": [{"role": "user", "content": text}], "max_tokens": limit},
        OPEN_WEBUI,
        streamed=None,
        policy="drop",
        session=names("max_tokens"),
    )


LOBEHUB = {**NODE, **BROWSER}
CONTINUE_HEADERS = {"user-agent": "node-fetch", "accept": "*/*", "api-key": "gk-test-0123456789"}

PROGRAMS = {
    "Open WebUI": Sent(
        {"messages": [SYSTEM, *EARLIER, USER]},
        OPEN_WEBUI,
        plain=None,
        streamed=WITH_USAGE,
        policy="drop",
        session=names("system"),
    ),
    "Open WebUI, with its sliders set": Sent(
        {"messages": [USER], "temperature": 0.8, "top_p": 0.9, "max_tokens": 128, "seed": 42, "stop": ["\n\n\n"]},
        OPEN_WEBUI,
        streamed=WITH_USAGE,
        policy="drop",
        session=names("temperature", "top_p", "max_tokens", "seed", "stop"),
        api=names("seed"),
    ),
    "Open WebUI, a title": side_call(TITLE, 1000),
    "Open WebUI, tags": side_call("### Task:\nGenerate 1-3 broad tags for this chat.\nUSER: " + QUESTION, 1000),
    "Open WebUI, follow-ups": side_call("### Task:\nSuggest 3-5 follow-up questions.\nUSER: " + QUESTION, 1000),
    "Open WebUI, search queries": side_call("### Task:\nDetermine whether queries help.\nUSER: " + QUESTION, 1000),
    "Open WebUI, an emoji": side_call("Your task is to reflect the speaker's likely expression: " + QUESTION, 4),
    "LobeHub, its Perplexity provider": Sent(
        {"messages": [SYSTEM, USER], "frequency_penalty": 1, "temperature": 1, "top_p": 1, "user": "ann"},
        LOBEHUB,
        streamed=WITH_USAGE,
        policy="drop",
        session=names("frequency_penalty", "user", "system"),
        api=names("frequency_penalty", "user"),
    ),
    "LobeHub, its Perplexity provider with another penalty": Sent(
        {"messages": [USER], "presence_penalty": 0.5, "temperature": 0.6, "user": "ann"},
        LOBEHUB,
        streamed=WITH_USAGE,
        policy="drop",
        session=names("presence_penalty", "temperature", "user"),
        api=names("presence_penalty", "user"),
    ),
    "LobeHub, an object": Sent(
        {"messages": [USER], "response_format": STRICT_SCHEMA, "user": "ann"},
        LOBEHUB,
        streamed=None,
        policy="drop",
        session=names("user", "response_format.json_schema.strict"),
        prompts=names("response_format"),
        api=names("user"),
        answers="json",
    ),
    "LibreChat, with the dropParams of docs/clients.md": Sent(
        {"messages": [SYSTEM, USER], "user": "65f0c0ffee"},
        NODE,
        streamed=WITH_USAGE,
        session=names("user", "system"),
        api=names("user"),
    ),
    "LibreChat, as it comes": Sent(
        {
            "messages": [USER],
            "user": "65f0c0ffee",
            "temperature": 1,
            "top_p": 1,
            "presence_penalty": 0,
            "frequency_penalty": 0,
            "n": 1,
            "stop": [],
        },
        NODE,
        streamed=WITH_USAGE,
        session=names("user"),
        api=names("user"),
    ),
    "LibreChat, a title": Sent(
        {
            "messages": [{"role": "system", "content": "Provide a concise, 5-word-or-less title."}, USER],
            "temperature": 0.2,
            "max_completion_tokens": 75,
        },
        NODE,
        streamed=None,
        policy="drop",
        session=names("temperature", "max_completion_tokens", "system"),
    ),
    "Cherry Studio": Sent(
        {"messages": [SYSTEM, USER]}, BROWSER, plain=None, streamed=WITH_USAGE, session=names("system")
    ),
    "Cherry Studio, with a temperature and an effort": Sent(
        {"messages": [USER], "temperature": 0.7, "top_p": 0.9, "reasoning_effort": "high"},
        BROWSER,
        streamed=WITH_USAGE,
        policy="drop",
        session=names("temperature", "top_p"),
    ),
    "Continue": Sent(
        {"messages": [SYSTEM, USER], "max_tokens": 4096, "temperature": 0.01},
        {**CONTINUE_HEADERS, "x-api-key": "gk-test-0123456789"},
        streamed=WITH_USAGE,
        policy="drop",
        session=names("max_tokens", "temperature", "system"),
    ),
    "Continue, an agent": Sent(
        {
            "messages": [TIDES_PLEASE],
            "max_tokens": 4096,
            "tools": [TIDE_TABLE],
            "parallel_tool_calls": False,
        },
        {**CONTINUE_HEADERS, "x-api-key": "gk-test-0123456789"},
        streamed=WITH_USAGE,
        policy="drop",
        session=names("max_tokens"),
        answers="call",
    ),
    "Continue, a name that looks like a reasoning model's": Sent(
        {"messages": [{**SYSTEM, "role": "developer"}, USER], "max_completion_tokens": 4096},
        CONTINUE_HEADERS,
        streamed=WITH_USAGE,
        policy="drop",
        session=names("max_completion_tokens", "system"),
    ),
    "Cline": Sent(
        {
            "messages": [SYSTEM, {"role": "user", "content": [{"type": "text", "text": TIDES_PLEASE["content"]}]}],
            "temperature": 0,
            "tools": [TIDE_TABLE],
            "tool_choice": "auto",
        },
        AI_SDK,
        plain=None,
        streamed=WITH_USAGE,
        policy="drop",
        session=names("temperature", "system"),
        answers="call",
    ),
    "aider": Sent(
        {
            "messages": [
                SYSTEM,
                {"role": "user", "content": "I switched to a new code base."},
                {"role": "assistant", "content": "Ok."},
                {"role": "user", "content": "These files are read-only."},
                USER,
                {"role": "system", "content": "Reply in markdown."},
            ],
            "temperature": 0,
        },
        PYTHON,
        policy="drop",
        session=names("temperature", "system"),
    ),
    "aider, its function mode": Sent(
        {"messages": [TIDES_PLEASE], "temperature": 0, "tools": [TIDE_TABLE], "tool_choice": FORCED},
        PYTHON,
        policy="drop",
        session=names("temperature"),
        answers="call",
    ),
}

ORDERS = {
    "two turns of the user": Sent({"messages": [{"role": "user", "content": "I live by the sea."}, USER]}),
    "three turns of the assistant": Sent(
        {"messages": [EARLIER[0], *[EARLIER[1]] * 3, USER]}, session=names("assistant")
    ),
    "system text after the question": Sent({"messages": [USER, GERMAN]}),
    "system text in the middle": Sent({"messages": [*EARLIER, GERMAN, USER]}),
    "system text that the session's search must not see": Sent({"messages": [USER, SYSTEM]}, session=names("system")),
    "nobody but the system": Sent({"messages": [{"role": "system", "content": QUESTION}]}),
    "developer": Sent({"messages": [{"role": "developer", "content": GERMAN["content"]}, USER]}),
    "the assistant last": Sent(
        {"messages": [USER, {"role": "assistant", "content": "The Leie and"}]}, policy="drop", session=names("messages")
    ),
    "an empty assistant last": Sent({"messages": [USER, {"role": "assistant", "content": ""}]}),
    "text in parts": Sent(
        {
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Tell me: "}, {"type": "text", "text": QUESTION}]}
            ]
        }
    ),
    "names of speakers": Sent(
        {"messages": [{**USER, "name": "ann"}]}, session=names("messages[0].name"), api=names("messages[0].name")
    ),
    "fields that are for the record only": Sent(
        {"messages": [USER], "user": "ann", "metadata": {"chat": "c-1"}, "store": True, "safety_identifier": "s-1"},
        session=names("user", "metadata", "store", "safety_identifier"),
        api=names("user", "store", "safety_identifier"),
    ),
}

EVERYTHING = {**SDKS, **PROGRAMS, **ORDERS}
