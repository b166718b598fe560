"""Stored responses as answers of asynchronous Sonar: the same answer, told in other words."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from pplx_gateway.answer import Cost, FinishReason, Usage
from pplx_gateway.protocols.openai.chat_objects import CalledFunction, ImageObject, SearchResult, ToolCallObject
from pplx_gateway.protocols.openai.responses.objects import (
    OutputFunctionCall,
    OutputMessage,
    OutputReasoning,
    OutputSearch,
    ResponseObject,
)
from pplx_gateway.protocols.openai.usage import ResponseCost, ResponseUsage
from pplx_gateway.protocols.perplexity.sonar.async_objects import STATUSES, AsyncAnswer, AsyncEntry
from pplx_gateway.protocols.perplexity.sonar.objects import (
    Shown,
    SonarChoice,
    SonarCompletion,
    SonarImageResult,
    SonarReplyMessage,
    image_results,
)
from pplx_gateway.protocols.perplexity.sonar.steps import ReasoningStep, read_step, search_step
from pplx_gateway.protocols.perplexity.sonar.usage import SonarUsage, sonar_usage
from pplx_gateway.protocols.steps import told_of_steps
from pplx_gateway.store.records import StoredResponse

_REASONS: dict[str, FinishReason] = {"max_output_tokens": "length", "content_filter": "content_filter"}
_ASKED = "sonar_model"
_SHOWN = "sonar_shown"


def noted(model: str, shown: Shown) -> dict[str, str]:
    """What a response must remember of its request, as its metadata."""
    return {_ASKED: model, _SHOWN: msgspec.json.encode(shown).decode()}


def entry(stored: StoredResponse) -> AsyncEntry:
    return AsyncEntry(**_head(stored, _response(stored)))


def answer(stored: StoredResponse) -> AsyncAnswer:
    response = _response(stored)
    done = STATUSES[response.status] == "COMPLETED"
    return AsyncAnswer(
        **_head(stored, response),
        error_message=_failure(response),
        response=completion(response) if done else None,
    )


def completion(response: ResponseObject) -> SonarCompletion:
    """The answer that a response holds."""
    shown = msgspec.json.decode(response.metadata.get(_SHOWN, "{}"), type=Shown)
    return SonarCompletion(
        id=response.id,
        object="chat.completion",
        created=response.created_at,
        model=response.model,
        choices=[SonarChoice(message=_message(response), finish_reason=_reason(response))],
        status="COMPLETED",
        usage=_usage(response.usage, shown) if response.usage else None,
        citations=response.citations,
        search_results=response.search_results,
        images=_images(response.images, shown),
        related_questions=response.related_questions,
        pplx=response.pplx,
    )


def _response(stored: StoredResponse) -> ResponseObject:
    return msgspec.json.decode(stored.object, type=ResponseObject)


def _head(stored: StoredResponse, response: ResponseObject) -> dict[str, Any]:
    status = STATUSES[response.status]
    return {
        "id": stored.id,
        "task_id": stored.id,
        "model": response.metadata.get(_ASKED, response.model),
        "status": status,
        "created_at": response.created_at,
        "started_at": None if status == "CREATED" else response.created_at,
        "completed_at": stored.ended_at if status == "COMPLETED" else None,
        "failed_at": stored.ended_at if status == "FAILED" else None,
    }


def _failure(response: ResponseObject) -> str | None:
    if response.error is not None:
        return response.error.message
    return "The request was cancelled." if response.status == "cancelled" else None


def _message(response: ResponseObject) -> SonarReplyMessage:
    texts = [part.text for item in response.output if isinstance(item, OutputMessage) for part in item.content]
    calls = [_call(item) for item in response.output if isinstance(item, OutputFunctionCall)]
    return SonarReplyMessage(
        content="".join(texts),
        reasoning_steps=list(_steps(response)) or msgspec.UNSET,
        tool_calls=calls or msgspec.UNSET,
    )


def _call(item: OutputFunctionCall) -> ToolCallObject:
    signature = item.thought_signature
    return ToolCallObject(
        id=item.call_id,
        type="function",
        function=CalledFunction(item.name, item.arguments),
        thought_signature=None if isinstance(signature, msgspec.UnsetType) else signature,
    )


def _steps(response: ResponseObject) -> Iterator[ReasoningStep]:
    results = {found.url: found for found in response.search_results or ()}
    for item in response.output:
        if isinstance(item, OutputReasoning):
            for part in item.summary:
                yield from _thoughts(part.text, results)
        elif isinstance(item, OutputSearch):
            urls = [page.url for page in item.action.sources or () if page.url in results]
            yield search_step("", item.action.queries, [results[url] for url in urls])


def _thoughts(text: str, results: Mapping[str, SearchResult]) -> Iterator[ReasoningStep]:
    """What stands in a summary beside the model's own thoughts is told by steps of their own."""
    told = told_of_steps(text)
    if told.thoughts:
        yield ReasoningStep(thought=told.thoughts)
    if told.read:
        yield read_step("", told.read, {url: found.title for url, found in results.items()})


def _reason(response: ResponseObject) -> FinishReason:
    if response.incomplete_details is not None:
        return _REASONS[response.incomplete_details.reason]
    called = any(isinstance(item, OutputFunctionCall) for item in response.output)
    return "tool_calls" if called else "stop"


def _images(images: list[ImageObject] | msgspec.UnsetType, shown: Shown) -> list[SonarImageResult] | msgspec.UnsetType:
    return image_results(images[: shown.num_images]) if images else msgspec.UNSET


def _usage(usage: ResponseUsage, shown: Shown) -> SonarUsage:
    counted = Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        reasoning_tokens=usage.output_tokens_details.reasoning_tokens,
        citation_tokens=_known(usage.citation_tokens),
        search_queries=_known(usage.num_search_queries),
        cost=_cost(usage.cost) if usage.cost else None,
        estimated=bool(usage.estimated),
    )
    return sonar_usage(counted, context_size=shown.context_size, by_searches=shown.by_searches)


def _cost(cost: ResponseCost) -> Cost:
    return Cost(
        total=cost.total_cost,
        input=cost.input_cost,
        output=cost.output_cost,
        tool_calls=cost.tool_calls_cost,
        cache_read=cost.cache_read_cost,
        cache_creation=cost.cache_creation_cost,
    )


def _known(count: int | msgspec.UnsetType) -> int | None:
    return None if isinstance(count, msgspec.UnsetType) else count
