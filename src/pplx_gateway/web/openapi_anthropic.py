"""The paths of Anthropic's protocol, for openapi.py."""

from typing import Any

from pplx_gateway.protocols.anthropic import objects
from pplx_gateway.protocols.anthropic.count import TokenCount
from pplx_gateway.protocols.anthropic.errors import AnthropicErrorBody
from pplx_gateway.protocols.anthropic.models import ModelInfo, ModelPage
from pplx_gateway.protocols.anthropic.request import CountRequest, MessagesRequest
from pplx_gateway.protocols.anthropic.routes import COUNT_PATH, MESSAGES_PATH
from pplx_gateway.web.openapi_files import Schemas
from pplx_gateway.web.reply_headers import OF_ANSWERS

EVENTS = objects.Event.__args__
TYPES: tuple[type, ...] = (
    MessagesRequest,
    CountRequest,
    objects.MessageObject,
    *EVENTS,
    TokenCount,
    ModelInfo,
    ModelPage,
    AnthropicErrorBody,
)


def paths(schema: Schemas, errors: dict[str, str]) -> dict[str, Any]:
    """`errors` are what each status of a question means."""
    told = {name: {"description": about, "schema": {"type": "string"}} for name, about in OF_ANSWERS.items()}
    answers = {
        "application/json": {"schema": schema[objects.MessageObject]},
        "text/event-stream": {"schema": {"oneOf": [schema[event] for event in EVENTS]}},
    }
    failures = {status: _json(schema[AnthropicErrorBody], about) for status, about in errors.items()}
    return {
        MESSAGES_PATH: {
            "post": {
                "summary": "Ask in Anthropic's protocol, and get the message whole or as a stream of events.",
                "operationId": "createMessage",
                "requestBody": {"required": True, "content": {"application/json": {"schema": schema[MessagesRequest]}}},
                "responses": {
                    "200": {"description": "The message.", "headers": told, "content": answers},
                    **failures,
                },
            }
        },
        COUNT_PATH: {
            "post": {
                "summary": "Estimate the tokens of a message, without asking anybody.",
                "operationId": "countMessageTokens",
                "requestBody": {"required": True, "content": {"application/json": {"schema": schema[CountRequest]}}},
                "responses": {"200": _json(schema[TokenCount], "The estimate."), **failures},
            }
        },
    }


def _json(found: dict[str, Any], about: str) -> dict[str, Any]:
    return {"description": about, "content": {"application/json": {"schema": found}}}
