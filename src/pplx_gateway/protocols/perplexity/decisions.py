"""`POST /v1/decisions` in Perplexity's own shape: questions by name about one `state`."""

from collections.abc import Iterator

import msgspec

from pplx_gateway.decisions import Choice, Decision, DecisionQuestion, Described, Noul, Score
from pplx_gateway.decode import convert
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.permits import permit
from pplx_gateway.protocols.deciding import decider_model
from pplx_gateway.protocols.operation import Operation, Reply, told
from pplx_gateway.protocols.perplexity.strict import decode_strict, unknown_field
from pplx_gateway.unknown import unknown_paths


class DecisionsRequest(msgspec.Struct, frozen=True, kw_only=True):
    """`state` is text, or any JSON object or list; images stand in lists. Questions are `noul`, `choice` or `score`."""

    model: str
    state: Described
    questions: dict[str, object]


async def decisions(asked: Operation) -> Reply:
    """Raises GatewayError."""
    return await decided(asked, await asked.body())


async def decided(asked: Operation, body: bytes) -> Reply:
    """Raises GatewayError."""
    request = decode_strict(body, DecisionsRequest)
    decision = Decision(
        model=decider_model(request.model),
        state=request.state,
        questions=dict(_questions(request.questions)),
        key_name=asked.key_name,
    )
    permit(request.model, "api")
    decider = asked.gateway.operations.decider
    async with asked.leaving():
        found = await decider.decide(decision, asked.note(request.model))
    return Reply(found.body, told(found.receipt))


def _questions(asked: dict[str, object]) -> Iterator[tuple[str, DecisionQuestion]]:
    if not asked:
        raise InvalidRequest("'questions' holds no question.", param="questions")
    for name, value in asked.items():
        at = f"questions.{name[:80]}"
        question: DecisionQuestion = convert(value, Noul | Choice | Score, at)  # type: ignore[arg-type]
        if isinstance(value, dict):
            for path in unknown_paths(value, type(question)):
                raise unknown_field(f"{at}.{path}")
        yield name, question
