"""Tokens and money. The counts are the emulator's own estimates; the sums follow the API's prices and rounding."""

from typing import Any

import msgspec

from pplx_gateway.emulator.agent.models import PRICES, Price

# US dollars a call (docs/wire-agent.md 12).
TOOL_PRICES = {
    "search_web": 0.0025,
    "fetch_url": 0.0005,
    "search_people": 0.005,
    "finance_search": 0.005,
    "sandbox": 0.03,
}
# The model that extracts pages for fetch_url is billed on top of the call.
EXTRACTOR = "openai/gpt-5.6-luna"
EXTRACTED_TOKENS = (9800, 150)


class Counts(msgspec.Struct, kw_only=True):
    """What one run used. `tools` are calls by billing key."""

    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    tools: dict[str, int] = {}


def tokens(text: str) -> int:
    """About four characters a token, at least one."""
    return max(1, len(text) // 4)


def bill(model: str, counts: Counts) -> dict[str, Any]:
    """The `usage` object. Every amount is rounded to five decimals, as the API does, so small runs show zeros."""
    price = PRICES[model]
    cached = counts.input_tokens // 3 if price.cache_read is not None and counts.input_tokens > 256 else 0
    written = counts.input_tokens // 2 if price.cache_write is not None and cached else 0
    details, tool_costs = _tools(counts.tools)
    costs = _costs(price, counts, cached, written)
    total = sum(costs.values()) + sum(tool_costs.values())
    return {
        "input_tokens": counts.input_tokens,
        "output_tokens": counts.output_tokens,
        "total_tokens": counts.input_tokens + counts.output_tokens,
        "input_tokens_details": {
            "cached_tokens": cached,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": written,
        },
        "output_tokens_details": {"reasoning_tokens": counts.reasoning_tokens},
        "tool_calls_details": details,
        "cost": {
            "currency": "USD",
            **{name: round(amount, 5) for name, amount in costs.items()},
            "tool_calls_cost": round(sum(tool_costs.values()), 5),
            "tool_calls_cost_details": tool_costs,
            "total_cost": round(total, 5),
        },
    }


def _costs(price: Price, counts: Counts, cached: int, written: int) -> dict[str, float]:
    """`input_cost` covers only what was neither read from the cache nor written to it."""
    million = 1_000_000
    return {
        "input_cost": (counts.input_tokens - cached - written) * price.input / million,
        "output_cost": counts.output_tokens * price.output / million,
        "cache_read_cost": cached * (price.cache_read or 0) / million,
        "cache_creation_cost": written * (price.cache_write or 0) / million,
    }


def _tools(calls: dict[str, int]) -> tuple[dict[str, Any], dict[str, float]]:
    details: dict[str, Any] = {}
    costs: dict[str, float] = {}
    for name, count in calls.items():
        cost = count * TOOL_PRICES[name] + (_extraction(count) if name == "fetch_url" else 0.0)
        costs[name] = round(cost, 5)
        details[name] = {"invocation": count, "cost_usd": costs[name]}
        if name == "fetch_url":
            details[name]["token_usage"] = [_extraction_usage(count)]
    return details, costs


def _extraction(count: int) -> float:
    into, out = EXTRACTED_TOKENS
    price = PRICES[EXTRACTOR]
    return count * (into * price.input + out * price.output) / 1_000_000


def _extraction_usage(count: int) -> dict[str, Any]:
    into, out = EXTRACTED_TOKENS
    return {
        "model": EXTRACTOR,
        "input_tokens": into * count,
        "output_tokens": out * count,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
