"""What a question keeps of what was asked, for one target; the same for chat completions and Responses."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pplx_gateway.capabilities import Feature, Policy, Support, Use, settle
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.protocols.openai import fields
from pplx_gateway.protocols.openai.common_request import CommonRequest
from pplx_gateway.protocols.openai.without import without
from pplx_gateway.question import Effort, Question, Sampling

F = Feature

# Their neutral values pass everywhere, and reach only an upstream that honours them.
_WITH_NEUTRAL_VALUES = (F.TEMPERATURE, F.TOP_P, F.SERVICE_TIER, F.TRUNCATION)


class Target(NamedTuple):
    """What the protocol must know of whoever will answer."""

    upstream: str
    support: Mapping[Feature, Support]
    policy: Policy


class Settled(NamedTuple):
    """`dropped` holds names of fields, `warnings` sentences."""

    question: Question
    dropped: tuple[str, ...]
    warnings: tuple[str, ...]


def settled(
    question: Question,
    uses: Iterable[Use],
    target: Target,
    *,
    prompting: bool = False,
    quietly: tuple[Feature, ...] = (),
) -> Settled:
    """`prompting`: see capabilities.settle. `quietly`: features that the gateway serves by itself, so that nothing is
    lost where the target does not know them. Raises UnsupportedParameter."""
    settlement = settle(uses, target.support, target.policy, target.upstream, prompting=prompting)
    for feature in settlement.without:
        question = without(question, feature)
    for feature in (*_WITH_NEUTRAL_VALUES, *quietly):
        if target.support.get(feature) is not Support.HONOURED:
            question = without(question, feature)
    return Settled(question, settlement.dropped, _warnings(settlement.dropped, target.upstream))


def _warnings(dropped: tuple[str, ...], upstream: str) -> tuple[str, ...]:
    if not dropped:
        return ()
    names = ", ".join(dropped)
    return (f"The {upstream} upstream does not know these fields, so they were left out: {names}.",)


def sampling(request: CommonRequest, max_output_tokens: int | None) -> Sampling:
    return Sampling(
        temperature=request.temperature,
        top_p=request.top_p,
        max_output_tokens=max_output_tokens,
        stop=fields.stop_strings(request),
    )


def effort(request: CommonRequest, warnings: list[str]) -> Effort | None:
    """`thinking: true` alone is a medium effort. Raises InvalidRequest for contradictions."""
    named = request.reasoning.effort if request.reasoning else None
    if request.reasoning_effort and named and request.reasoning_effort != named:
        raise InvalidRequest("'reasoning_effort' and 'reasoning.effort' differ.", param="reasoning.effort")
    found = request.reasoning_effort or named
    if found == "max":
        warnings.append("An effort of 'max' was taken as 'xhigh', the highest there is.")
        found = "xhigh"
    if request.thinking is None:
        return found
    wanted = fields.thinks(request)
    if found is not None and wanted != (found != "none"):
        raise InvalidRequest(f"'thinking' contradicts an effort of '{found}'.", param="thinking")
    return found or ("medium" if wanted else None)
