"""`GET /v1/models` of the mirror: what can be asked for here, with what it costs."""

from collections.abc import Iterator
from typing import Literal

import msgspec

from pplx_gateway.errors import ModelNotAllowed, ModelNotFound
from pplx_gateway.gateway import Gateway
from pplx_gateway.permits import may_ask
from pplx_gateway.prices import prices
from pplx_gateway.protocols.operation import Operation, Reply
from pplx_gateway.protocols.perplexity.sonar.models import SonarModels
from pplx_gateway.protocols.pricing import Pricing, deciders, embeddings, encode_priced, priced, pricing_of
from pplx_gateway.tier_router import ROUTER

_OWNER = "perplexity"


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
    """The API's own models and the names that stand for them, where it may be asked; else the session's, with Sonar's
    names."""
    gateway, sonar = asked.gateway, SonarModels(asked.gateway)
    if "api" in sonar.upstreams:
        entries = [entry for entry in _of_api(gateway) if entry.id == ROUTER or may_ask(entry.id, "api")]
    else:
        entries = list(_of_session(gateway, sonar))
    return Reply(encode_priced(ModelEntries(entries, "list")))


def _of_api(gateway: Gateway) -> Iterator[ModelEntry]:
    listed = prices()
    for name, price in listed.models.items():
        yield _entry(name, name.partition("/")[0], priced(price))
    for model in gateway.catalogue:
        if model.upstream == "api" and model.id not in listed.models:
            yield _entry(model.id, model.owner, pricing_of(model))
    yield from (entry for entry in _served(gateway) if entry.id == ROUTER)
    for name, cost in embeddings():
        yield _entry(name, _OWNER, cost)
    for name, fee in deciders():
        yield _entry(name, _OWNER, fee)


def _of_session(gateway: Gateway, sonar: SonarModels) -> Iterator[ModelEntry]:
    served = {entry.id: entry for entry in _served(gateway)}
    yield from served.values()
    for name in sonar.names:
        if name not in served and _answered(name, sonar):
            yield _entry(name, _OWNER)


def _answered(name: str, sonar: SonarModels) -> bool:
    """Whether the caller may ask it, and the plan allows what stands for it."""
    try:
        sonar.resolve(name)
    except (ModelNotFound, ModelNotAllowed):
        return False
    return True


def _served(gateway: Gateway) -> Iterator[ModelEntry]:
    for model in gateway.models():
        yield _entry(model.id, model.owner)


def _entry(name: str, owner: str, pricing: Pricing | None = None) -> ModelEntry:
    return ModelEntry(id=name, object="model", created=0, owned_by=owner, pricing=pricing)
