"""Scripted upstream answers that many cases start from: one of the Agent API, one of the web session.

Both answer "Which two rivers meet in Ghent?" with two sources. The session's has three traps in it: the text comes in
two mirrored blocks, `final` comes one frame before the end, and a citation mark is cut in two.
"""

import json
from collections.abc import Iterable, Mapping

Json = dict[str, object]
Step = Mapping[str, object]

TEXT = "The Leie[1] meets the Scheldt[2]."
CLEANED = "The Leie meets the Scheldt."
URLS = ["https://a.example/leie", "https://b.example/scheldt"]
ASK: Json = {
    "model": "sonar",
    "stream": True,
    "messages": [{"role": "user", "content": "Which two rivers meet in Ghent?"}],
}

S1: Json = {
    "id": 1,
    "url": URLS[0],
    "title": "Leie",
    "snippet": "A river.",
    "date": "2026-02-03",
    "last_updated": "2026-05-01",
    "source": "web",
}
S2: Json = {
    "id": 2,
    "url": URLS[1],
    "title": "Scheldt",
    "snippet": "Another river.",
    "date": None,
    "last_updated": None,
    "source": "web",
}
USAGE: Json = {
    "input_tokens": 20,
    "output_tokens": 9,
    "total_tokens": 29,
    "cost": {
        "currency": "USD",
        "input_cost": 0.00002,
        "output_cost": 0.00001,
        "tool_calls_cost": 0.005,
        "total_cost": 0.00503,
    },
    "tool_calls_details": {"search_web": {"invocation": 1}},
}


def message(text: str) -> Json:
    return {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }


def agent_events(
    *deltas: str, sources: Iterable[Json] = (S1, S2), usage: Json = USAGE, status: str = "completed"
) -> list[Json]:
    """The events of one run that searches and answers with `deltas`, numbered."""
    found, text = list(sources), "".join(deltas)
    run: Json = {"id": "resp_t1", "object": "response", "created_at": 1767225600, "model": "perplexity/sonar"}
    place: Json = {"item_id": "msg_1", "output_index": 1, "content_index": 0}
    searched: Json = {"type": "search_results", "queries": ["rivers of Ghent"], "results": found}
    begun: Json = {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []}
    whole: Json = {**run, "status": status, "output": [searched, message(text)], "usage": usage}
    events: list[Json] = [
        {"type": "response.created", "response": {**run, "status": "in_progress", "output": []}},
        {"type": "response.reasoning.started"},
        {"type": "response.reasoning.search_queries", "queries": ["rivers of Ghent"]},
        {"type": "response.reasoning.search_results", "results": found},
        {"type": "response.reasoning.stopped"},
        {"type": "response.output_item.added", "output_index": 1, "item": begun},
        *({"type": "response.output_text.delta", **place, "delta": delta} for delta in deltas),
        {"type": "response.output_text.done", **place, "text": text},
        {"type": "response.output_item.done", "output_index": 1, "item": message(text)},
        {"type": f"response.{status}", "response": whole},
    ]
    return [{"sequence_number": number, **event} for number, event in enumerate(events)]


A_BASE = agent_events("The Leie[1] meets ", "the Scheldt[2].")


def sse(event: Json, *, newline: str = "\n", name: str | None = None) -> str:
    """One event as it stands on the wire."""
    lines = [f"event: {name}"] if name else []
    return newline.join([*lines, f"data: {json.dumps(event, ensure_ascii=False)}", "", ""])


def agent_steps(events: Iterable[Json] = A_BASE) -> list[Step]:
    """Each event one network write, then the clean end."""
    return [{"bytes": sse(event)} for event in events]


def ask_text(chunks: list[str], offset: int, *, usage: str = "ask_text", **more: object) -> Json:
    block = {"progress": "IN_PROGRESS", "chunks": chunks, "chunk_starting_offset": offset, **more}
    return {"intended_usage": usage, "markdown_block": block}


WEB_RESULTS: Json = {
    "intended_usage": "web_results",
    "web_result_block": {
        "progress": "DONE",
        "web_results": [
            {"name": "Leie", "url": URLS[0], "snippet": "A river.", "timestamp": "2026-02-03T00:00:00Z"},
            {"name": "Scheldt", "url": URLS[1], "snippet": "Another river."},
        ],
    },
}
PLAN: Json = {
    "intended_usage": "plan",
    "plan_block": {"progress": "IN_PROGRESS", "goals": [{"id": "0", "description": "Find the rivers"}]},
}
CHUNKS = ["The Leie[1] meets ", "the Scheldt[", "2]."]

W_BASE: list[Json] = [
    {
        "backend_uuid": "b-1",
        "uuid": "u-1",
        "context_uuid": "c-1",
        "status": "PENDING",
        "display_model": "pplx_pro",
        "mode": "COPILOT",
        "final_sse_message": False,
        "blocks": [PLAN],
    },
    {"backend_uuid": "b-1", "status": "PENDING", "blocks": [WEB_RESULTS]},
    {
        "backend_uuid": "b-1",
        "status": "PENDING",
        "blocks": [ask_text(CHUNKS[:1], 0, usage="ask_text_0_markdown"), ask_text(CHUNKS[:1], 0)],
    },
    {"backend_uuid": "b-1", "status": "PENDING", "blocks": [ask_text(CHUNKS[1:2], 1)]},
    {
        "backend_uuid": "b-1",
        "status": "PENDING",
        "final": True,
        "text_completed": True,
        "blocks": [ask_text(CHUNKS[2:], 2)],
    },
    {
        "backend_uuid": "b-1",
        "status": "COMPLETED",
        "text_completed": True,
        "final": True,
        "final_sse_message": True,
        "display_model": "pplx_pro",
        "user_selected_model": "pplx_pro",
        "read_write_token": "rw-1",
        "related_queries": ["How long is the Leie?"],
        "blocks": [ask_text(CHUNKS, 0, progress="DONE", answer=TEXT)],
    },
]
END_OF_STREAM = "event: end_of_stream\r\ndata: {}\r\n\r\n"


def session_steps(frames: Iterable[Json] = W_BASE, *, end: bool = True) -> list[Step]:
    """Each frame one network write in CRLF, then `end_of_stream` and the clean end."""
    steps: list[Step] = [{"bytes": sse(frame, newline="\r\n", name="message")} for frame in frames]
    return [*steps, {"bytes": END_OF_STREAM}] if end else steps
