"""Form C: JSON patches on one document for each usage and field (docs/wire-session.md 2.5 C)."""

from collections.abc import Sequence

from pplx_gateway.emulator.session.blocks import Block, patched
from pplx_gateway.emulator.session.entry import Entry
from pplx_gateway.emulator.session.frames import Json
from pplx_gateway.emulator.session.markdown import ANSWER, FIELD, MIRROR
from pplx_gateway.emulator.session.reply import Group, grouped


def pack(block: Block) -> Json:
    """A block of the way as patches. Search results come as an empty document that is then filled."""
    if block.usage != "web_results":
        return block.replaced()
    empty = {**block.payload, "progress": "IN_PROGRESS", "web_results": []}
    return patched(
        block.usage,
        block.field,
        [
            {"op": "replace", "path": "", "value": empty},
            {"op": "replace", "path": "/web_results", "value": block.payload["web_results"]},
            {"op": "replace", "path": "/progress", "value": "DONE"},
        ],
    )


def goal_reached() -> Json:
    """The first goal of the plan is ticked off."""
    return patched(
        "plan",
        "plan_block",
        [
            {"op": "replace", "path": "/goals/0/final", "value": True},
            {"op": "replace", "path": "/goals/0/todo_task_status", "value": "COMPLETED"},
        ],
    )


def text_frames(entry: Entry) -> list[Json]:
    """All of the text, its end included."""
    groups = grouped(entry.reply.chunks)
    return [_frame(_group_patches(group)) for group in groups] + [_frame(_end_patches(entry))]


def unfinished_frames(entry: Entry) -> list[Json]:
    """The text but for its last chunks."""
    return [_frame(_group_patches(group)) for group in grouped(entry.reply.chunks)[:-1]]


def last(entry: Entry) -> Json:
    """The last chunks and the end, as patches: what COMPLETED holds where nothing is ever told whole."""
    groups = grouped(entry.reply.chunks)
    rest = _group_patches(groups[-1]) if groups else []
    return _frame([*rest, {"op": "replace", "path": "/progress", "value": "DONE"}])


def _group_patches(group: Group) -> list[Json]:
    if group.start == 0:
        whole = {"progress": "IN_PROGRESS", "chunks": group.chunks, "chunk_starting_offset": 0}
        return [{"op": "replace", "path": "", "value": whole}]
    return [
        {"op": "add", "path": f"/chunks/{index}", "value": chunk}
        for index, chunk in enumerate(group.chunks, group.start)
    ]


def _end_patches(entry: Entry) -> list[Json]:
    return [
        {"op": "replace", "path": "/progress", "value": "DONE"},
        {"op": "add", "path": "/answer", "value": entry.reply.text},
    ]


def _frame(patches: Sequence[Json]) -> Json:
    return {"blocks": [patched(usage, FIELD, list(patches)) for usage in (MIRROR, ANSWER)]}
