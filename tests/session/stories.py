"""Answers as the web session sends them, in every form, and their bytes on the wire. Every value is invented."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

Json = dict[str, Any]

TEXT = "The Leie[1] meets the Scheldt[2]."
URLS = ("https://a.example/leie", "https://b.example/scheldt")
END = "end_of_stream"


def markdown(chunks: Sequence[Any] | None, offset: int | None = 0, usage: str = "ask_text", **more: Any) -> Json:
    block: Json = {"progress": "IN_PROGRESS", "chunks": chunks, **more}
    if offset is not None:
        block["chunk_starting_offset"] = offset
    return {"intended_usage": usage, "markdown_block": block}


def done(chunks: Sequence[str], usage: str = "ask_text", answer: str | None = None, offset: int | None = 0) -> Json:
    more = {"answer": answer} if answer is not None else {}
    return markdown(chunks, offset, usage, progress="DONE", **more)


def diff(usage: str, field: str | None, *patches: Any) -> Json:
    block: Json = {"patches": list(patches)}
    if field is not None:
        block["field"] = field
    return {"intended_usage": usage, "diff_block": block}


def op(kind: str, path: str, value: Any = None) -> Json:
    return {"op": kind, "path": path, "value": value}


def pending(*blocks: Any, **more: Any) -> Json:
    return {"backend_uuid": "b-1", "status": "PENDING", "blocks": list(blocks), **more}


def completed(*blocks: Any, **more: Any) -> Json:
    whole: Json = {
        "backend_uuid": "b-1",
        "context_uuid": "c-1",
        "read_write_token": "rw-1",
        "thread_url_slug": "slug-1",
        "status": "COMPLETED",
        "final": True,
        "final_sse_message": True,
        "text_completed": True,
        "display_model": "gpt56_terra",
        "user_selected_model": "gpt56_terra",
        "blocks": list(blocks),
    }
    return {**whole, **more}


PAGES: list[Any] = [
    {"name": "Leie", "url": URLS[0], "snippet": "A river.", "timestamp": "2026-02-03T00:00:00Z"},
    {"name": "Scheldt", "url": URLS[1], "snippet": "Another river."},
]
WEB_RESULTS: Json = {"intended_usage": "web_results", "web_result_block": {"progress": "DONE", "web_results": PAGES}}
PLAN: Json = {
    "intended_usage": "plan",
    "plan_block": {"progress": "IN_PROGRESS", "goals": [{"id": "0", "description": "Find the rivers"}]},
}
SEARCH: Json = {
    "intended_usage": "pro_search_steps",
    "plan_block": {
        "progress": "IN_PROGRESS",
        "steps": [
            {"uuid": "s0", "step_type": "INITIAL_QUERY", "initial_query_content": {"query": "Which rivers?"}},
            {
                "uuid": "s1",
                "step_type": "SEARCH_WEB",
                "search_web_content": {"goal_id": "0", "queries": [{"engine": "web", "query": "rivers of Ghent"}]},
            },
            {"uuid": "s2", "step_type": "READ_RESULTS", "read_results_content": {"urls": [URLS[0]]}},
        ],
    },
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
    pending(WEB_RESULTS),
    pending(markdown(CHUNKS[:1], 0, "ask_text_0_markdown"), markdown(CHUNKS[:1], 0)),
    pending(markdown(CHUNKS[1:2], 1)),
    pending(markdown(CHUNKS[2:], 2), final=True, text_completed=True),
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
        "blocks": [done(CHUNKS, answer=TEXT)],
    },
]

FORM_A: list[Json] = [
    pending(SEARCH, PLAN, display_model="turbo"),
    pending(WEB_RESULTS),
    pending(markdown(CHUNKS[:1], 0, "ask_text_0_markdown"), markdown(CHUNKS[:1], 0)),
    pending(markdown(CHUNKS[1:2], 1, "ask_text_0_markdown"), markdown(CHUNKS[1:2], 1)),
    pending(markdown(CHUNKS[2:], 2), final=True, text_completed=True),
    completed(done(CHUNKS, answer=TEXT), done([TEXT], "ask_text_0_markdown", answer=TEXT), WEB_RESULTS),
]
FORM_B: list[Json] = [
    pending(WEB_RESULTS),
    pending(markdown(CHUNKS[:1], 0)),
    pending(markdown(CHUNKS[:2], None)),
    pending(markdown(CHUNKS, 0)),
    completed(done(CHUNKS)),
]
FORM_C: list[Json] = [
    pending(
        diff("plan", "plan_block", op("replace", "", {"goals": [{"id": "0", "description": "Reading"}]})),
        display_model="turbo",
    ),
    pending(
        diff("plan", "plan_block", op("replace", "/goals/0/description", "Reading two pages")),
        diff(
            "web_results",
            "web_result_block",
            op("replace", "", {"progress": "IN_PROGRESS", "web_results": []}),
            op("replace", "/web_results", PAGES),
        ),
    ),
    pending(
        diff("ask_text", "markdown_block", op("replace", "", {"chunks": CHUNKS[:1], "chunk_starting_offset": 0})),
    ),
    pending(diff("ask_text", "markdown_block", op("add", "/chunks/1", CHUNKS[1]), op("add", "/chunks/-", CHUNKS[2]))),
    pending(
        diff("ask_text", None, op("replace", "/progress", "DONE"), op("add", "/answer", TEXT)),
        final=True,
        text_completed=True,
    ),
    completed(done([TEXT], answer=TEXT)),
]


def workflow(*items: Json, status: str = "WORKFLOW_EXECUTING_STEPS") -> Json:
    return {"version": 1, "status": status, "steps": [{"id": "st1", "status": "RUNNING", "items": list(items)}]}


def text_item(key: str, chunks: list[str], variant: str | None = "answer", text: str = "", **more: Any) -> Json:
    payload: Json = {"text": text, "chunks": chunks, "is_streaming": True, **more}
    if variant:
        payload["variant"] = variant
    return {"id": key, "type": "WORKFLOW_ITEM_TEXT", "payload": {"text_payload": payload}}


def workflow_block(*items: Json) -> Json:
    return {"intended_usage": "workflow_root", "workflow_block": workflow(*items, status="WORKFLOW_COMPLETED")}


_CHUNK = "/steps/0/items/3/payload/text_payload/chunks/"
FORM_D: list[Json] = [
    pending(
        diff(
            "workflow_root",
            "workflow_block",
            op(
                "replace",
                "",
                workflow(
                    {
                        "id": "q",
                        "type": "WORKFLOW_ITEM_QUERIES",
                        "payload": {"queries_payload": {"queries": ["rivers of Ghent"]}},
                    },
                    {
                        "id": "s",
                        "type": "WORKFLOW_ITEM_SOURCES",
                        "payload": {"sources_payload": {"sources": PAGES}},
                    },
                    text_item("t", ["Let me see"], "thinking"),
                    text_item("a", [CHUNKS[0]]),
                ),
            ),
        )
    ),
    pending(diff("workflow_root", "workflow_block", op("add", f"{_CHUNK}1", CHUNKS[1]))),
    pending(diff("workflow_root", None, op("add", f"{_CHUNK}2", CHUNKS[2]))),
    completed(workflow_block(text_item("a", CHUNKS, text=TEXT, is_streaming=False))),
]
FORM_E: list[Json] = [pending(SEARCH), pending(WEB_RESULTS), completed()]
THREAD: Json = {
    "status": "success",
    "entries": [
        {
            "backend_uuid": "b-1",
            "status": "COMPLETED",
            "display_model": "gpt56_terra",
            "blocks": [done([TEXT], answer=TEXT), WEB_RESULTS],
        }
    ],
}


def legacy_text(answer: Any, *steps: Json, content: Json | None = None) -> str:
    final = {"step_type": "FINAL", "uuid": "z", "content": content or {"answer": answer}}
    return json.dumps([*steps, final])


LEGACY: list[Json] = [
    pending(),
    completed(text=legacy_text(json.dumps({"answer": TEXT, "web_results": PAGES}))),
]
FORMS: dict[str, list[Json]] = {"A": FORM_A, "B": FORM_B, "C": FORM_C, "D": FORM_D, "legacy": LEGACY, "W-BASE": W_BASE}


def sse(frame: Any, newline: str = "\r\n", name: str | None = "message", *, space: str = " ") -> str:
    data = frame if isinstance(frame, str) else json.dumps(frame, ensure_ascii=False)
    lines = [f"event:{space}{name}"] if name else []
    return newline.join([*lines, f"data:{space}{data}", "", ""])


def wire(frames: Iterable[Any], newline: str = "\r\n", *, end: bool = True, name: str | None = "message") -> bytes:
    """The bytes of a stream. A frame that is a string goes as it is."""
    parts = [sse(frame, newline, name) for frame in frames]
    if end:
        parts.append(sse({}, newline, END))
    return "".join(parts).encode()
