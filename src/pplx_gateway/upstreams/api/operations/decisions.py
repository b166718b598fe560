"""Questions about a state, answered by a decider (docs/wire-agent.md 5)."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from pplx_gateway.decisions import (
    Choice,
    ChoiceAnswer,
    Decided,
    Decision,
    DecisionAnswer,
    DecisionQuestion,
    Noul,
    NoulAnswer,
    Score,
    ScoreAnswer,
)
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.receipts import Note, Receipt
from pplx_gateway.upstreams.api.events import NULL, NotJson, Shape, value_of
from pplx_gateway.upstreams.api.operations.calls import Answered, Calls
from pplx_gateway.upstreams.api.operations.prices import decision_cost, together
from pplx_gateway.upstreams.api.operations.state import check_state

PATH = "/v1/decisions"
MOST_QUESTIONS = 128
"""In one call."""
MOST_OPTIONS = 255
MOST_LEVELS = 10

_ANSWERS: Mapping[type[DecisionQuestion], type[DecisionAnswer]] = {
    Noul: NoulAnswer,
    Choice: ChoiceAnswer,
    Score: ScoreAnswer,
}


class _Used(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None


class _Reply(msgspec.Struct):
    model: str | None = None
    answers: dict[str, msgspec.Raw] | None = None
    usage: msgspec.Raw = NULL


_REPLY, _USED = Shape(_Reply), Shape(_Used)


class ApiDecider:
    """A Decider (operations.py)."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def decide(self, decision: Decision, note: Note) -> Decided:
        check(decision)
        answers: dict[str, DecisionAnswer | None] = {}
        bodies: list[bytes] = []
        receipts: list[Receipt] = []
        model = decision.model
        for part in _parts(decision.questions):
            body = {"model": decision.model, "state": decision.state, "questions": part}
            answered = await self._calls.paid(
                PATH, msgspec.json.encode(body), (decision.model,), decision.key_name, note=note
            )
            reply = answered.read(_REPLY, note)
            model = reply.model or model
            receipts.append(_receipt(answered, reply, model))
            note(receipts[-1])
            answers |= {name: read_answer((reply.answers or {}).get(name), asked) for name, asked in part.items()}
            bodies.append(answered.body)
        whole = bodies[0] if len(bodies) == 1 else _joined(bodies, together(receipts))
        return Decided(model=model, answers=answers, body=whole, receipt=together(receipts))


def check(decision: Decision) -> None:
    """Raises InvalidRequest for what the API refuses, or hangs on."""
    if not decision.questions:
        raise InvalidRequest("'questions' holds no question.", param="questions")
    for name, question in decision.questions.items():
        _check_question(f"questions.{name}", question)
    check_state(decision.state)


def _check_question(at: str, question: DecisionQuestion) -> None:
    match question:
        case Noul(instructions=None, criteria=criteria) if not any(v is not None for v in (criteria or {}).values()):
            raise InvalidRequest(f"'{at}' needs 'instructions' or 'criteria'.", param=at)
        case Choice(criteria=options) if not 1 <= len(options) <= MOST_OPTIONS:
            raise InvalidRequest(f"'{at}.criteria' takes 1 to {MOST_OPTIONS} options.", param=f"{at}.criteria")
        case Score(criteria=levels) if not 1 <= len(levels) <= MOST_LEVELS:
            raise InvalidRequest(f"'{at}.criteria' takes 1 to {MOST_LEVELS} levels.", param=f"{at}.criteria")
        case _:
            pass


def _parts(questions: Mapping[str, DecisionQuestion]) -> Iterator[dict[str, DecisionQuestion]]:
    names = list(questions)
    for start in range(0, len(names), MOST_QUESTIONS):
        yield {name: questions[name] for name in names[start : start + MOST_QUESTIONS]}


def read_answer(raw: msgspec.Raw | None, question: DecisionQuestion) -> DecisionAnswer | None:
    """None where there is no answer, or one that is not of the question's kind or names what it did not offer."""
    if raw is None:
        return None
    try:
        answer = msgspec.convert(value_of(raw), _ANSWERS[type(question)])
    except (msgspec.ValidationError, NotJson):
        return None
    offered = _offered(question)
    chosen = {answer.choice} if isinstance(answer, ChoiceAnswer) else set()
    named = chosen if isinstance(answer, NoulAnswer) else chosen | set(answer.probabilities)
    return answer if named <= offered else None


def _offered(question: DecisionQuestion) -> set[str]:
    match question:
        case Choice(criteria=options):
            return set(options)
        case Score(criteria=levels):
            return set(map(str, range(len(levels))))
        case _:
            return set()


def _receipt(answered: Answered, reply: _Reply, model: str) -> Receipt:
    used = _USED.read(reply.usage) or _Used()
    tokens = used.input_tokens or 0
    cost = decision_cost(model, tokens)
    return msgspec.structs.replace(
        answered.receipt(),
        model=model,
        input_tokens=tokens,
        output_tokens=used.output_tokens or 0,
        cost=cost,
        computed=cost is not None,
    )


def _joined(bodies: Sequence[bytes], receipt: Receipt) -> bytes:
    """Several answers as one: the first one's fields, with the answers and the usage of all."""
    answers: dict[str, msgspec.Raw] = {}
    for body in bodies:
        answers |= (_REPLY.read(body) or _Reply()).answers or {}
    first = value_of(bodies[0])
    usage = {"input_tokens": receipt.input_tokens, "output_tokens": receipt.output_tokens}
    fields = first if isinstance(first, dict) else {}
    return msgspec.json.encode({**fields, "answers": answers, "usage": usage})
