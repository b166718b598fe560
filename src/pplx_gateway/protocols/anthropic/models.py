"""`GET /v1/models` and `GET /v1/models/{id}` in Anthropic's shape, for callers who send `anthropic-version`."""

from collections.abc import Sequence
from typing import Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from pplx_gateway.errors import InvalidRequest, ModelNotAllowed, ModelNotFound
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.anthropic import errors
from pplx_gateway.protocols.anthropic.names import AnthropicModels
from pplx_gateway.protocols.openai.encoding import encode
from pplx_gateway.protocols.openai.paging import limit_of

MOST_LISTED = 1000
_UNKNOWN_DAY = "1970-01-01T00:00:00Z"
"""What this protocol says where nobody knows when a model was released."""


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="model"):
    id: str
    display_name: str
    created_at: str = _UNKNOWN_DAY
    lifecycle: Literal["active"] = "active"
    max_input_tokens: int | None = None
    max_tokens: int | None = None


class ModelPage(msgspec.Struct, frozen=True, kw_only=True):
    data: list[ModelInfo]
    has_more: bool
    first_id: str | None
    last_id: str | None


class ModelRoutes:
    def __init__(self, gateway: Gateway, models: AnthropicModels) -> None:
        self._gateway = gateway
        self._models = models

    async def every(self, request: Request) -> Response:
        """Anthropic's own names first, then ours. All of them, unless `limit` says otherwise."""
        query = request.query_params
        limit = limit_of(query.get("limit"), usual=MOST_LISTED, most=MOST_LISTED)
        every = self._listed()
        after, before = query.get("after_id"), query.get("before_id")
        if after and before:
            raise InvalidRequest("'after_id' and 'before_id' cannot be combined.", param="before_id")
        if before:
            rest = every[: _place(every, before, "before_id")]
            return _page(rest[-limit:], more=len(rest) > limit)
        rest = every[_place(every, after, "after_id") + 1 :] if after else every
        return _page(rest[:limit], more=len(rest) > limit)

    async def one(self, request: Request) -> Response:
        """Any name that a question may bear. Raises ModelNotFound."""
        wanted = request.path_params["id"]
        try:
            model = self._models.resolve(wanted).targets[0]
        except ModelNotAllowed as error:
            raise ModelNotFound(error.message, param="model") from None
        return _json(ModelInfo(id=wanted, display_name=model.name, max_input_tokens=model.context))

    def _listed(self) -> list[ModelInfo]:
        named = [
            ModelInfo(
                id=name, display_name=f"{model.name} ({model.upstream}/{model.id})", max_input_tokens=model.context
            )
            for name, model in self._models.listed()
        ]
        ours = self._gateway.models()
        return [
            *named,
            *(ModelInfo(id=each.id, display_name=each.name, max_input_tokens=each.context) for each in ours),
        ]


def _place(every: Sequence[ModelInfo], wanted: str, param: str) -> int:
    place = next((place for place, model in enumerate(every) if model.id == wanted), None)
    if place is None:
        raise InvalidRequest(f"'{param}' names no model of the list.", param=param)
    return place


def _page(models: list[ModelInfo], *, more: bool) -> Response:
    ends = (models[0].id, models[-1].id) if models else (None, None)
    return _json(ModelPage(data=models, has_more=more, first_id=ends[0], last_id=ends[1]))


def _json(value: object) -> Response:
    found = Response(encode(value), media_type="application/json")
    found.raw_headers += errors.request_id()
    return found
