"""Three readings of what the Responses API says; what it says must stand up to each of them.

(a) The models of OpenAI's SDK, strictly, and what its `responses.stream()` helper insists on. (b) The models of Open
Responses, strictly. (c) A table of our own: keys, types, the order of events, and what must agree with what. It also
holds what OpenAI's published document asks for beyond its SDK.

`check_response`, `check_event` and `check_items` read one thing; `check_events` reads a whole stream, `read_stream` its
bytes.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

import openresponses_types.types as open_types
import pydantic
from openai import omit
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.responses import Response, ResponseStreamEvent
from openai.types.responses.response_item_list import ResponseItemList
from pydantic import TypeAdapter

Json = dict[str, Any]

TERMINAL = ("response.completed", "response.incomplete", "response.failed")
SUCCESS = ("response.completed", "response.incomplete")


def check_response(found: Json) -> None:
    """One response object, however far it has come. Raises AssertionError or pydantic.ValidationError."""
    _RESPONSE.validate_python(found, strict=True)
    _OPEN_RESPONSE.validate_json(json.dumps(_for_open_responses(found)), strict=True)
    _check_table(found, _RESPONSE_KEYS, "response", optional=_RESPONSE_OPTIONAL)
    _check_status(found)
    for item in found["output"]:
        check_item(item)
    ids = [item["id"] for item in found["output"]]
    assert len(set(ids)) == len(ids), ids


def check_event(event: Json) -> None:
    """One event for itself."""
    kind = event.get("type")
    assert kind in _EVENT_KEYS, f"no such event: {kind}"
    _EVENTS[kind].validate_python(event, strict=True)
    if kind in _OPEN_EVENTS and event.get("item", {}).get("type") != "web_search_call":
        _OPEN_EVENTS[kind].validate_json(json.dumps(_for_open_responses(event)), strict=True)
    _check_table(event, _EVENT_KEYS[kind], kind)
    if "response" in event:
        check_response(event["response"])
    if kind == "error":
        _check_error_event(event)


def check_events(events: Sequence[Json]) -> Json:
    """A whole stream, from number 0 to its end. Returns the response that it ends in; {} if it ends in an error."""
    for event in events:
        check_event(event)
    last = events[-1]
    told = [event for event in events if event["type"] != "error"]
    assert len(told) >= len(events) - 1
    # An error may repeat the last number: then whoever resumes after it misses nothing.
    assert [event["sequence_number"] for event in told] == list(range(len(told)))
    body = _check_frame(told, ends=last["type"] != "error")
    items = _check_items_in_turn(body)
    if last["type"] == "error":
        assert last["sequence_number"] in (len(told), len(told) - 1)
        return {}
    final: Json = last["response"]
    if last["type"] != "response.failed":
        assert _texts(final["output"]) == _texts(items), "the output is what the done items were"
        assert not _unfinished(body), "every item is finished"
    else:
        assert final["output"] == [] or _texts(final["output"]) == _texts(items)
    _check_helper(events)
    return final


def check_item(item: Json) -> None:
    """One finished output item, by our table; inside a response or event the models have read it."""
    kind = item.get("type")
    assert kind in _ITEM_KEYS, f"no such item: {kind}"
    _check_table(item, _ITEM_KEYS[kind], f"item {kind}", optional=_ITEM_OPTIONAL.get(kind, {}))
    for part in item.get("content", []):
        for citation in part["annotations"]:
            assert 0 <= citation["start_index"] <= citation["end_index"] <= len(part["text"]), citation
    if kind == "function_call":
        assert item["id"] != item["call_id"]
        json.loads(item["arguments"])
    if kind == "web_search_call" and item["action"]["queries"]:
        assert item["action"]["query"] == item["action"]["queries"][0]


def check_items(found: Json) -> None:
    """A page of `input_items`."""
    if found["data"]:
        TypeAdapter(ResponseItemList).validate_python(found, strict=True)
        assert (found["first_id"], found["last_id"]) == (found["data"][0]["id"], found["data"][-1]["id"])
    assert set(found) == {"object", "data", "first_id", "last_id", "has_more"}
    assert found["object"] == "list"
    assert isinstance(found["has_more"], bool)
    ids = [item["id"] for item in found["data"]]
    assert all(isinstance(item_id, str) and item_id for item_id in ids)
    assert len(set(ids)) == len(ids)
    for item in found["data"]:
        for part in item["content"] if isinstance(item.get("content"), list) else []:
            assert part["type"] != "input_image" or part["detail"] in ("low", "high", "auto", "original")
        if item["type"] == "function_call_output":
            assert item["status"] in _ITEM_STATUS


def read_stream(raw: bytes) -> list[Json]:
    """The events of a whole body: LF alone, `event:` before `data:`, comments only between frames, `[DONE]` last and
    only after success. Their content is for `check_events`."""
    events = read_frames(raw)
    done = b"data: [DONE]\n\n"
    success = bool(events) and events[-1]["type"] in SUCCESS
    assert raw.count(done) == (1 if success else 0)
    assert not success or raw.endswith(done)
    return events


def read_frames(raw: bytes) -> list[Json]:
    """As `read_stream`, of a part of a body: a stream that was cut between frames, or that resumes."""
    assert b"\r" not in raw
    frames = raw.decode().split("\n\n")
    assert frames.pop() == "", "the last frame has its blank line too"
    found = []
    for frame in frames:
        lines = [line for line in frame.split("\n") if not line.startswith(":")]
        if lines in ([], ["data: [DONE]"]):
            continue
        kind, data = lines
        event: Json = json.loads(data.removeprefix("data: "))
        assert data.startswith("data: ")
        assert kind == f"event: {event['type']}"
        found.append(event)
    return found


# (a) OpenAI's SDK

_RESPONSE = TypeAdapter(Response)
_EVENTS: dict[str, TypeAdapter[Any]] = {
    get_args(model.model_fields["type"].annotation)[0]: TypeAdapter(model)
    for model in get_args(get_args(ResponseStreamEvent)[0])
}


def _check_helper(events: Sequence[Json]) -> None:
    """The SDK's own accumulator raises where a stream contradicts itself."""
    state: ResponseStreamState[Any] = ResponseStreamState(input_tools=omit, text_format=omit)
    for event in events:
        state.handle_event(_EVENTS[event["type"]].validate_python(event, strict=True))
    completed = state._completed_response
    assert (completed is not None) == (events[-1]["type"] == "response.completed")
    if completed is not None:
        texts = [part["text"] for item in events[-1]["response"]["output"] for part in item.get("content", [])]
        assert completed.output_text == "".join(texts)


