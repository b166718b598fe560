"""What Claude Code sends, with what is long made short: put down from what it was seen to send.

`MAIN` is a turn of its conversation, with many tools and a long prompt; the others are what it asks on the side.
"""

from typing import Any

Json = dict[str, Any]

HEADERS = {
    "accept": "application/json",
    "anthropic-beta": "claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,"
    "prompt-caching-scope-2026-01-05,effort-2025-11-24",
    "anthropic-dangerous-direct-browser-access": "true",
    "anthropic-version": "2023-06-01",
    "user-agent": "claude-cli/2.1.62 (external, cli)",
    "x-app": "cli",
    "x-stainless-helper-method": "stream",
    "x-stainless-lang": "js",
    "x-stainless-retry-count": "0",
    "x-stainless-timeout": "600",
}
"""Of every request. The path has `?beta=true`, and the key is a bearer token (ANTHROPIC_AUTH_TOKEN) or x-api-key."""

CACHED: Json = {"cache_control": {"type": "ephemeral"}}
METADATA: Json = {"user_id": "user_0d1e_account__session_7f3a"}
BILLING: Json = {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.62; cc_entrypoint=cli;"}
IDENTITY: Json = {"type": "text", "text": "You are Claude Code, Anthropic's official CLI for Claude.", **CACHED}
INSTRUCTIONS: Json = {
    "type": "text",
    "text": "\nYou are an interactive agent that helps with software engineering. Be concise. Use Markdown.\n",
    **CACHED,
}
REMINDER: Json = {
    "type": "text",
    "text": "<system-reminder>\nAs you answer, you can use the following context.\n</system-reminder>",
}


def tool(name: str, **properties: Json) -> Json:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"name": name, "description": f"{name}: " + "what it is for, at length. " * 5, "input_schema": schema}


_TEXT: Json = {"type": "string", "description": "Text"}
TOOLS = [
    tool("Bash", command=_TEXT),
    tool("Read", file_path=_TEXT),
    tool("Edit", file_path=_TEXT, old_string=_TEXT, new_string=_TEXT),
    tool("Write", file_path=_TEXT, content=_TEXT),
    tool("Glob", pattern=_TEXT),
    tool("Grep", pattern=_TEXT),
    tool("Task", description=_TEXT, prompt=_TEXT),
    tool("WebFetch", url={"type": "string", "format": "uri"}, prompt=_TEXT),
    tool("WebSearch", query={"type": "string", "minLength": 2}),
    tool("TodoWrite", todos={"type": "array", "items": {"type": "object", "properties": {"content": _TEXT}}}),
    tool("mcp__github__create_pull_request_review_comment", body=_TEXT),
    {**tool("mcp__files__list", path=_TEXT), "defer_loading": True},
]


def turn(*messages: Json, model: str = "claude-opus-5", **more: Any) -> Json:
    """A turn of the conversation."""
    return {
        "model": model,
        "messages": list(messages),
        "system": [BILLING, IDENTITY, INSTRUCTIONS],
        "tools": TOOLS,
        "metadata": METADATA,
        "max_tokens": 32_000,
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "medium"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "stream": True,
        **more,
    }


def asked(words: str) -> Json:
    return {"role": "user", "content": [REMINDER, {"type": "text", "text": words, **CACHED}]}


def read(call_id: str, thinking: str = "I must look.") -> Json:
    """The assistant reads a file."""
    return {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": thinking, "signature": "EqQBCkYIBRgCKkA"},
            {"type": "text", "text": "I'll read it."},
            {"type": "tool_use", "id": call_id, "name": "Read", "input": {"file_path": "/home/me/tides.txt"}},
        ],
    }


def results(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


QUOTA: Json = {
    "model": "claude-haiku-5",
    "max_tokens": 1,
    "messages": [{"role": "user", "content": "quota"}],
    "metadata": METADATA,
}
TITLE: Json = {
    "model": "claude-haiku-5",
    "messages": [{"role": "user", "content": [{"type": "text", "text": "Which two rivers meet in Ghent?"}]}],
    "system": [BILLING, IDENTITY, {"type": "text", "text": "Generate a concise title for this session, as JSON."}],
    "tools": [],
    "metadata": METADATA,
    "max_tokens": 32_000,
    "temperature": 1,
    "output_config": {
        "format": {
            "type": "json_schema",
            "schema": {
                "type": "object",
                "properties": {"title": {"type": "string"}},
                "required": ["title"],
                "additionalProperties": False,
            },
        }
    },
    "stream": True,
}
SEARCH: Json = {
    "model": "claude-opus-5",
    "messages": [
        {
            "role": "user",
            "content": [{"type": "text", "text": "Perform a web search for the query: rivers of Ghent"}],
        }
    ],
    "system": [
        BILLING,
        IDENTITY,
        {"type": "text", "text": "You are an assistant for performing a web search tool use"},
    ],
    "tools": [{"type": "web_search_20250305", "name": "web_search", "max_uses": 8}],
    "tool_choice": {"type": "tool", "name": "web_search"},
    "metadata": METADATA,
    "max_tokens": 32_000,
    "thinking": {"type": "disabled"},
    "stream": True,
}
COUNT: Json = {"model": "claude-opus-5", "messages": [{"role": "user", "content": "foo"}], "tools": TOOLS[:1]}
