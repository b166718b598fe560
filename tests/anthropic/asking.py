"""Requests for messages as a test writes them, and the questions that come out."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from pplx_gateway.capabilities import Feature, Policy, Support
from pplx_gateway.decode import decode, unknown_keys
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.protocols.anthropic.question import Ready, prepare
from pplx_gateway.protocols.anthropic.request import MessagesRequest
from pplx_gateway.protocols.openai.attachments import NO_FILES, Attached
from pplx_gateway.protocols.openai.settling import Target
from pplx_gateway.question import Question
from tests.openai.fakes import EVERYTHING

Json = dict[str, Any]

QUESTION = "Which two rivers meet in Ghent?"
USER: Json = {"role": "user", "content": QUESTION}
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
PDF = "JVBERi0xLjQKJSBhIHBhZ2UK"
TIDES: Json = {
    "name": "tide_table",
    "description": "The tides of a port",
    "input_schema": {"type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]},
}
SEARCH: Json = {"type": "web_search_20250305", "name": "web_search"}


def body(**fields: Any) -> Json:
    """A request with these fields; one question of the user's, and a limit, unless given."""
    return {"model": "sonar", "max_tokens": 1000, "messages": [USER], **fields}


def decoded(fields: Mapping[str, Any]) -> MessagesRequest:
    return decode(json.dumps(fields).encode(), MessagesRequest)


def ready(
    support: Mapping[Feature, Support] = EVERYTHING,
    policy: Policy = "reject",
    upstream: str = "api",
    files: Attached = NO_FILES,
    **fields: Any,
) -> Ready:
    """What comes of a body with these fields."""
    sent = json.dumps(body(**fields)).encode()
    unknown = unknown_keys(sent, MessagesRequest)
    return prepare(decode(sent, MessagesRequest), "sonar", Target(upstream, support, policy), unknown, files)


def asked(**fields: Any) -> Question:
    """The question for an upstream that honours everything."""
    return ready(**fields).prepared.question


def refusal(**fields: Any) -> InvalidRequest:
    """The error that must come."""
    with pytest.raises(InvalidRequest) as caught:
        ready(**fields)
    return caught.value


def said(*blocks: Json, role: str = "user") -> Json:
    return {"role": role, "content": list(blocks)}


def text(words: str, **more: Any) -> Json:
    return {"type": "text", "text": words, **more}


def use(call_id: str = "toolu_1", name: str = "tide_table", **given: Any) -> Json:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given or {"port": "Ostend"}}


def result(content: Any = "06:12", call_id: str = "toolu_1", **more: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def image(**source: Any) -> Json:
    return {"type": "image", "source": source or {"type": "base64", "media_type": "image/png", "data": PNG}}


def document(source: Json | None = None, **more: Any) -> Json:
    found = source or {"type": "base64", "media_type": "application/pdf", "data": PDF}
    return {"type": "document", "source": found, **more}
