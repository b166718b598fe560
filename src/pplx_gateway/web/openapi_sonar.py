"""The paths of Sonar, for openapi.py. Each is found under `/perplexity` as well, and with or without `/v1`."""

from typing import Any

from pplx_gateway.protocols.openai.responses.create import KEY_HEADER, LONGEST_KEY
from pplx_gateway.protocols.perplexity.errors import PerplexityErrorBody
from pplx_gateway.protocols.perplexity.sonar.async_objects import AsyncAnswer, AsyncList, AsyncSonarBody
from pplx_gateway.protocols.perplexity.sonar.async_sonar import MOST, USUAL
from pplx_gateway.protocols.perplexity.sonar.objects import SonarCompletion
from pplx_gateway.protocols.perplexity.sonar.request import SonarBody
from pplx_gateway.web.openapi_files import Schemas
from pplx_gateway.web.reply_headers import OF_ANSWERS

TYPES: tuple[type, ...] = (SonarBody, SonarCompletion, AsyncSonarBody, AsyncAnswer, AsyncList)

_ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
_KEY = {
    "name": KEY_HEADER,
    "in": "header",
    "description": "The same as `idempotency_key`.",
    "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY},
}
_LISTING = [
    {
        "name": "limit",
        "in": "query",
        "schema": {"type": "integer", "minimum": 1, "maximum": MOST, "default": USUAL},
    },
    {"name": "next_token", "in": "query", "description": "As the list before has it.", "schema": {"type": "string"}},
]
_ABSENT = {"404": "No such request of yours, or not any more."}
_WRONG = {"400": "A parameter is wrong."}


def paths(schema: Schemas, errors: dict[str, str]) -> dict[str, Any]:
    """`errors` are those of every question, by their statuses."""
    told = _errors(schema, errors)
    later = {
        "summary": "Ask Sonar, and collect the answer later.",
        "operationId": "createAsyncSonar",
        "parameters": [_KEY],
        "requestBody": _body(schema, AsyncSonarBody, SonarBody),
        "responses": {"200": _json(schema, AsyncAnswer, "Taken."), **told},
    }
    listed = {
        "summary": "What you have asked Sonar to answer later.",
        "operationId": "listAsyncSonar",
        "parameters": _LISTING,
        "responses": {"200": _json(schema, AsyncList, "Found."), **_errors(schema, _WRONG)},
    }
    one = {
        "summary": "How far an asynchronous request is, with its answer once it is there.",
        "operationId": "getAsyncSonar",
        "parameters": [_ID],
        "responses": {"200": _json(schema, AsyncAnswer, "Found."), **_errors(schema, _ABSENT)},
    }
    return {
        "/v1/sonar": {"post": _now(schema, told, "createSonar")},
        "/chat/completions": {"post": _now(schema, told, "createSonarChatCompletion")},
        "/v1/async/sonar": {"post": later, "get": listed},
        "/v1/async/sonar/{id}": {"get": one},
    }


def _now(schema: Schemas, errors: dict[str, Any], name: str) -> dict[str, Any]:
    told = {header: {"description": about, "schema": {"type": "string"}} for header, about in OF_ANSWERS.items()}
    content = {kind: {"schema": schema[SonarCompletion]} for kind in ("application/json", "text/event-stream")}
    return {
        "summary": "Ask Sonar, and get the answer whole or as a stream of chunks that ends with [DONE].",
        "operationId": name,
        "requestBody": _body(schema, SonarBody),
        "responses": {"200": {"description": "The answer.", "headers": told, "content": content}, **errors},
    }


def _body(schema: Schemas, *types: type) -> dict[str, Any]:
    shapes = [schema[type_] for type_ in types]
    shown = shapes[0] if len(shapes) == 1 else {"anyOf": shapes}
    return {"required": True, "content": {"application/json": {"schema": shown}}}


def _errors(schema: Schemas, errors: dict[str, str]) -> dict[str, Any]:
    return {status: _json(schema, PerplexityErrorBody, about) for status, about in errors.items()}


def _json(schema: Schemas, type_: type, about: str) -> dict[str, Any]:
    return {"description": about, "content": {"application/json": {"schema": schema[type_]}}}
