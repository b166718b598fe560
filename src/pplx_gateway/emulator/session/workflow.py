"""Form D: the whole answer as one workflow that patches build up (docs/wire-session.md 2.5 D)."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from pplx_gateway.emulator.session import blocks
from pplx_gateway.emulator.session.blocks import Block, patched
from pplx_gateway.emulator.session.entry import Entry
from pplx_gateway.emulator.session.frames import Json
from pplx_gateway.emulator.session.reply import grouped

USAGE = "workflow_root"
FIELD = "workflow_block"
_ANSWER_STEP: Json = {"id": "st-answer", "title": "Answering", "tool_name": None}


class TextItem(NamedTuple):
    """An item that holds text. `variant` None = the item does not say what its text is for."""

    id: str
    variant: str | None

    def build(self, chunks: Sequence[str], *, whole: bool) -> Json:
        text: Json = {"text": "".join(chunks) if whole else "", "chunks": list(chunks), "is_streaming": not whole}
        item: Json = {"id": self.id, "type": "WORKFLOW_ITEM_TEXT", "display_mode": "DEFAULT"}
        if self.variant is not None:
            text["variant"] = item["variant"] = self.variant
        return {**item, "payload": {"text_payload": text}}


THOUGHTS = TextItem("it-thoughts", "thinking")
ANSWER = TextItem("it-answer", "answer")
BARE_ANSWER = TextItem("it-answer", None)


def way(entry: Entry) -> list[Json]:
    """The empty workflow; the search with its queries, then its sources; then the thoughts."""
    start: Json = {**_head(entry, "WORKFLOW_EXECUTING_STEPS"), "completed_at": None, "steps": []}
    frames = [_frame(_replace("", start))]
    if entry.reply.pages:
        frames += _search_frames(entry)
    place = _answer_place(entry)
    frames.append(_frame(_add(f"/steps/{place}", {**_ANSWER_STEP, "status": "RUNNING", "items": []})))
    if entry.reply.thoughts:
        frames += _growing(f"/steps/{place}/items/0", THOUGHTS, [[chunk] for chunk in _thoughts(entry)])
    return frames


def text_frames(answer: TextItem) -> Callable[[Entry], list[Json]]:
    """The frames in which the answer's item comes and grows."""

    def frames(entry: Entry) -> list[Json]:
        number = 1 if entry.reply.thoughts else 0
        path = f"/steps/{_answer_place(entry)}/items/{number}"
        return _growing(path, answer, [group.chunks for group in grouped(entry.reply.chunks)])

    return frames


def last(answer: TextItem) -> Callable[[Entry], Json]:
    """The finished workflow, told whole."""

    def blocks_of(entry: Entry) -> Json:
        items = [THOUGHTS.build(_thoughts(entry), whole=True)] if entry.reply.thoughts else []
        items.append(answer.build(entry.reply.chunks, whole=True))
        steps = [_search_step(entry)] if entry.reply.pages else []
        steps.append({**_ANSWER_STEP, "status": "COMPLETED", "items": items})
        workflow: Json = {**_head(entry, "WORKFLOW_COMPLETED"), "completed_at": entry.created, "steps": steps}
        return {"blocks": [Block(USAGE, FIELD, workflow).whole(), *_rest(entry)]}

    return blocks_of


def _rest(entry: Entry) -> list[Json]:
    """What a workflow has no item for."""
    pictures = [blocks.media(entry.reply.pictures).whole()] if entry.reply.pictures else []
    report = [blocks.assets(entry.reply.report).whole()] if entry.reply.report else []
    return pictures + report


def _head(entry: Entry, status: str) -> Json:
    return {"version": 1, "status": status, "headline": entry.title, "started_at": entry.created, "snapshots": []}


def _search_frames(entry: Entry) -> list[Json]:
    queries, sources = _search_items(entry)
    return [
        _frame(_add("/steps/0", {**_search_step(entry), "status": "RUNNING", "items": [queries]})),
        _frame(_add("/steps/0/items/1", sources), _replace("/steps/0/status", "COMPLETED")),
    ]


def _search_step(entry: Entry) -> Json:
    items = list(_search_items(entry))
    return {"id": "st-search", "status": "COMPLETED", "title": "Searching", "tool_name": "search_web", "items": items}


def _search_items(entry: Entry) -> tuple[Json, Json]:
    queries = [{"query": query, "engine": "web"} for query in entry.reply.queries]
    sources = [blocks.web_result(page) for page in entry.reply.pages]
    return (
        _item("it-queries", "WORKFLOW_ITEM_QUERIES", {"queries_payload": {"queries": queries}}),
        _item("it-sources", "WORKFLOW_ITEM_SOURCES", {"sources_payload": {"sources": sources}}),
    )


def _item(item_id: str, kind: str, payload: Json) -> Json:
    return {"id": item_id, "type": kind, "display_mode": "DEFAULT", "variant": None, "payload": payload}


def _thoughts(entry: Entry) -> list[str]:
    return [f"{thought}\n" for thought in entry.reply.thoughts]


def _answer_place(entry: Entry) -> int:
    return 1 if entry.reply.pages else 0


def _growing(path: str, item: TextItem, groups: list[list[str]]) -> list[Json]:
    """An item that comes with its first chunks, grows by the others, and then says that it is whole."""
    if not groups:
        return []
    text = f"{path}/payload/text_payload"
    frames = [_frame(_add(path, item.build(groups[0], whole=False)))]
    place = len(groups[0])
    for group in groups[1:]:
        frames.append(_frame(*(_add(f"{text}/chunks/{place + n}", chunk) for n, chunk in enumerate(group))))
        place += len(group)
    whole = "".join(chunk for group in groups for chunk in group)
    frames.append(_frame(_replace(f"{text}/text", whole), _replace(f"{text}/is_streaming", False)))
    return frames


def _add(path: str, value: object) -> Json:
    return {"op": "add", "path": path, "value": value}


def _replace(path: str, value: object) -> Json:
    return {"op": "replace", "path": path, "value": value}


def _frame(*patches: Json) -> Json:
    return {"blocks": [patched(USAGE, FIELD, list(patches))]}
