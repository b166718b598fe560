"""What a test may say of keys, and streams that break while their run goes on."""

from collections.abc import Iterator

import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.emulator.agent import plan
from pplx_gateway.emulator.agent.conversation import Conversation
from pplx_gateway.emulator.agent.request import AgentBody, AgentRequest, Message
from pplx_gateway.emulator.agent.run import Run, StreamCut
from pplx_gateway.emulator.threads import serving
from tests.emulator.caller import GHENT, Caller, Json, read_until


@pytest.fixture
def emulator() -> Iterator[Caller]:
    with serving(Clock(50), pace_seconds=0.0, background_seconds=0.0, slow_seconds=1e9, cancel_seconds=0.0) as url:
        yield Caller(url)


def keys(caller: Caller, body: object = None) -> Json:
    reply = caller.send("GET" if body is None else "POST", "/_emulator/keys", body)
    assert reply.status == 200, reply.body
    return dict(reply.json["keys"])


@pytest.mark.parametrize(
    ("state", "status", "kind"),
    [
        ("dead", 401, "invalid_api_key"),
        ("broke", 402, "insufficient_credits"),
        ("forbidden", 403, "permission_denied"),
        ("throttled", 429, "request_rate_limit_exceeded"),
    ],
)
def test_a_key_is_what_a_test_says(emulator: Caller, state: str, status: int, kind: str) -> None:
    one, other = emulator.with_key("pplx-one"), emulator.with_key("pplx-other")
    keys(emulator, {"pplx-one": state})
    reply = one.ask(GHENT)
    assert (reply.status, reply.error["type"]) == (status, kind)
    assert reply.headers["retry-after"] is None
    assert other.ask(GHENT).status == 200
    keys(emulator, {"pplx-one": "good"})
    assert one.ask(GHENT).status == 200
    assert keys(emulator) == {"pplx-one": {"state": "good", "uses": 2}, "pplx-other": {"state": None, "uses": 1}}


def test_a_throttle_may_say_how_long(emulator: Caller) -> None:
    keys(emulator, {"pplx-one": {"state": "throttled", "retry_after": 7}})
    assert emulator.with_key("pplx-one").ask(GHENT).headers["retry-after"] == "7"


def test_what_a_test_says_counts_more_than_a_keys_name(emulator: Caller) -> None:
    assert emulator.with_key("pplx-bad").ask(GHENT).status == 401
    keys(emulator, {"pplx-bad": "good"})
    assert emulator.with_key("pplx-bad").ask(GHENT).status == 200


@pytest.mark.parametrize("body", [b"{", {"pplx-a": "asleep"}, {"pplx-a": {"state": "dead", "until": 5}}, ["pplx-a"]])
def test_nonsense_is_refused(emulator: Caller, body: object) -> None:
    assert emulator.send("POST", "/_emulator/keys", body).status == 400


def test_a_stream_breaks_and_its_run_goes_on(emulator: Caller) -> None:
    run_id = emulator.answer(f"slow: {GHENT}", background=True)["id"]
    with emulator.raw("GET", f"/v1/agent/{run_id}?stream=true") as connection:
        read_until(connection, b'"response.output_text.delta"')
        emulator.send("POST", f"/_emulator/runs/{run_id}/cut")
        rest = b""
        while data := connection.recv(65536):
            rest += data
    assert not rest.endswith(b"0\r\n\r\n")
    assert emulator.wait_for_run(run_id, "in_progress")["cancelling"] is False
    with emulator.raw("GET", f"/v1/agent/{run_id}?stream=true&starting_after=2") as connection:
        assert b'"sequence_number":3,' not in read_until(connection, b'"response.output_text.delta"')
    assert emulator.send("POST", "/_emulator/runs/resp_none/cut").status == 404


async def test_a_cut_while_an_event_is_sent_is_not_missed() -> None:
    asked = AgentRequest(
        body=AgentBody(input=GHENT, model="perplexity/sonar"), items=(Message(role="user", content=GHENT),)
    )
    conversation = Conversation().then(asked)
    run = Run(asked, conversation, plan.make(asked, conversation), key="k", created_at=0.0, on_change=lambda: None)
    run.emit("response.created")
    events = run.follow()
    await anext(events)
    run.cut_followers()
    with pytest.raises(StreamCut):
        await anext(events)
    run.end()
