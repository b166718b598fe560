"""What the Agent API knows of a request (docs/wire-agent.md 2.1 to 2.3): the first unknown key is an error."""

from collections.abc import Mapping
from typing import Any

STRING, NUMBER, BOOLEAN, ANYTHING = "string", "number", "boolean", "anything"

LOCATION = {"country": STRING, "region": STRING, "city": STRING, "latitude": NUMBER, "longitude": NUMBER}
FILTERS = {
    "search_domain_filter": [STRING],
    "search_recency_filter": STRING,
    "search_after_date_filter": STRING,
    "search_before_date_filter": STRING,
    "last_updated_after_filter": STRING,
    "last_updated_before_filter": STRING,
}
IMAGE_FILTERS = {"domain_filter": [STRING], "format_filter": [STRING], "safe_search": ANYTHING}
TOOLS: Mapping[str, Mapping[str, Any]] = {
    "web_search": {
        "filters": FILTERS,
        "max_results": NUMBER,
        "max_tokens": NUMBER,
        "max_tokens_per_page": NUMBER,
        "search_context_size": STRING,
        "search_type": STRING,
        "user_location": LOCATION,
    },
    "fetch_url": {"max_urls": NUMBER, "total_budget_tokens": NUMBER},
    "image_search": {"filters": IMAGE_FILTERS, "max_results": NUMBER},
    "people_search": {},
    "finance_search": {},
    "sandbox": {},
    "function": {"name": STRING, "description": STRING, "parameters": ANYTHING, "strict": BOOLEAN},
}
PARTS: Mapping[str, Mapping[str, Any]] = {
    "input_text": {"text": STRING},
    "input_image": {"image_url": STRING},
    "input_file": {"file_data": STRING, "file_url": STRING, "filename": STRING},
}
ITEMS: Mapping[str, Mapping[str, Any]] = {
    "message": {"role": STRING, "content": ANYTHING},
    "function_call": {"call_id": STRING, "name": STRING, "arguments": STRING, "thought_signature": STRING},
    "function_call_output": {"call_id": STRING, "output": STRING},
}
BODY = {
    "model": STRING,
    "effort": STRING,
    "input": ANYTHING,
    "instructions": STRING,
    "language_preference": STRING,
    "max_output_tokens": NUMBER,
    "temperature": NUMBER,
    "top_p": NUMBER,
    "reasoning": {"effort": STRING},
    "tools": ANYTHING,
    "tool_choice": ANYTHING,
    "parallel_tool_calls": BOOLEAN,
    "max_tool_calls": NUMBER,
    "response_format": {
        "type": STRING,
        "json_schema": {"name": STRING, "schema": ANYTHING, "strict": BOOLEAN, "description": STRING},
    },
    "stream": BOOLEAN,
    "background": BOOLEAN,
    "prompt_cache_key": STRING,
    "service_tier": STRING,
    "metadata": ANYTHING,
}
RESERVED = ("web_search", "search_web", "people_search", "search_people", "fetch_url", "finance_search", "sandbox")
_PYTHON = {STRING: (str,), NUMBER: (int, float), BOOLEAN: (bool,)}


def check(body: Mapping[str, Any]) -> None:
    """Raises AssertionError for what the API would refuse."""
    _fields(body, BODY, "body")
    assert ("model" in body) != ("effort" in body)
    assert isinstance(body["input"], list), "input is a list of items"
    assert body["input"], "input is not empty"
    for item in body["input"]:
        _tagged(item, ITEMS, "input")
        if item["type"] == "message":
            _content(item)
    for tool in body.get("tools", []):
        _tagged(tool, TOOLS, "tools")
        assert tool.get("name") not in RESERVED
    assert body.get("max_output_tokens", 16) >= 16
    if body.get("model", "").startswith("anthropic/"):
        assert "max_output_tokens" in body
    _choice(body)


def _choice(body: Mapping[str, Any]) -> None:
    choice = body.get("tool_choice", "auto")
    tools = body.get("tools", [])
    if isinstance(choice, dict):
        assert len(choice) == 1
        assert choice.get("name") in [None, *(tool.get("name") for tool in tools)]
        assert choice.get("type") in [None, *(tool["type"] for tool in tools)]
    else:
        assert choice in ("auto", "none", "required")
        assert choice != "required" or tools


def _content(item: Mapping[str, Any]) -> None:
    assert item["role"] in ("user", "assistant", "system", "developer")
    if isinstance(item["content"], str):
        return
    assert item["role"] == "user"
    for part in item["content"]:
        _tagged(part, PARTS, "content")


def _tagged(value: Mapping[str, Any], shapes: Mapping[str, Mapping[str, Any]], at: str) -> None:
    assert value.get("type") in shapes, f"{at}: type {value.get('type')!r}"
    _fields(value, {"type": STRING, **shapes[value["type"]]}, at)


def _fields(value: Mapping[str, Any], shape: Mapping[str, Any], at: str) -> None:
    for key, entry in value.items():
        assert key in shape, f"{at}: unknown field {key!r}"
        _value(entry, shape[key], f"{at}.{key}")


def _value(value: Any, shape: Any, at: str) -> None:
    assert value is not None, f"{at} is null"
    if isinstance(shape, dict):
        _fields(value, shape, at)
    elif isinstance(shape, list):
        for entry in value:
            _value(entry, shape[0], at)
    elif shape != ANYTHING:
        assert isinstance(value, _PYTHON[shape]), f"{at}: {value!r} is no {shape}"