# (b) Open Responses

_OPEN_RESPONSE = TypeAdapter(open_types.ResponseResource)
_OPEN_EVENTS: dict[str, TypeAdapter[Any]] = {
    next(iter(model.model_fields["type"].annotation)).value: TypeAdapter(model)
    for name, model in vars(open_types).items()
    if name.endswith("StreamingEvent") and issubclass(model, pydantic.BaseModel)
}


def _for_open_responses(found: Json) -> Json:
    """Without what that specification does not know at all: built-in tools, the effort "minimal". Its generated models
    want the schema of a JSON format to be null, and a description that OpenAI's document does not let be null."""
    if "response" in found:
        return {**found, "response": _for_open_responses(found["response"])}
    if "output" not in found:
        return found
    shown = {**found, "tools": [tool for tool in found["tools"] if tool["type"] == "function"]}
    shown["output"] = [item for item in found["output"] if item["type"] != "web_search_call"]
    if isinstance(found["tool_choice"], dict) and found["tool_choice"]["type"].startswith("web_search"):
        shown["tool_choice"] = "auto"
    if found["reasoning"] and found["reasoning"]["effort"] == "minimal":
        shown["reasoning"] = {**found["reasoning"], "effort": "low"}
    if found["text"]["format"]["type"] == "json_schema":
        shown["text"] = {**found["text"], "format": {"description": None, **found["text"]["format"], "schema": None}}
    return shown


# (c) our own table

