"""The text of one markdown block, put together from chunks (docs/wire-session.md 2.5 A to C).

Chunks have places: an explicit offset is obeyed, so pieces may come late, twice or over each other. Appending costs
nothing beyond the new chunks; whatever changes older ones counts as a rewrite, after which only a comparison of whole
texts tells what is new.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from pplx_gateway.upstreams.session.frames import MarkdownBlock, Patch, markdown_block
from pplx_gateway.upstreams.session.json_patch import BadPatch, keys_of
from pplx_gateway.upstreams.session.oddities import Oddities

MAX_GAP_CHUNKS = 4096  # an offset further ahead is nonsense, not a gap


class LiveText(Protocol):
    """A text that grows. `since(mark)` is what was appended after `mark` was taken; None = compare the whole text."""

    @property
    def text(self) -> str: ...

    def mark(self) -> object: ...

    def since(self, mark: object, /) -> str | None: ...


class Mark(NamedTuple):
    rewrites: int
    ready: int


class ChunkedText:
    """`answer` is the upstream's own joined text, once it sends one; `done` = the block says so."""

    def __init__(self, oddities: Oddities) -> None:
        self.answer: str | None = None
        self.done = False
        self._oddities = oddities
        self._chunks: list[str | None] = []
        self._base = 0  # the place of the document's first chunk, for paths of patches
        self._ready = 0  # chunks before the first gap
        self._rewrites = 0
        self._dirty = False

    @property
    def text(self) -> str:
        """The text up to the first gap."""
        return "".join(chunk for chunk in self._chunks[: self._ready] if chunk)

    @property
    def empty(self) -> bool:
        return not self._ready and not self.answer

    @property
    def intact(self) -> bool:
        """False while a piece is missing: a gap that was never filled, or a patch that did not fit."""
        return not self._dirty and self._ready == len(self._chunks)

    def mark(self) -> Mark:
        return Mark(self._rewrites, self._ready)

    def since(self, mark: object, /) -> str | None:
        if not isinstance(mark, Mark) or mark.rewrites != self._rewrites:
            return None
        if mark.ready == self._ready:
            return ""
        return "".join(chunk for chunk in self._chunks[mark.ready : self._ready] if chunk)

    def merge(self, block: MarkdownBlock) -> None:
        """Takes a block that came whole, not as patches."""
        if block.progress == "DONE":
            self.done = True
        if block.chunks:
            if block.chunk_starting_offset is None:
                self._guess(block.chunks)
            elif block.chunk_starting_offset == 0:
                self._snapshot(block.chunks)
            else:
                self._place(block.chunk_starting_offset, block.chunks)
        if block.answer:
            self.answer = block.answer

    def apply(self, patches: Sequence[Patch]) -> None:
        """Takes JSON patches. One that does not fit makes the text wait for the next snapshot."""
        for patch in patches:
            try:
                self._apply(patch)
            except BadPatch:
                self._dirty = True
                self._oddities.note("bad_patch")

    # placing

    def _guess(self, chunks: list[str]) -> None:
        """No offset: a snapshot if it begins with what is held, else more text (2.5 B)."""
        held, joined = self.text, "".join(chunks)
        if joined.startswith(held) or (self.done and held.startswith(joined)):
            self._snapshot(chunks)
        else:
            self._place(len(self._chunks), chunks)

    def _snapshot(self, chunks: list[str]) -> None:
        """Everything from the start. A shorter one that only repeats the beginning takes nothing away (2.9)."""
        held = self._chunks
        self._base = 0
        if held[: len(chunks)] == chunks:
            self._dirty = self._dirty and len(chunks) < len(held)
            return
        if chunks[: len(held)] == held:
            self._dirty = False
            self._place(len(held), chunks[len(held) :])
            return
        before, joined = self.text, "".join(chunks)
        if joined != before and before.startswith(joined):
            return
        self._replace(chunks)

    def _replace(self, chunks: Sequence[str]) -> None:
        self._chunks = list(chunks)
        self._base = 0
        self._ready = len(chunks)
        self._rewrites += 1
        self._dirty = False

    def _place(self, offset: int, chunks: Sequence[str]) -> None:
        held = self._chunks
        gap = offset - len(held)
        if gap == 0:
            held.extend(chunks)
            if self._ready == offset:
                self._ready = len(held)
                return
        elif gap > MAX_GAP_CHUNKS or offset < 0:
            self._oddities.note("offset_out_of_range")
            self._dirty = True
            return
        elif gap > 0:
            held.extend([None] * gap)
            held.extend(chunks)
        else:
            self._overlay(offset, chunks)
        self._advance()

    def _overlay(self, offset: int, chunks: Sequence[str]) -> None:
        held = self._chunks
        for place, chunk in enumerate(chunks, offset):
            if place >= len(held):
                held.append(chunk)
            elif held[place] != chunk:
                if place < self._ready:
                    self._rewrites += 1
                held[place] = chunk

    def _advance(self) -> None:
        held, ready = self._chunks, self._ready
        while ready < len(held) and held[ready] is not None:
            ready += 1
        self._ready = ready

    # patches

    def _apply(self, patch: Patch) -> None:
        if not patch.path:
            self._whole(patch)
            return
        match keys_of(patch.path):
            case ["chunks"]:
                self._list(patch)
            case ["chunks", key]:
                self._chunk(key, patch)
            case ["answer"]:
                self.answer = patch.value if isinstance(patch.value, str) and patch.op != "remove" else None
            case ["progress"]:
                self.done = self.done or patch.value == "DONE"
            case _:
                pass  # annotations and the like: nothing of the text

    def _whole(self, patch: Patch) -> None:
        """A new document; or, seen in one client's fixture, a bare `{text}` without op and path."""
        value = patch.value
        if not isinstance(value, dict) or patch.op == "remove":
            raise BadPatch
        if isinstance(value.get("text"), str) and "chunks" not in value:
            self._guess([value["text"]])
            return
        block = markdown_block(value, self._oddities)
        offset = block.chunk_starting_offset or 0
        if offset:
            self.merge(block)
            self._base = offset
            return
        self.done = block.progress == "DONE"
        self.answer = block.answer or None
        self._document(block.chunks or [])

    def _list(self, patch: Patch) -> None:
        if patch.op == "remove" or not isinstance(patch.value, list):
            raise BadPatch
        self._document(markdown_block({"chunks": patch.value}, self._oddities).chunks or [])

    def _document(self, chunks: list[str]) -> None:
        """A document says what there is, so here, unlike in a snapshot, fewer chunks are fewer."""
        held = len(self._chunks)
        if chunks[:held] == self._chunks:
            self._dirty = False
            self._place(held, chunks[held:])
        else:
            self._replace(chunks)

    def _chunk(self, key: str, patch: Patch) -> None:
        if self._dirty:
            return
        place = self._place_of(key)
        if patch.op == "remove":
            self._remove(place)
        elif not isinstance(patch.value, str) or patch.op not in ("add", "replace"):
            raise BadPatch
        elif patch.op == "add" and place < len(self._chunks) and self._chunks[place] not in (patch.value, None):
            self._insert(place, patch.value)
        else:
            self._place(place, [patch.value])

    def _place_of(self, key: str) -> int:
        if key == "-":
            return len(self._chunks)
        if not (key.isascii() and key.isdigit()) or len(key) > 9:
            raise BadPatch
        return self._base + int(key)

    def _insert(self, place: int, chunk: str) -> None:
        """RFC 6902: what stands there moves up."""
        self._chunks.insert(place, chunk)
        self._changed(place)

    def _remove(self, place: int) -> None:
        if place >= len(self._chunks):
            raise BadPatch
        del self._chunks[place]
        self._changed(place)

    def _changed(self, place: int) -> None:
        if place < self._ready:
            self._rewrites += 1
            self._ready = place
        self._advance()


def texts_of(value: Any) -> list[str]:
    """The strings in a list, whatever else it may be or hold."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
