"""Takes the code fence off an answer that should be bare JSON: models like to write ```json around it.

Only a fence around the whole answer goes, with the white space around its two lines. What does not begin with a fence
passes unchanged, and so does a closing fence that is not the end of the text.
"""

import re

_OPENING_LIMIT = 256
_CLOSING_LIMIT = 128

_OPENING = re.compile(r"\s*(?P<run>`{3,}|~{3,})[ \t]*[\w+.-]*[ \t]*(?:\r?\n|(?=[{\[\"]))")
_UNFINISHED = re.compile(r"\s*(?:`*|~*|(?:`{3,}|~{3,})[ \t]*[\w+.-]*[ \t]*\r?)")


class FenceStripper:
    """`feed` returns text that is surely inside, `close` what was held back and turned out to be no fence."""

    def __init__(self) -> None:
        self._held = ""
        self._decided = False
        self._run = ""  # the opening run; "" = the answer is not fenced

    def feed(self, text: str) -> str:
        if self._decided and not self._run:
            return text
        text, self._held = self._held + text, ""
        if not self._decided:
            text = self._open(text)
        if self._run:
            text = self._hold_end(text)
        return text

    def close(self) -> str:
        """Decides as if the text ended here. Feeding may go on after it."""
        held, self._held = self._held, ""
        if not self._decided:
            self._decided = bool(held)
            return held
        run = held.strip()
        closes = self._run and len(run) >= len(self._run) and not run.strip(self._run[0])
        return "" if closes else held

    def _open(self, text: str) -> str:
        opening = _OPENING.match(text, 0, _OPENING_LIMIT)
        if opening is None and _UNFINISHED.fullmatch(text) and len(text) < _OPENING_LIMIT:
            self._held = text
            return ""
        self._decided = True
        if opening is None:
            return text
        self._run = opening["run"]
        return text[opening.end() :]

    def _hold_end(self, text: str) -> str:
        """Keeps back a tail of white space and fence characters: it may be the closing line."""
        keep = len(text.rstrip().rstrip(self._run[0]).rstrip())
        keep = max(keep, len(text) - _CLOSING_LIMIT)
        self._held = text[keep:]
        return text[:keep]
