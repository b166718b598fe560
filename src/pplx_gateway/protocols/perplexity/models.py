"""`GET /v1/models` of the mirror: what can be asked for here, with what it costs."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Literal

import msgspec

from pplx_gateway.caller_keys import current_key
from pplx_gateway.gateway import Gateway
from pplx_gateway.prices import Price, prices
from pplx_gateway.protocols.deciding import KNOWN
from pplx_gateway.protocols.operation import Operation, Reply
from pplx_gateway.tier_router import ROUTER

_ENCODER = msgspec.json.Encoder(decimal_format="number")


class Pricing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    input: Decimal
    output: Decimal
    unit: str
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None


class ModelEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`created` is 0, as this API has it. Levels and what stands for them have no price of their own."""

    id: str
    object: str
    created: int
    owned_by: str
    pricing: Pricing | None = None


class ModelEntries(msgspec.Struct, frozen=True):
    data: list[ModelEntry]
    object: Literal["list"]


async def models(asked: Operation) -> Reply:
    """The API's own models and the names that stand for them, where a key is set; else the session's."""
    gateway = asked.gateway
    present = gateway.keys is not None and gateway.keys.present
    entries = _of_api(gateway) if present else _served(gateway)
    allowed = [entry for entry in entries if _may_be_asked(entry.id, "api" if present else "session")]
    return Reply(_ENCODER.encode(ModelEntries(allowed, "list")))


def _of_api(gateway: Gateway) -> Iterator[ModelEntry]:
    listed = prices()
    for name, price in listed.models.items():
        yield _entry(name, name.partition("/")[0], _priced(price))
    for model in gateway.catalogue:
        if model.upstream == "api" and model.id not in listed.models:
            own = listed.models.get(model.agent.model or "") if model.agent else None
            yield _entry(model.id, model.owner, _priced(own) if own else None)
    yield from (entry for entry in _served(gateway) if entry.id == ROUTER)
    for name, cost in listed.embeddings.items():
        yield _entry(name, "perplexity", _tokens_in(cost))
    for name in KNOWN:
        decision = listed.of_decision(name, 1_000_000)
        yield _entry(name, "perplexity", _tokens_in(decision) if decision is not None else None)


def _served(gateway: Gateway) -> Iterator[ModelEntry]:
    for model in gateway.models():
        yield _entry(model.id, model.owner)


def _entry(name: str, owner: str, pricing: Pricing | None = None) -> ModelEntry:
    return ModelEntry(id=name, object="model", created=0, owned_by=owner, pricing=pricing)


def _priced(price: Price) -> Pricing:
    return Pricing(
        input=price.input, output=price.output, unit=_UNIT, cache_read=price.cache_read, cache_write=price.cache_write
    )


def _tokens_in(cost: Decimal) -> Pricing:
    return Pricing(input=cost.normalize(), output=Decimal(0), unit=_UNIT)


def _may_be_asked(name: str, upstream: str) -> bool:
    key = current_key.get()
    return key is None or (key.allows_model(name) and key.allows_upstream(upstream))


_UNIT = "usd_per_1m_tokens"
