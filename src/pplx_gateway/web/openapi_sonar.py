"""The paths of Sonar, for openapi.py: at each address by which it is found."""

from typing import Any

from pplx_gateway.protocols.openai.responses.create import KEY_HEADER, LONGEST_KEY
from pplx_gateway.protocols.perplexity.errors import PerplexityErrorBody
from pplx_gateway.protocols.perplexity.sonar.async_objects import AsyncAnswer, AsyncList, AsyncSonarBody
from pplx_gateway.protocols.perplexity.sonar.async_sonar import MOST, USUAL
from pplx_gateway.protocols.perplexity.sonar.objects import SonarCompletion
from pplx_gateway.protocols.perplexity.sonar.request import SonarBody
from pplx_gateway.protocols.perplexity.sonar.routes import ASYNC_PATHS, SONAR_PATHS
from pplx_gateway.web.openapi_answers import PIN, QUESTION, STORE, Schemas, events, json, query, told
from pplx_gateway.web.reply_headers import OF_ANSWERS

TYPES: tuple[type, ...] = (SonarBody, SonarCompletion, AsyncSonarBody, AsyncAnswer, AsyncList)

_ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
_KEY = {
    "name": KEY_HEADER,
    "in": "header",
    "description": "The same as `idempotency_key`.",
    "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY},
}
_LISTING = query(
    {
        "limit": {"type": "integer", "minimum": 1, "maximum": MOST, "default": USUAL},
        "next_token": {"type": "string", "description": "As the list before has it."},
    }
)
_ABSENT = {"404": "No such request of yours, or not any more."}
_WRONG = {"400": "A parameter is wrong."}


def paths(schema: Schemas) -> dict[str, Any]:
    found: dict[str, Any] = {path: {"post": _now(schema)} for path in SONAR_PATHS}
    for path in ASYNC_PATHS:
        found[path] = {"post": _later(schema), "get": _listed(schema)}
        found[f"{path}/{{id}}"] = {"get": _one(schema)}
    return found


def _now(schema: Schemas) -> dict[str, Any]:
    content = {
        "application/json": {"schema": schema[SonarCompletion]},
        "text/event-stream": {"schema": events(schema[SonarCompletion], schema[PerplexityErrorBody], done=True)},
    }
    return {
        "summary": "Ask Sonar, and get the answer whole or as a stream of chunks that ends with [DONE].",
        "operationId": "createSonar",
        "parameters": [PIN],
        "requestBody": _body(schema, SonarBody),
        "responses": {"200": {"description": "The answer.", "headers": told(OF_ANSWERS), "content": content}},
        "refusals": QUESTION,
    }


def _later(schema: Schemas) -> dict[str, Any]:
    return {
        "summary": "Ask Sonar, and collect the answer later.",
        "operationId": "createAsyncSonar",
        "parameters": [_KEY, PIN],
        "requestBody": _body(schema, AsyncSonarBody, SonarBody),
        "responses": {"200": json(schema[AsyncAnswer], "Taken.")},
        "refusals": QUESTION,
    }


def _listed(schema: Schemas) -> dict[str, Any]:
    return {
        "summary": "What you have asked Sonar to answer later.",
        "operationId": "listAsyncSonar",
        "parameters": _LISTING,
        "responses": {"200": json(schema[AsyncList], "Found.")},
        "refusals": {**STORE, **_WRONG},
    }


def _one(schema: Schemas) -> dict[str, Any]:
    return {
        "summary": "How far an asynchronous request is, with its answer once it is there.",
        "operationId": "getAsyncSonar",
        "parameters": [_ID],
        "responses": {"200": json(schema[AsyncAnswer], "Found.")},
        "refusals": {**STORE, **_ABSENT},
    }


def _body(schema: Schemas, *types: type) -> dict[str, Any]:
    shapes = [schema[type_] for type_ in types]
    shown = shapes[0] if len(shapes) == 1 else {"anyOf": shapes}
    return {"required": True, "content": {"application/json": {"schema": shown}}}
