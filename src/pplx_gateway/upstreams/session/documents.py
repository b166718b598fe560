"""The JSON documents behind an answer's other blocks: whole ones, or patched ones (docs/wire-session.md 2.5 C)."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct

from pplx_gateway.upstreams.session.frames import BLOCK_RAWS, SLOW, Block, Patch, parse
from pplx_gateway.upstreams.session.json_patch import BadPatch, apply
from pplx_gateway.upstreams.session.letters import whole_value
from pplx_gateway.upstreams.session.oddities import Oddities

WORKFLOW = "workflow_block"  # its chunks may end in half a letter: they are joined first
WEB_RESULTS = "web_result_block"

FIELD_OF_USAGE = {
    "plan": "plan_block",
    "pro_search_steps": "plan_block",
    "reasoning_plan": "reasoning_plan_block",
    "web_results": WEB_RESULTS,
    "sources_answer_mode": "sources_mode_block",
    "media_items": "media_block",
    "image_answer_mode": "image_mode_block",
    "pending_followups": "pending_followups_block",
    "assets_answer_mode": "assets_mode_block",
    "unified_assets": "unified_assets_block",
    "workflow_root": WORKFLOW,
}

Key = tuple[str, str]


class Documents:
    """One document for each usage and field. After a patch that does not fit, a document waits until it comes whole.

    A whole document is kept as bytes: parsed it takes several times the room, and few are ever patched."""

    def __init__(self, oddities: Oddities) -> None:
        self._oddities = oddities
        self._wholes: dict[Key, Raw] = {}
        self._changed: dict[Key, Any] = {}  # by patches, or made of nothing else
        self._dirty: set[Key] = set()

    def take(self, usage: str, block: Block) -> tuple[str, Any] | None:
        """The field and the new document of `block`; None if nothing changed, or nothing can be read."""
        field = FIELD_OF_USAGE.get(usage)
        if block.diff_block is not None:
            field = block.diff_block.field or field
            if field not in BLOCK_RAWS:
                self._oddities.note("block", usage)
                return None
            return self._patched((usage, field), block.diff_block.patches or ())
        payload = getattr(block, field) if field else UNSET
        if payload is UNSET:
            field, payload = next(((n, p) for n in BLOCK_RAWS if (p := getattr(block, n)) is not UNSET), ("", UNSET))
        if payload is UNSET or field is None:
            self._oddities.note("block", usage)
            return None
        return self._whole((usage, field), payload)

    def _whole(self, key: Key, payload: Raw) -> tuple[str, Any] | None:
        """Blocks are repeated in frame after frame: equal bytes are not decoded again."""
        if self._wholes.get(key) == payload:
            return None
        whole = self._wholes[key] = payload.copy()  # itself it would keep the whole event
        self._changed.pop(key, None)
        self._dirty.discard(key)
        return key[1], _listing(whole) if key[1] == WEB_RESULTS else _document(key, whole)

    def _patched(self, key: Key, patches: Sequence[Patch]) -> tuple[str, Any] | None:
        if (whole := self._wholes.pop(key, None)) is not None:
            self._changed[key] = _document(key, whole)
        for patch in patches:
            if patch.path == "" and patch.op != "remove":
                self._dirty.discard(key)
            if key in self._dirty:
                continue
            try:
                self._changed[key] = apply(self._changed.get(key), patch)
            except BadPatch:
                self._oddities.note("bad_patch")
                self._dirty.add(key)
        if key in self._dirty:
            return None
        document = self._changed.get(key)
        halves = SLOW in self._oddities.counts and key[1] != WORKFLOW
        return key[1], whole_value(document) if halves else document


def _document(key: Key, payload: Raw) -> Any:
    return parse(payload, halves=key[1] == WORKFLOW)


class _Listing(Struct):
    web_results: list[Raw] | None = None


_LISTINGS = msgspec.json.Decoder(_Listing)


def _listing(payload: Raw) -> Any:
    """The long list comes in frame after frame with little new in it: its entries stay bytes, to be compared first."""
    try:
        return {"web_results": _LISTINGS.decode(payload).web_results}
    except (msgspec.DecodeError, RecursionError):
        return parse(payload)
