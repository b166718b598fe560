"""The paths of the Responses API, for openapi.py."""

from typing import Any

from pplx_gateway.protocols.openai.responses import events as objects
from pplx_gateway.protocols.openai.responses.count import InputTokens
from pplx_gateway.protocols.openai.responses.create import KEY_HEADER, LONGEST_KEY
from pplx_gateway.protocols.openai.responses.listing import MOST, USUAL, ResponseList
from pplx_gateway.protocols.openai.responses.objects import ResponseObject
from pplx_gateway.protocols.openai.responses.request import ResponsesRequest
from pplx_gateway.protocols.openai.responses.routes import (
    MOST_ITEMS,
    RESPONSES_PATH,
    USUAL_ITEMS,
    ItemList,
    ResponseDeleted,
)
from pplx_gateway.web.openapi_answers import PIN, QUESTION, STORE, Schemas, events, json, query, told
from pplx_gateway.web.reply_headers import OF_ANSWERS

EVENTS = objects.ResponseEvent.__args__
TYPES: tuple[type, ...] = (
    ResponsesRequest,
    ResponseObject,
    ItemList,
    ResponseList,
    ResponseDeleted,
    InputTokens,
    *EVENTS,
)

_ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
_KEY = {
    "name": KEY_HEADER,
    "in": "header",
    "description": "Repeats of the same request with the same key get the same response, and ask nothing again.",
    "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY},
}
_FOLLOWING: dict[str, dict[str, Any]] = {
    "stream": {"type": "boolean", "description": "Tell the events, and go on as they come. Background responses only."},
    "starting_after": {"type": "integer", "minimum": 0, "description": "The number of the last event that you have."},
    "include": {"type": "array", "items": {"type": "string"}},
}
_LISTING: dict[str, dict[str, Any]] = {
    "order": {"type": "string", "enum": ["asc", "desc"], "default": "desc"},
    "limit": {"type": "integer", "minimum": 1, "maximum": MOST_ITEMS, "default": USUAL_ITEMS},
    "after": {"type": "string", "description": "The id of the last item of the page before."},
    "include": {"type": "array", "items": {"type": "string"}},
}
_PAGE: dict[str, dict[str, Any]] = {
    "limit": {"type": "integer", "minimum": 1, "maximum": MOST, "default": USUAL},
    "after": {"type": "string", "description": "The id of the last one of the page before."},
}
_ABSENT = {"404": "No such response of yours, or not any more."}
_WRONG = {"400": "A parameter is wrong."}
_NO_ID = {"405": "The id is the name of another operation."}


def paths(schema: Schemas) -> dict[str, Any]:
    one = f"{RESPONSES_PATH}/{{id}}"
    return {
        RESPONSES_PATH: {"post": _create(schema), "get": _list(schema)},
        f"{RESPONSES_PATH}/input_tokens": {"post": _count(schema)},
        one: {
            "get": {
                "summary": "A response as it stands, or its events.",
                "operationId": "getResponse",
                "parameters": [_ID, *query(_FOLLOWING)],
                "responses": {"200": {"description": "Found.", "content": _answers(schema)}},
                "refusals": {**STORE, **_WRONG, **_ABSENT, **_NO_ID},
            },
            "delete": {
                "summary": "Delete a response, and all that belongs to it. One that runs is stopped.",
                "operationId": "deleteResponse",
                "parameters": [_ID],
                "responses": {"200": json(schema[ResponseDeleted], "Deleted.")},
                "refusals": {**STORE, **_ABSENT, **_NO_ID},
            },
        },
        f"{one}/cancel": {
            "post": {
                "summary": "Stop a response that runs in the background.",
                "operationId": "cancelResponse",
                "parameters": [_ID],
                "responses": {"200": json(schema[ResponseObject], "Cancelled.")},
                "refusals": {**STORE, **_ABSENT, "400": "It is over, or did not run in the background."},
            }
        },
        f"{one}/input_items": {
            "get": {
                "summary": "What a response was asked with; not what was said before.",
                "operationId": "listInputItems",
                "parameters": [_ID, *query(_LISTING)],
                "responses": {"200": json(schema[ItemList], "Found.")},
                "refusals": {**STORE, **_WRONG, **_ABSENT},
            }
        },
    }


def _create(schema: Schemas) -> dict[str, Any]:
    return {
        "summary": "Ask, and get the response whole, as a stream of events, or in the background.",
        "operationId": "createResponse",
        "parameters": [_KEY, PIN],
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema[ResponsesRequest]}}},
        "responses": {
            "200": {"description": "The response.", "headers": told(OF_ANSWERS), "content": _answers(schema)}
        },
        "refusals": QUESTION,
    }


def _list(schema: Schemas) -> dict[str, Any]:
    return {
        "summary": "What runs, or ran, in the background for you, the newest first. An addition of this gateway's.",
        "operationId": "listResponses",
        "parameters": query(_PAGE),
        "responses": {"200": json(schema[ResponseList], "Found.")},
        "refusals": {**STORE, **_WRONG},
    }


def _count(schema: Schemas) -> dict[str, Any]:
    return {
        "summary": "Estimate the tokens of a request, without asking anybody.",
        "operationId": "countInputTokens",
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema[ResponsesRequest]}}},
        "responses": {"200": json(schema[InputTokens], "The estimate.")},
        "refusals": QUESTION,
    }


def _answers(schema: Schemas) -> dict[str, Any]:
    return {
        "application/json": {"schema": schema[ResponseObject]},
        "text/event-stream": {"schema": events(*(schema[event] for event in EVENTS), done=True)},
    }
