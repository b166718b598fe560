"""The paths of Anthropic's protocol, for openapi.py."""

from typing import Any

from pplx_gateway.protocols.anthropic import objects
from pplx_gateway.protocols.anthropic.count import TokenCount
from pplx_gateway.protocols.anthropic.errors import AnthropicErrorBody
from pplx_gateway.protocols.anthropic.request import CountRequest, MessagesRequest
from pplx_gateway.protocols.anthropic.routes import COUNT_PATH, MESSAGES_PATH
from pplx_gateway.web.openapi_answers import PIN, QUESTION, Schemas, events, json, told
from pplx_gateway.web.reply_headers import OF_ANSWERS

EVENTS = objects.Event.__args__
TYPES: tuple[type, ...] = (
    MessagesRequest,
    CountRequest,
    objects.MessageObject,
    *EVENTS,
    TokenCount,
)


def paths(schema: Schemas) -> dict[str, Any]:
    return {MESSAGES_PATH: {"post": _create(schema)}, COUNT_PATH: {"post": _count(schema)}}


def _create(schema: Schemas) -> dict[str, Any]:
    streamed = events(*(schema[event] for event in EVENTS), schema[AnthropicErrorBody])
    answers = {"application/json": {"schema": schema[objects.MessageObject]}, "text/event-stream": {"schema": streamed}}
    return {
        "summary": "Ask in Anthropic's protocol, and get the message whole or as a stream of events.",
        "operationId": "createMessage",
        "parameters": [PIN],
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema[MessagesRequest]}}},
        "responses": {"200": {"description": "The message.", "headers": told(OF_ANSWERS), "content": answers}},
        "refusals": QUESTION,
    }


def _count(schema: Schemas) -> dict[str, Any]:
    return {
        "summary": "Estimate the tokens of a message, without asking anybody.",
        "operationId": "countMessageTokens",
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema[CountRequest]}}},
        "responses": {"200": json(schema[TokenCount], "The estimate.")},
        "refusals": QUESTION,
    }
