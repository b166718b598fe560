"""Sentences about whatever was asked: Markdown with lists, tables and code, and neutral marks in it."""

import re
from typing import Literal

from pplx_gateway.emulator.almanac import cite
from pplx_gateway.emulator.dice import Dice
from pplx_gateway.emulator.pages import slug

_SMALL = """
a about above after again all also am an and any are as at be because been before being below best better
between both but by can could describe did do does doing explain few find for from further get give had has have
having he hello help her here hey hi him his how i if in into is it its just kindly let like list make many may
me mean more most much my need no nor not now of off on once only or other our out over own please quick short
should show so some such tell than that the their them then there these they this those through to too two under
until up us use using very was we were what what's whats when where which while who whom why will with word
words would write you your
"""
_SMALL_WORDS = frozenset(_SMALL.split())
_WORD = re.compile(r"[^\W_][\w’'.+#-]*[^\W_]|[^\W_]")
_CODE = "api bash code curl function http javascript json program python regex rust script shell sql typescript"
_CODE_WORDS = frozenset(_CODE.split())


NO_SUBJECT = "your question"
_GREETING = (
    "Hello 👋 This is the **built-in emulator**: it plays Perplexity, and nothing leaves this machine. Ask anything, "
    "for example *Which two rivers meet in Ghent?* Begin with `slow:` to watch it stream, with `fault:midstream_drop` "
    "to see it fail; *Which faults does the emulator know?* lists the rest."
)
_BRIEF = re.compile(r"\b(one word|in a word|briefly|one sentence|tags?)\b", re.IGNORECASE)


def subject_of(question: str) -> str:
    """What the question is about: its first four telling words, or "your question" if it has none."""
    telling = [word[:24] for word in _WORD.findall(question) if word.lower() not in _SMALL_WORDS]
    return " ".join(telling[:4]) or NO_SUBJECT


def write(
    question: str, subject: str, dice: Dice, length: Literal["short", "normal", "long"], sources: int
) -> tuple[str, ...]:
    """The paragraphs of an answer about `subject` that cites some of so many `sources`."""
    if subject == NO_SUBJECT:
        return (_GREETING,)
    if length == "short" or _BRIEF.search(question):
        return (_opening(subject, dice, sources),)
    middle = [_bullets(dice, sources), _table(subject, dice, sources)]
    coded = bool(_CODE_WORDS & {word.lower() for word in _WORD.findall(question)}) or dice.chance("code", 20)
    code = [_code(subject, dice)] if coded else []
    if length == "long":
        return (
            f"# {subject}",
            _opening(subject, dice, sources),
            "## What is known",
            _bullets(dice, sources),
            "## Figures",
            _table(subject, dice, sources),
            *code,
            "## What is argued about",
            _doubts(subject, dice, sources),
            _closing(dice),
        )
    return (_opening(subject, dice, sources), dice.pick("middle", middle), *code, _closing(dice))


def title(question: str) -> str | None:
    """A title, where `question` asks for one: user interfaces do, in the background, and show it in a side bar."""
    if not re.search(r"\b(title|headline)\b", question, re.IGNORECASE):
        return None
    words = question.rpartition(":")[2].strip()[:48] if ":" in question else subject_of(question)
    return f"{words[:1].upper()}{words[1:]}" or None


def _mark(dice: Dice, name: str, sources: int) -> str:
    first = dice.number(name, 0, sources - 1)
    second = dice.number(f"{name}/2", 0, sources - 1)
    return cite(first, second) if first != second and dice.chance(f"{name}/two", 30) else cite(first)


def _opening(subject: str, dice: Dice, sources: int) -> str:
    one, two = _mark(dice, "opening 1", sources), _mark(dice, "opening 2", sources)
    forms = (
        f"The pages about **{subject}** tell the same story in the main{one}: it is older than most people think, "
        f"simpler than it looks, and dearer than it need be{two}.",
        f"A short answer on **{subject}**: start small, measure, and only then decide{one}. The pages that go deeper "
        f"come to the same end by another road{two}.",
        f"What is written about **{subject}** falls into two camps{one}. They agree on the facts and differ on what "
        f"follows from them{two}.",
    )
    return dice.pick("opening", forms)


