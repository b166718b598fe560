"""A chat request as a Question, and what the caller is told about the difference."""

from typing import NamedTuple

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.protocols.openai import chat_fields, messages, search, tools
from pplx_gateway.protocols.openai.attachments import NO_FILES, Attached
from pplx_gateway.protocols.openai.chat_request import ChatRequest, JsonObject, JsonSchema
from pplx_gateway.protocols.openai.settling import Target, effort, sampling, settled
from pplx_gateway.protocols.openai.slips import hints
from pplx_gateway.question import JsonObjectFormat, JsonSchemaFormat, OutputFormat, Question, Sampling
from pplx_gateway.schema import Schema

__all__ = ["Prepared", "Target", "prepare", "question_of"]

_MISNAMED = {
    "input": "messages",
    "max_output_tokens": "max_completion_tokens",
    "text": "response_format",
    "instructions": "messages",
}


class Prepared(NamedTuple):
    """`dropped` holds names of fields, `warnings` sentences."""

    question: Question
    dropped: tuple[str, ...]
    warnings: tuple[str, ...]


def prepare(
    request: ChatRequest, model: str, target: Target, unknown: tuple[str, ...] = (), attached: Attached = NO_FILES
) -> Prepared:
    """`unknown` are the body's keys that ChatRequest does not know, `attached` the files that its messages name by id.
    Raises InvalidRequest and its kinds."""
    question, warnings = question_of(request, model, attached)
    question, dropped, told = settled(question, chat_fields.uses(request), target)
    if not question.turns:
        raise InvalidRequest("'messages' holds nothing that this upstream can be asked.", param="messages")
    sentences = (*warnings, *told, *hints(unknown, request, _MISNAMED))
    return Prepared(question, dropped + chat_fields.advisory(request) + unknown, sentences)


def question_of(request: ChatRequest, model: str, attached: Attached) -> tuple[Question, list[str]]:
    """All that was asked, whoever will answer, and sentences about it. Raises InvalidRequest and its kinds."""
    offer = tools.offer(request)
    asked = search.search(request)
    warnings = list(asked.warnings)
    question = Question(
        model=model,
        turns=messages.turns(request.messages, attached),
        streamed=bool(request.stream),
        effort=effort(request, warnings),
        search=asked.search,
        functions=offer.functions,
        tool_choice=offer.choice,
        parallel_tool_calls=request.parallel_tool_calls,
        format=_format(request),
        sampling=_sampling(request, warnings),
        metadata=request.metadata or None,
        service_tier=request.service_tier,
        prompt_cache_key=request.prompt_cache_key,
        truncation=request.truncation,
        citation_marks=request.citation_marks,
        source_list=request.source_list,
    )
    return question, warnings


def _sampling(request: ChatRequest, warnings: list[str]) -> Sampling:
    limit = request.max_tokens if request.max_completion_tokens is None else request.max_completion_tokens
    if request.max_tokens not in (None, limit):
        warnings.append("'max_completion_tokens' was used and 'max_tokens' was not: they differ.")
    return sampling(request, limit)


def _format(request: ChatRequest) -> OutputFormat | None:
    match request.response_format:
        case JsonObject():
            return JsonObjectFormat()
        case JsonSchema(definition):
            Schema(definition.schema, "response_format.json_schema.schema")  # which must be one
            return JsonSchemaFormat(
                name=definition.name,
                schema=definition.schema,
                strict=definition.strict,
                description=definition.description,
            )
        case _:
            return None
