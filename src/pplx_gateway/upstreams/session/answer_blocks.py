"""The usages that carry the answer: `ask_text`, and `ask_text_N_markdown` (docs/wire-session.md 2.4).

Number 0 alone mirrors `ask_text`; in reports the numbers are sections. One of the two is used, never both: `ask_text`
as soon as it has text.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from pplx_gateway.upstreams.session.chunks import ChunkedText, LiveText
from pplx_gateway.upstreams.session.oddities import Oddities

SECTION_SEPARATOR = "\n"  # public captures of both forms of one answer meet on exactly one line break
_SECTION = re.compile(r"ask_text_(\d{1,4})_markdown")


class FinalText(NamedTuple):
    """`authoritative`: the upstream's own joined `answer`, which may be shorter than what was streamed."""

    text: str
    authoritative: bool


class Sections:
    """Numbered sections as one text. A section is shown while those before it are done, so nothing shown moves."""

    def __init__(self, sections: Mapping[int, ChunkedText]) -> None:
        self._sections = sections

    @property
    def text(self) -> str:
        parts = []
        for number in range(len(self._sections)):
            section = self._sections.get(number)
            if section is None:
                break
            parts.append(section.text)
            if not section.done:
                break
        return SECTION_SEPARATOR.join(parts)

    def mark(self) -> None:
        return None

    def since(self, _mark: object, /) -> None:
        return None


class AnswerBlocks:
    def __init__(self, oddities: Oddities) -> None:
        self._oddities = oddities
        self._whole = ChunkedText(oddities)
        self._numbered: dict[int, ChunkedText] = {}
        self._sections = Sections(self._numbered)
        self._by_usage: dict[str, ChunkedText | None] = {"ask_text": self._whole}

    def of(self, usage: str) -> ChunkedText | None:
        """The text that `usage` carries; None for usages that carry none of the answer."""
        if usage in self._by_usage:
            return self._by_usage[usage]
        section = _SECTION.fullmatch(usage)
        found = self._by_usage[usage] = ChunkedText(self._oddities) if section else None
        if found is not None and section is not None:
            self._numbered[int(section[1])] = found
        return found

    @property
    def live(self) -> LiveText | None:
        """What to stream; None while there is nothing."""
        if not self._whole.empty:
            return self._whole
        if self._numbered.keys() == {0}:
            return self._numbered[0]
        return self._sections if self._numbered else None

    @property
    def broken(self) -> bool:
        """There is text, and a piece of it is missing."""
        return any(text and not text.empty for text in self._by_usage.values()) and self.final() is None

    def final(self) -> FinalText | None:
        """The best text at the end, or None if there is none without a gap."""
        if self._whole.answer:
            return FinalText(self._whole.answer, authoritative=True)
        whole = self._whole.text if self._whole.intact else ""
        sections = self._joined()
        if sections and (not whole or sections.text.startswith(whole)):
            return sections
        return FinalText(whole, authoritative=False) if whole else None

    def _joined(self) -> FinalText | None:
        sections = [text for _, text in sorted(self._numbered.items()) if not text.empty]
        if not sections or not all(text.answer or text.intact for text in sections):
            return None
        joined = SECTION_SEPARATOR.join(text.answer or text.text for text in sections)
        return FinalText(joined, authoritative=all(text.answer for text in sections))
