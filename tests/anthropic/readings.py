"""Two readings of what the protocol says: the models of Anthropic's SDK, strictly, and the order of events as its
documents have it. `check_stream` puts a stream together as the SDK does."""

import json
from typing import Any

from anthropic import not_given
from anthropic.lib.streaming._messages import accumulate_event
from anthropic.types import Message, RawMessageStreamEvent
from pydantic import TypeAdapter

Json = dict[str, Any]

ERRORS = {
    "invalid_request_error",
    "authentication_error",
    "billing_error",
    "permission_error",
    "not_found_error",
    "request_too_large",
    "rate_limit_error",
    "api_error",
    "timeout_error",
    "overloaded_error",
}
_DELTAS = {
    "text": {"text_delta", "citations_delta"},
    "thinking": {"thinking_delta", "signature_delta"},
    "tool_use": {"input_json_delta"},
    "server_tool_use": {"input_json_delta"},
    "web_search_tool_result": set[str](),
}
_message = TypeAdapter(Message)
_event: TypeAdapter[RawMessageStreamEvent] = TypeAdapter(RawMessageStreamEvent)


def check_message(found: Json) -> Json:
    """A whole answer."""
    _message.validate_python(found, strict=True)
    assert found["stop_reason"] is not None
    assert (found["stop_reason"] == "tool_use") is any(block["type"] == "tool_use" for block in found["content"])
    assert (found["stop_reason"] == "stop_sequence") is (found["stop_sequence"] is not None)
    assert all(block["text"] for block in found["content"] if block["type"] == "text")
    _check_searches(found["content"])
    return found


def check_error(found: Json) -> Json:
    """The error inside its envelope."""
    assert set(found) == {"type", "error", "request_id"}, found
    assert found["type"] == "error"
    assert set(found["error"]) == {"type", "message"}
    assert found["error"]["type"] in ERRORS
    assert found["error"]["message"]
    assert "\n" not in found["error"]["message"]
    error: Json = found["error"]
    return error


def events(raw: bytes) -> list[Json]:
    """Every event, whose name is that of its type; pings and comments too, as `ping`."""
    assert b"\r" not in raw
    frames = raw.decode().split("\n\n")
    assert frames.pop() == "", "the last event has its blank line too"
    found = []
    for frame in frames:
        lines = [line for line in frame.split("\n") if not line.startswith(":")]
        name, data = lines
        assert name.startswith("event: ")
        assert data.startswith("data: ")
        event = json.loads(data.removeprefix("data: "))
        assert event["type"] == name.removeprefix("event: ")
        found.append(event)
    return found


def check_stream(raw: bytes) -> Json:
    """A stream that succeeded: the message that it comes to, usage included."""
    found = events(raw)
    assert found[0]["type"] == "message_start"
    assert [event["type"] for event in found[-2:]] == ["message_delta", "message_stop"]
    said = [event for event in found if event["type"] != "ping"]
    _check_blocks(said[1:-2])
    assert [event["type"] for event in said].count("message_start") == 1
    start = said[0]["message"]
    assert start["content"] == []
    assert start["stop_reason"] is None
    snapshot, buffers = None, dict[int, bytes]()
    for event in said:
        snapshot = accumulate_event(
            event=_event.validate_python(event, strict=True),
            current_snapshot=snapshot,
            json_bufs=buffers,
            output_format=not_given,
        )
    assert snapshot is not None
    message: Json = snapshot.to_dict()
    end = said[-2]
    beside: Json = {key: end[key] for key in ("search_results", "images", "related_questions", "pplx") if key in end}
    return check_message({**message, **beside})


def check_broken(raw: bytes) -> Json:
    """A stream that failed on its way: the error. Nothing in it looks like an end."""
    found = events(raw)
    kinds = [event["type"] for event in found]
    assert kinds.count("error") == 1
    assert kinds[-1] == "error"
    assert not {"message_delta", "message_stop"} & set(kinds)
    return check_error(found[-1])


def _check_blocks(found: list[Json]) -> None:
    """Blocks one after the other, numbered from 0, each with deltas of its own kind."""
    index, kind = -1, None
    for event in found:
        match event["type"]:
            case "content_block_start":
                assert kind is None, "a block begins within another"
                index += 1
                kind = event["content_block"]["type"]
            case "content_block_delta":
                assert kind is not None
                assert event["delta"]["type"] in _DELTAS[kind]
            case "content_block_stop":
                assert kind is not None
                kind = None
            case other:
                raise AssertionError(f"{other} stands between the blocks")
        assert event["index"] == index
    assert kind is None, "a block has no end"


def _check_searches(blocks: list[Json]) -> None:
    """Each search has its results, once."""
    asked = [block["id"] for block in blocks if block["type"] == "server_tool_use"]
    answered = [block["tool_use_id"] for block in blocks if block["type"] == "web_search_tool_result"]
    assert sorted(asked) == sorted(answered)
    assert len(set(asked)) == len(asked)
