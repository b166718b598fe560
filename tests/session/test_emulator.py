"""The session upstream over the real way out, against the emulator's session half."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

import httpx2
import pytest

from pplx_gateway.answer import Answer
from pplx_gateway.clock import Clock
from pplx_gateway.emulator.server import EmulatorServer
from pplx_gateway.emulator.session.forms import FORMS
from pplx_gateway.errors import GatewayError
from pplx_gateway.question import Question
from pplx_gateway.settings import Secret
from pplx_gateway.transport import Timeouts, Transport
from pplx_gateway.upstreams.session.cookies import Credentials
from pplx_gateway.upstreams.session.options import SessionOptions
from pplx_gateway.upstreams.session.threads import Threads
from pplx_gateway.upstreams.session.upstream import SessionUpstream
from tests.session.fakes import DictStore
from tests.session.test_request import assistant, model, question, user

RIVERS = "Which two rivers meet in Ghent?"


@pytest.fixture
async def upstream() -> AsyncGenerator[SessionUpstream, None]:
    clock = Clock(20)
    async with (
        EmulatorServer(clock, pace_seconds=0.0) as emulator,
        httpx2.AsyncClient(trust_env=False, verify=False) as client,
    ):
        await client.post(f"{emulator.url}/_emulator/session", json={"research_seconds": 1.0})
        credentials = Credentials(Secret("emulator-max-cookie"))
        threads = Threads(DictStore(), b"secret")
        options = SessionOptions(base_url=emulator.url, timeouts=Timeouts(first_byte=40.0))
        asker = SessionUpstream(Transport(clock), clock, credentials, threads, options)
        yield asker
        await asker.close()


async def ask(upstream: SessionUpstream, asked: Question, name: str = "gpt") -> Answer:
    collected = Answer()
    async with aclosing(upstream.ask(asked, model(name), "anna")) as batches:
        async for batch in batches:
            collected.collect(batch)
    assert collected.finished is not None
    return collected


async def test_every_form_gives_one_answer(upstream: SessionUpstream) -> None:
    plain = await ask(upstream, question(user(RIVERS)))
    assert "Leie" in plain.text
    for form in FORMS:
        answer = await ask(upstream, question(user(f"form:{form} {RIVERS}")))
        assert (answer.text, answer.sources) == (plain.text, plain.sources), form
        assert answer.finished is not None
        assert answer.finished.served_model == "gpt56_terra"


async def test_a_research_brings_its_report_in_every_form(upstream: SessionUpstream) -> None:
    plain = await ask(upstream, question(user(RIVERS)), "deep-research")
    assert len(plain.text) > 5000
    for form in ("C", "D", "E", "legacy", "A-no-blocks"):
        answer = await ask(upstream, question(user(f"form:{form} {RIVERS}")), "deep-research")
        assert answer.text == plain.text, form


async def test_a_conversation_goes_on_in_its_thread(upstream: SessionUpstream) -> None:
    first = question(user(RIVERS))
    answer = await ask(upstream, first)
    assert answer.finished is not None
    await upstream.remember(first, model(), "anna", answer.text, answer.finished.continuation)
    again = await ask(upstream, question(user(RIVERS), assistant(answer.text), user("How long is the Leie?")))
    assert again.text


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ("upstream_429", "rate_limit_exceeded"),
        ("upstream_401", "session_expired"),
        ("upstream_402", "insufficient_quota"),
        ("upstream_500", "upstream_error"),
        ("upstream_html", "session_blocked"),
        ("upstream_timeout", "upstream_timeout"),
        ("midstream_drop", "upstream_truncated"),
        ("midstream_error", "upstream_error"),
        ("quota_gone", "quota_exhausted"),
        ("logged_out", "session_expired"),
        ("empty", "empty_answer"),
    ],
)
async def test_every_fault_has_its_error(upstream: SessionUpstream, fault: str, code: str) -> None:
    with pytest.raises(GatewayError) as raised:
        await ask(upstream, question(user(f"fault:{fault} {RIVERS}")))
    assert raised.value.code == code


async def test_a_substitution_is_told(upstream: SessionUpstream) -> None:
    answer = await ask(upstream, question(user(f"fault:substituted {RIVERS}")))
    assert answer.finished is not None
    assert answer.finished.substituted_by == answer.finished.served_model
