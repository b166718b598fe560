"""A request for a response as a Question, with what the response repeats of it and what is kept of it."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from pplx_gateway.capabilities import Feature, Use
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.protocols.openai import search
from pplx_gateway.protocols.openai.attachments import NO_FILES, Attached
from pplx_gateway.protocols.openai.responses import fields, web_search
from pplx_gateway.protocols.openai.responses.conversation import Conversation, conversation
from pplx_gateway.protocols.openai.responses.ids import fresh
from pplx_gateway.protocols.openai.responses.normal_form import NewId
from pplx_gateway.protocols.openai.responses.request import (
    JsonObject,
    ObjectFormat,
    ResponsesRequest,
    SchemaFormat,
)
from pplx_gateway.protocols.openai.responses.tools import CODE, Offered, offered
from pplx_gateway.protocols.openai.settling import Target, effort, sampling, settled
from pplx_gateway.protocols.openai.slips import hints
from pplx_gateway.question import (
    FunctionCall,
    FunctionResult,
    JsonObjectFormat,
    JsonSchemaFormat,
    Message,
    OutputFormat,
    Question,
    Search,
    TextPart,
    Turn,
)
from pplx_gateway.routing import Route
from pplx_gateway.schema import Schema

F = Feature

NO_ITEMS: Mapping[str, bytes] = MappingProxyType({})
# The response gives it back and the store keeps it, whether the upstream takes it or not.
_KEPT_BY_US = (F.METADATA,)


class Echo(msgspec.Struct, frozen=True, kw_only=True):
    """What the response repeats of its request, as it came into effect. `model` is the id that was asked for."""

    model: str
    instructions: str | None
    previous_response_id: str | None
    background: bool
    store: bool
    max_output_tokens: int | None
    max_tool_calls: int | None
    temperature: float
    top_p: float
    parallel_tool_calls: bool
    metadata: dict[str, str]
    prompt_cache_key: str | None
    safety_identifier: str | None
    reasoning_effort: str | None
    reasoning_summary: str | None
    service_tier: str
    user: str | None
    text: JsonObject
    tool_choice: str | JsonObject
    tools: list[JsonObject]
    truncation: str


class Shown(NamedTuple):
    """What of an answer's way the caller wants to see: thoughts, searches, and their sources."""

    reasoning: bool
    searches: bool
    search_sources: bool


class Prepared(NamedTuple):
    """`input_items` are this request's own, as JSON in normal form. `dropped` holds paths, `warnings` sentences."""

    question: Question
    echo: Echo
    shown: Shown
    input_items: tuple[bytes, ...]
    stream: bool
    background: bool
    store: bool
    dropped: tuple[str, ...]
    warnings: tuple[str, ...]


def prepare(
    request: ResponsesRequest,
    route: Route,
    target: Target,
    *,
    unknown: tuple[str, ...] = (),
    attached: Attached = NO_FILES,
    context: Sequence[bytes] = (),
    references: Mapping[str, bytes] = NO_ITEMS,
    new_id: NewId = fresh,
) -> Prepared:
    """`unknown`: keys of the body that ResponsesRequest does not know; `attached`, `references`: what is kept under the
    ids that named.py lists; `context`: the items of the responses before, oldest first, as JSON.

    Raises InvalidRequest and its kinds.
    """
    fields.check(request)
    said = conversation(request.input, context, attached, references, new_id)
    offer = offered(request, target.policy, target.upstream)
    warnings: list[str] = []
    asked = _question(request, route.requested, said, offer, warnings)
    uses = _uses(request, said, offer)
    question, dropped, told = settled(asked, uses, target, prompting=True, quietly=_KEPT_BY_US)
    if not any(not isinstance(turn, Message) or turn.role != "system" for turn in question.turns):
        raise InvalidRequest("'input' holds nothing that this upstream can be asked.", param="input")
    return Prepared(
        question=question,
        echo=_echo(request, question, offer),
        shown=_shown(request, offer),
        input_items=tuple(map(msgspec.json.encode, said.items)),
        stream=bool(request.stream),
        background=bool(request.background),
        store=request.kept,
        dropped=(*offer.dropped, *dropped, *fields.advisory(request), *offer.idle, *said.idle, *unknown),
        warnings=(*warnings, *told, *hints(unknown, request, fields.MISNAMED)),
    )


