"""LobeHub sends its own prompts along, thousands of characters of them, some even as the user's words. The site would
search the web for them. In its requests they are left out, and the owner's CUSTOM_PROMPTS stand in for them.
"""

import re
from typing import NamedTuple

import msgspec

from pplx_gateway.question import Message, Question, Turn

_MARKS = re.compile(r"\bYou are Lobe\b|<available_skills>|\bLobe(?:Hub|Chat)\b", re.IGNORECASE)
_PROMPT_LIKE = re.compile(
    r"\A[\s\W]*(?:you are|you must|your (?:role|task) is)\b|\bccsearch\b|<available_skills>|技能", re.IGNORECASE
)


class Reduced(NamedTuple):
    """`question` without the prompts; `left_out` counts their messages."""

    question: Question
    left_out: int


def reduce(question: Question) -> Reduced | None:
    """None if this is no request of LobeHub's. The last user turn always stays, whatever it looks like."""
    if not any(_is_system(turn) and _MARKS.search(turn.text) for turn in question.turns if isinstance(turn, Message)):
        return None
    last = max((n for n, turn in enumerate(question.turns) if _is_user(turn)), default=-1)
    kept = tuple(turn for n, turn in enumerate(question.turns) if n == last or not _is_prompt(turn))
    return Reduced(msgspec.structs.replace(question, turns=kept), len(question.turns) - len(kept))


def _is_prompt(turn: Turn) -> bool:
    return _is_system(turn) or (isinstance(turn, Message) and _is_user(turn) and bool(_PROMPT_LIKE.search(turn.text)))


def _is_system(turn: Turn) -> bool:
    return isinstance(turn, Message) and turn.role == "system"


def _is_user(turn: Turn) -> bool:
    return isinstance(turn, Message) and turn.role == "user"
