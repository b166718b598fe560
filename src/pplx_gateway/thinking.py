"""Splits a leading `<think>...</think>` block off an answer: some models write their reasoning into the text.

Only a block at the very start counts, after at most a thousand characters of white space; a tag further on is part of
the answer. White space before the block and right after it is dropped, what is between the tags is kept as it is. A
block that nothing closes is reasoning to the end. Of a missing opener only the plain case is seen: a text that starts
with `</think>` loses that tag. To find more, every answer would have to wait for a closing tag that hardly ever comes.
"""

from enum import Enum
from typing import NamedTuple

_OPENER = "<think>"
_CLOSER = "</think>"
_BLANK_LIMIT = 1024


class Split(NamedTuple):
    reasoning: str
    content: str


class _Phase(Enum):
    BEFORE = "before"
    INSIDE = "inside"
    BEHIND = "behind"
    DONE = "done"


class ThinkingSplitter:
    """`feed` returns what is decided, `close` what was held back. Joined, each part is the same however the text was
    cut. Feeding may go on after `close`."""

    def __init__(self) -> None:
        self._phase = _Phase.BEFORE
        self._held = ""

    @property
    def done(self) -> bool:
        """True once all that follows is content, and nothing is held back."""
        return self._phase is _Phase.DONE

    def feed(self, text: str) -> Split:
        if self._phase is _Phase.DONE:
            return Split("", text)
        text, self._held = self._held + text, ""
        if self._phase is _Phase.BEFORE:
            text = self._open(text)
        reasoning = ""
        if self._phase is _Phase.INSIDE:
            reasoning, text = self._reason(text)
        if self._phase is _Phase.BEHIND:
            text = self._begin(text)
        return Split(reasoning, text)

    def close(self) -> Split:
        """Decides as if the text ended here."""
        held, self._held = self._held, ""
        if self._phase is _Phase.INSIDE:
            return Split(held, "")
        if held:
            self._phase = _Phase.DONE
        return Split("", held)

    def _open(self, text: str) -> str:
        stripped = text.lstrip()
        if len(text) - len(stripped) > _BLANK_LIMIT:
            self._phase = _Phase.DONE
            return text
        if stripped.startswith(_OPENER):
            self._phase = _Phase.INSIDE
            return stripped.removeprefix(_OPENER)
        if stripped.startswith(_CLOSER):
            self._phase = _Phase.BEHIND
            return stripped.removeprefix(_CLOSER)
        if _OPENER.startswith(stripped) or _CLOSER.startswith(stripped):
            self._held = text
            return ""
        self._phase = _Phase.DONE
        return text

    def _reason(self, text: str) -> Split:
        reasoning, closer, content = text.partition(_CLOSER)
        if closer:
            self._phase = _Phase.BEHIND
            return Split(reasoning, content)
        held = overlap(text, _CLOSER)
        self._held = text[len(text) - held :]
        return Split(text[: len(text) - held], "")

    def _begin(self, text: str) -> str:
        text = text.lstrip()
        if text:
            self._phase = _Phase.DONE
        return text


def overlap(text: str, wanted: str) -> int:
    """The length of the longest end of `text` that `wanted` begins with, `wanted` as a whole left out."""
    longest = min(len(text), len(wanted) - 1)
    return next((length for length in range(longest, 0, -1) if text.endswith(wanted[:length])), 0)
