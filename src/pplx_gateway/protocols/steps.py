"""An answer's way in words: search steps and sources between the model's own thoughts, as one text."""

from collections.abc import Iterable
from typing import NamedTuple

from pplx_gateway.answer import SearchStep, Source

_SEARCHING, _READING, _FOUND = "Searching: ", "Reading: ", "Found: "


class ToldOfSteps(NamedTuple):
    """A reasoning text taken apart again: the thoughts in it, and the pages that were read."""

    thoughts: str
    read: list[str]


def told_of_steps(text: str) -> ToldOfSteps:
    """For those who have searches and sources from elsewhere."""
    lines = text.splitlines()
    own = [line for line in lines if not line.startswith((_SEARCHING, _READING, _FOUND))]
    read = [line.removeprefix(_READING) for line in lines if line.startswith(_READING)]
    return ToldOfSteps("\n".join(own).strip(), read)


class ReasoningText:
    """Gives the parts of one reasoning text, which are joined with nothing between them.

    Thoughts pass as they are. Steps and sources are told only if `show_steps`, each on a line of its own; sources wait
    for what comes next, and are not told once the answer's own text has begun.
    """

    def __init__(self, *, show_steps: bool) -> None:
        self._show_steps = show_steps
        self._text_began = False
        self._told: set[int] = set()
        self._waiting: list[Source] = []
        self._line_open = False

    def thought(self, text: str) -> str:
        if not text:
            return ""
        before = self._sources()
        self._line_open = not text.endswith("\n")
        return before + text

    def step(self, step: SearchStep) -> str:
        if not self._show_steps:
            return ""
        return self._sources() + self._lines(_lines_of_step(step))

    def found(self, sources: Iterable[Source]) -> None:
        if self._show_steps and not self._text_began:
            fresh = [source for source in sources if source.id not in self._told]
            self._told.update(source.id for source in fresh)
            self._waiting += fresh

    def text_begins(self) -> str:
        """What is still to be told before the answer's own text."""
        if self._text_began:
            return ""
        self._text_began = True
        return self._sources()

    def _sources(self) -> str:
        waiting, self._waiting = self._waiting, []
        return self._lines([f"{_FOUND}{source.title or source.url} ({source.url})" for source in waiting])

    def _lines(self, lines: list[str]) -> str:
        if not lines:
            return ""
        start = "\n" if self._line_open else ""
        self._line_open = False
        return start + "\n".join(lines) + "\n"


def _lines_of_step(step: SearchStep) -> list[str]:
    lines = [step.text.strip()] if step.text.strip() else []
    lines += [f"{_SEARCHING}{query}" for query in step.queries]
    lines += [f"{_READING}{url}" for url in step.urls]
    return lines
