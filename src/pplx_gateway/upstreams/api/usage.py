"""Tokens, searches and money as the Agent API reports them. Nothing is computed: a price of ours would be wrong."""

from collections.abc import Mapping
from decimal import Decimal

import msgspec

from pplx_gateway.answer import Cost, Usage
from pplx_gateway.upstreams.api.events import InputDetails, OutputDetails, Shape, ToolUse, WireCost, WireUsage

_USAGE = Shape(WireUsage)
_INPUT = Shape(InputDetails)
_OUTPUT = Shape(OutputDetails)
_TOOL = Shape(ToolUse)
_COST = Shape(WireCost)
_SEARCH = "search_web"  # what the web_search tool is called in usage (docs/wire-agent.md 2.3)


def read_usage(raw: msgspec.Raw) -> Usage | None:
    """None if the upstream gave none, as it does for cancelled runs."""
    usage = _USAGE.read(raw)
    if usage is None:
        return None
    inputs = _INPUT.read(usage.input_tokens_details) or InputDetails()
    outputs = _OUTPUT.read(usage.output_tokens_details) or OutputDetails()
    tools = usage.tool_calls_details or {}
    search = tools.get(_SEARCH)
    return Usage(
        input_tokens=usage.input_tokens or 0,
        output_tokens=usage.output_tokens or 0,
        cached_tokens=inputs.cached_tokens or inputs.cache_read_input_tokens or 0,
        cache_write_tokens=inputs.cache_creation_input_tokens or 0,
        reasoning_tokens=outputs.reasoning_tokens or 0,
        search_queries=_invocations(search, usage.tool_calls_details),
        other_tools=any(name != _SEARCH for name in tools),
        tools_cost=_tools_cost(tools),
        cost=_cost(usage.cost),
    )


def _invocations(search: msgspec.Raw | None, tools: dict[str, msgspec.Raw] | None) -> int | None:
    """0 where tools are told and no search is among them; None where nothing is told."""
    if search is None:
        return None if tools is None else 0
    use = _TOOL.read(search)
    return use.invocation if use else None


def _tools_cost(tools: Mapping[str, msgspec.Raw]) -> Decimal | None:
    """None unless every tool tells its own."""
    uses = [_TOOL.read(raw) for raw in tools.values()]
    told = [Decimal(str(use.cost_usd)) for use in uses if use is not None and use.cost_usd is not None]
    return sum(told, Decimal()) if tools and len(told) == len(tools) else None


def _cost(raw: msgspec.Raw) -> Cost | None:
    cost = _COST.read(raw)
    if cost is None or cost.total_cost is None:
        return None
    return Cost(
        total=cost.total_cost,
        input=cost.input_cost,
        output=cost.output_cost,
        tool_calls=cost.tool_calls_cost,
        cache_read=cost.cache_read_cost,
        cache_creation=cost.cache_creation_cost,
        currency=cost.currency or "USD",
    )
