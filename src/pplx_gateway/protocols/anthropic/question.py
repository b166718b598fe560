"""A request for a message as a Question, and what the caller is told about the difference."""

from typing import NamedTuple

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.protocols.anthropic import fields
from pplx_gateway.protocols.anthropic.conversation import conversation
from pplx_gateway.protocols.anthropic.request import CountRequest, MessagesRequest, OutputFormat
from pplx_gateway.protocols.anthropic.tools import offered
from pplx_gateway.protocols.openai import search
from pplx_gateway.protocols.openai.attachments import NO_FILES, Attached
from pplx_gateway.protocols.openai.fields import stops
from pplx_gateway.protocols.openai.question import Prepared
from pplx_gateway.protocols.openai.settling import Target, settled
from pplx_gateway.protocols.openai.slips import hints
from pplx_gateway.question import Effort, JsonSchemaFormat, Question, Sampling
from pplx_gateway.schema import Schema

_FORMAT_NAME = "answer"
"""This protocol's schemas have no name, and upstreams want one."""


class Shown(NamedTuple):
    """What of an answer's way the caller wants to see."""

    thoughts: bool = False
    searches: bool = False


class Ready(NamedTuple):
    prepared: Prepared
    shown: Shown


def prepare(
    request: CountRequest, model: str, target: Target, unknown: tuple[str, ...] = (), attached: Attached = NO_FILES
) -> Ready:
    """`unknown` are the body's keys that nobody here knows, `attached` the files that its messages name by id. Raises
    InvalidRequest and its kinds."""
    target = target._replace(support=fields.lenient(target.support))
    missing = fields.lacking(request, target)
    said = conversation(request, attached)
    asked = search.search(request)
    offer = offered(request, asked.search, target.policy, target.upstream)
    warnings = list(asked.warnings)
    whole = Question(
        model=model,
        turns=said.turns,
        streamed=isinstance(request, MessagesRequest) and bool(request.stream),
        effort=_effort(request, warnings),
        search=offer.search,
        functions=offer.functions,
        tool_choice=offer.choice,
        parallel_tool_calls=_parallel(request),
        max_tool_calls=offer.most_uses,
        format=_format(request),
        sampling=_sampling(request),
        citation_marks=request.citation_marks,
        source_list=request.source_list,
    )
    question, dropped, told = settled(whole, (*said.uses, *offer.uses, *fields.uses(request)), target)
    if not question.turns:
        raise InvalidRequest("'messages' holds nothing that this upstream can be asked.", param="messages")
    left_out = (*missing, *offer.dropped, *dropped, *fields.advisory(request), *said.idle, *offer.idle, *unknown)
    sentences = (*warnings, *told, *hints(unknown, request, fields.MISNAMED))
    return Ready(
        Prepared(question, tuple(dict.fromkeys(left_out)), sentences),
        Shown(thoughts=_shows_thoughts(request), searches=offer.searching),
    )


def _effort(request: CountRequest, warnings: list[str]) -> Effort | None:
    """The effort that is named; else that of the budget; thinking that says nothing is a medium one."""
    named = request.output_config.effort if request.output_config else None
    if named == "max":
        warnings.append("An effort of 'max' was taken as 'xhigh', the highest there is.")
        return "xhigh"
    if named is not None:
        return named
    thinking = request.thinking
    if thinking is None or thinking.type == "disabled":
        return None
    return _of_budget(thinking.budget_tokens)


def _of_budget(tokens: int | None) -> Effort:
    if tokens is None:
        return "medium"
    return next((effort for most, effort in fields.BUDGETS if tokens <= most), "high")


def _shows_thoughts(request: CountRequest) -> bool:
    thinking = request.thinking
    return thinking is not None and thinking.type != "disabled" and thinking.display != "omitted"


def _parallel(request: CountRequest) -> bool | None:
    choice = request.tool_choice
    return False if choice is not None and choice.disable_parallel_tool_use else None


def _format(request: CountRequest) -> JsonSchemaFormat | None:
    newer = request.output_config.format if request.output_config else None
    if newer is not None and request.output_format is not None:
        message = "'output_format' is the older name of 'output_config.format'. Send one of them."
        raise InvalidRequest(message, param="output_format")
    at, found = ("output_config.format", newer) if newer else ("output_format", request.output_format)
    return None if found is None else _schema(found, f"{at}.schema")


def _schema(form: OutputFormat, at: str) -> JsonSchemaFormat:
    Schema(form.schema, at)  # which must be one
    return JsonSchemaFormat(name=_FORMAT_NAME, schema=form.schema, strict=True)


def _sampling(request: CountRequest) -> Sampling:
    if not isinstance(request, MessagesRequest):
        return Sampling()
    return Sampling(
        temperature=request.temperature,
        top_p=request.top_p,
        max_output_tokens=request.max_tokens,
        stop=stops(request.stop_sequences or [], "stop_sequences"),
    )