Check = Callable[[Any], bool]

_STATUS = ("queued", "in_progress", "completed", "failed", "incomplete", "cancelled")
_ITEM_STATUS = ("in_progress", "completed", "incomplete")
_ERROR_CODES = (
    *("server_error", "rate_limit_exceeded", "invalid_prompt", "invalid_image", "invalid_image_format"),
    *("invalid_base64_image", "invalid_image_url", "image_too_large", "image_too_small", "image_parse_error"),
    *("image_file_too_large", "unsupported_image_media_type", "empty_image_file", "failed_to_download_image"),
    "image_file_not_found",
)


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _count(value: Any) -> bool:
    return _integer(value) and value >= 0


def _number(value: Any) -> bool:
    return _integer(value) or isinstance(value, float)


def _boolean(value: Any) -> bool:
    return isinstance(value, bool)


def _maybe(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _one_of(*values: str) -> Check:
    return lambda value: _text(value) and value in values


def _id(prefix: str) -> Check:
    return lambda value: _text(value) and re.fullmatch(prefix + r"_[A-Za-z0-9_-]+", value) is not None


def _list(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _object(keys: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """Exactly `keys`, and of the `optional` ones those that are there."""

    def check(value: Any) -> bool:
        known = {**keys, **(optional or {})}
        return (
            isinstance(value, dict)
            and set(keys) <= set(value) <= set(known)
            and all(known[key](entry) for key, entry in value.items())
        )

    return check


def _empty(value: Any) -> bool:
    return value in ([], "") and value is not None


def _metadata(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and len(value) <= 16
        and all(_text(key) and len(key) <= 64 and _text(entry) and len(entry) <= 512 for key, entry in value.items())
    )


def _tool(value: Any) -> bool:
    if value.get("type") == "code_interpreter":
        return "container" in value
    if value.get("type") != "function":
        return str(value.get("type")).startswith("web_search")
    return {"name", "description", "parameters", "strict"} <= set(value) and _text(value["name"])


def _tool_choice(value: Any) -> bool:
    if isinstance(value, str):
        return value in ("none", "auto", "required")
    match value:
        case {"type": "function", "name": str()}:
            return set(value) == {"type", "name"}
        case {"type": "allowed_tools", "mode": "auto" | "required", "tools": list()}:
            return set(value) == {"type", "mode", "tools"}
        case {"type": "web_search_preview" | "web_search_preview_2025_03_11"}:
            return True
        case _:
            return False


def _format(value: Any) -> bool:
    match value:
        case {"type": "text" | "json_object"}:
            return set(value) == {"type"}
        case {"type": "json_schema", "name": str(), "schema": dict(), **rest}:
            return set(rest) <= {"description", "strict"} and _text(rest.get("description", ""))
        case _:
            return False


_CITATION = _object(
    {"type": _one_of("url_citation"), "start_index": _count, "end_index": _count, "url": _text, "title": _text}
)
_OUTPUT_TEXT = _object(
    {"type": _one_of("output_text"), "text": _text, "annotations": _list(_CITATION), "logprobs": _empty}
)
_EMPTY_TEXT = _object({"type": _one_of("output_text"), "text": _empty, "annotations": _empty, "logprobs": _empty})
_SUMMARY = _object({"type": _one_of("summary_text"), "text": _text})
_USAGE = _object(
    {
        "input_tokens": _count,
        "input_tokens_details": _object({"cached_tokens": _count, "cache_write_tokens": _count}),
        "output_tokens": _count,
        "output_tokens_details": _object({"reasoning_tokens": _count}),
        "total_tokens": _count,
    },
    {
        "citation_tokens": _count,
        "num_search_queries": _count,
        "estimated": _boolean,
        "cost": lambda value: isinstance(value, dict) and _number(value["total_cost"]),
    },
)

_RESPONSE_KEYS: dict[str, Check] = {
    "id": _id("resp"),
    "object": _one_of("response"),
    "created_at": _count,
    "completed_at": _maybe(_count),
    "status": _one_of(*_STATUS),
    "background": _boolean,
    "error": _maybe(
        _object({"code": _one_of(*_ERROR_CODES), "message": _text, "type": _text}, optional={"param": _text})
    ),
    "incomplete_details": _maybe(_object({"reason": _one_of("max_output_tokens", "content_filter")})),
    "instructions": _maybe(_text),
    "max_output_tokens": _maybe(_count),
    "max_tool_calls": _maybe(_count),
    "metadata": _metadata,
    "model": _text,
    "output": lambda value: isinstance(value, list),
    "parallel_tool_calls": _boolean,
    "previous_response_id": _maybe(_text),
    "prompt_cache_key": _maybe(_text),
    "safety_identifier": _maybe(_text),
    "reasoning": _object({"effort": _maybe(_text), "summary": _maybe(_one_of("auto", "concise", "detailed"))}),
    "service_tier": _text,
    "store": _boolean,
    "temperature": _number,
    "top_p": _number,
    "presence_penalty": _number,
    "frequency_penalty": _number,
    "top_logprobs": _count,
    "text": _object({"format": _format}, {"verbosity": _one_of("low", "medium", "high")}),
    "tool_choice": _tool_choice,
    "tools": _list(_tool),
    "truncation": _one_of("disabled", "auto"),
    "usage": _maybe(_USAGE),
}
# There only where they have something to say.
_RESPONSE_OPTIONAL: dict[str, Check] = {
    "user": _text,
    "citations": _list(_text),
    "search_results": _list(lambda value: {"title", "url"} <= set(value)),
    "images": _list(lambda value: _text(value["image_url"])),
    "videos": _list(lambda value: isinstance(value, dict)),
    "related_questions": _list(_text),
    "pplx": lambda value: _text(value["upstream"]),
}

_ITEM_KEYS: dict[str, dict[str, Check]] = {
    "message": {
        "id": _id("msg"),
        "type": _text,
        "status": _one_of("completed", "incomplete"),
        "role": _one_of("assistant"),
        "content": _list(_OUTPUT_TEXT),
    },
    "function_call": {
        "id": _id("fc"),
        "type": _text,
        "status": _one_of("completed"),
        "call_id": _text,
        "name": _text,
        "arguments": _text,
    },
    "reasoning": {"id": _id("rs"), "type": _text, "status": _one_of("completed"), "summary": _list(_SUMMARY)},
    "web_search_call": {
        "id": _id("ws"),
        "type": _text,
        "status": _one_of("completed"),
        "action": _object(
            {"type": _one_of("search"), "query": _text, "queries": _list(_text)},
            {"sources": _list(_object({"type": _one_of("url"), "url": _text}))},
        ),
    },
}
_ITEM_OPTIONAL: dict[str, dict[str, Check]] = {"function_call": {"thought_signature": _text}}

# What an item does not hold yet when it is added.
_BEGUN: dict[str, dict[str, Check]] = {
    "message": {"content": _empty},
    "function_call": {"arguments": _empty},
    "reasoning": {"summary": _empty},
    "web_search_call": {"action": _object({"type": _one_of("search"), "query": _text, "queries": _list(_text)})},
}


def _begun(value: Any) -> bool:
    """An item as `output_item.added` shows it."""
    if value.get("status") != "in_progress" or value.get("type") not in _ITEM_KEYS:
        return False
    keys = {**_ITEM_KEYS[value["type"]], "status": _one_of("in_progress"), **_BEGUN[value["type"]]}
    return _object(keys, _ITEM_OPTIONAL.get(value["type"]))(value)


def _done(value: Any) -> bool:
    check_item(value)
    return True


def _carries_response(value: Any) -> bool:
    return isinstance(value, dict)  # check_event reads it


_OF_ITEM: dict[str, Check] = {"type": _text, "sequence_number": _count, "output_index": _count}
_IN_ITEM: dict[str, Check] = {**_OF_ITEM, "item_id": _text}
_IN_CONTENT: dict[str, Check] = {**_IN_ITEM, "content_index": _count}
_IN_SUMMARY: dict[str, Check] = {**_IN_ITEM, "summary_index": _count}
_EVENT_KEYS: dict[str, dict[str, Check]] = {
    **{
        f"response.{name}": {"type": _text, "sequence_number": _count, "response": _carries_response}
        for name in ("created", "queued", "in_progress", "completed", "incomplete", "failed")
    },
    "response.output_item.added": {**_OF_ITEM, "item": _begun},
    "response.output_item.done": {**_OF_ITEM, "item": _done},
    "response.content_part.added": {**_IN_CONTENT, "part": _EMPTY_TEXT},
    "response.content_part.done": {**_IN_CONTENT, "part": _OUTPUT_TEXT},
    "response.output_text.delta": {**_IN_CONTENT, "delta": _text, "logprobs": _empty},
    "response.output_text.done": {**_IN_CONTENT, "text": _text, "logprobs": _empty},
    "response.output_text.annotation.added": {**_IN_CONTENT, "annotation_index": _count, "annotation": _CITATION},
    "response.function_call_arguments.delta": {**_IN_ITEM, "delta": _text},
    "response.function_call_arguments.done": {**_IN_ITEM, "name": _text, "arguments": _text},
    "response.reasoning_summary_part.added": {
        **_IN_SUMMARY,
        "part": _object({"type": _one_of("summary_text"), "text": _empty}),
    },
    "response.reasoning_summary_part.done": {**_IN_SUMMARY, "part": _SUMMARY},
    "response.reasoning_summary_text.delta": {**_IN_SUMMARY, "delta": _text},
    "response.reasoning_summary_text.done": {**_IN_SUMMARY, "text": _text},
    **{f"response.web_search_call.{name}": _IN_ITEM for name in ("in_progress", "searching", "completed")},
    # Flat for OpenAI's types; nested for Open Responses and for those SDKs that raise what is in `error`.
    "error": {
        "type": _text,
        "sequence_number": _count,
        "code": lambda value: _text(value) and value != "",
        "message": _text,
        "param": _maybe(_text),
        "error": _object({"type": _text, "code": _text, "message": _text, "param": _maybe(_text)}),
    },
}


def _check_error_event(event: Json) -> None:
    nested = event["error"]
    assert (nested["code"], nested["message"], nested["param"]) == (event["code"], event["message"], event["param"])
    assert event["message"]
    assert "\n" not in event["message"]


def _check_table(
    found: Json, keys: Mapping[str, Check], name: str, optional: Mapping[str, Check] | None = None
) -> None:
    """`keys` exactly, and the `optional` ones, which are never null, where they are there."""
    known = {**keys, **(optional or {})}
    missing, strange = set(keys) - set(found), set(found) - set(known)
    assert not missing, f"{name} lacks {sorted(missing)}"
    assert not strange, f"{name} has {sorted(strange)}"
    for key, value in found.items():
        assert known[key](value), f"{name}.{key} is {value!r}"


def _check_status(found: Json) -> None:
    status = found["status"]
    assert (found["completed_at"] is not None) == (status == "completed")
    assert (found["error"] is not None) == (status == "failed")
    assert (found["incomplete_details"] is not None) == (status == "incomplete")
    if status in ("queued", "in_progress"):
        assert found["output"] == []
    if status not in ("completed", "incomplete"):
        assert found["usage"] is None
    if usage := found["usage"]:
        assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    cut = [item for item in found["output"] if item["status"] == "incomplete"]
    assert not cut or status == "incomplete", "only what was cut short has an incomplete item"


def _check_frame(events: Sequence[Json], *, ends: bool = True) -> list[Json]:
    """What stands before and after the items. Returns what is between. `ends` = the last event is a terminal one."""
    kinds = [event["type"] for event in events]
    background = events[0]["response"]["background"]
    opening = ["response.created", *(["response.queued"] if background else []), "response.in_progress"]
    assert kinds[: len(opening)] == opening
    assert (kinds[-1] in TERMINAL) is ends
    between = list(events[len(opening) : -1 if ends else None])
    assert not any("response" in event for event in between)
    shown = [event["response"] for event in events if "response" in event]
    statuses = [response["status"] for response in shown]
    begun = ["queued", "queued", "in_progress"] if background else ["in_progress", "in_progress"]
    assert statuses == [*begun, *([kinds[-1].removeprefix("response.")] if ends else [])]
    for response in shown:
        assert _kept(response) == _kept(shown[0]), "what was asked does not change"
    return between


# What comes to be known while the answer comes; everything else is as in the first event.
_GROWS = ("status", "output", "model", "completed_at", "usage", "error", "incomplete_details", *_RESPONSE_OPTIONAL)


def _kept(response: Json) -> Json:
    return {key: value for key, value in response.items() if key not in _GROWS or key == "user"}


# The events of one item in order, as words.
_ITEM_EVENTS = {
    "message": r"part\.added( text\.delta)+( annotation\.added)* text\.done part\.done",
    "reasoning": r"summary_part\.added( summary_text\.delta)+ summary_text\.done summary_part\.done",
    "function_call": r"arguments\.delta( arguments\.delta)* arguments\.done",
    "web_search_call": r"search\.in_progress search\.searching search\.completed",
}
_WORDS = (
    ("response.content_part", "part"),
    ("response.output_text.annotation", "annotation"),
    ("response.output_text", "text"),
    ("response.reasoning_summary_", "summary_"),
    ("response.function_call_arguments", "arguments"),
    ("response.web_search_call", "search"),
)


def _check_items_in_turn(body: Sequence[Json]) -> list[Json]:
    """One item is open at a time, indexes count 0, 1, 2, and each item's events agree. Returns the done items."""
    items: list[Json] = []
    added: Json | None = None
    inside: list[Json] = []
    for event in body:
        assert event["output_index"] == len(items), event
        if event["type"] == "response.output_item.added":
            assert added is None, "an item is open"
            added, inside = event["item"], []
            continue
        assert added is not None, "no item is open"
        if event["type"] == "response.output_item.done":
            _check_whole_item(added, inside, event["item"])
            items.append(event["item"])
            added = None
        else:
            assert event["item_id"] == added["id"]
            inside.append(event)
    return items


def _unfinished(body: Sequence[Json]) -> bool:
    counts = Counter(event["type"] for event in body)
    return counts["response.output_item.added"] != counts["response.output_item.done"]


def _check_whole_item(added: Json, inside: Sequence[Json], done: Json) -> None:
    for key in ("id", "type", "call_id", "name", "role"):
        assert added.get(key) == done.get(key), key
    assert re.fullmatch(_ITEM_EVENTS[done["type"]], " ".join(map(_word, inside))), [event["type"] for event in inside]
    said = "".join(event["delta"] for event in inside if "delta" in event)
    last = {event["type"]: event for event in inside}
    match done["type"]:
        case "message":
            (part,) = done["content"]
            assert said == last["response.output_text.done"]["text"] == part["text"]
            assert last["response.content_part.done"]["part"] == part
            marks = [event for event in inside if "annotation" in event]
            assert [event["annotation_index"] for event in marks] == list(range(len(marks)))
            assert [event["annotation"] for event in marks] == part["annotations"]
            assert {event["content_index"] for event in inside} == {0}
        case "reasoning":
            (summary,) = done["summary"]
            assert said == last["response.reasoning_summary_text.done"]["text"] == summary["text"]
            assert last["response.reasoning_summary_part.done"]["part"] == summary
            assert {event["summary_index"] for event in inside} == {0}
        case "function_call":
            finished = last["response.function_call_arguments.done"]
            assert added["arguments"] + said == finished["arguments"] == done["arguments"]
            assert finished["name"] == done["name"]


def _word(event: Json) -> str:
    kind: str = event["type"]
    start, word = next(pair for pair in _WORDS if kind.startswith(pair[0]))
    return kind.replace(start, word, 1)


def _texts(items: Sequence[Json]) -> list[str]:
    """As JSON, so that the order of keys counts too."""
    return [json.dumps(item) for item in items]
