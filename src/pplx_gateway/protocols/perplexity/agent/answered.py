"""A response as the gateway keeps it, told in the Agent API's words."""

import hashlib
from collections.abc import Iterator

import msgspec

from pplx_gateway.protocols.openai.responses.objects import (
    OutputFunctionCall,
    OutputMessage,
    OutputSearch,
    ResponseObject,
)
from pplx_gateway.protocols.openai.usage import ResponseUsage
from pplx_gateway.protocols.perplexity.agent.objects import (
    AgentCall,
    AgentFailure,
    AgentImage,
    AgentImages,
    AgentItem,
    AgentMessage,
    AgentReasoning,
    AgentResponse,
    AgentSearch,
    AgentText,
    AgentUsage,
    ToolUse,
)

SEARCH = "search_web"
"""What searches are called in usage (docs/wire-agent.md 2.6)."""
_SAME = tuple(
    name
    for name in AgentResponse.__struct_fields__
    if name not in ("error", "output", "reasoning", "usage") and name in ResponseObject.__struct_fields__
)


def message_id(response_id: str) -> str:
    """An answer has one message, whose id follows from the response's: known before it is whole."""
    return f"msg_{hashlib.blake2b(response_id.encode(), digest_size=16).hexdigest()}"


def answered(stored: bytes) -> AgentResponse:
    """`stored` is a response object as `/v1/responses` shows it."""
    response = msgspec.json.decode(stored, type=ResponseObject)
    effort = response.reasoning.effort
    return AgentResponse(
        **{name: getattr(response, name) for name in _SAME},
        error=_failure(response),
        output=tuple(_items(response)),
        reasoning=None if effort is None else AgentReasoning(effort),
        usage=None if response.usage is None else _usage(response.usage),
    )


def _failure(response: ResponseObject) -> AgentFailure | None:
    if response.status == "cancelled":
        return AgentFailure(code="cancelled", message="cancelled", type="cancelled")
    error = response.error
    return None if error is None else AgentFailure(code=error.type, message=error.message, type=error.type)


def _items(response: ResponseObject) -> Iterator[AgentItem]:
    if found := _searched(response):
        yield found
    if response.images:
        yield AgentImages(
            results=tuple(
                AgentImage(
                    image_url=image.image_url,
                    origin_url=image.origin_url,
                    title=image.title,
                    width=image.width,
                    height=image.height,
                )
                for image in response.images
            )
        )
    for item in response.output:
        if isinstance(item, OutputMessage):
            yield _message(item, message_id(response.id))
        elif isinstance(item, OutputFunctionCall):
            yield _call(item)


def _searched(response: ResponseObject) -> AgentSearch | None:
    queries = dict.fromkeys(
        query for item in response.output if isinstance(item, OutputSearch) for query in item.action.queries if query
    )
    if not response.search_results:
        return None
    return AgentSearch(queries=tuple(queries) or msgspec.UNSET, results=tuple(response.search_results))


def _message(item: OutputMessage, item_id: str) -> AgentMessage:
    parts = tuple(AgentText(text=part.text, annotations=part.annotations) for part in item.content)
    return AgentMessage(id=item_id, status=item.status, content=parts)


def _call(item: OutputFunctionCall) -> AgentCall:
    return AgentCall(
        id=item.id,
        call_id=item.call_id,
        name=item.name,
        arguments=item.arguments,
        status=item.status,
        thought_signature=item.thought_signature,
    )


def _usage(usage: ResponseUsage) -> AgentUsage:
    searches = usage.num_search_queries
    return AgentUsage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=usage.total_tokens,
        input_tokens_details=usage.input_tokens_details,
        output_tokens_details=usage.output_tokens_details,
        tool_calls_details={SEARCH: ToolUse(searches)} if isinstance(searches, int) else msgspec.UNSET,
        cost=usage.cost,
        estimated=usage.estimated,
    )
