"""Tells code from prose in Markdown that arrives in pieces, so that filters built on it never touch code.

Code is: fenced blocks (``` or ~~~, to the end of the text if nothing closes them) and inline spans. Everything else is
prose, indented blocks included, because in answers an indent is nearly always a list. The rules are CommonMark's, with
these simplifications: a fence in a list or a quote ends only at its closing fence; a span may cross a line end, but no
blank line and no start of a block; what would be longer than LOOKAHEAD is not waited for and is no span.

What is told of each character depends on the text alone, never on how it was cut into pieces.
"""

import re
from typing import NamedTuple

LOOKAHEAD = 1024
"""Characters that may be held back until an inline span, or the first line of a fence, is decided."""

_HEAD_LIMIT = 32
_FREE_INDENT = 3

_HEAD = re.compile(r"(?:[ \t]*(?:>|(?:[-*+]|[0-9]{1,9}[.)])(?=[ \t])))*[ \t]*")
_HEAD_CHARS = re.compile(r"[ \t>*+.)0-9-]*")
_RUN = re.compile(r"`+|~+")
_INFO_END = re.compile(r"[`\n]")
_CLOSING = re.compile(r"([ \t>]*)(`{3,}|~{3,})[ \t\r]*(?:\n|\Z)")
_CLOSING_CHARS = {"`": re.compile(r"[ \t>]*`*[ \t\r]*"), "~": re.compile(r"[ \t>]*~*[ \t\r]*")}
_PLAIN = re.compile(r"[^`\\\n]+")
_PROSE_SPECIAL = re.compile(r"[`\\\n]")  # every token begins with one, and a search for these is far quicker
_PROSE_TOKEN = re.compile(r"`+|\n|\\[\\`]?")
_SPAN_TOKEN = re.compile(r"`+|\n")
_BLOCK_START = re.compile(r"[ \t]*(?:\r?\n|>|#|\||[-*+][ \t\r\n]|[0-9]{1,9}[.)][ \t\r\n]|`{3}|~{3}|-{3}|\*{3}|_{3})")


class Segment(NamedTuple):
    """A piece of the text, in order. Neighbours may be of one kind."""

    text: str
    code: bool


class _Fence(NamedTuple):
    char: str
    length: int
    indent: int


class _Step(NamedTuple):
    """The text up to `end` is decided."""

    end: int
    code: bool


