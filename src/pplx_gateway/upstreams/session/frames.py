"""From an SSE event to a frame (docs/wire-session.md 2.1 to 2.4). No I/O, never an exception.

Two ways: a typed decode of the few fields that an answer needs (about 8 us for a 6 KB event), and, where that fails, a
slower one through the standard library that takes wrong types, bad UTF-8 and lone surrogates and skips what it cannot
use. A missing key means "no change", so every field may be absent.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from pplx_gateway.sse import Event
from pplx_gateway.upstreams.session.letters import whole, whole_value
from pplx_gateway.upstreams.session.oddities import Oddities

OptionalRaw = Raw | UnsetType


class MarkdownBlock(Struct):
    """Text. `chunk_starting_offset` is the index of the first chunk, not a character position (2.4)."""

    progress: str | None = None
    chunks: list[str] | None = None
    chunk_starting_offset: int | None = None
    answer: str | None = None


class Patch(Struct):
    """One operation of a JSON patch; `value` is plain JSON."""

    op: str | None = None
    path: str | None = None
    value: Any = None


class DiffBlock(Struct):
    field: str | None = None
    patches: list[Patch] | None = None


class Block(Struct):
    """One part of the payload: `intended_usage`, and one payload key or a `diff_block` in its place."""

    intended_usage: str | None = None
    markdown_block: MarkdownBlock | None = None
    diff_block: DiffBlock | None = None
    plan_block: OptionalRaw = UNSET
    reasoning_plan_block: OptionalRaw = UNSET
    web_result_block: OptionalRaw = UNSET
    sources_mode_block: OptionalRaw = UNSET
    media_block: OptionalRaw = UNSET
    image_mode_block: OptionalRaw = UNSET
    pending_followups_block: OptionalRaw = UNSET
    assets_mode_block: OptionalRaw = UNSET
    unified_assets_block: OptionalRaw = UNSET
    workflow_block: OptionalRaw = UNSET


class Frame(Struct):
    """The payload of one event, as far as an answer needs it."""

    status: str | None = None
    final: bool | None = None
    final_sse_message: bool | None = None
    backend_uuid: str | None = None
    uuid: str | None = None
    context_uuid: str | None = None
    read_write_token: str | None = None
    thread_url_slug: str | None = None
    display_model: str | None = None
    user_selected_model: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    experience: str | None = None
    blocks: list[Block | None] | None = None
    error: OptionalRaw = UNSET
    text: OptionalRaw = UNSET
    upsell_information: OptionalRaw = UNSET
    web_results: OptionalRaw = UNSET
    media_items: OptionalRaw = UNSET
    related_queries: OptionalRaw = UNSET
    related_query_items: OptionalRaw = UNSET

    def __repr__(self) -> str:
        return f"Frame(status={self.status!r}, blocks={len(self.blocks or ())})"  # no token, no text

    @property
    def counts(self) -> bool:
        """True for a frame of the answer; False for a ping in a frame's clothes (`{}`, `{"type": "keepalive"}`)."""
        return (
            self.status is not None
            or self.blocks is not None
            or self.backend_uuid is not None
            or self.text is not UNSET
            or self.error is not UNSET
            or self.error_code is not None
            or self.final_sse_message is not None
            or self.web_results is not UNSET
            or self.related_queries is not UNSET
            or self.display_model is not None
        )


class EndOfStream:
    """The event `end_of_stream`, or a `[DONE]`."""


END: Final = EndOfStream()
BROKEN = "broken_frame"  # among the oddities: what began as a frame and is no JSON
SLOW = "slow_frame"  # among the oddities: strings of such frames may hold halves of letters

_FAST = msgspec.json.Decoder(Frame)
_TEXTS = (
    "status",
    "backend_uuid",
    "uuid",
    "context_uuid",
    "read_write_token",
    "thread_url_slug",
    "display_model",
    "user_selected_model",
    "error_code",
    "error_message",
    "experience",
)
_FLAGS = ("final", "final_sse_message")
_FRAME_RAWS = (
    "error",
    "text",
    "upsell_information",
    "web_results",
    "media_items",
    "related_queries",
    "related_query_items",
)
BLOCK_RAWS = tuple(
    name for name in Block.__struct_fields__ if name.endswith("_block") and name not in ("markdown_block", "diff_block")
)


