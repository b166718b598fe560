"""Callers' requests, nearly right: taken, or refused by an error of the tree whose message fits on a line."""

import json
from collections.abc import Callable
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pplx_agent_mcp import SERVER_INFO, Call, Cancellation, Kernel, Reply, agent_tools

from pplx_gateway.catalogue import Catalogue
from pplx_gateway.decode import decode, unknown_keys
from pplx_gateway.errors import RequestError
from pplx_gateway.protocols.anthropic import question as messages
from pplx_gateway.protocols.anthropic.request import MessagesRequest
from pplx_gateway.protocols.openai import question as chat
from pplx_gateway.protocols.openai.attachments import NO_FILES
from pplx_gateway.protocols.openai.chat_request import ChatRequest
from pplx_gateway.protocols.openai.responses import question as responses
from pplx_gateway.protocols.openai.responses.request import ResponsesRequest
from pplx_gateway.protocols.openai.settling import Target
from pplx_gateway.protocols.perplexity.agent.reading import read
from pplx_gateway.protocols.perplexity.sonar.normal import normal
from pplx_gateway.protocols.perplexity.sonar.request import SonarBody
from pplx_gateway.routing import Route
from tests.fuzz.mutating import TEST_SECONDS, fuzzed, mangled, mutated
from tests.openai.fakes import EVERYTHING
from tests.responses_request.asking import SESSION

pytestmark = pytest.mark.timeout(TEST_SECONDS)
MODEL = Catalogue.built_in().find("api", "sonar")
TARGETS = (Target("api", EVERYTHING, "reject"), Target("session", SESSION, "drop"))


def read_chat(body: bytes) -> None:
    request, unknown = decode(body, ChatRequest), unknown_keys(body, ChatRequest)
    for target in TARGETS:
        chat.prepare(request, "sonar", target, unknown)


def read_messages(body: bytes) -> None:
    request, unknown = decode(body, MessagesRequest), unknown_keys(body, MessagesRequest)
    for target in TARGETS:
        messages.prepare(request, "sonar", target, unknown, NO_FILES)


def read_responses(body: bytes) -> None:
    request, unknown = decode(body, ResponsesRequest), unknown_keys(body, ResponsesRequest)
    assert MODEL is not None
    for target in TARGETS:
        responses.prepare(
            request,
            Route("sonar", (MODEL,)),
            target,
            unknown=unknown,
            attached=NO_FILES,
            context=[],
            references={},
            new_id=lambda prefix: f"{prefix}_new",
        )


def read_agent(body: bytes) -> None:
    read(body, 1_790_000_000.0)


def read_sonar(body: bytes) -> None:
    normal(decode(body, SonarBody), date(2026, 12, 1))


READERS: dict[str, Callable[[bytes], None]] = {
    "chat": read_chat,
    "responses": read_responses,
    "messages": read_messages,
    "agent_requests": read_agent,
    "sonar": read_sonar,
}


@pytest.mark.parametrize("kind", READERS)
@fuzzed
@given(st.data())
def test_a_request(kind: str, data: st.DataObject) -> None:
    body = data.draw(mangled(kind) | mutated(kind))
    try:
        READERS[kind](body)
    except RequestError as error:
        assert 400 <= error.status < 500
        assert error.message
        assert error.message.isprintable()
        assert len(error.message) < 8000


KERNEL = Kernel(SERVER_INFO, agent_tools(), "instructions")


@fuzzed
@given(mangled("kernel") | mutated("kernel"))
def test_a_line_for_the_one_file_server(line: bytes) -> None:
    outcome = KERNEL.receive(line)
    assert outcome is None or isinstance(outcome, Reply | Call | Cancellation)
    if isinstance(outcome, Reply):
        assert ("result" in outcome.frame) != ("error" in outcome.frame)
        json.dumps(outcome.frame, allow_nan=False)
