"""What an ask will be answered with, before a form is chosen for it."""

from typing import NamedTuple

import msgspec

from pplx_gateway.emulator import knowledge

MOST_TEXT_FRAMES = 40


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A search result, in the session's words."""

    url: str
    name: str
    snippet: str = ""
    timestamp: str | None = None


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """`image` is the picture's own address, `url` the page that shows it."""

    image: str
    url: str
    name: str = ""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A research report: it is downloaded from `url`; the stream carries no word of it. `size` in bytes."""

    filename: str
    url: str
    size: int


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """`text` holds marks `[n]` that count `pages` from 1. `thoughts` is empty unless the model thinks; `questions` is
    empty unless the research asks back."""

    text: str
    pages: tuple[Page, ...] = ()
    queries: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    thoughts: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()
    report: Report | None = None
    questions: tuple[str, ...] = ()

    @property
    def chunks(self) -> list[str]:
        """The text in pieces of a few words, a mark at times cut in two. Joined they are the text."""
        return list(knowledge.split(self.text, self.text))


class Group(NamedTuple):
    """The chunks that one frame brings. `start` counts chunks, not characters (docs/wire-session.md 2.5 A)."""

    start: int
    chunks: list[str]

    @property
    def end(self) -> int:
        return self.start + len(self.chunks)


def grouped(chunks: list[str]) -> list[Group]:
    """Chunks by frame: one and two in turn, or more where that would make over MOST_TEXT_FRAMES frames."""
    least = max(1, -(-len(chunks) // MOST_TEXT_FRAMES))
    groups: list[Group] = []
    start = 0
    while start < len(chunks):
        size = least + len(groups) % 2
        groups.append(Group(start, chunks[start : start + size]))
        start += size
    return groups
