"""Usage in OpenAI's places: on chat with Sonar's names beside them, on Responses with the Agent API's."""

import msgspec

from pplx_gateway.answer import Cost, Usage


class InputDetails(msgspec.Struct, frozen=True):
    cached_tokens: int
    cache_write_tokens: int


class CompletionDetails(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    reasoning_tokens: int
    citation_tokens: int | None = None
    num_search_queries: int | None = None


class CostObject(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """US dollars, as the upstream gave them. `prompt_cost` and `completion_cost` repeat Sonar's two keys before them;
    `request_cost` is the fee for searches and other tools."""

    total_cost: float
    input_tokens_cost: float | None = None
    output_tokens_cost: float | None = None
    prompt_cost: float | None = None
    completion_cost: float | None = None
    request_cost: float | None = None
    cache_read_cost: float | None = None
    cache_creation_cost: float | None = None
    currency: str = ""


class UsageObject(msgspec.Struct, frozen=True, kw_only=True):
    """`estimated`: counted by the gateway from characters. `cost` is null where the upstream names none."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: InputDetails
    completion_tokens_details: CompletionDetails
    reasoning_tokens: int
    citation_tokens: int | msgspec.UnsetType = msgspec.UNSET
    num_search_queries: int | msgspec.UnsetType = msgspec.UNSET
    cost: CostObject | None = None
    estimated: bool | msgspec.UnsetType = msgspec.UNSET


class OutputDetails(msgspec.Struct, frozen=True):
    reasoning_tokens: int


class ResponseCost(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """US dollars under the Agent API's own keys, as the upstream gave them."""

    total_cost: float
    input_cost: float | None = None
    output_cost: float | None = None
    tool_calls_cost: float | None = None
    cache_read_cost: float | None = None
    cache_creation_cost: float | None = None
    currency: str = ""


class ResponseUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What the Responses API calls usage. `estimated`: counted by the gateway from characters."""

    input_tokens: int
    input_tokens_details: InputDetails
    output_tokens: int
    output_tokens_details: OutputDetails
    total_tokens: int
    citation_tokens: int | msgspec.UnsetType = msgspec.UNSET
    num_search_queries: int | msgspec.UnsetType = msgspec.UNSET
    cost: ResponseCost | msgspec.UnsetType = msgspec.UNSET
    estimated: bool | msgspec.UnsetType = msgspec.UNSET


def usage_object(usage: Usage) -> UsageObject:
    unset = msgspec.UNSET
    return UsageObject(
        prompt_tokens=usage.input_tokens,
        completion_tokens=usage.output_tokens,
        total_tokens=usage.total_tokens,
        prompt_tokens_details=InputDetails(usage.cached_tokens, usage.cache_write_tokens),
        completion_tokens_details=CompletionDetails(
            reasoning_tokens=usage.reasoning_tokens,
            citation_tokens=usage.citation_tokens,
            num_search_queries=usage.search_queries,
        ),
        reasoning_tokens=usage.reasoning_tokens,
        citation_tokens=unset if usage.citation_tokens is None else usage.citation_tokens,
        num_search_queries=unset if usage.search_queries is None else usage.search_queries,
        cost=_cost(usage.cost) if usage.cost else None,
        estimated=True if usage.estimated else unset,
    )


def _cost(cost: Cost) -> CostObject:
    return CostObject(
        total_cost=cost.total,
        input_tokens_cost=cost.input,
        output_tokens_cost=cost.output,
        prompt_cost=cost.input,
        completion_cost=cost.output,
        request_cost=cost.tool_calls,
        cache_read_cost=cost.cache_read,
        cache_creation_cost=cost.cache_creation,
        currency=cost.currency,
    )


def response_usage(usage: Usage) -> ResponseUsage:
    unset = msgspec.UNSET
    return ResponseUsage(
        input_tokens=usage.input_tokens,
        input_tokens_details=InputDetails(usage.cached_tokens, usage.cache_write_tokens),
        output_tokens=usage.output_tokens,
        output_tokens_details=OutputDetails(usage.reasoning_tokens),
        total_tokens=usage.total_tokens,
        citation_tokens=unset if usage.citation_tokens is None else usage.citation_tokens,
        num_search_queries=unset if usage.search_queries is None else usage.search_queries,
        cost=_response_cost(usage.cost) if usage.cost else unset,
        estimated=True if usage.estimated else unset,
    )


def _response_cost(cost: Cost) -> ResponseCost:
    return ResponseCost(
        total_cost=cost.total,
        input_cost=cost.input,
        output_cost=cost.output,
        tool_calls_cost=cost.tool_calls,
        cache_read_cost=cost.cache_read,
        cache_creation_cost=cost.cache_creation,
        currency=cost.currency,
    )
