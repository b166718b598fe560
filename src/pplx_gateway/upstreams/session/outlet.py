"""What of an answer's text has been sent, and what may still be (docs/wire-session.md 2.9).

Text only ever grows: a delta is sent where the upstream's text continues what was sent, and nothing where it does not.
"""

import re
from typing import Protocol

from pplx_gateway.answer import AnswerEvent, TextDelta, Warned
from pplx_gateway.upstreams.session.answer_blocks import FinalText
from pplx_gateway.upstreams.session.chunks import LiveText
from pplx_gateway.upstreams.session.failures import AnswerRewritten
from pplx_gateway.upstreams.session.letters import has_halves, paired, split_last_half, whole
from pplx_gateway.upstreams.session.oddities import Oddities

# An auxiliary model may redo the last words: this much of a difference at the end is not a rewrite.
TAIL_CHARACTERS = 16
TAIL_SHARE = 0.05

RENUMBERED = (
    "Perplexity renumbered its citations after the text was sent: marks in this answer may not match its sources."
)

_TOKEN = re.compile(r"(?P<space>\s+)|(?P<mark>\[\d+\])|[^\s\[]+|\[")


class TextCleaner(Protocol):
    """`cleaning.Cleaner`: may hold text back until it knows; `close` gives the rest."""

    def feed(self, text: str) -> str: ...

    def close(self) -> str: ...


class Outlet:
    """Everything goes through `cleaner`. `held`: nothing is sent before `settle`."""

    def __init__(self, cleaner: TextCleaner, oddities: Oddities, *, held: bool = False) -> None:
        self.characters = 0  # before cleaning
        self.spoke = False  # words were left after cleaning
        self._cleaner = cleaner
        self._oddities = oddities
        self._held = held
        self._sent: list[str] = []
        self._half = ""  # of a letter, whose other half is still to come
        self._source: LiveText | None = None
        self._mark: object = None

    def follow(self, source: LiveText) -> list[AnswerEvent]:
        """The text of `source` as far as it continues what was sent."""
        if self._held:
            return []
        if source is self._source and (added := source.since(self._mark)) is not None:
            self._mark = source.mark()
            return self.write(added) if added else []
        return self._compare(source)

    def settle(self, final: FinalText) -> list[AnswerEvent]:
        """The rest of the final text. Raises AnswerRewritten where it contradicts what was sent."""
        self._half = ""
        sent, text = self._text(), whole(final.text)
        if text.startswith(sent):
            return self.write(text[len(sent) :])
        end, renumbered = _continuation(sent, text)
        if end is not None:
            warning: list[AnswerEvent] = [Warned(RENUMBERED)] if renumbered else []
            self._oddities.note("final_text_respaced_or_renumbered")
            return warning + self.write(text[end:])
        if not _tail_only(sent, text) and (final.authoritative or not sent.startswith(text)):
            raise AnswerRewritten("Perplexity rewrote its answer after part of it was sent.")
        self._oddities.note("final_text_differs_at_the_end")
        return []

    def write(self, text: str) -> list[AnswerEvent]:
        """Sends `text`, whatever stood before it."""
        if self._half or has_halves(text):
            text, self._half = split_last_half(paired(self._half + text))
            text = whole(text)
        if not text:
            return []
        self._sent.append(text)
        self.characters += len(text)
        return self._delta(self._cleaner.feed(text))

    def close(self) -> list[AnswerEvent]:
        """What the cleaner still held."""
        return self._delta(self._cleaner.close())

    def _delta(self, text: str) -> list[AnswerEvent]:
        self.spoke = self.spoke or bool(text.strip())
        return [TextDelta(text)] if text else []

    def _compare(self, source: LiveText) -> list[AnswerEvent]:
        sent, text = self._text(), paired(source.text)
        if not text.startswith(sent):
            self._source = None
            return []
        self._source, self._mark = source, source.mark()
        self._half = ""
        return self.write(text[len(sent) :])

    def _text(self) -> str:
        if len(self._sent) > 1:
            self._sent = ["".join(self._sent)]
        return self._sent[0] if self._sent else ""


def _tail_only(sent: str, text: str) -> bool:
    same = 0
    for same, (a, b) in enumerate(zip(sent, text, strict=False)):  # noqa: B007
        if a != b:
            break
    else:
        same = min(len(sent), len(text))
    longest = max(len(sent), len(text)) - same
    return longest <= TAIL_CHARACTERS and longest <= TAIL_SHARE * len(text)


def _continuation(sent: str, text: str) -> tuple[int | None, bool]:
    """Where `text` goes on after `sent`, if the two differ only in white space and in the numbers of citation marks;
    and whether it is the numbers."""
    target = _skeleton(sent)
    if not _skeleton(text).startswith(target):
        return None, False
    seen, end = 0, len(text)
    for token in _TOKEN.finditer(text):
        if seen >= len(target):
            end = token.start()
            break
        size = 0 if token["space"] else _MARK_SIZE if token["mark"] else len(token[0])
        if seen + size > len(target):
            end = token.start() + len(target) - seen
            break
        seen += size
    return end, _marks(sent) != _marks(text[:end])


_MARK_SIZE = len("[#]")


def _skeleton(text: str) -> str:
    return _TOKEN.sub(lambda token: "" if token["space"] else "[#]" if token["mark"] else token[0], text)


def _marks(text: str) -> list[str]:
    return re.findall(r"\[\d+\]", text)
