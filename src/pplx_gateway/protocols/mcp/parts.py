"""One part of a long answer: some of its text, and of its sources. A cursor says where the next one begins."""

from collections.abc import Sequence
from typing import NamedTuple

from pplx_agent_mcp import MAX_ANSWER, NO_ANSWER, Source, cut_at_paragraph

from pplx_gateway.protocols.mcp.answers import Kept

MOST_OF_SOURCES = 20_000
"""Characters of one part's list of sources, unless the answer cites more."""
_INCOMPLETE = "Note: this answer is INCOMPLETE; it may be partial."


class Part(NamedTuple):
    """`answer[start:end]` with the `sources` that are listed below it. `following` = the next part's cursor: a place in
    the answer, or, behind its end, the number of a source counted from there. None = this is the last part."""

    start: int
    end: int
    sources: Sequence[Source]
    following: int | None

    def body(self, kept: Kept) -> str:
        """The text of the part, from the web all of it."""
        answer = kept.answer
        texts = [_INCOMPLETE] if kept.status == "incomplete" else []
        if self.start < self.end:
            texts.append(answer[self.start : self.end].rstrip() + ("…" if self.end < len(answer) else ""))
        elif not answer.strip():
            texts.append(NO_ANSWER)
        if self.sources:
            texts.append("\n".join(["Sources:", *(source.line() for source in self.sources)]))
        return "\n\n".join(texts)

    def note(self, kept: Kept) -> str:
        """What of the whole this is."""
        return (
            f"This is a part: characters {self.start} to {self.end} of {len(kept.answer)}, and {len(self.sources)} of "
            f"{len(kept.sources)} sources."
        )


def part_at(kept: Kept, cursor: int) -> Part | None:
    """The part that begins at `cursor`; None if the answer and its sources end before it."""
    answer, sources = kept.answer, kept.sources
    if cursor and cursor >= len(answer) + len(sources):
        return None
    start = min(cursor, len(answer))
    end = start + cut_at_paragraph(answer[start:], MAX_ANSWER)
    first = cursor - start
    listed = _listed(sources[first:], 0 if first else kept.cited)
    if end < len(answer):
        return Part(start, end, listed, end)
    last = first + len(listed)
    return Part(start, end, listed, None if last == len(sources) else len(answer) + last)


def _listed(sources: Sequence[Source], cited: int) -> Sequence[Source]:
    """The first `cited` of them, and more as long as there is room; at least one."""
    room = MOST_OF_SOURCES
    for place, source in enumerate(sources):
        room -= len(source.line())
        if room < 0 and place >= max(cited, 1):
            return sources[:place]
    return sources
