"""How hard a question is: the rule, and what the decider's answer makes of it."""

import asyncio
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pplx_gateway.clock import Clock
from pplx_gateway.complexity import MOST_CHARACTERS, Complexity, Thresholds, Tier, by_rule, last_text
from pplx_gateway.decisions import Decided, Decision, DecisionAnswer, NoulAnswer, ScoreAnswer
from pplx_gateway.errors import GatewayError, RateLimited
from pplx_gateway.question import ImagePart, Message, Question, TextPart
from pplx_gateway.receipts import Note, Receipt

THRESHOLDS = Thresholds(0.35, 0.7)


def question(*texts: str) -> Question:
    turns = [Message("user", (TextPart(text),)) for text in texts]
    return Question(model="router", turns=(*turns, Message("assistant", (TextPart("Yes."),))))


class Asker:
    """Answers as it is told to."""

    def __init__(
        self, answer: DecisionAnswer | None = None, error: GatewayError | None = None, *, hangs: bool = False
    ) -> None:
        self.asked: list[Decision] = []
        self._answer = answer
        self._error = error
        self._hangs = hangs

    async def decide(self, decision: Decision, note: Note) -> Decided:
        self.asked.append(decision)
        receipt = Receipt(key_name="main", model=decision.model)
        if self._hangs:
            await asyncio.Event().wait()
        if self._error:
            raise self._error
        note(receipt)
        answers: Mapping[str, DecisionAnswer | None] = dict.fromkeys(decision.questions, self._answer)
        return Decided(model=decision.model, answers=answers, body=b"{}", receipt=receipt)


def score(place: float) -> ScoreAnswer:
    return ScoreAnswer(score=place, confidence=0.9, probabilities={"0": 1.0})


def complexity(asker: Asker | None, factor: float = 1.0) -> Complexity:
    return Complexity(Clock(factor), lambda: asker, model="decider", thresholds=THRESHOLDS, seconds=2.0)


@pytest.mark.parametrize(
    ("place", "tier"),
    [(0.0, "simple"), (1.0, "simple"), (1.05, "medium"), (2.0, "medium"), (2.1, "complex"), (3.0, "complex")],
)
async def test_the_decider_rates_and_the_thresholds_decide(place: float, tier: Tier) -> None:
    asker, receipts = Asker(score(place)), list[Receipt]()
    found = await complexity(asker).rate(question("Why?"), receipts.append, spending=True)
    assert (found.tier, found.score, found.reason) == (tier, place / 3, f"decider: {place / 3:.2f}")
    assert [decision.model for decision in asker.asked] == ["decider"]
    assert [receipt.key_name for receipt in receipts] == ["main"]


@pytest.mark.parametrize(
    ("asker", "spending", "why"),
    [
        (Asker(score(3.0)), False, "may not spend"),
        (None, True, "no key for the decider"),
        (Asker(hangs=True), True, "the decider was too slow"),
        (Asker(error=RateLimited("Slow down.")), True, "the decider failed: rate_limit_exceeded"),
        (Asker(None), True, "the decider failed: no_rating"),
        (Asker(NoulAnswer(noul=1.0)), True, "the decider failed: no_rating"),
        (Asker(score(3.1)), True, "the decider failed: no_rating"),
        (Asker(score(float("nan"))), True, "the decider failed: no_rating"),
    ],
)
async def test_without_a_rating_the_rule_decides(asker: Asker | None, spending: bool, why: str) -> None:
    found = await complexity(asker, 100.0).rate(question("How high is it?"), lambda _: None, spending=spending)
    assert (found.tier, found.reason) == ("simple", f"rule: 4 words ({why})")
    assert spending or not (asker and asker.asked), "what may not be paid is not asked"


@pytest.mark.parametrize(
    ("text", "tier"),
    [
        ("How high is it?", "simple"),
        ("What is the capital of Belgium, and since when?", "simple"),
        ("Compare the two rivers.", "medium"),
        ("word " * 100, "medium"),
        ("Analyse and compare the economies of both towns, step by step, since 1830.", "complex"),
        ("word " * 500, "complex"),
        ("Debug this:\n```python\nprint(1)\n```", "medium"),
        ("Refactor and review this:\n```python\nprint(1)\n```", "complex"),
        ("", "simple"),
    ],
)
def test_the_rule_goes_by_length_and_words(text: str, tier: Tier) -> None:
    found, reason = by_rule(question(text))
    assert THRESHOLDS.tier(found) == tier, (found, reason)


@given(st.text())
def test_the_rule_takes_whatever_is_said(text: str) -> None:
    found, reason = by_rule(question(text))
    assert 0 < found <= 1
    assert reason


def test_what_was_said_last_counts() -> None:
    assert last_text(question("Analyse it thoroughly.", "Thanks!")) == "Thanks!"
    pictured = Question(model="router", turns=(Message("user", (ImagePart("https://a.example/x.png"),)),))
    assert last_text(pictured) == ""


async def test_of_a_long_text_both_ends_are_rated() -> None:
    asker = Asker(score(1.0))
    await complexity(asker).rate(question(f"begin {'x' * 50_000} end"), lambda _: None, spending=True)
    state = asker.asked[0].state
    assert isinstance(state, str)
    assert len(state) < MOST_CHARACTERS + 20
    assert state.startswith("begin")
    assert state.endswith("end")
