"""Takes the page's own artefacts out of answer text (docs/wire-session.md 9), never inside code.

Removed with their content: `<grok:name ...>...</grok:name>`, `<grok:name .../>`, `<script ...>...</script>`. Removed
alone: `<?xml ...?>`, `<response>`, `</response>`. Whatever else looks like a tag is text. Nothing around one changes.
"""

import re
from typing import NamedTuple

from pplx_gateway.markdown import CodeScanner, Segment

LIMIT = 8192
"""Characters of the longest artefact. What has not ended by then is text, and is let through."""


class _Kind(NamedTuple):
    """`opening` is removed; with a `closing`, so is everything to its end. {0} stands for the opening's group."""

    opening: re.Pattern[str]
    closing: str | None = None


_KINDS = (
    _Kind(re.compile(r"<grok:[\w.:-]+(?:\s[^<>]*)?/>", re.IGNORECASE)),
    _Kind(re.compile(r"<grok:([\w.:-]+)(?:\s[^<>]*)?>", re.IGNORECASE), r"(?i)</grok:{0}\s*>"),
    _Kind(re.compile(r"<(script)\b[^<>]*>", re.IGNORECASE), r"(?i)</{0}\s*>"),
    _Kind(re.compile(r"<\?xml\b[^<>]*\?>", re.IGNORECASE)),
    _Kind(re.compile(r"</?response\s*>", re.IGNORECASE)),
)
_BEGINNINGS = ("<grok:", "<script", "<?xml", "<response", "</response")
_PREFIXES = frozenset(known[:length] for known in _BEGINNINGS for length in range(1, len(known)))
_BEGINNING_LENGTH = max(map(len, _BEGINNINGS))
_UNFINISHED = re.compile(
    r"<(?:grok:[\w.:-]*(?:\s[^<>]*)?/?|script(?:\b[^<>]*)?|\?xml(?:\b[^<>]*)?|/?response\s*)\Z", re.IGNORECASE
)


class Cleaner:
    """`feed` returns text that is surely clean and holds back what may begin an artefact; `close` returns what is left.

    The joined results are the same however the text was cut. Only `<` makes it look at code, so text without one passes
    at once, also where a backtick is still open.
    """

    def __init__(self) -> None:
        self._scanner = CodeScanner()
        self._unscanned: list[str] = []
        self._scanned = 0
        self._code: list[tuple[int, int]] = []  # ranges in the text as it came
        self._held = ""
        self._held_at = 0

    def feed(self, text: str) -> str:
        self._unscanned.append(text)
        if not self._held and "<" not in text:
            self._held_at += len(text)
            return text
        return self._clean(self._held + text, final=False)

    def close(self) -> str:
        return self._clean(self._held, final=True)

    def _clean(self, text: str, *, final: bool) -> str:
        kept: list[str] = []
        position = search = 0
        while (start := text.find("<", search)) >= 0:
            end = self._artefact_end(text, start, final)
            if end is None:
                break
            search = max(end, start + 1)
            if end > start:
                kept.append(text[position:start])
                position = end
        held_from = start if start >= 0 else len(text)
        kept.append(text[position:held_from])
        self._held = text[held_from:]
        self._held_at += held_from
        return "".join(kept)

    def _artefact_end(self, text: str, start: int, final: bool) -> int | None:
        """Where the artefact at `start` ends; `start` itself = there is none; None = more text is needed."""
        beginning = text[start : start + _BEGINNING_LENGTH].lower()
        if not any(known.startswith(beginning) or beginning.startswith(known) for known in _BEGINNINGS):
            return start
        code = self._is_code(self._held_at + start, final)
        if code is not False:
            return start if code else None
        end = _matched_end(text, start, beginning)
        if end is not None:
            return end if end - start <= LIMIT else start
        return start if final or len(text) - start > LIMIT else None

    def _is_code(self, place: int, final: bool) -> bool | None:
        """Whether the character at `place` of the text as it came is code; None = not decided yet."""
        self._note(self._scanner.feed("".join(self._unscanned)))
        self._unscanned.clear()
        if final:
            self._note(self._scanner.close())
        if place >= self._scanned:
            return None
        while self._code and self._code[0][1] <= place:
            del self._code[0]
        return bool(self._code) and self._code[0][0] <= place

    def _note(self, segments: list[Segment]) -> None:
        for segment in segments:
            end = self._scanned + len(segment.text)
            if segment.code:
                self._code.append((self._scanned, end))
            self._scanned = end


def _matched_end(text: str, start: int, beginning: str) -> int | None:
    """As `_artefact_end`, from the text alone and without a limit."""
    for kind in _KINDS:
        opening = kind.opening.match(text, start)
        if opening is None:
            continue
        if kind.closing is None:
            return opening.end()
        closing = re.compile(kind.closing.format(re.escape(opening[1]))).search(text, opening.end())
        return closing.end() if closing else None
    unfinished = beginning in _PREFIXES or _UNFINISHED.match(text, start)
    return None if unfinished else start
