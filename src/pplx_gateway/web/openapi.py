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
from pplx_gateway.web import (
    openapi_admin,
    openapi_anthropic,
    openapi_files,
    openapi_perplexity,
    openapi_responses,
    openapi_sonar,
)
from pplx_gateway.web.health import Health
from pplx_gateway.web.reply_headers import OF_ANSWERS

_TYPES: tuple[type, ...] = (
    ChatRequest,
    ChatCompletion,
    ChatCompletionChunk,
    ErrorBody,
    ModelList,
    ModelObject,
    *openapi_responses.TYPES,
    *openapi_anthropic.TYPES,
    *openapi_files.TYPES,
    *openapi_perplexity.TYPES,
    *openapi_sonar.TYPES,
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


async def openapi(_: Request) -> Response:
    return Response(msgspec.json.encode(document()), media_type="application/json")


@cache
def document() -> dict[str, Any]:
    references, schemas = msgspec.json.schema_components(
        _TYPES, ref_template="#/components/schemas/{name}", schema_hook=_any_value
    )
    _as_numbers(schemas)
    schema: dict[type, dict[str, Any]] = dict(zip(_TYPES, references, strict=True))
    return {
        "openapi": "3.1.0",
        "info": {"title": "pplx-gateway", "version": __version__, "license": {"name": "MIT", "identifier": "MIT"}},
        "paths": {
            "/v1/chat/completions": {"post": _chat(schema)},
            **openapi_responses.paths(schema, _errors(schema)),
            **openapi_anthropic.paths(schema, _ERRORS),
            "/v1/models": {"get": _read("List the models that are served now.", schema[ModelList])},
            "/v1/models/{id}": {"get": _read("One model; the id may contain slashes.", schema[ModelObject], "id")},
            **openapi_files.paths(schema),
            **openapi_perplexity.paths(schema),
            **openapi_sonar.paths(schema, _ERRORS),
            **openapi_admin.paths(schema),
            "/health": {"get": {**_read(_HEALTH, schema[Health]), "security": [{}, {"bearer": []}]}},
        },
        "components": {"schemas": schemas, "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}},
        "security": [{"bearer": []}],
    }


def _as_numbers(node: object) -> None:
    """Exact decimals go out as numbers (money.py), where msgspec would describe text."""
    if isinstance(node, dict):
        if node.get("format") == "decimal":
            node["type"] = "number"
            del node["format"]
        for child in list(node.values()):
            _as_numbers(child)
    elif isinstance(node, list):
        for child in node:
            _as_numbers(child)


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
    told = {name: {"description": about, "schema": {"type": "string"}} for name, about in OF_ANSWERS.items()}
    return {
        "summary": "Ask, and get the answer whole or as a stream of chunks that ends with [DONE].",
        "operationId": "createChatCompletion",
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema[ChatRequest]}}},
        "responses": {"200": {"description": "The answer.", "headers": told, "content": answers}, **_errors(schema)},
    }


def _errors(schema: dict[type, dict[str, Any]]) -> dict[str, Any]:
    return {
        status: {"description": about, "content": {"application/json": {"schema": schema[ErrorBody]}}}
        for status, about in _ERRORS.items()
    }


def _read(summary: str, schema: dict[str, Any], parameter: str | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "summary": summary,
        "responses": {"200": {"description": "Found.", "content": {"application/json": {"schema": schema}}}},
    }
    if parameter:
        found["parameters"] = [{"name": parameter, "in": "path", "required": True, "schema": {"type": "string"}}]
    return found
