"""`GET /openapi.json`, made from the structs that decode requests and build replies."""

from functools import cache
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from pplx_gateway import __version__
from pplx_gateway.protocols.openai.chat_objects import ChatCompletion, ChatCompletionChunk
from pplx_gateway.protocols.openai.chat_request import ChatRequest
from pplx_gateway.protocols.openai.errors import ErrorBody
from pplx_gateway.protocols.openai.models import ModelList, ModelObject
from pplx_gateway.web import openapi_admin, openapi_files
from pplx_gateway.web.health import Health

_TYPES: tuple[type, ...] = (
    ChatRequest,
    ChatCompletion,
    ChatCompletionChunk,
    ErrorBody,
    ModelList,
    ModelObject,
    *openapi_files.TYPES,
    *openapi_admin.TYPES,
    Health,
)

_ERRORS = {
    "400": "A field is wrong, or the upstream cannot honour it; `param` names it.",
    "401": "The gateway's key is missing or wrong.",
    "403": "The model is not in your plan, or the Host or Origin is not allowed.",
    "404": "No such path or model.",
    "413": "The body is too large.",
    "429": "A quota is gone (x-should-retry: false) or requests come too fast (Retry-After).",
    "502": "The upstream failed.",
    "503": "The session is expired or blocked.",
    "504": "The upstream took too long.",
}
_HEALTH = "Is the gateway alive, and, for the owner, how do the session and the quota stand?"
_REPLY_HEADERS = {
    "x-request-id": "The request's id, as in the gateway's log.",
    "x-pplx-upstream": "Who answered: session or api.",
    "x-pplx-requested-model": "The model as the request named it.",
    "x-pplx-dropped": "Fields that had no effect.",
    "x-pplx-warnings": "Sentences about what was adjusted.",
    "x-pplx-remaining-pro": "Pro searches left of the plan, where that is known.",
    "x-pplx-failover": "The code of the error that made another upstream answer.",
}


async def openapi(_: Request) -> Response:
    return Response(msgspec.json.encode(document()), media_type="application/json")


@cache
def document() -> dict[str, Any]:
    references, schemas = msgspec.json.schema_components(
        _TYPES, ref_template="#/components/schemas/{name}", schema_hook=_any_value
    )
    schema: dict[type, dict[str, Any]] = dict(zip(_TYPES, references, strict=True))
    return {
        "openapi": "3.1.0",
        "info": {"title": "pplx-gateway", "version": __version__, "license": {"name": "MIT", "identifier": "MIT"}},
        "paths": {
            "/v1/chat/completions": {"post": _chat(schema)},
            "/v1/models": {"get": _read("List the models that are served now.", schema[ModelList])},
            "/v1/models/{id}": {"get": _read("One model; the id may contain slashes.", schema[ModelObject], "id")},
            **openapi_files.paths(schema),
            **openapi_admin.paths(schema),
            "/health": {"get": {**_read(_HEALTH, schema[Health]), "security": [{}, {"bearer": []}]}},
        },
        "components": {"schemas": schemas, "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}},
        "security": [{"bearer": []}],
    }


def _any_value(type_: type) -> dict[str, Any]:
    """msgspec takes `object` for any JSON value when it decodes, but asks what it is when it describes."""
    if type_ is object:
        return {"description": "Any JSON value."}
    raise NotImplementedError


def _chat(schema: dict[type, dict[str, Any]]) -> dict[str, Any]:
    answers = {
        "application/json": {"schema": schema[ChatCompletion]},
        "text/event-stream": {"schema": schema[ChatCompletionChunk]},
    }
    told = {name: {"description": about, "schema": {"type": "string"}} for name, about in _REPLY_HEADERS.items()}
    errors = {
        status: {"description": about, "content": {"application/json": {"schema": schema[ErrorBody]}}}
        for status, about in _ERRORS.items()
    }
    return {
        "summary": "Ask, and get the answer whole or as a stream of chunks that ends with [DONE].",
        "operationId": "createChatCompletion",
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema[ChatRequest]}}},
        "responses": {"200": {"description": "The answer.", "headers": told, "content": answers}, **errors},
    }


def _read(summary: str, schema: dict[str, Any], parameter: str | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "summary": summary,
        "responses": {"200": {"description": "Found.", "content": {"application/json": {"schema": schema}}}},
    }
    if parameter:
        found["parameters"] = [{"name": parameter, "in": "path", "required": True, "schema": {"type": "string"}}]
    return found
