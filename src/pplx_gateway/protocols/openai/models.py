"""`GET /v1/models` and `GET /v1/models/{id}`: what is served now, without asking any upstream."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from pplx_gateway.capabilities import Feature, Support
from pplx_gateway.catalogue import Model
from pplx_gateway.errors import ModelNotAllowed, ModelNotFound
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.openai.encoding import encode
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


class ModelObject(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`context_length` is in tokens and left out where it is unknown. `reasoning`: shows its way even when not asked
    to; `thinking`: reasons when asked to. `research`: takes minutes."""

    id: str
    object: str
    created: int
    owned_by: str
    name: str
    upstream: str
    capabilities: dict[str, bool]
    context_length: int | None = None


class ModelList(msgspec.Struct, frozen=True):
    object: str
    data: list[ModelObject]


class Models:
    """The two routes."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def every(self, _: Request) -> Response:
        return _json(ModelList("list", [self._object(model) for model in self._gateway.models()]))

    async def one(self, request: Request) -> Response:
        """Any id that a question may name, also one that only a pattern knows. Raises ModelNotFound."""
        wanted = request.path_params["id"]
        listed = next((model for model in self._gateway.models() if model.id == wanted), None)
        if listed is not None:
            return _json(self._object(listed))
        try:
            route = self._gateway.resolve(wanted)
        except ModelNotAllowed as error:
            raise ModelNotFound(error.message, param="model") from None
        return _json(self._object(route.targets[0], wanted))

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
            capabilities=can | {"thinking": thinking, "reasoning": model.reasons, "research": model.research},
            context_length=model.context,
        )


def _json(value: object) -> Response:
    return Response(encode(value), media_type="application/json")
