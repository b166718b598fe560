"""What Perplexity's API costs where it does not say so itself: `data/prices.json`, and sums over it.

A price list of ours can only lag behind (docs/costs.md), so whoever has the upstream's own figure uses that. All
arithmetic is decimal: nothing is rounded here.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files

import msgspec

from pplx_gateway.answer import Usage

MILLION = 1_000_000
_SNAPSHOT = re.compile(r"-20[0-9]{6}$")
_SEARCH = "search_web"  # the tool's name on the bill (docs/wire-agent.md 2.6)


class Long(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a question of more than `above` tokens costs."""

    above: int
    input: Decimal
    output: Decimal


class Price(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """US dollars for a million tokens. Where no price is given for the cache, its tokens cost what plain input does."""

    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None
    long: Long | None = None


class Prices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`models`, `embeddings` and `deciders`: for a million tokens. `tools` and `searches`: for one call. Names of
    deciders may end with `*`."""

    as_of: str
    unit: str
    models: Mapping[str, Price]
    tools: Mapping[str, Decimal]
    searches: Mapping[str, Decimal]
    embeddings: Mapping[str, Decimal]
    deciders: Mapping[str, Decimal]

    def of_answer(self, model: str | None, usage: Usage) -> Decimal | None:
        """US dollars for an answer of `model` (`provider/name`), with its tools. None where the model has no price
        here, where tokens were only estimated, or where tools took part whose cost nobody tells."""
        price, tools = self.models.get(model or ""), self._of_tools(usage)
        if price is None or tools is None or usage.estimated:
            return None
        return _tokens(price, usage) + tools

    def _of_tools(self, usage: Usage) -> Decimal | None:
        """A call of another tool may cost more than its price: the tokens of a page that was read, a session."""
        if usage.tools_cost is not None:
            return usage.tools_cost
        return None if usage.other_tools else self.tools[_SEARCH] * (usage.search_queries or 0)

    def of_searches(self, kind: str, calls: int = 1) -> Decimal | None:
        """`kind` as the search API calls it: web, fast; None for those whose price nobody has told (people)."""
        price = self.searches.get(kind)
        return None if price is None else price * calls

    def of_embedding(self, model: str, tokens: int) -> Decimal | None:
        price = self.embeddings.get(model)
        return None if price is None else price * tokens / MILLION

    def of_decision(self, model: str, input_tokens: int) -> Decimal | None:
        """What is answered costs nothing. A dated snapshot costs what its release does."""
        name = _SNAPSHOT.sub("", model)
        price = next((price for pattern, price in self.deciders.items() if fnmatchcase(name, pattern)), None)
        return None if price is None else price * input_tokens / MILLION


def _tokens(price: Price, usage: Usage) -> Decimal:
    long = price.long if price.long and usage.input_tokens > price.long.above else None
    into, out = (long.input, long.output) if long else (price.input, price.output)
    read = into if price.cache_read is None else price.cache_read
    write = into if price.cache_write is None else price.cache_write
    plain = max(0, usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens)
    total = plain * into + usage.cached_tokens * read + usage.cache_write_tokens * write + usage.output_tokens * out
    return total / MILLION


@cache
def prices() -> Prices:
    """The list that this release brings."""
    return msgspec.json.decode(files("pplx_gateway").joinpath("data/prices.json").read_bytes(), type=Prices)
