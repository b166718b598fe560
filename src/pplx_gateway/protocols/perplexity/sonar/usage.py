"""Usage and money in Sonar's keys."""

import msgspec

from pplx_gateway.answer import Cost, Usage

BY_SEARCHES = frozenset({"sonar-deep-research"})
"""Names whose searches Sonar billed one by one; the others paid a fee for each request."""


class SonarCost(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """US dollars as the upstream gave them. What it took for tools, searches above all, stands in one of two places:
    `search_queries_cost` where Sonar billed searches, `request_cost` elsewhere."""

    total_cost: float
    input_tokens_cost: float | None = None
    output_tokens_cost: float | None = None
    request_cost: float | None = None
    search_queries_cost: float | None = None
    cache_read_cost: float | None = None
    cache_creation_cost: float | None = None


class SonarUsage(msgspec.Struct, frozen=True, kw_only=True):
    """`estimated`: counted by the gateway from characters. `cost` is null where the upstream names none.
    `search_context_size` is what was asked for."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    reasoning_tokens: int
    search_context_size: str | msgspec.UnsetType = msgspec.UNSET
    citation_tokens: int | msgspec.UnsetType = msgspec.UNSET
    num_search_queries: int | msgspec.UnsetType = msgspec.UNSET
    cost: SonarCost | None = None
    estimated: bool | msgspec.UnsetType = msgspec.UNSET


def sonar_usage(usage: Usage, *, context_size: str | None, by_searches: bool) -> SonarUsage:
    unset = msgspec.UNSET
    return SonarUsage(
        prompt_tokens=usage.input_tokens,
        completion_tokens=usage.output_tokens,
        total_tokens=usage.total_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        search_context_size=context_size or unset,
        citation_tokens=unset if usage.citation_tokens is None else usage.citation_tokens,
        num_search_queries=unset if usage.search_queries is None else usage.search_queries,
        cost=_cost(usage.cost, by_searches=by_searches) if usage.cost else None,
        estimated=True if usage.estimated else unset,
    )


def _cost(cost: Cost, *, by_searches: bool) -> SonarCost:
    return SonarCost(
        total_cost=cost.total,
        input_tokens_cost=cost.input,
        output_tokens_cost=cost.output,
        request_cost=None if by_searches else cost.tool_calls,
        search_queries_cost=cost.tool_calls if by_searches else None,
        cache_read_cost=cost.cache_read,
        cache_creation_cost=cost.cache_creation,
    )
