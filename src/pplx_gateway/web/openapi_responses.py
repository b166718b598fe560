"""The paths of the Responses API, for openapi.py."""

from typing import Any

from pplx_gateway.protocols.openai.errors import ErrorBody
from pplx_gateway.protocols.openai.responses import events
from pplx_gateway.protocols.openai.responses.create import KEY_HEADER, LONGEST_KEY
from pplx_gateway.protocols.openai.responses.objects import ResponseObject
from pplx_gateway.protocols.openai.responses.request import ResponsesRequest
from pplx_gateway.protocols.openai.responses.routes import (
    MOST_ITEMS,
    RESPONSES_PATH,
    USUAL_ITEMS,
    ItemList,
    ResponseDeleted,
)
from pplx_gateway.web.openapi_files import Schemas
from pplx_gateway.web.reply_headers import OF_ANSWERS

EVENTS = events.ResponseEvent.__args__
TYPES: tuple[type, ...] = (ResponsesRequest, ResponseObject, ItemList, ResponseDeleted, *EVENTS)

_ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
_KEY = {
    "name": KEY_HEADER,
    "in": "header",
    "description": "Repeats of the same request with the same key get the same response, and ask nothing again.",
    "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY},
}
_FOLLOWING = {
    "stream": {"type": "boolean", "description": "Tell the events, and go on as they come. Background responses only."},
    "starting_after": {"type": "integer", "minimum": 0, "description": "The number of the last event that you have."},
    "include": {"type": "array", "items": {"type": "string"}},
}
_LISTING = {
    "order": {"type": "string", "enum": ["asc", "desc"], "default": "desc"},
    "limit": {"type": "integer", "minimum": 1, "maximum": MOST_ITEMS, "default": USUAL_ITEMS},
    "after": {"type": "string", "description": "The id of the last item of the page before."},
    "include": {"type": "array", "items": {"type": "string"}},
}
_ABSENT = "No such response of yours, or not any more."
_WRONG = "A parameter is wrong."


def paths(schema: Schemas, errors: dict[str, Any]) -> dict[str, Any]:
    """`errors` are those of every question."""
    one = f"{RESPONSES_PATH}/{{id}}"
    absent = {"404": _json(schema[ErrorBody], _ABSENT)}
    return {
        RESPONSES_PATH: {"post": _create(schema, errors)},
        one: {
            "get": {
                "summary": "A response as it stands, or its events.",
                "operationId": "getResponse",
                "parameters": [_ID, *_query(_FOLLOWING)],
                "responses": {
                    "200": {"description": "Found.", "content": _answers(schema)},
                    "400": _json(schema[ErrorBody], _WRONG),
                    **absent,
                },
            },
            "delete": {
                "summary": "Delete a response, and all that belongs to it. One that runs is stopped.",
                "operationId": "deleteResponse",
                "parameters": [_ID],
                "responses": {"200": _json(schema[ResponseDeleted], "Deleted."), **absent},
            },
        },
        f"{one}/cancel": {
            "post": {
                "summary": "Stop a response that runs in the background.",
                "operationId": "cancelResponse",
                "parameters": [_ID],
                "responses": {
                    "200": _json(schema[ResponseObject], "Cancelled."),
                    "400": _json(schema[ErrorBody], "It is over, or did not run in the background."),
                    **absent,
                },
            }
        },
        f"{one}/input_items": {
            "get": {
                "summary": "What a response was asked with; not what was said before.",
                "operationId": "listInputItems",
                "parameters": [_ID, *_query(_LISTING)],
                "responses": {
                    "200": _json(schema[ItemList], "Found."),
                    "400": _json(schema[ErrorBody], _WRONG),
                    **absent,
                },
            }
        },
    }


def _create(schema: Schemas, errors: dict[str, Any]) -> dict[str, Any]:
    told = {name: {"description": about, "schema": {"type": "string"}} for name, about in OF_ANSWERS.items()}
    return {
        "summary": "Ask, and get the response whole, as a stream of events, or in the background.",
        "operationId": "createResponse",
        "parameters": [_KEY],
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema[ResponsesRequest]}}},
        "responses": {
            "200": {"description": "The response.", "headers": told, "content": _answers(schema)},
            **errors,
        },
    }


def _answers(schema: Schemas) -> dict[str, Any]:
    return {
        "application/json": {"schema": schema[ResponseObject]},
        "text/event-stream": {"schema": {"oneOf": [schema[event] for event in EVENTS]}},
    }


def _query(parameters: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"name": name, "in": "query", "schema": kind} for name, kind in parameters.items()]


def _json(found: dict[str, Any], about: str) -> dict[str, Any]:
    return {"description": about, "content": {"application/json": {"schema": found}}}
