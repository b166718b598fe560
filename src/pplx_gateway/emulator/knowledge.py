"""What the emulator knows: answers worth reading, made from the words of the question, the same every time.

`compose` is the one way in. Marks in the text are neutral until a half of the emulator writes them in its own way:
`composed.text(mark)` and `composed.chunks(mark)` call `mark` with the index of a source in `composed.sources`.
"""

import re
from collections.abc import Callable
from typing import Literal

import msgspec

from pplx_gateway.emulator import almanac, pages, prose
from pplx_gateway.emulator.dice import Dice
from pplx_gateway.emulator.pages import Page, Picture

Mark = Callable[[int], str]
Length = Literal["short", "normal", "long"]

_NEUTRAL = re.compile("\ue000([0-9]+)\ue001")


def numbered(index: int) -> str:
    """`[1]` for the first source, as the web session writes marks."""
    return f"[{index + 1}]"


class Composed(msgspec.Struct, frozen=True, kw_only=True):
    """One answer with all that goes with it.

    `paragraphs` are Markdown with neutral marks; `sources` are three to five pages, not all of them cited. `reasoning`
    and `plan` are whole sentences. `related` and `images` are there whether asked for or not.
    """

    question: str
    topic: str
    queries: tuple[str, ...]
    plan: tuple[str, ...]
    reasoning: tuple[str, ...]
    sources: tuple[Page, ...]
    paragraphs: tuple[str, ...]
    related: tuple[str, ...]
    images: tuple[Picture, ...]

    def text(self, mark: Mark = numbered) -> str:
        """The whole answer, paragraphs parted by blank lines."""
        return _NEUTRAL.sub(lambda match: mark(int(match[1])), "\n\n".join(self.paragraphs))

    def chunks(self, mark: Mark = numbered) -> tuple[str, ...]:
        """The answer in pieces of a few words; joined they are `text(mark)`. At times a mark is cut in two."""
        return split(self.text(mark), self.question)

    @property
    def cited(self) -> tuple[int, ...]:
        """Indexes of the sources that the text cites, in order of first use."""
        return tuple(dict.fromkeys(int(match[1]) for text in self.paragraphs for match in _NEUTRAL.finditer(text)))


def compose(
    question: str,
    *,
    earlier: tuple[str, ...] = (),
    results: tuple[tuple[str, str], ...] = (),
    attachments: tuple[str, ...] = (),
    length: Length = "normal",
    source_count: int | None = None,
    domains: tuple[str, ...] = (),
    image_formats: tuple[str, ...] = (),
    marks: bool = True,
) -> Composed:
    """The answer to `question` (control words already taken off).

    `earlier`: questions of earlier turns, oldest first; the answer refers to the last one. `results`: pairs of function
    name and what it returned; the text then contains each result word for word. `attachments`: a phrase for each image
    or file that came with the question. `domains`: hosts to find pages on, or with a leading `-` not to find pages on.
    `marks=False` leaves citations out, for answers that did not search.
    """
    dice = Dice(question)
    subject = prose.subject_of(question)
    count = source_count or dice.number("sources", 3, 5)
    known = almanac.find(question)
    paragraphs = _fixed(question, known, results) or prose.write(question, subject, dice, length, count)
    received = (prose.received(attachments),) if attachments else ()
    follows = (prose.follow_up(earlier[-1]),) if earlier and not results else ()
    found = pages.find(subject, count, domains=domains, title=known.title if known else None)
    return Composed(
        question=question,
        topic=subject,
        queries=prose.queries(subject, dice),
        plan=prose.plan(subject),
        reasoning=prose.reasoning(subject, dice),
        sources=found,
        paragraphs=tuple(_settle(text, count if marks else 0) for text in (*follows, *received, *paragraphs)),
        related=(known.related if known else ()) or prose.related(subject, dice),
        images=pages.pictures(subject, found, formats=image_formats),
    )


def _fixed(question: str, known: almanac.Entry | None, results: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """What is said whatever the dice show; nothing of most questions."""
    if results:
        return prose.about_results(results)
    if title := prose.title(question):
        return (title,)
    return known.paragraphs if known else ()


def _settle(paragraph: str, sources: int) -> str:
    """Drops marks of sources that were not found."""
    return _NEUTRAL.sub(lambda match: match[0] if int(match[1]) < sources else "", paragraph)


_PIECE = re.compile(r"\s*\S+|\s+$")


def split(text: str, seed: str) -> tuple[str, ...]:
    """`text` in pieces of one to four words. A piece with a mark in it is at times cut there, as both upstreams do."""
    dice = Dice(seed)
    pieces = _PIECE.findall(text)
    chunks: list[str] = []
    place = 0
    while place < len(pieces):
        size = dice.number(f"chunk {place}", 1, 4)
        chunk = "".join(pieces[place : place + size])
        cut = chunk.find("[") + 1
        if 0 < cut < len(chunk) and dice.chance(f"cut {place}", 25):
            chunks.append(chunk[:cut])
            chunk = chunk[cut:]
        chunks.append(chunk)
        place += size
    return tuple(chunks)
