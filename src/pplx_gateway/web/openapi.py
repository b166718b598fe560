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
from pplx_gateway.web import (
    openapi_admin,
    openapi_agent,
    openapi_answers,
    openapi_anthropic,
    openapi_files,
    openapi_models,
    openapi_observing,
    openapi_perplexity,
    openapi_responses,
    openapi_sonar,
)
from pplx_gateway.web.health import Health
from pplx_gateway.web.openapi_answers import PIN, QUESTION, events, json, told
from pplx_gateway.web.reply_headers import OF_ANSWERS

_PARTS = (
    openapi_responses,
    openapi_anthropic,
    openapi_models,
    openapi_files,
    openapi_perplexity,
    openapi_agent,
    openapi_sonar,
    openapi_admin,
    openapi_observing,
)
_TYPES: tuple[type, ...] = (
    ChatRequest,
    ChatCompletion,
    ChatCompletionChunk,
    *openapi_answers.TYPES,
    *(type_ for part in _PARTS for type_ in part.TYPES),
    Health,
)
_KEYS = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "x-api-key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
}


async def openapi(_: Request) -> Response:
    return Response(msgspec.json.encode(document()), media_type="application/json")


@cache
def document() -> dict[str, Any]:
    references, schemas = msgspec.json.schema_components(
        _TYPES, ref_template="#/components/schemas/{name}", schema_hook=_any_value
    )
    _as_numbers(schemas)
    openapi_files.add_file(schemas)
    schema: dict[type, dict[str, Any]] = dict(zip(_TYPES, references, strict=True))
    paths = {"/v1/chat/completions": {"post": _chat(schema)}}
    for part in _PARTS:
        paths |= part.paths(schema)
    paths |= {"/health": {"get": _health(schema)}, "/openapi.json": {"get": _itself()}}
    for strict in (*openapi_perplexity.STRICT, *openapi_models.STRICT):
        schemas[strict.__name__]["additionalProperties"] = False
    whole, refused = openapi_answers.complete(_named_once(paths), schema)
    return {
        "openapi": "3.1.0",
        "info": {"title": "pplx-gateway", "version": __version__, "license": {"name": "MIT", "identifier": "MIT"}},
        "paths": whole,
        "components": {
            "schemas": schemas,
            "responses": refused,
            "headers": openapi_answers.headers(),
            "securitySchemes": _KEYS,
        },
        "security": openapi_answers.SECURITY,
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


def _named_once(paths: dict[str, Any]) -> dict[str, Any]:
    """No two operations have one name, also where one is found at several addresses: the first keeps it."""
    first: dict[str, str] = {}
    found: dict[str, Any] = {}
    for path, calls in paths.items():
        found[path] = {**calls}
        for method, call in calls.items():
            name = call["operationId"]
            if first.setdefault(name, path) != path:
                summary = f"The same as {method.upper()} {first[name]}."
                found[path][method] = {**call, "operationId": f"{name}At{_camel(path)}", "summary": summary}
    return found


def _camel(path: str) -> str:
    words = path.replace("{", "").replace("}", "").replace("_", "/").split("/")
    return "".join(word[:1].upper() + word[1:] for word in words)


def _chat(schema: dict[type, dict[str, Any]]) -> dict[str, Any]:
    answers = {
        "application/json": {"schema": schema[ChatCompletion]},
        "text/event-stream": {"schema": events(schema[ChatCompletionChunk], schema[ErrorBody], done=True)},
    }
    return {
        "summary": "Ask, and get the answer whole or as a stream of chunks that ends with [DONE].",
        "operationId": "createChatCompletion",
        "parameters": [PIN],
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema[ChatRequest]}}},
        "responses": {"200": {"description": "The answer.", "headers": told(OF_ANSWERS), "content": answers}},
        "refusals": QUESTION,
    }


def _health(schema: dict[type, dict[str, Any]]) -> dict[str, Any]:
    return {
        "summary": "Is the gateway alive, and, for the owner, how do the session and the quota stand?",
        "operationId": "getHealth",
        "responses": {"200": json(schema[Health], "Found.")},
    }


def _itself() -> dict[str, Any]:
    return {
        "summary": "This document.",
        "operationId": "getDescription",
        "responses": {"200": json({"type": "object", "required": ["openapi", "paths"]}, "Found.")},
    }
