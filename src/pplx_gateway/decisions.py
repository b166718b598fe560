"""What a decider is asked, and what it answers, in nobody's dialect."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from pplx_gateway.receipts import Receipt

Described = str | dict[str, object] | list[object]


class Noul(msgspec.Struct, frozen=True, kw_only=True, tag="noul", omit_defaults=True):
    """How true something is. `criteria` may describe `true` and `false`."""

    instructions: Described | None = None
    criteria: dict[Literal["true", "false"], Described | None] | None = None


class Choice(msgspec.Struct, frozen=True, kw_only=True, tag="choice", omit_defaults=True):
    """Which of several; options with descriptions or None."""

    criteria: dict[str, Described | None]
    instructions: Described | None = None


class Score(msgspec.Struct, frozen=True, kw_only=True, tag="score", omit_defaults=True):
    """Where on a scale; levels from the lowest."""

    criteria: list[Described]
    instructions: Described | None = None


class NoulAnswer(msgspec.Struct, frozen=True, kw_only=True, tag="noul"):
    noul: float


class ChoiceAnswer(msgspec.Struct, frozen=True, kw_only=True, tag="choice"):
    choice: str
    confidence: float
    probabilities: dict[str, float]


class ScoreAnswer(msgspec.Struct, frozen=True, kw_only=True, tag="score"):
    """`score` and the keys of `probabilities` are places on the scale, from 0."""

    score: float
    confidence: float
    probabilities: dict[str, float]
    legend: dict[str, Described] = {}


DecisionQuestion = Noul | Choice | Score
DecisionAnswer = NoulAnswer | ChoiceAnswer | ScoreAnswer


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """Questions about one `state`, by name."""

    model: str
    state: Described
    questions: Mapping[str, DecisionQuestion]
    key_name: str | None = None


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """`answers` has every question's name, in their order; None = the upstream gave none that fits. `body` is the
    answer in the upstream's shape, put together where it took several calls; `receipt` is their sum."""

    model: str
    answers: Mapping[str, DecisionAnswer | None]
    body: bytes
    receipt: Receipt