def _question(
    request: ResponsesRequest, model: str, said: Conversation, offer: Offered, warnings: list[str]
) -> Question:
    asked = search.search(request)
    warnings.extend(asked.warnings)
    return Question(
        model=model,
        turns=(*_instructions(request), *said.turns),
        streamed=bool(request.stream),
        effort=effort(request, warnings),
        search=_search(asked.search, offer),
        sandbox=offer.sandbox,
        remembered=request.kept,
        functions=offer.functions,
        tool_choice="none" if _continues_without_tools(request, said.turns) else offer.choice,
        parallel_tool_calls=request.parallel_tool_calls,
        max_tool_calls=request.max_tool_calls,
        format=_format(request),
        sampling=sampling(request, request.max_output_tokens),
        metadata=request.metadata or None,
        service_tier=request.service_tier,
        prompt_cache_key=request.prompt_cache_key,
        truncation=request.truncation,
        citation_marks=request.citation_marks,
        source_list=request.source_list,
        background=bool(request.background),
    )


def _instructions(request: ResponsesRequest) -> tuple[Turn, ...]:
    """They hold for this request alone."""
    text = request.instructions
    return (Message("system", (TextPart(text),)),) if text and text.strip() else ()


def _search(found: Search, offer: Offered) -> Search:
    for at, tool in offer.searches:
        found = web_search.narrowed(found, tool, at)
    return msgspec.structs.replace(found, enabled=False) if offer.stays_still else found


def _format(request: ResponsesRequest) -> OutputFormat | None:
    match request.text and request.text.format:
        case ObjectFormat():
            return JsonObjectFormat()
        case SchemaFormat() as form:
            Schema(form.schema, "text.format.schema")  # which must be one
            return JsonSchemaFormat(
                name=form.name, schema=form.schema, strict=form.strict, description=form.description
            )
        case _:
            return None


def _uses(request: ResponsesRequest, said: Conversation, offer: Offered) -> Iterator[Use]:
    calls = [use for use in said.uses if use.feature is F.FUNCTIONS]
    yield from (use for use in said.uses if use.feature is not F.FUNCTIONS)
    yield from offer.uses
    if calls and not offer.functions:
        yield calls[0]
    if offer.stays_still:
        yield Use("tool_choice", F.SEARCH_OFF)
    yield from fields.uses(request)


def _continues_without_tools(request: ResponsesRequest, turns: Sequence[Turn]) -> bool:
    """The context of calls is kept, but no further call may come."""
    return not request.tools and any(isinstance(turn, FunctionCall | FunctionResult) for turn in turns)


def _shown(request: ResponsesRequest, offer: Offered) -> Shown:
    return Shown(
        reasoning=request.summary is not None,
        searches=offer.searching,
        search_sources=fields.SOURCES in (request.include or ()),
    )


def _echo(request: ResponsesRequest, question: Question, offer: Offered) -> Echo:
    taken = question.sampling
    tools, choice = _echo_of_tools(question, offer)
    return Echo(
        model=question.model,
        instructions=request.instructions,
        previous_response_id=request.previous_response_id,
        background=question.background,
        store=request.kept,
        max_output_tokens=taken.max_output_tokens,
        max_tool_calls=question.max_tool_calls,
        temperature=1.0 if taken.temperature is None else float(taken.temperature),
        top_p=1.0 if taken.top_p is None else float(taken.top_p),
        parallel_tool_calls=request.parallel_tool_calls is not False,
        metadata=request.metadata or {},
        prompt_cache_key=request.prompt_cache_key,
        safety_identifier=request.safety_identifier,
        reasoning_effort=question.effort,
        reasoning_summary=request.summary,
        service_tier="default",
        user=request.user,
        text=_echo_of_text(request, question),
        tool_choice=choice,
        tools=tools,
        truncation=question.truncation or "disabled",
    )


def _echo_of_tools(question: Question, offer: Offered) -> tuple[list[JsonObject], str | JsonObject]:
    """The tools, and the choice. Where functions were left out, nothing of them can be chosen."""
    left_out = bool(offer.functions) and not question.functions
    gone = {"function"} if left_out else set()
    gone |= {CODE} if offer.sandbox and not question.sandbox else set()
    tools = [tool for tool in offer.echo if tool["type"] not in gone]
    if question.tool_choice == "none":
        return tools, "none"
    return tools, "auto" if left_out else offer.echo_choice


def _echo_of_text(request: ResponsesRequest, question: Question) -> JsonObject:
    text: JsonObject = {"format": echo_of_format(question.format)}
    if request.text and request.text.verbosity:
        text["verbosity"] = "medium"  # nobody honours another
    return text


def echo_of_format(form: OutputFormat | None) -> JsonObject:
    match form:
        case JsonObjectFormat():
            return {"type": "json_object"}
        case JsonSchemaFormat():
            described = {} if form.description is None else {"description": form.description}
            return {
                "type": "json_schema",
                "name": form.name,
                **described,
                "schema": form.schema,
                "strict": bool(form.strict),
            }
        case _:
            return {"type": "text"}
