"""The paths of the Agent API, for openapi.py: at each address by which it is found."""

from typing import Any

from pplx_gateway.protocols.perplexity.agent.kept import FORMS
from pplx_gateway.protocols.perplexity.agent.objects import AgentResponse, Cancelling
from pplx_gateway.protocols.perplexity.agent.request import AgentRequest
from pplx_gateway.protocols.perplexity.agent.routes import PATHS
from pplx_gateway.web.openapi_answers import PIN, QUESTION, UPSTREAM, Schemas, binary, events, json, query, told
from pplx_gateway.web.reply_headers import OF_ANSWERS, OF_OPERATIONS

TYPES: tuple[type, ...] = (AgentRequest, AgentResponse, Cancelling)

_ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
_FILE = {**_ID, "name": "file_id"}
_FOLLOWING = query(
    {
        "stream": {"type": "boolean", "description": "Tell the events, and go on as they come."},
        "starting_after": {"type": "integer", "minimum": 0, "description": "The last event that you have."},
        "format": {"type": "string", "enum": list(FORMS)},
    }
)
_EVENT = {"type": "object", "required": ["type"], "properties": {"type": {"type": "string"}}}
_FILES = {
    "type": "object",
    "required": ["object", "data"],
    "properties": {"object": {"const": "list"}, "data": {"type": "array", "items": {"type": "object"}}},
}
_OF_API = {
    "type": "object",
    "description": "From the api upstream: as it tells it, with all that is not described here.",
    "required": ["id", "status", "object"],
    "properties": {"id": {"type": "string"}, "status": {"type": "string"}, "object": {"const": "response"}},
}
_ABSENT = {"404": "No such run of yours, or not any more."}
_WRONG = {"400": "A parameter is wrong, or the run is over."}


def paths(schema: Schemas) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in PATHS:
        one = f"{path}/{{id}}"
        found |= {
            path: {"post": _create(schema)},
            one: {"get": _retrieve(schema)},
            f"{one}/cancel": {"post": _cancel(schema)},
            f"{one}/files": {"get": _files()},
            f"{one}/files/{{file_id}}/content": {"get": _content()},
        }
    return found


def _create(schema: Schemas) -> dict[str, Any]:
    return {
        "summary": "Ask the Agent API, and get the response whole, as a stream of events, or in the background.",
        "operationId": "createAgentResponse",
        "parameters": [PIN],
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema[AgentRequest]}}},
        "responses": {"200": {"description": "The response.", "headers": told(OF_ANSWERS), "content": _both(schema)}},
        "refusals": QUESTION,
    }


def _retrieve(schema: Schemas) -> dict[str, Any]:
    return {
        "summary": "A response as it stands, or its events.",
        "operationId": "getAgentResponse",
        "parameters": [_ID, *_FOLLOWING],
        "responses": {"200": {"description": "Found.", "content": _both(schema)}},
        "refusals": {**UPSTREAM, **_WRONG, **_ABSENT},
    }


def _cancel(schema: Schemas) -> dict[str, Any]:
    return {
        "summary": "Stop a response that runs.",
        "operationId": "cancelAgentResponse",
        "parameters": [_ID],
        "responses": {"200": json(schema[Cancelling], "It will stop.")},
        "refusals": {**UPSTREAM, **_WRONG, **_ABSENT},
    }


def _files() -> dict[str, Any]:
    return {
        "summary": "What the run has shared.",
        "operationId": "listAgentFiles",
        "parameters": [_ID],
        "responses": {"200": {**json(_FILES, "Found."), "headers": told(OF_OPERATIONS)}},
        "refusals": {**UPSTREAM, **_ABSENT},
    }


def _content() -> dict[str, Any]:
    return {
        "summary": "The bytes of a file that the run has shared.",
        "operationId": "downloadAgentFile",
        "parameters": [_ID, _FILE],
        "responses": {"200": binary()},
        "refusals": {**UPSTREAM, **_ABSENT},
    }


def _both(schema: Schemas) -> dict[str, Any]:
    return {
        "application/json": {"schema": {"anyOf": [schema[AgentResponse], _OF_API]}},
        "text/event-stream": {"schema": events(_EVENT)},
    }
