"""`POST /v1/decisions` in OpenAI's shape.

A body with `state` is Perplexity's own, and is answered in its shape (protocols/perplexity/decisions.py).
"""

from typing import Annotated

import msgspec

from pplx_gateway.decisions import ChoiceAnswer, Decided, Decision, DecisionAnswer, NoulAnswer, ScoreAnswer
from pplx_gateway.decode import decode, unknown_keys
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.permits import permit
from pplx_gateway.protocols.deciding import decider_model
from pplx_gateway.protocols.openai import decision_input, decision_questions
from pplx_gateway.protocols.openai.decision_questions import Asked, ChoiceQuestion, Question, ScoreQuestion
from pplx_gateway.protocols.operation import Operation, Reply, dropped, json, told
from pplx_gateway.protocols.perplexity.decisions import decided as natively

MOST_QUESTIONS = 400
Value = str | bool


class DecisionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """`input` is text, or messages, calls and their outputs. The fields of caches and `safety_identifier` have no
    effect."""

    model: str
    input: str | list[dict[str, object]]
    questions: Annotated[list[Question], msgspec.Meta(min_length=1, max_length=MOST_QUESTIONS)]
    prompt_cache_key: str | None = None
    prompt_cache_options: dict[str, object] | None = None
    safety_identifier: str | None = None


class PredicateAnswer(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="predicate"):
    name: str | None
    probability: float


class ChoiceProbability(msgspec.Struct, frozen=True, kw_only=True):
    value: Value
    probability: float


class ChosenAnswer(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="choice"):
    name: str | None
    choice: Value
    confidence: float
    probabilities: list[ChoiceProbability]


class LevelProbability(msgspec.Struct, frozen=True, kw_only=True):
    value: int
    label: str
    probability: float


class ScoredAnswer(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="score"):
    name: str | None
    score: float
    confidence: float
    probabilities: list[LevelProbability]


class RefusedAnswer(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="refusal"):
    """The decider gave no answer that fits the question."""

    name: str | None


Answer = PredicateAnswer | ChosenAnswer | ScoredAnswer | RefusedAnswer


class DecisionInputDetails(msgspec.Struct, frozen=True, kw_only=True):
    cached_tokens: int = 0
    cache_write_tokens: int = 0


class DecisionOutputDetails(msgspec.Struct, frozen=True, kw_only=True):
    reasoning_tokens: int = 0


class DecisionUsage(msgspec.Struct, frozen=True, kw_only=True):
    input_tokens: int
    output_tokens: int
    total_tokens: int
    input_tokens_details: DecisionInputDetails = DecisionInputDetails()
    output_tokens_details: DecisionOutputDetails = DecisionOutputDetails()


class DecisionReply(msgspec.Struct, frozen=True, kw_only=True):
    """Answers in the order of the questions. `id` is the upstream's request id, where it gave one."""

    id: str | None
    answers: list[Answer]
    model: str
    usage: DecisionUsage


class _Shape(msgspec.Struct):
    input: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    state: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


async def decisions(asked: Operation) -> Reply:
    """Raises GatewayError."""
    body = await asked.body()
    shape = decode(body, _Shape)
    if shape.state is not msgspec.UNSET:
        if shape.input is not msgspec.UNSET:
            raise InvalidRequest(
                "'input' (OpenAI's) and 'state' (Perplexity's) are two ways to ask. Send one.", param="state"
            )
        return await natively(asked, body)
    return await _decided(asked, body)


async def _decided(asked: Operation, body: bytes) -> Reply:
    request = decode(body, DecisionRequest)
    questions, state = decision_questions.asked(request.questions), decision_input.state(request.input)
    decision = Decision(
        model=decider_model(request.model),
        state=state.value,
        questions={key: question.upstream for key, question in questions.items()},
        key_name=asked.key_name,
    )
    permit(request.model, "api")
    decider = asked.gateway.operations.decider
    async with asked.leaving():
        found = await decider.decide(decision, asked.note(request.model))
    unused = [*unknown_keys(body, DecisionRequest), *state.unknown, *_without_effect(request)]
    return json(_reply(found, questions), [*told(found.receipt), *dropped(unused)])


def _without_effect(request: DecisionRequest) -> list[str]:
    names = ("prompt_cache_key", "prompt_cache_options", "safety_identifier")
    return [name for name in names if getattr(request, name) is not None]


def _reply(found: Decided, questions: dict[str, Asked]) -> DecisionReply:
    receipt = found.receipt
    usage = DecisionUsage(
        input_tokens=receipt.input_tokens,
        output_tokens=receipt.output_tokens,
        total_tokens=receipt.input_tokens + receipt.output_tokens,
    )
    answers = [_answer(question.own, found.answers.get(key)) for key, question in questions.items()]
    return DecisionReply(id=receipt.request_id, answers=answers, model=found.model, usage=usage)


def _answer(question: Question, given: DecisionAnswer | None) -> Answer:
    """An option or a level that the decider did not weigh is not told of: it is not made up here."""
    name = question.name
    match given, question:
        case NoulAnswer(), _:
            return PredicateAnswer(name=name, probability=given.noul)
        case ChoiceAnswer(), ChoiceQuestion():
            values = {decision_questions.key_of(each.value): each.value for each in question.choices}
            weighed = [
                ChoiceProbability(value=value, probability=given.probabilities[key])
                for key, value in values.items()
                if key in given.probabilities
            ]
            return ChosenAnswer(
                name=name, choice=values[given.choice], confidence=given.confidence, probabilities=weighed
            )
        case ScoreAnswer(), ScoreQuestion():
            levels = [
                LevelProbability(value=place, label=level.label, probability=given.probabilities[str(place)])
                for place, level in enumerate(question.levels)
                if str(place) in given.probabilities
            ]
            return ScoredAnswer(name=name, score=given.score, confidence=given.confidence, probabilities=levels)
        case _:
            return RefusedAnswer(name=name)
