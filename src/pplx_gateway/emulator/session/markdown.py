"""Forms A and B: text in markdown blocks (docs/wire-session.md 2.5), told twice under two usages."""

from typing import NamedTuple

from pplx_gateway.emulator.session.blocks import Block
from pplx_gateway.emulator.session.entry import Entry
from pplx_gateway.emulator.session.frames import Json
from pplx_gateway.emulator.session.reply import Group, grouped

ANSWER = "ask_text"
MIRROR = "ask_text_0_markdown"
FIELD = "markdown_block"
MIRROR_ONLY = (MIRROR,)


class Style(NamedTuple):
    """`cumulative`: every frame repeats all chunks. `numbered`: frames say at which index their chunks begin.
    `held_back`: the last chunks come in COMPLETED only."""

    usages: tuple[str, ...] = (MIRROR, ANSWER)
    cumulative: bool = False
    numbered: bool = True
    held_back: bool = False


def frames(entry: Entry, style: Style) -> list[list[Json]]:
    """The blocks of every text frame."""
    groups = grouped(entry.reply.chunks)
    if style.held_back:
        groups = groups[:-1]
    so_far: list[str] = []
    result: list[list[Json]] = []
    for group in groups:
        so_far += group.chunks
        payload = _payload(Group(0, list(so_far)) if style.cumulative else group, numbered=style.numbered)
        result.append([_block(usage, payload) for usage in style.usages])
    return result


def done(entry: Entry) -> list[Json]:
    """The whole text at the end: the mirror has it in one chunk, the answer in all of them."""
    return [*done_mirror(entry), _block(ANSWER, _done(entry, entry.reply.chunks))]


def done_mirror(entry: Entry) -> list[Json]:
    return [_block(MIRROR, _done(entry, [entry.reply.text]))]


def remainder(entry: Entry) -> list[Json]:
    """An end that brings only the last chunks, and no `answer`."""
    groups = grouped(entry.reply.chunks)
    last = groups[-1] if groups else Group(0, [])
    payload: Json = {"progress": "DONE", "chunks": last.chunks, "chunk_starting_offset": last.start}
    return [_block(MIRROR, payload), _block(ANSWER, payload)]


def _payload(group: Group, *, numbered: bool) -> Json:
    payload: Json = {"progress": "IN_PROGRESS", "chunks": group.chunks}
    if numbered:
        payload["chunk_starting_offset"] = group.start
    return payload


def _done(entry: Entry, chunks: list[str]) -> Json:
    return {"progress": "DONE", "chunks": chunks, "chunk_starting_offset": 0, "answer": entry.reply.text}


def _block(usage: str, payload: Json) -> Json:
    if usage == MIRROR:
        payload = {**payload, "inline_token_annotations": []}
    return Block(usage, FIELD, payload).whole()
