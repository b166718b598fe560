"""OpenAI's questions to a decider, and the same ones as the upstream asks them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, NamedTuple

import msgspec

from pplx_gateway.decisions import Choice, DecisionQuestion, Described, Noul, Score
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.protocols.openai.decision_input import ImagePart, InputPart, described

FEWEST_CHOICES, MOST_CHOICES = 2, 255
MOST_LEVELS = 10


class PredicateQuestion(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="predicate"):
    """How likely a statement is to be true."""

    instructions: str | list[InputPart]
    name: str | None = None


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """`true` and `"true"` are two options elsewhere; here one of them can be asked for."""

    value: str | bool
    description: str | None = None


class ChoiceQuestion(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="choice"):
    instructions: str | list[InputPart]
    choices: Annotated[list[Option], msgspec.Meta(min_length=FEWEST_CHOICES, max_length=MOST_CHOICES)]
    name: str | None = None


class Level(msgspec.Struct, frozen=True, kw_only=True):
    label: str
    description: str | None = None


class ScoreQuestion(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="score"):
    """Levels from the lowest."""

    instructions: str | list[InputPart]
    levels: Annotated[list[Level], msgspec.Meta(min_length=1, max_length=MOST_LEVELS)]
    name: str | None = None


Question = PredicateQuestion | ChoiceQuestion | ScoreQuestion


class Asked(NamedTuple):
    """A question as the caller and as the upstream asks it."""

    own: Question
    upstream: DecisionQuestion


def asked(questions: Sequence[Question]) -> dict[str, Asked]:
    """By the name that the upstream knows each by: its own where all have one and no two the same, else its number.

    Raises InvalidRequest that names the place."""
    names = [question.name for question in questions]
    named = all(names) and len(set(names)) == len(names)
    keys = [name if named and name else str(place) for place, name in enumerate(names)]
    return {
        key: Asked(question, _upstream(question, f"questions[{place}]"))
        for place, (key, question) in enumerate(zip(keys, questions, strict=True))
    }


def key_of(value: str | bool) -> str:
    """What the upstream calls an option."""
    return value if isinstance(value, str) else str(value).lower()


def _upstream(question: Question, at: str) -> DecisionQuestion:
    instructions = _instructions(question.instructions, f"{at}.instructions")
    match question:
        case PredicateQuestion():
            return Noul(instructions=instructions)
        case ChoiceQuestion(choices=choices):
            _check_unique(choices, f"{at}.choices")
            return Choice(
                instructions=instructions, criteria={key_of(each.value): each.description for each in choices}
            )
        case ScoreQuestion(levels=levels):
            return Score(instructions=instructions, criteria=list(_levels(levels)))


def _instructions(given: str | list[InputPart], at: str) -> Described:
    if isinstance(given, str):
        if not given.strip():
            raise InvalidRequest(f"'{at}' is empty.", param=at)
        return given
    for place, part in enumerate(given):
        if isinstance(part, ImagePart):
            where = f"{at}[{place}]"
            raise InvalidRequest(f"'{where}' is an image. Images stand in 'input' alone.", param=where)
    if not given:
        raise InvalidRequest(f"'{at}' is empty.", param=at)
    return described(given)


def _levels(levels: Sequence[Level]) -> Iterator[Described]:
    for level in levels:
        yield f"{level.label}: {level.description}" if level.description else level.label


def _check_unique(choices: Sequence[Option], at: str) -> None:
    counted = Counter(key_of(each.value) for each in choices)
    key, count = counted.most_common(1)[0]
    if count == 1:
        return
    values = {type(each.value) for each in choices if key_of(each.value) == key}
    if len(values) > 1:
        raise InvalidRequest(
            f"'{at}' holds both {key} and \"{key}\", which the upstream cannot tell apart. Name one otherwise.",
            param=at,
        )
    raise InvalidRequest(f"'{at}' holds '{key[:80]}' more than once.", param=at)
