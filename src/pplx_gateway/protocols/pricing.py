"""What models cost, as lists of models tell it, and those that answer no question: embeddings and deciders."""

from collections.abc import Iterator
from decimal import Decimal

import msgspec

from pplx_gateway.catalogue import Model
from pplx_gateway.prices import MILLION, Price, prices
from pplx_gateway.protocols.deciding import KNOWN
from pplx_gateway.tier_router import ROUTER

encode_priced = msgspec.json.Encoder(decimal_format="number").encode
_UNIT = "usd_per_1m_tokens"


class Pricing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """As the API's own list has it. `unit` says what the amounts are for."""

    input: Decimal
    output: Decimal
    unit: str
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None


def pricing_of(model: Model) -> Pricing | None:
    """None for the session's, for levels and what stands for them, and for the router."""
    agent = None if model.id == ROUTER else model.agent
    price = prices().models.get(agent.model or "") if agent else None
    return None if price is None else priced(price)


def priced(price: Price) -> Pricing:
    return Pricing(
        input=price.input, output=price.output, unit=_UNIT, cache_read=price.cache_read, cache_write=price.cache_write
    )


def embeddings() -> Iterator[tuple[str, Pricing]]:
    """Their names, with what they cost."""
    for name, cost in prices().embeddings.items():
        yield name, _tokens_in(cost)


def deciders() -> Iterator[tuple[str, Pricing | None]]:
    """Their names, with what they cost."""
    for name in KNOWN:
        cost = prices().of_decision(name, MILLION)
        yield name, None if cost is None else _tokens_in(cost)


def _tokens_in(cost: Decimal) -> Pricing:
    return Pricing(input=cost.normalize(), output=Decimal(0), unit=_UNIT)
