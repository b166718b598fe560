"""Asked to Reply: what the emulator says.

`reply_to` is the one place where an answer is made. Where the instructions want JSON, it is the prose's wrapping, or
calls of functions in its place (proposing.py).
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from pplx_gateway.emulator import knowledge, words
from pplx_gateway.emulator.knowledge import Composed
from pplx_gateway.emulator.session.asked import Asked
from pplx_gateway.emulator.session.forms import FORMS
from pplx_gateway.emulator.session.proposing import formed, proposal, wanted_by
from pplx_gateway.emulator.session.reply import Page, Picture, Reply
from pplx_gateway.emulator.session.state import Upload

_PICTURES = re.compile(r"\b(images?|pictures?|photos?|photographs?)\b", re.IGNORECASE)
# Where pages are found when the ask names sources other than the web (docs/wire-session.md 1.3).
_DOMAINS = {
    "scholar": "journal.example",
    "social": "forum.example",
    "edgar": "statistics.example",
    "finance": "statistics.example",
}
_GREETINGS = {
    "german": "Gern.",
    "deutsch": "Gern.",
    "french": "Volontiers.",
    "français": "Volontiers.",
    "spanish": "Con gusto.",
    "español": "Con gusto.",
    "dutch": "Graag.",
    "italian": "Volentieri.",
}
RESEARCH_INTRODUCTION = "The research is finished. Here is the report on {topic}."
REPORT_WORDS = 3000


class Material(NamedTuple):
    """What the answer can draw on beside the question. `earlier`: questions of the thread, oldest first."""

    earlier: tuple[str, ...] = ()
    files: Sequence[Upload] = ()
    thinks: bool = False


def reply_to(asked: Asked, material: Material) -> Reply:
    """The answer to a question; the same every time."""
    composed = _composed(asked, material)
    searched = asked.body.params.searches
    return Reply(
        text=_answer(asked, material, composed),
        pages=_pages(composed) if searched else (),
        queries=composed.queries if searched else (),
        goals=composed.plan if searched else (),
        thoughts=composed.reasoning if material.thinks else (),
        related=composed.related,
        pictures=_pictures(composed) if _wants_pictures(asked) else (),
    )


def research_questions(asked: Asked) -> tuple[str, ...]:
    """What deep research asks back."""
    topic = _composed(asked, Material()).topic
    return (f"Which side of {topic} matters most to you?", "For whom is the report meant?")


def introduction(asked: Asked) -> str:
    return RESEARCH_INTRODUCTION.format(topic=_composed(asked, Material()).topic)


def report(asked: Asked) -> str:
    """A long report in Markdown, of REPORT_WORDS words at least; it does not repeat the introduction."""
    parts = [knowledge.compose(asked.question, length="long").text()]
    chapter = 1
    while sum(len(part.split()) for part in parts) < REPORT_WORDS:
        chapter += 1
        parts.append(knowledge.compose(f"{asked.question} chapter {chapter}", length="long").text())
    return "\n\n".join(parts) + "\n"


def _composed(asked: Asked, material: Material) -> Composed:
    params = asked.body.params
    domains = (
        () if "web" in params.sources else tuple(dict.fromkeys(_DOMAINS[s] for s in params.sources if s in _DOMAINS))
    )
    return knowledge.compose(
        asked.question or "hello",
        earlier=(*material.earlier, *asked.earlier),
        domains=domains,
        results=asked.results,
        marks=params.searches,
    )


def _answer(asked: Asked, material: Material, composed: Composed) -> str:
    wanted = wanted_by(asked.envelope.orders)
    calls = proposal(wanted, asked.controls, after_results=bool(asked.results))
    return calls or formed(wanted, asked.question, _text(asked, material, composed))


def _text(asked: Asked, material: Material, composed: Composed) -> str:
    parts = [*_notes(asked), *_greeting(asked), composed.text(), *(_mention(file) for file in material.files)]
    return "\n\n".join(parts)


def _notes(asked: Asked) -> list[str]:
    """Control words that mean nothing are answered by those that do."""
    notes = []
    if asked.unknown_form is not None:
        notes.append(f"There is no form `{asked.unknown_form}`. There are: {', '.join(FORMS)}.")
    if asked.controls.unknown_fault is not None:
        notes.append(f"There is no fault `{asked.controls.unknown_fault}`. There are: {', '.join(words.FAULTS)}.")
    return notes


def _greeting(asked: Asked) -> list[str]:
    """A word in the language that the instructions name, as a sign that they arrived."""
    instructions = asked.envelope.orders.lower()
    return next(([greeting] for name, greeting in _GREETINGS.items() if name in instructions), [])


def _mention(file: Upload) -> str:
    read = "looked at" if file.is_image else "read"
    return f"I {read} the file **{file.filename}** ({file.content_type}, {file.size} bytes)."


def _wants_pictures(asked: Asked) -> bool:
    """The question says so, or the client can draw them."""
    return "media_items" in asked.body.params.supported_block_use_cases or bool(_PICTURES.search(asked.question))


def _pages(composed: Composed) -> tuple[Page, ...]:
    return tuple(
        Page(
            url=page.url,
            name=page.title,
            snippet=page.snippet,
            timestamp=f"{page.date}T00:00:00" if page.date is not None else None,
        )
        for page in composed.sources
    )


def _pictures(composed: Composed) -> tuple[Picture, ...]:
    return tuple(
        Picture(image=picture.image_url, url=picture.origin_url, name=picture.title) for picture in composed.images
    )
