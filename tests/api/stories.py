"""Streams of the Agent API, line by line."""

import json
from collections.abc import Iterable
from typing import Any

Json = dict[str, Any]

S1: Json = {
    "id": 1,
    "url": "https://a.example/leie",
    "title": "Leie",
    "snippet": "A river.",
    "date": "2026-02-03",
    "last_updated": "2026-05-01",
    "source": "web",
}
S2: Json = {
    "id": 2,
    "url": "https://b.example/scheldt",
    "title": "Scheldt",
    "snippet": "Another river.",
    "date": None,
    "last_updated": None,
    "source": "web",
}
TEXT = "The Leie[1] meets the Scheldt[2]."
COST: Json = {
    "currency": "USD",
    "input_cost": 0.00002,
    "output_cost": 0.00001,
    "tool_calls_cost": 0.005,
    "total_cost": 0.00503,
}
USAGE: Json = {
    "input_tokens": 20,
    "output_tokens": 9,
    "total_tokens": 29,
    "cost": COST,
    "tool_calls_details": {"search_web": {"invocation": 1}},
}


def message(text: str, item_id: str = "msg_1") -> Json:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": item_id, "role": "assistant", "status": "completed", "content": content}


def function_call(name: str, arguments: Any = "{}", call_id: str = "call_1", **more: Any) -> Json:
    return {"type": "function_call", "id": "fc_1", "call_id": call_id, "name": name, "arguments": arguments, **more}


def search_item(*results: Json) -> Json:
    return {"type": "search_results", "queries": ["rivers of Ghent"], "results": list(results)}


def response(status: str = "completed", output: Iterable[Json] = (), **more: Any) -> Json:
    return {
        "id": "resp_t1",
        "object": "response",
        "created_at": 1767225600,
        "status": status,
        "model": "perplexity/sonar",
        "output": list(output),
        **more,
    }


def created(**more: Any) -> Json:
    return {"type": "response.created", "sequence_number": 0, "response": response("in_progress", **more)}


def delta(text: str, number: int = 6, index: int = 1, item_id: str = "msg_1") -> Json:
    return {
        "type": "response.output_text.delta",
        "sequence_number": number,
        "item_id": item_id,
        "output_index": index,
        "content_index": 0,
        "delta": text,
    }


def text_done(text: str, number: int = 8, index: int = 1, item_id: str = "msg_1") -> Json:
    return {
        "type": "response.output_text.done",
        "sequence_number": number,
        "item_id": item_id,
        "output_index": index,
        "content_index": 0,
        "text": text,
    }


def item_done(item: Json, number: int = 9, index: int = 1) -> Json:
    return {"type": "response.output_item.done", "sequence_number": number, "output_index": index, "item": item}


def completed(*output: Json, number: int = 10, **more: Any) -> Json:
    whole = response("completed", output, usage=USAGE, **more)
    return {"type": "response.completed", "sequence_number": number, "response": whole}


A_BASE: list[Json] = [
    created(),
    {"type": "response.reasoning.started", "sequence_number": 1},
    {"type": "response.reasoning.search_queries", "sequence_number": 2, "queries": ["rivers of Ghent"]},
    {"type": "response.reasoning.search_results", "sequence_number": 3, "results": [S1, S2]},
    {"type": "response.reasoning.stopped", "sequence_number": 4},
    {
        "type": "response.output_item.added",
        "sequence_number": 5,
        "output_index": 1,
        "item": {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []},
    },
    delta("The Leie[1] meets ", 6),
    delta("the Scheldt[2].", 7),
    text_done(TEXT, 8),
    item_done(message(TEXT), 9),
    completed(search_item(S1, S2), message(TEXT)),
]


def line(event: Json | str, end: str = "\n") -> bytes:
    data = event if isinstance(event, str) else json.dumps(event, separators=(",", ":"), ensure_ascii=False)
    return f"data: {data}{end}{end}".encode()


def stream(*events: Json | str, end: str = "\n") -> bytes:
    return b"".join(line(event, end) for event in events)
