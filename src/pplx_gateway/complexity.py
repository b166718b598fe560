"""How hard a question is: as a decider rates it, or by a rule of length and words where none may or can be asked.

The model `router` goes by it (tiers.py). Who does not name that model never meets any of this.
"""

import re
from collections.abc import Callable
from typing import Literal, NamedTuple, Protocol

from pplx_gateway.clock import Clock
from pplx_gateway.decisions import Decided, Decision, Score, ScoreAnswer
from pplx_gateway.errors import GatewayError
from pplx_gateway.question import Message, Question
from pplx_gateway.receipts import Note

Tier = Literal["simple", "medium", "complex"]
TIERS: tuple[Tier, ...] = ("simple", "medium", "complex")

MOST_CHARACTERS = 8_000
"""Of a longer text the beginning and the end are rated."""
_NAME = "complexity"
_LEVELS: list[str | dict[str, object] | list[object]] = [
    "Small talk, or one fact that a single lookup gives.",
    "A short explanation, a small rewrite, or a few facts put together.",
    "Several steps of reasoning or several sources, a comparison, or working code.",
    "Expert work: research across many sources, a proof, a design, or a long piece of code or text.",
]
_RATED = Score(criteria=_LEVELS, instructions="How much work does a good answer to the last message take?")

# The rule's own scale: each of these adds to what the length says.
_WORDS = re.compile(
    r"\b(?:analy[sz]e|analysis|architecture|compare|comparison|comprehensive|critique|debug|derive|design|essay|"
    r"evaluate|in[- ]depth|investigate|literature|optimi[sz]e|prove|proof|refactor|report|research|review|"
    r"step[- ]by[- ]step|strategy|summari[sz]e|thorough(?:ly)?|trade-?offs?|translate)\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"```|^(?:def|class|function|import|#include|SELECT)\b", re.MULTILINE)
_LENGTHS = ((8, 0.1), (40, 0.25), (150, 0.5), (400, 0.7))
_LONGEST = 0.9
_A_WORD = 0.25
_SOME_CODE = 0.25


class Asker(Protocol):
    """A Decider (operations.py), as far as it is used here."""

    async def decide(self, decision: Decision, note: Note) -> Decided: ...


class Rating(NamedTuple):
    """`score` is from 0 to 1; `reason` says in a few words where it comes from."""

    tier: Tier
    score: float
    reason: str


class Thresholds(NamedTuple):
    """The scores from which a question is of medium and of high complexity."""

    medium: float
    complex: float

    def tier(self, score: float) -> Tier:
        if score >= self.complex:
            return "complex"
        return "medium" if score >= self.medium else "simple"


class Complexity:
    """`decider` gives who may be asked now, None for nobody."""

    def __init__(
        self,
        clock: Clock,
        decider: Callable[[], Asker | None],
        *,
        model: str,
        thresholds: Thresholds,
        seconds: float,
    ) -> None:
        self._clock = clock
        self._decider = decider
        self._model = model
        self._thresholds = thresholds
        self._seconds = seconds

    async def rate(self, question: Question, note: Note, *, spending: bool) -> Rating:
        """Never fails. `spending`: the decider, which is paid, may be asked."""
        asker = self._decider()
        why = "may not spend" if not spending else "no key for the decider"
        if spending and asker is not None:
            try:
                async with self._clock.deadline(self._seconds):
                    return self._decided(await self._ask(asker, question, note))
            except TimeoutError:
                why = "the decider was too slow"
            except GatewayError as error:
                why = f"the decider failed: {error.code}"
        score, reason = by_rule(question)
        return Rating(self._thresholds.tier(score), score, f"rule: {reason} ({why})")

    async def _ask(self, asker: Asker, question: Question, note: Note) -> float | None:
        decision = Decision(
            model=self._model, state=_shown(question), questions={_NAME: _RATED}, key_name=question.key_name
        )
        answer = (await asker.decide(decision, note)).answers.get(_NAME)
        highest = len(_LEVELS) - 1
        if not isinstance(answer, ScoreAnswer) or not 0 <= answer.score <= highest:
            raise _NoRating("It gave no rating.")
        return answer.score / highest

    def _decided(self, score: float | None) -> Rating:
        score = score or 0.0
        return Rating(self._thresholds.tier(score), score, f"decider: {score:.2f}")


class _NoRating(GatewayError):
    code = "no_rating"


def by_rule(question: Question) -> tuple[float, str]:
    """A score from 0 to 1, and the reason."""
    text = last_text(question)
    count = len(text.split())
    score = next((score for most, score in _LENGTHS if count <= most), _LONGEST)
    said = list(dict.fromkeys(match.lower() for match in _WORDS.findall(text)))
    code = bool(_CODE.search(text))
    score += _A_WORD * min(2, len(said)) + _SOME_CODE * code
    reasons = [f"{count} words", *said[:3], *(["code"] if code else [])]
    return min(1.0, score), ", ".join(reasons)


def last_text(question: Question) -> str:
    """What the caller said last."""
    texts = (turn.text for turn in reversed(question.turns) if isinstance(turn, Message) and turn.role == "user")
    return next((text for text in texts if text), "")


def _shown(question: Question) -> str:
    text = last_text(question)
    if len(text) > MOST_CHARACTERS:
        half = MOST_CHARACTERS // 2
        text = f"{text[:half]}\n[...]\n{text[-half:]}"
    return text
