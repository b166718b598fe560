"""Notices at the end of an answer: how many Pro searches are left, and who answered in place of the model asked for.

They are for people who read a chat window, so they go only below plain text, each in a paragraph of its own, and never
into code. Everybody else finds the same in fields beside the answer. When an answer comes back as history, its notices
are taken out again.
"""

import re
from collections.abc import Iterator

import msgspec

from pplx_gateway.answer import Batch, Citations, Finished, TextDelta
from pplx_gateway.markdown import CodeScanner
from pplx_gateway.question import Message, Part, Question, TextPart, Turn

EVERY = 5  # a notice at each count that this divides, and
FEW = 5  # at every count from here down

_REMAINING = "[Remaining Pro Search: {}]"
_SUBSTITUTED = "[Substituted by Perplexity with {}]"
_SIGNS = ("[Remaining Pro Search: ", "[Substituted by Perplexity with ")
_NOTICE = re.compile(
    r"(?:^|(?P<before>(?:\r?\n[ \t]*){1,2}))"
    r"(?P<notice>\[(?:Remaining Pro Search: \d{1,9}|Substituted by Perplexity with [^\[\]\r\n]{1,120})\])"
    r"[ \t]*(?=\r?\n|\Z)"
)
_UNFIT = re.compile(r"[\[\]`\s\x00-\x1f]+")


def with_notices(batch: Batch, question: Question, text: str) -> Batch:
    """`batch`, which ends with Finished, with the notices after its last text. `text` is the whole answer so far."""
    finished = batch[-1]
    if not isinstance(finished, Finished) or not _takes_notices(question, finished, text):
        return batch
    notices = list(_notices(finished))
    appended = "".join(f"\n\n{notice}" for notice in notices)
    if not appended or _in_code(text, appended):
        return batch
    end = next((at for at, event in enumerate(batch) if isinstance(event, Citations)), len(batch) - 1)
    return [*batch[:end], TextDelta(appended), *batch[end:]]


def without_notices(question: Question) -> Question:
    """The question with our notices taken out of the assistant's turns; itself where there are none."""
    if not any(_noticed(turn) for turn in question.turns):
        return question
    return msgspec.structs.replace(question, turns=tuple(_cleaned(turn) for turn in question.turns))


def cleaned(text: str) -> str:
    """`text` without notices. One inside code is the model's own, and stays."""
    if not any(sign in text for sign in _SIGNS):
        return text
    prose = _prose(text)
    pieces, start = [], 0
    for found in _NOTICE.finditer(text):
        if all(prose[found.start("notice") : found.end("notice")]):
            pieces.append(text[start : found.start()])
            start = found.end()
    return "".join((*pieces, text[start:]))


def _takes_notices(question: Question, finished: Finished, text: str) -> bool:
    said = all(isinstance(turn, Message) for turn in question.turns)
    plain = question.format is None and not question.functions and said
    return plain and finished.reason != "tool_calls" and bool(text.strip())


def _notices(finished: Finished) -> Iterator[str]:
    if finished.substituted_by:
        yield _SUBSTITUTED.format(_UNFIT.sub(" ", finished.substituted_by)[:120].strip())
    left = finished.remaining_pro
    if finished.took_pro and left is not None and (left <= FEW or left % EVERY == 0):
        yield _REMAINING.format(left)


def _in_code(text: str, appended: str) -> bool:
    """True if what is appended would be read as code, because a fence in `text` is still open. The line end before it
    may belong to a fence that closes."""
    start = len(text) + len(appended) - len(appended.lstrip("\n"))
    return not all(_prose(text + appended)[start:])


def _prose(text: str) -> bytearray:
    """One byte a character: 1 in prose, 0 in code."""
    scanner = CodeScanner()
    kinds = bytearray()
    for segment in (*scanner.feed(text), *scanner.close()):
        kinds += (b"\0" if segment.code else b"\1") * len(segment.text)
    return kinds


def _noticed(turn: Turn) -> bool:
    return isinstance(turn, Message) and turn.role == "assistant" and any(sign in turn.text for sign in _SIGNS)


def _cleaned(turn: Turn) -> Turn:
    if not isinstance(turn, Message) or not _noticed(turn):
        return turn
    return msgspec.structs.replace(turn, parts=tuple(_part(part) for part in turn.parts))


def _part(part: Part) -> Part:
    return TextPart(cleaned(part.text)) if isinstance(part, TextPart) else part
