"""The models of the Agent API, their prices, and what stands behind the effort levels (docs/wire-agent.md 12)."""

from collections.abc import Iterator

import msgspec

# provider/name: US dollars per million tokens in, out, and read from the cache (None = no price given).
_LISTED = """
perplexity/sonar .25 2.5 .0625
perplexity/glm-5.3 1.4 4.4 .26
perplexity/glm-5.3-flash .15 .5 .03
perplexity/kimi-k3 3 15 .3
perplexity/deepseek-v4-pro-0813 1.32 3.96 .044
perplexity/nemotron-3-ultra-550b-a55b .25 2.5 .25
anthropic/claude-fable-5 10 50 1
anthropic/claude-fable-5-1 10 50 .25
anthropic/claude-opus-5-5 4 20 .2
anthropic/claude-opus-5 5 25 .5
anthropic/claude-opus-4-8 5 25 .5
anthropic/claude-opus-4-7 5 25 .5
anthropic/claude-opus-4-6 5 25 .5
anthropic/claude-opus-4-5 5 25 .5
anthropic/claude-sonnet-5-5 2 10 .2
anthropic/claude-sonnet-5 2 10 .2
anthropic/claude-sonnet-4-6 3 15 .3
anthropic/claude-sonnet-4-5 3 15 .3
anthropic/claude-haiku-5-5 .1 .5 .01
anthropic/claude-haiku-4-5 1 5 .1
openai/gpt-6-astra 10 50 1
openai/gpt-6.1-sol 2 10 .1
openai/gpt-6-sol 2 10 .2
openai/gpt-6-luna .1 .5 .01
openai/gpt-5.6-sol 4 20 .4
openai/gpt-5.6-terra 2 12 .2
openai/gpt-5.6-luna .2 1.2 .02
openai/gpt-5.5 5 30 .5
openai/gpt-5.4 2.5 15 .25
openai/gpt-5.4-mini .75 4.5 -
openai/gpt-5.4-nano .2 1.25 -
openai/gpt-5.3-codex 3.5 28 -
openai/gpt-5.2 1.75 14 -
openai/gpt-5.1 1.25 10 -
openai/gpt-5 1.25 10 -
openai/gpt-5-mini .25 2 -
openai/gpt-5-nano .05 .4 -
google/gemini-3.8-flash .75 3.75 -
google/gemini-3.7-flash .75 3.75 -
google/gemini-3.6-flash 1.5 7.5 -
google/gemini-3.5-flash 1.5 9 -
google/gemini-3.5-flash-lite .3 2.5 -
google/gemini-3.1-pro-preview 2 12 -
google/gemini-3.1-flash-lite .25 1.5 -
google/gemini-3-flash-preview .5 3 -
xai/grok-4.7 2 6 .5
xai/grok-4.6 2 6 .5
xai/grok-4.5 2 6 .3
xai/grok-4.3 1.25 2.5 .2
xai/grok-4.20-reasoning 1.25 2.5 .2
xai/grok-4.20-non-reasoning 1.25 2.5 .2
xai/grok-4.20-multi-agent 1.25 2.5 .2
"""
# Served, but not in the list of GET /v1/models.
_UNLISTED = """
perplexity/deepseek-v4-flash-0731 .13 .26 -
perplexity/nemotron-3.5-super-120b .2 .5 -
perplexity/nemotron-3.5-lightning-30b-a3b .0115 .17 -
perplexity/kimi-k2.7-code .95 4 -
google/gemini-4-argon 2 10 -
"""


class Price(msgspec.Struct, frozen=True):
    """US dollars per million tokens."""

    input: float
    output: float
    cache_read: float | None
    cache_write: float | None


class Level(msgspec.Struct, frozen=True):
    """What an effort level stands for: the model that serves it now, its own tools, how often it searches."""

    model: str
    tools: tuple[str, ...]
    rounds: int


LEVELS = {
    "fast": Level("openai/gpt-6-luna", ("web_search",), 1),
    "low": Level("openai/gpt-5.6-luna", ("web_search", "fetch_url"), 1),
    "medium": Level("openai/gpt-6-sol", ("web_search", "fetch_url"), 2),
    "high": Level("anthropic/claude-opus-5-5", ("web_search", "fetch_url", "sandbox"), 3),
    "xhigh": Level("openai/gpt-6-astra", ("web_search", "fetch_url", "sandbox"), 4),
    "wide-research": Level("openai/gpt-6.1-sol", ("web_search", "fetch_url", "sandbox"), 4),
}
_OLD_NAMES = {
    "fast-search": "fast",
    "pro-search": "low",
    "deep-research": "medium",
    "advanced-deep-research": "high",
}


def find_level(name: str) -> Level | None:
    """The level called `name`: a plain one, an old name, or either pinned as `name@version`."""
    base = name.split("@", 1)[0]
    return LEVELS.get(_OLD_NAMES.get(base, base))


def is_wide(name: str | None) -> bool:
    return name is not None and name.split("@", 1)[0] == "wide-research"


def _read(table: str) -> Iterator[tuple[str, Price]]:
    for line in table.strip().splitlines():
        name, into, out, cached = line.split()
        writes = name.startswith(("openai/", "anthropic/")) and cached != "-"
        yield (
            name,
            Price(
                float(into),
                float(out),
                None if cached == "-" else float(cached),
                round(float(into) * 1.25, 5) if writes else None,
            ),
        )


_LISTED_PRICES = dict(_read(_LISTED))
PRICES = {**_LISTED_PRICES, **dict(_read(_UNLISTED))}


def listing() -> dict[str, object]:
    """The body of `GET /v1/models`."""
    return {"object": "list", "data": [_entry(name, price) for name, price in _LISTED_PRICES.items()]}


def _entry(name: str, price: Price) -> dict[str, object]:
    pricing: dict[str, object] = {"input": price.input, "output": price.output}
    if price.cache_read is not None:
        pricing["cache_read"] = price.cache_read
    if price.cache_write is not None:
        pricing["cache_write"] = price.cache_write
    owner = name.split("/", 1)[0]
    pricing["unit"] = "usd_per_1m_tokens"
    return {"id": name, "object": "model", "created": 0, "owned_by": owner, "pricing": pricing}
