"""Requests for responses as a test writes them, and what is prepared from them."""

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from pplx_gateway.capabilities import Feature, Policy, Support
from pplx_gateway.catalogue import Catalogue
from pplx_gateway.decode import decode, unknown_keys
from pplx_gateway.errors import RequestError
from pplx_gateway.protocols.openai.attachments import NO_FILES, Attached
from pplx_gateway.protocols.openai.responses.question import NO_ITEMS, Prepared, prepare
from pplx_gateway.protocols.openai.responses.request import ResponsesRequest
from pplx_gateway.protocols.openai.settling import Target
from pplx_gateway.question import Question, Turn
from pplx_gateway.routing import Route
from tests.openai.fakes import EVERYTHING

Json = dict[str, Any]

TEXT = "Which two rivers meet in Ghent?"
PNG = "data:image/png;base64,iVBORw0KGgo="
FUNCTION: Json = {"type": "function", "name": "tide", "parameters": {"type": "object", "properties": {}}}
CALL: Json = {"type": "function_call", "call_id": "call_1", "name": "tide", "arguments": "{}"}
RESULT: Json = {"type": "function_call_output", "call_id": "call_1", "output": "high"}
NOTHING: Mapping[Feature, Support] = {}
SESSION: Mapping[Feature, Support] = {
    **EVERYTHING,
    Feature.JSON_OBJECT: Support.PROMPTED,
    Feature.JSON_SCHEMA: Support.PROMPTED,
    Feature.STRICT_SCHEMA: Support.REFUSED,
}


def user(*parts: Json | str, **fields: Any) -> Json:
    content: object = parts[0] if len(parts) == 1 and isinstance(parts[0], str) else list(parts)
    return {"role": "user", "content": content, **fields}


def text(said: str) -> Json:
    return {"type": "input_text", "text": said}


def said(said: str, **fields: Any) -> Json:
    """A message of an answer, as it went out."""
    part = {"type": "output_text", "text": said, "annotations": [], "logprobs": []}
    message = {"type": "message", "id": "msg_a", "status": "completed", "role": "assistant", "content": [part]}
    return {**message, **fields}


def request(**fields: Any) -> ResponsesRequest:
    return decode(_body(fields), ResponsesRequest)


def prepared(
    support: Mapping[Feature, Support] = EVERYTHING,
    policy: Policy = "reject",
    upstream: str = "api",
    *,
    context: Sequence[Json] = (),
    attached: Attached = NO_FILES,
    references: Mapping[str, bytes] = NO_ITEMS,
    **fields: Any,
) -> Prepared:
    """What comes of a body with these fields; `input` is a question unless given. New ids are `msg_new1`, `fc_new2`."""
    body = _body(fields)
    numbers = itertools.count(1)
    model = Catalogue.built_in().find("api", "sonar")
    assert model is not None
    return prepare(
        decode(body, ResponsesRequest),
        Route("sonar", (model,)),
        Target(upstream, support, policy),
        unknown=unknown_keys(body, ResponsesRequest),
        attached=attached,
        context=[json.dumps(item).encode() for item in context],
        references=references,
        new_id=lambda prefix: f"{prefix}_new{next(numbers)}",
    )


def asked(**fields: Any) -> Question:
    """The question for an upstream that honours everything."""
    return prepared(**fields).question


def turns(*items: Json, **fields: Any) -> tuple[Turn, ...]:
    return asked(input=list(items), **fields).turns


def kept(found: Prepared) -> list[Json]:
    return [json.loads(item) for item in found.input_items]


def refused(param: str | None, **fields: Any) -> RequestError:
    """The error, which names `param`."""
    with pytest.raises(RequestError) as caught:
        prepared(**fields)
    assert caught.value.param == param, caught.value.message
    return caught.value


def _body(fields: Mapping[str, Any]) -> bytes:
    return json.dumps({"input": TEXT, **fields}).encode()
