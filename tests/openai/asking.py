"""Chat requests as a test writes them, and the questions that come out."""

import json
from collections.abc import Mapping
from typing import Any

from pplx_gateway.capabilities import Feature, Policy, Support
from pplx_gateway.decode import decode, unknown_keys
from pplx_gateway.protocols.openai.chat_request import ChatRequest
from pplx_gateway.protocols.openai.question import Prepared, Target, prepare
from pplx_gateway.question import Question
from tests.openai.fakes import EVERYTHING

USER = {"role": "user", "content": "Which two rivers meet in Ghent?"}


def request(**fields: Any) -> ChatRequest:
    return decode(_body(fields), ChatRequest)


def prepared(
    support: Mapping[Feature, Support] = EVERYTHING, policy: Policy = "reject", upstream: str = "api", **fields: Any
) -> Prepared:
    """What comes of a body with these fields; `messages` is one user turn unless given."""
    body = _body(fields)
    unknown = unknown_keys(body, ChatRequest)
    return prepare(decode(body, ChatRequest), "sonar", Target(upstream, support, policy), unknown)


def asked(**fields: Any) -> Question:
    """The question for an upstream that honours everything."""
    return prepared(**fields).question


def _body(fields: Mapping[str, Any]) -> bytes:
    return json.dumps({"messages": [USER], **fields}).encode()
