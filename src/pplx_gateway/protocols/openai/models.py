"""`GET /v1/models` and `GET /v1/models/{id}`: what is served now, without asking any upstream."""

from collections.abc import Iterator

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from pplx_gateway.capabilities import Feature, Support
from pplx_gateway.catalogue import Model
from pplx_gateway.errors import ModelNotAllowed, ModelNotFound
from pplx_gateway.gateway import Gateway
from pplx_gateway.permits import may_ask
from pplx_gateway.protocols.pricing import Pricing, deciders, embeddings, encode_priced, pricing_of
from pplx_gateway.routing import Route

# OpenAI's model objects carry the time of release, which nobody knows here; clients only want a number.
CREATED = 1_767_225_600

_CAPABILITIES: dict[str, Feature] = {
    "tools": Feature.FUNCTIONS,
    "json_object": Feature.JSON_OBJECT,
    "json_schema": Feature.JSON_SCHEMA,
    "images": Feature.IMAGES_IN,
    "files": Feature.FILES_IN,
    "temperature": Feature.TEMPERATURE,
    "max_tokens": Feature.MAX_OUTPUT_TOKENS,
    "stop": Feature.STOP,
    "domain_filter": Feature.DOMAINS,
    "date_filter": Feature.DATES,
    "search_off": Feature.SEARCH_OFF,
}


_KINDS = ("chat", "embeddings", "decisions", "thinking", "reasoning", "research")
_NOTHING = dict.fromkeys((*_CAPABILITIES, *_KINDS), False)


class ModelObject(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`context_length` is in tokens and left out where it is unknown. `chat`: answers questions; what does not, makes
    `embeddings` or `decisions`. `reasoning`: shows its way even when not asked to; `thinking`: reasons when asked to.
    `research`: takes minutes. `pricing` is left out where nothing is paid by use, or where nobody knows."""

    id: str
    object: str
    created: int
    owned_by: str
    name: str
    upstream: str
    capabilities: dict[str, bool]
    context_length: int | None = None
    pricing: Pricing | None = None


class ModelList(msgspec.Struct, frozen=True):
    object: str
    data: list[ModelObject]


class Models:
    """The two routes."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def every(self, _: Request) -> Response:
        answering = [self._object(model) for model in self._gateway.models()]
        return _json(ModelList("list", [*answering, *self._others()]))

    async def one(self, request: Request) -> Response:
        """Any id that a question may name, also one that only a pattern knows. Raises ModelNotFound."""
        wanted = request.path_params["id"]
        listed = next((model for model in self._gateway.models() if model.id == wanted), None)
        if listed is not None:
            return _json(self._object(listed))
        other = next((model for model in self._others() if model.id == wanted), None)
        if other is not None:
            return _json(other)
        try:
            route = self._gateway.resolve(wanted)
        except ModelNotAllowed as error:
            raise ModelNotFound(error.message, param="model") from None
        return _json(self._object(route.targets[0], wanted))

    def _others(self) -> Iterator[ModelObject]:
        """What answers no question, as far as the caller may ask for it."""
        if "api" not in self._gateway.order:
            return
        found = [(name, "embeddings", cost) for name, cost in embeddings()]
        for name, kind, pricing in (*found, *((name, "decisions", fee) for name, fee in deciders())):
            if may_ask(name, "api"):
                yield ModelObject(
                    id=name,
                    object="model",
                    created=CREATED,
                    owned_by="perplexity",
                    name=name,
                    upstream="api",
                    capabilities=_NOTHING | {kind: True},
                    pricing=pricing,
                )

    def _object(self, model: Model, wanted: str | None = None) -> ModelObject:
        support = self._gateway.support(Route(model.id, (model,)))
        passes = (Support.HONOURED, Support.EMULATED)
        can = {name: support.get(feature) in passes for name, feature in _CAPABILITIES.items()}
        thinking = bool(model.session and model.session.thinking_id) or support.get(Feature.EFFORT) in passes
        return ModelObject(
            id=wanted or model.id,
            object="model",
            created=CREATED,
            owned_by=model.owner,
            name=model.name,
            upstream=model.upstream,
            capabilities=_NOTHING
            | can
            | {"chat": True, "thinking": thinking, "reasoning": model.reasons, "research": model.research},
            context_length=model.context,
            pricing=pricing_of(model),
        )


def _json(value: object) -> Response:
    return Response(encode_priced(value), media_type="application/json")