class CodeScanner:
    """Cuts text into segments of prose and code; joined, they are the text.

    `feed` holds back what is not decided yet. `close` decides it as if the text ended there; feeding may go on after.
    """

    def __init__(self) -> None:
        self._held = ""
        self._fence: _Fence | None = None
        self._line_start = True
        self._list_indent = 0  # the column at which the text of the current list item begins

    @property
    def in_line(self) -> bool:
        """Within a line of prose, and nothing is held back: text without backtick, backslash and line end is prose."""
        return not (self._held or self._fence or self._line_start)

    def feed(self, text: str) -> list[Segment]:
        if self.in_line and _PLAIN.fullmatch(text):
            return [Segment(text, code=False)]
        return self._scan(text, final=False)

    def close(self) -> list[Segment]:
        return self._scan("", final=True)

    def _scan(self, more: str, *, final: bool) -> list[Segment]:
        text = self._held + more
        segments: list[Segment] = []
        start = position = 0
        code = False
        while position < len(text) and (step := self._step(text, position, final)) is not None:
            if step.code != code:
                if position > start:
                    segments.append(Segment(text[start:position], code))
                start, code = position, step.code
            position = step.end
        if position > start:
            segments.append(Segment(text[start:position], code))
        self._held = text[position:]
        return segments

    def _step(self, text: str, start: int, final: bool) -> _Step | None:
        """Decides one token at `start`; None = more text is needed, which never happens at the end."""
        if self._fence is not None:
            return self._fenced(text, start, self._fence, final)
        if self._line_start:
            return self._head(text, start, final)
        return self._prose(text, start, final)

    def _head(self, text: str, start: int, final: bool) -> _Step | None:
        """The indent and the list and quote markers of a line, behind which a fence may open."""
        limit = start + _HEAD_LIMIT
        if not final and len(text) < limit and _HEAD_CHARS.fullmatch(text, start):
            return None
        head = _HEAD.match(text, start, limit)
        end = head.end() if head else start
        opening = _opening_run(text, end, final) if end < limit else ""
        if opening is None:
            return None
        self._line_start = False
        indent = len(text[start:end].expandtabs(4))
        marked = bool(text[start:end].strip())
        if opening and (marked or indent <= self._list_indent + _FREE_INDENT):
            self._fence = _Fence(opening[0], len(opening), indent)
        if marked:
            self._list_indent = indent
        elif text[end : end + 1] not in ("\n", "\r"):
            self._list_indent = min(self._list_indent, indent)
        return _Step(end, code=False) if end > start else self._step(text, start, final)

    def _fenced(self, text: str, start: int, fence: _Fence, final: bool) -> _Step | None:
        if self._line_start:
            could_close = _CLOSING_CHARS[fence.char].match(text, start)
            if could_close and could_close.end() == len(text) and len(text) - start < LOOKAHEAD and not final:
                return None
            if (closing := _CLOSING.match(text, start)) and _closes(closing, fence):
                self._fence = None
                self._line_start = closing[0].endswith("\n")
                return _Step(closing.end(), code=True)
        newline = text.find("\n", start)
        self._line_start = newline >= 0
        return _Step(newline + 1 if newline >= 0 else len(text), code=True)

    def _prose(self, text: str, start: int, final: bool) -> _Step | None:
        special = _PROSE_SPECIAL.search(text, start)
        token = _PROSE_TOKEN.match(text, special.start()) if special else None
        if token is None:
            return _Step(len(text), code=False)
        if token[0][0] == "`":
            if token.start() > start:
                return _Step(token.start(), code=False)
            return _span(text, start, token.end(), final)
        if token[0] == "\\" and token.end() == len(text) and not final:
            return _Step(token.start(), code=False) if token.start() > start else None
        self._line_start = token[0] == "\n"
        return _Step(token.end(), code=False)


def _opening_run(text: str, start: int, final: bool) -> str | None:
    """The run that opens a fence at `start`; "" = no fence; None = more text is needed."""
    run = _RUN.match(text, start)
    if run is None:
        return ""
    length = len(run[0])
    if run.end() == len(text) and length < LOOKAHEAD and not final:
        return None
    if length < 3 or length >= LOOKAHEAD:
        return ""
    if run[0][0] == "~":
        return run[0]
    limit = run.end() + LOOKAHEAD
    end = _INFO_END.search(text, run.end(), limit)
    if end is None and len(text) < limit and not final:
        return None
    return "" if end is not None and end[0] == "`" else run[0]


def _closes(closing: re.Match[str], fence: _Fence) -> bool:
    run = closing[2]
    indent = len(closing[1].expandtabs(4))
    return (
        run[0] == fence.char
        and len(run) >= fence.length
        and indent <= fence.indent + _FREE_INDENT
        and len(closing[0].rstrip("\n")) < LOOKAHEAD
    )


def _span(text: str, start: int, run_end: int, final: bool) -> _Step | None:
    """What the run of backticks at `start` is: an inline span, or itself."""
    length = run_end - start
    if length >= LOOKAHEAD:
        return _Step(start + LOOKAHEAD, code=False)
    literal = _Step(run_end, code=False)
    limit = start + LOOKAHEAD
    for token in _SPAN_TOKEN.finditer(text, run_end):
        if token.start() >= limit or (token[0] == "\n" and _BLOCK_START.match(text, token.end())):
            return literal
        if token[0] == "\n":
            continue
        if token.end() == len(text) and len(token[0]) <= length and not final:
            return None
        if len(token[0]) == length:
            return _Step(token.end(), code=True)
    return literal if final or len(text) >= limit else None