def _bullets(dice: Dice, sources: int) -> str:
    points = (
        f"**Where it begins.** Earlier than the name suggests{_mark(dice, 'bullet 1', sources)}.",
        "**What it needs.** Time, a little room, and somebody who writes things down.",
        f"**What people get wrong.** They begin with tools instead of the question{_mark(dice, 'bullet 2', sources)}.",
        f"**Was oft fehlt.** Ein Maßstab: Größe, Güte, Gewähr{_mark(dice, 'bullet 3', sources)}.",
        "**A good first step.** Compare two sources that do not quote each other 🔍",
    )
    return "\n".join(f"- {point}" for point in dice.order("bullets", points)[: dice.number("bullet count", 3, 4)])


_TRENDS = ("rising", "steady", "falling", "—")


def _table(subject: str, dice: Dice, sources: int) -> str:
    rows = "\n".join(
        f"| {name} | {dice.number(name, 12, 980)} | {dice.pick(f'{name} trend', _TRENDS)} |"
        for name in ("Zürich", "Ghent", "東京", "São Paulo")
    )
    return (
        f"How often people ask about {subject}, per 10,000 questions{_mark(dice, 'table', sources)}:\n\n"
        f"| place | 2026 | trend |\n|---|---:|---|\n{rows}"
    )


def _doubts(subject: str, dice: Dice, sources: int) -> str:
    one, two = _mark(dice, "doubt 1", sources), _mark(dice, "doubt 2", sources)
    return (
        f"Two of the pages about {subject} contradict each other on when it began{one}. The older one counts from the "
        f"first mention, the newer one from the first use{two}; both can be right."
    )


def _code(subject: str, dice: Dice) -> str:
    forms = (
        f'```python\nsubject = "{subject}"\nletters = [word[0] for word in subject.split()]  # [1] cites nothing here\n'
        "print(len(subject), letters)\n```",
        f"```sh\ncurl -s https://notes.example/{slug(subject)} | head -n 3  # [2] is not a citation here\n```",
    )
    return dice.pick("code form", forms)


def _closing(dice: Dice) -> str:
    forms = (
        "*From the built-in emulator: the pages named as sources do not exist.*",
        "*This answer was composed by the built-in emulator; its sources are invented.* 🚲",
        "*Emulated answer — the figures are made up, the form is real.*",
    )
    return dice.pick("closing", forms)


def about_results(results: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """Paragraphs that hold every function result, word for word."""
    return tuple(paragraph for name, output in results for paragraph in (f"`{name}` returned:", _fenced(output)))


def _fenced(text: str) -> str:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def received(attachments: tuple[str, ...]) -> str:
    return f"With your question came {' and '.join(attachments)}."


def follow_up(earlier: str) -> str:
    return f"Following on from your question about {subject_of(earlier)}:"


def queries(subject: str, dice: Dice) -> tuple[str, ...]:
    """One to three searches."""
    options = (subject, f"{subject} figures", f"{subject} latest news")
    return options[: dice.number("queries", 1, 3)]


def plan(subject: str) -> tuple[str, ...]:
    return (f"Look up {subject}", "Read the pages that look best", "Compare them and answer")


def reasoning(subject: str, dice: Dice) -> tuple[str, ...]:
    """What a model might have thought on the way."""
    return (
        f"The question is about {subject}.",
        dice.pick(
            "thought",
            (
                "A recent overview should settle the main point; a second page can confirm the figures.",
                "There may be an older meaning of the word, so the date of each page matters.",
                "The asker probably wants the short form first and the figures after it.",
            ),
        ),
        "The pages agree on the essentials, so the answer can be short.",
    )


def related(subject: str, dice: Dice) -> tuple[str, ...]:
    options = (
        f"Where can I read more about {subject}?",
        f"What do people get wrong about {subject}?",
        f"Which figures are there on {subject}?",
        f"What has changed about {subject} since 2025?",
    )
    return tuple(dice.order("related", options)[:3])