def decode(event: Event, oddities: Oddities) -> Frame | EndOfStream | None:
    """The frame of `event`; END; or None for what carries nothing (pings, empty data, text that is not JSON).

    The JSON decides, not the event's name, except for an end and an error.
    """
    data = event.data
    if event.event == "error":
        return _error(data, oddities)
    frame = _frame(data, oddities)
    if frame is not None and frame.counts:
        return frame
    if event.event == "end_of_stream" or data.strip() == b"[DONE]":
        return END
    return None


def _frame(data: bytes, oddities: Oddities) -> Frame | None:
    try:
        return _FAST.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return _tolerant(data, oddities)


def _error(data: bytes, oddities: Oddities) -> Frame:
    """An `event: error`; its data may be a frame, an object of any shape, or no JSON at all."""
    frame = _frame(data, oddities)
    if frame is not None and (frame.status is not None or frame.error is not UNSET or frame.error_code is not None):
        return frame
    value = parse(data)
    return Frame(error=raw(data.decode("utf-8", "replace") if value is None else value))


def _tolerant(data: bytes, oddities: Oddities) -> Frame | None:
    document = _parse_halves(data)
    if isinstance(document, dict):
        oddities.note(SLOW)
        return from_document(document, oddities)
    if data.strip() not in (b"", b"null", b"[DONE]"):
        oddities.note(BROKEN if data.lstrip().startswith(b"{") else "not_an_object")
    return None


def parse(data: bytes | Raw, *, halves: bool = False) -> Any:
    """Plain JSON of `data`, by whichever parser takes it; None where none does. Strings hold no halves of letters,
    unless `halves` are wanted, to be joined with what comes next."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        value = _parse_halves(bytes(data))
        return value if halves else whole_value(value)


def _parse_halves(data: bytes) -> Any:
    """msgspec refuses half a letter (`"\\ud83d"` of a split emoji), the standard library keeps it."""
    try:
        return json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def raw(value: object) -> Raw:
    return Raw(json.dumps(value).encode())


def from_document(document: Mapping[str, Any], oddities: Oddities) -> Frame:
    """A frame from plain JSON, wrong types left out; an entry of a thread (6.2) has the same fields."""
    frame = Frame()
    for name in _TEXTS:
        setattr(frame, name, _text(document.get(name)))
    for name in _FLAGS:
        value = document.get(name)
        setattr(frame, name, value if isinstance(value, bool) else None)
    for name in _FRAME_RAWS:
        if document.get(name) is not None:
            setattr(frame, name, raw(document[name]))
    frame.blocks = _blocks(document.get("blocks"), oddities)
    return frame


def _text(value: object) -> str | None:
    if isinstance(value, str):
        return whole(value)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _blocks(value: object, oddities: Oddities) -> list[Block | None] | None:
    if not isinstance(value, list):
        return None
    return [_block(item, oddities) if isinstance(item, dict) else None for item in value]


def _block(value: Mapping[str, Any], oddities: Oddities) -> Block:
    block = Block(intended_usage=_text(value.get("intended_usage")))
    if isinstance(markdown := value.get("markdown_block"), dict):
        block.markdown_block = markdown_block(markdown, oddities)
    if isinstance(diff := value.get("diff_block"), dict):
        block.diff_block = _diff(diff)
    for name in BLOCK_RAWS:
        if value.get(name) is not None:
            setattr(block, name, raw(value[name]))
    return block


def markdown_block(value: Mapping[str, Any], oddities: Oddities) -> MarkdownBlock:
    """A chunk of a wrong type counts as empty, so that the indices of the others stay right."""
    chunks, offset = value.get("chunks"), value.get("chunk_starting_offset")
    if isinstance(chunks, list) and not all(isinstance(chunk, str) for chunk in chunks):
        oddities.note("chunk_not_text")
        chunks = [chunk if isinstance(chunk, str) else "" for chunk in chunks]
    return MarkdownBlock(
        progress=_text(value.get("progress")),
        chunks=chunks if isinstance(chunks, list) else None,
        chunk_starting_offset=offset if isinstance(offset, int) else None,
        answer=_text(value.get("answer")),
    )


def _diff(value: Mapping[str, Any]) -> DiffBlock:
    patches = value.get("patches")
    return DiffBlock(
        field=_text(value.get("field")),
        patches=[_patch(patch) for patch in patches] if isinstance(patches, list) else None,
    )


def _patch(value: object) -> Patch:
    if not isinstance(value, dict):
        return Patch(op="not an object")
    return Patch(op=_text(value.get("op")), path=_text(value.get("path")), value=value.get("value"))
