"""`POST /v1/decisions`, answered: by what the state has in common with a question's words (docs/wire-agent.md 5)."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from pplx_gateway.emulator.agent.decision import (
    Choice,
    Decision,
    DecisionError,
    Noul,
    Question,
    Score,
    Stalled,
    read_decision,
    settled,
    words,
)
from pplx_gateway.emulator.agent.desk import Desk
from pplx_gateway.emulator.agent.errors import ApiError
from pplx_gateway.emulator.agent.guards import guard
from pplx_gateway.emulator.agent.sense import likeness
from pplx_gateway.emulator.dice import Dice
from pplx_gateway.emulator.stage import Stage
from pplx_gateway.emulator.words import parse_controls

PER_SECOND = 10
_SHARPNESS = 12.0


class Decisions:
    """The endpoint over one Stage."""

    def __init__(self, stage: Stage) -> None:
        self._desk = Desk(stage, per_second=PER_SECOND)
        stage.guard("POST", "/v1/decisions", guard(_refuse))

    def routes(self) -> list[BaseRoute]:
        return [Route("/v1/decisions", self.decide, methods=["POST"])]

    async def decide(self, request: Request) -> Response:
        self._desk.key(request)
        try:
            asked = read_decision(await request.body())
        except Stalled:
            return self._desk.told("fault:upstream_timeout", None, empty=None)
        usage = {"input_tokens": asked.input_tokens, "output_tokens": asked.output_tokens}
        whole = {"model": asked.body.model, "answers": answers(asked), "usage": usage}
        try:
            return self._desk.told(asked.text, whole, empty={**whole, "answers": {}})
        except ApiError as error:
            if error.status != 429:
                raise
            throttled = DecisionError(error.message, status=429, kind=error.kind)
            throttled.headers = error.headers
            raise throttled from error


def _refuse(body: bytes) -> None:
    try:
        read_decision(body)
    except Stalled:
        return


def answers(asked: Decision) -> dict[str, Any]:
    """By question. A question that begins with `fault:empty` gets no answer, one with `fault:substituted` that of
    another kind."""
    found = {}
    for name, question in asked.body.questions.items():
        fault = parse_controls(words(question.instructions)).fault
        if fault == "empty":
            continue
        found[name] = {"type": "other", "value": 1} if fault == "substituted" else answer(asked.text, name, question)
    return found


def answer(state: str, name: str, question: Question) -> dict[str, Any]:
    said = parse_controls(state).question
    match question:
        case Noul():
            return {"type": "noul", "noul": _noul(said, name, question)}
        case Choice(criteria=options):
            texts = [f"{option} {words(described)}" for option, described in options.items()]
            shares = _shares(said, texts, list(options))
            best = max(range(len(texts)), key=shares.__getitem__)
            probabilities = dict(zip(options, shares, strict=True))
            confidence = 1.0 if settled(question) else shares[best]
            return {
                "type": "choice",
                "choice": list(options)[best],
                "confidence": confidence,
                "probabilities": probabilities,
            }
        case Score(criteria=levels):
            return _score(said, levels)


def _noul(said: str, name: str, question: Noul) -> float:
    """High where the state speaks of what is asked; criteria count more than the instructions."""
    about = likeness(said, f"{name} {words(question.instructions)}")
    criteria = question.criteria
    pro = likeness(said, words(criteria.true)) if criteria and criteria.true is not None else about
    con = likeness(said, words(criteria.false)) if criteria and criteria.false is not None else 0.12
    return _rounded(1 / (1 + math.exp(-_SHARPNESS * (pro - con))))


def _score(said: str, levels: Sequence[Any]) -> dict[str, Any]:
    texts = [words(level) for level in levels]
    shares = _shares(said, texts, texts)
    return {
        "type": "score",
        "score": _rounded(sum(place * share for place, share in enumerate(shares))),
        "confidence": max(shares),
        "legend": _numbered(levels),
        "probabilities": _numbered(shares),
    }


def _numbered(values: Sequence[Any]) -> Mapping[str, Any]:
    return {str(place): value for place, value in enumerate(values)}


def _shares(said: str, texts: Sequence[str], names: Sequence[str]) -> list[float]:
    """Probabilities that add up to 1, the higher the more a text has in common with what is said. Where nothing has
    anything in common, chance decides, the same way every time."""
    dice = Dice(said)
    heights = [
        _SHARPNESS * likeness(said, text) + dice.number(name, 0, 60) / 100
        for text, name in zip(texts, names, strict=True)
    ]
    weights = [math.exp(height - max(heights)) for height in heights]
    shares = [_rounded(weight / sum(weights)) for weight in weights]
    best = max(range(len(shares)), key=shares.__getitem__)
    shares[best] = _rounded(shares[best] + 1 - sum(shares))
    return shares


def _rounded(value: float) -> float:
    return round(value, 4)
