import asyncio
import json
import logging
from contextlib import aclosing
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import pytest

from pplx_gateway import __version__
from pplx_gateway.answer import Answer, Batch, Finished, Started, TextDelta
from pplx_gateway.errors import (
    EmptyAnswer,
    GatewayError,
    InsufficientQuota,
    RateLimited,
    UnsupportedParameter,
    UpstreamAuth,
    UpstreamError,
    UpstreamTimeout,
    UpstreamTruncated,
    UpstreamUnreachable,
)
from pplx_gateway.question import FunctionCall, FunctionResult, FunctionTool, Question, Search
from pplx_gateway.settings import Secret
from pplx_gateway.transport import TransferTimeout
from pplx_gateway.upstreams import Upstream
from pplx_gateway.upstreams.api import ApiOptions, ApiUpstream
from pplx_gateway.upstreams.api.keys import KeyPool, only_key
from tests.api import strict
from tests.api.asking import model, question, said
from tests.api.fakes import FakeClock, FakeTransport, Pass, Reply, Silence
from tests.api.stories import A_BASE, TEXT, completed, created, delta, function_call, item_done, line, response, stream

KEY = "pplx-SECRET"
BASE = "https://api.example"
PAGE = b"<html><title>Just a moment</title></html>"
WHOLE = Reply(steps=[line(event) for event in A_BASE])
HEAD = [line(event) for event in A_BASE[:7]]
TAIL = [line(event) for event in A_BASE[7:]]


class Rig:
    """An upstream over a script."""

    def __init__(self, *replies: Reply, options: ApiOptions | None = None, cancelled: Reply | None = None) -> None:
        self.clock = FakeClock()
        self.transport = FakeTransport(self.clock, *replies, cancelled=cancelled)
        self.batches: list[Batch] = []
        self.upstream = ApiUpstream(
            self.transport,
            self.clock,
            KeyPool(self.clock, [only_key(Secret(KEY))]),
            BASE + "/",
            options or ApiOptions(jitter=lambda: 0.5),
        )

    async def ask(self, asked: Question | None = None, caller: str = "alice") -> Answer:
        asked = asked or question()
        async with aclosing(self.upstream.ask(asked, model(asked.model), caller)) as batches:
            async for batch in batches:
                self.batches.append(batch)
        return self.answer

    async def fails(self, kind: type[GatewayError], asked: Question | None = None) -> Any:
        with pytest.raises(kind) as caught:
            await self.ask(asked)
        assert type(caught.value) is kind
        assert self.answer.finished is None
        return caught.value

    @property
    def answer(self) -> Answer:
        answer = Answer()
        for batch in self.batches:
            answer.collect(batch)
        return answer

    async def leave_at(self, silence: Silence, asked: Question | None = None) -> None:
        """Asks, and leaves once the wire is silent."""
        task = asyncio.create_task(self.ask(asked))
        await silence.reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def settled(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)


def test_it_is_an_upstream() -> None:
    upstream: Upstream = Rig(WHOLE).upstream
    assert upstream.name == "api"
    assert upstream.support(model("sonar"))


async def test_an_answer_comes_in_one_batch_a_read() -> None:
    rig = Rig(Reply(steps=[line(A_BASE[0]), stream(*A_BASE[1:7]), b": ping\n\n", *TAIL]))
    answer = await rig.ask()
    assert answer.text == TEXT
    assert [len(batch) for batch in rig.batches] == [1, 3, 1, 1]
    assert isinstance(rig.batches[-1][-1], Finished)
    assert rig.transport.open == 0
    assert rig.transport.cancels == []


async def test_what_is_sent() -> None:
    rig = Rig(WHOLE)
    await rig.ask()
    (sent,) = rig.transport.sent
    assert (sent.method, sent.url) == ("POST", "https://api.example/v1/agent")
    assert dict(sent.headers) == {
        "authorization": f"Bearer {KEY}",
        "accept": "text/event-stream",
        "content-type": "application/json",
        "user-agent": f"pplx-gateway/{__version__}",
    }
    body = json.loads(sent.body or b"")
    strict.check(body)
    assert body["tool_choice"] == {"type": "web_search"}
    assert KEY not in repr(sent)
    assert (sent.timeouts.first_byte, sent.timeouts.idle) == (120, 120)


async def test_research_has_more_patience() -> None:
    rig = Rig(WHOLE)
    await rig.ask(question(model="sonar-deep-research"))
    timeouts = rig.transport.sent[0].timeouts
    assert (timeouts.first_byte, timeouts.idle) == (900, 900)


async def test_a_question_that_cannot_be_asked_is_not() -> None:
    rig = Rig(WHOLE)
    await rig.fails(UnsupportedParameter, question(search=Search(enabled=False), model="low"))
    assert rig.transport.sent == []


async def test_a_signature_is_given_back_in_the_callers_next_turn_only() -> None:
    item = function_call("f", '{"a":1}', call_id="call_7", thought_signature="c2ln")
    rig = Rig(Reply(steps=[stream(created(), item_done(item), completed(item))]))
    functions = (FunctionTool(name="f"),)
    await rig.ask(question(functions=functions))
    turns = said("user", "Hi"), FunctionCall("call_7", "f", '{"a":1}'), FunctionResult("call_7", "1")
    await rig.ask(question(*turns, functions=functions))
    await rig.ask(question(*turns, functions=functions), caller="bob")
    _, alices, bobs = [json.loads(sent.body or b"")["input"] for sent in rig.transport.asked]
    assert alices[1]["thought_signature"] == "c2ln"
    assert "thought_signature" not in bobs[1]


# -------------------------------------------------------------------------------- errors and repeats


@pytest.mark.parametrize("body", [PAGE, b"", b'{"detail":"nope"}', b'{"error":"nope"}'])
async def test_a_refused_credential_is_not_tried_again(body: bytes) -> None:
    rig = Rig(Reply(status=401, steps=[body]))
    error = await rig.fails(UpstreamAuth)
    assert "PERPLEXITY_API_KEY" in error.message
    assert len(rig.transport.sent) == 1


@pytest.mark.parametrize(
    ("status", "kind"), [(402, InsufficientQuota), (500, UpstreamError), (502, UpstreamError), (301, UpstreamError)]
)
async def test_what_may_have_been_billed_is_not_asked_again(status: int, kind: type[GatewayError]) -> None:
    rig = Rig(Reply(status=status, steps=[PAGE], headers=(("location", "https://login.example"),)))
    await rig.fails(kind)
    assert len(rig.transport.sent) == 1
    assert rig.clock.slept == []


@pytest.mark.parametrize("status", [301, 302, 307])
async def test_a_redirect_is_no_answer_whatever_comes_with_it(status: int) -> None:
    rig = Rig(Reply(status=status, steps=WHOLE.steps, headers=(("location", "https://login.example"),)))
    assert "redirect" in (await rig.fails(UpstreamError)).message


async def test_a_throttle_is_waited_for_twice_and_then_told() -> None:
    rig = Rig(Reply(status=429))
    error = await rig.fails(RateLimited)
    assert len(rig.transport.sent) == 3
    assert rig.clock.slept == [0.5, 1.0]
    assert error.retry_after == 5


async def test_a_throttle_that_passes_is_not_noticed() -> None:
    rig = Rig(Reply(status=429, headers=(("retry-after", "3"),)), Reply(error=UpstreamUnreachable("no route")), WHOLE)
    assert (await rig.ask()).text == TEXT
    assert rig.clock.slept == [3.5, 1.0]
    assert rig.transport.open == 0


async def test_waits_differ_between_callers_and_never_fall_short_of_the_hint() -> None:
    waits = set()
    for jitter in (0.0, 0.3, 1.0):
        rig = Rig(Reply(status=429, headers=(("retry-after", "2"),)), options=ApiOptions(jitter=lambda j=jitter: j))  # type: ignore[misc]
        await rig.fails(RateLimited)
        waits.add(tuple(rig.clock.slept))
        assert min(rig.clock.slept) >= 2
    assert len(waits) == 3


@pytest.mark.parametrize(
    ("headers", "hint"),
    [
        ((("retry-after", "11"),), 11),
        ((("retry-after", "86400"),), 120),
        ((("retry-after", format_datetime(datetime.fromtimestamp(1_800_000_060, UTC), usegmt=True)),), 60),
        ((("x-ratelimit-reset", "1800000030"),), 30),
    ],
)
async def test_a_long_throttle_is_told_at_once(headers: Any, hint: float) -> None:
    rig = Rig(Reply(status=429, headers=headers))
    error = await rig.fails(RateLimited)
    assert error.retry_after == hint
    assert len(rig.transport.sent) == 1


async def test_no_connection_is_tried_again() -> None:
    rig = Rig(Reply(error=UpstreamUnreachable("no route")))
    await rig.fails(UpstreamUnreachable)
    assert len(rig.transport.sent) == 3
    rig = Rig(Reply(error=TransferTimeout("connect", 10, "api.example")), WHOLE)
    assert (await rig.ask()).text == TEXT


async def test_a_request_that_timed_out_is_not_sent_again() -> None:
    rig = Rig(Reply(error=TransferTimeout("first_byte", 120, "api.example")))
    await rig.fails(TransferTimeout)
    assert len(rig.transport.sent) == 1


async def test_a_throttle_in_the_stream_has_a_wait_and_no_repeat() -> None:
    rig = Rig(Reply(steps=[stream(created(), {"type": "error", "error": {"message": "m", "code": 429}})]))
    error = await rig.fails(RateLimited)
    assert error.retry_after == 5
    assert len(rig.transport.sent) == 1


async def test_an_error_page_that_breaks_off_is_still_an_error() -> None:
    rig = Rig(Reply(status=500, steps=[b"<html>", UpstreamTruncated("cut")]))
    await rig.fails(UpstreamError)


async def test_a_200_that_is_a_failure() -> None:
    failed = response("failed", [], error={"message": "model overloaded"})
    error = await Rig(Reply(steps=[json.dumps(failed).encode()])).fails(UpstreamError)
    assert error.message == "model overloaded"
    await Rig(Reply(steps=[])).fails(EmptyAnswer)
    page = Reply(steps=[PAGE], headers=(("content-type", "text/html"),))
    assert "Just a moment" in (await Rig(page).fails(UpstreamError)).message


# -------------------------------------------------------------------------------- broken streams


async def test_a_broken_stream_is_picked_up_by_its_id() -> None:
    for broken in ([], [UpstreamTruncated("reset")]):
        rig = Rig(Reply(steps=[*HEAD, *broken]), Reply(steps=TAIL))
        assert (await rig.ask()).text == TEXT
        post, get = rig.transport.sent
        assert (post.method, get.method) == ("POST", "GET")
        assert get.url == "https://api.example/v1/agent/resp_t1?stream=true&starting_after=6"
        assert get.body is None
        assert get.headers["authorization"] == f"Bearer {KEY}"
        assert sum(isinstance(event, Started) for batch in rig.batches for event in batch) == 1


@pytest.mark.parametrize(
    "second",
    [
        Reply(status=404, steps=[b'{"error":{"message":"resource not found","code":404}}']),
        Reply(status=429),
        Reply(error=UpstreamUnreachable("no route")),
        Reply(steps=[]),
        Reply(steps=HEAD),
        Reply(steps=[*HEAD, UpstreamTruncated("reset")]),
        Reply(steps=[json.dumps(response("in_progress")).encode()]),
    ],
)
async def test_a_stream_that_stays_broken_is_truncated(second: Reply) -> None:
    rig = Rig(Reply(steps=HEAD), second)
    error = await rig.fails(UpstreamTruncated)
    assert rig.answer.text == "The Leie[1] meets "
    assert error.retry is True
    assert [sent.method for sent in rig.transport.sent[:2]] == ["POST", "GET"]
    await rig.settled()
    assert len(rig.transport.asked) == 1
    assert len(rig.transport.sent) == 3  # and the cancel
    assert rig.transport.cancels == ["https://api.example/v1/agent/resp_t1/cancel"]


async def test_a_foreground_run_is_picked_up_once() -> None:
    rig = Rig(Reply(steps=HEAD), Reply(steps=TAIL[:1]), Reply(steps=TAIL[1:]))
    await rig.fails(UpstreamTruncated)


async def test_a_background_run_is_picked_up_as_long_as_it_brings_news() -> None:
    rig = Rig(Reply(steps=HEAD), Reply(steps=TAIL[:1]), Reply(steps=TAIL[1:2]), Reply(steps=TAIL[2:]))
    assert (await rig.ask(question(model="wide-research"))).text == TEXT
    assert [sent.method for sent in rig.transport.sent] == ["POST", "GET", "GET", "GET"]
    rig = Rig(Reply(steps=HEAD), Reply(steps=[]))
    await rig.fails(UpstreamTruncated, question(model="wide-research"))
    await rig.settled()
    assert [sent.method for sent in rig.transport.sent] == ["POST", "GET", "POST"]
    assert len(rig.transport.asked) == 1


async def test_a_run_that_is_only_queued_is_picked_up_from_its_beginning() -> None:
    queued = json.dumps(response("queued")).encode()
    rig = Rig(Reply(steps=[queued], headers=(("content-type", "application/json"),)), WHOLE)
    assert (await rig.ask(question(model="wide-research"))).text == TEXT
    assert rig.transport.sent[1].url == "https://api.example/v1/agent/resp_t1?stream=true"


async def test_a_stream_without_numbers_is_not_picked_up() -> None:
    bare = {"type": "response.created", "response": response("in_progress")}
    text = {"type": "response.output_text.delta", "delta": "The Leie"}
    rig = Rig(Reply(steps=[stream(bare, text)]))
    await rig.fails(UpstreamTruncated)
    assert [sent.method for sent in rig.transport.sent][:1] == ["POST"]
    assert not any(sent.method == "GET" for sent in rig.transport.sent)


async def test_a_stream_that_never_said_its_id_is_not_picked_up() -> None:
    rig = Rig(Reply(steps=[line(delta("x"))]))
    await rig.fails(UpstreamTruncated)
    assert len(rig.transport.sent) == 1


# -------------------------------------------------------------------------------- patience


async def test_nine_silent_minutes_are_nothing_to_research() -> None:
    steps = [line(event) for event in A_BASE]
    rig = Rig(Reply(steps=[*steps[:5], Pass(540), *steps[5:]]))
    assert (await rig.ask(question(model="sonar-deep-research"))).text == TEXT
    assert len(rig.transport.sent) == 1


async def test_pings_do_not_make_silence_longer() -> None:
    pings = [step for _ in range(20) for step in (Pass(15), b": ping\n\n")]
    rig = Rig(Reply(steps=[*HEAD, *pings, *TAIL]))
    error = await rig.fails(UpstreamTimeout)
    assert "120" in error.message
    assert rig.clock.time == 120
    assert rig.transport.open == 0
    await rig.settled()
    assert len(rig.transport.cancels) == 1


async def test_pings_are_fine_as_long_as_there_is_news() -> None:
    lines = [line(event) for event in A_BASE]
    steps = [step for data in lines for step in (Pass(60), b": ping\n\n", Pass(55), data)]
    assert (await Rig(Reply(steps=steps)).ask()).text == TEXT


async def test_a_slow_caller_is_no_silence_of_the_upstream() -> None:
    rig = Rig(Reply(steps=[line(A_BASE[0]), b": ping\n\n", *map(line, A_BASE[1:])]))
    async with aclosing(rig.upstream.ask(question(), model("sonar"), "alice")) as batches:
        async for batch in batches:
            rig.batches.append(batch)
            rig.clock.advance(500)
    assert rig.answer.text == TEXT


async def test_a_finished_answer_waits_for_the_end_of_its_response_only_briefly() -> None:
    silence = Silence()
    rig = Rig(Reply(steps=[*WHOLE.steps, silence]))
    task = asyncio.create_task(rig.ask())
    await silence.reached.wait()
    assert rig.answer.finished
    rig.clock.advance(1)
    await task
    assert rig.transport.open == 0
    assert rig.transport.cancels == []


# -------------------------------------------------------------------------------- leaving


async def test_leaving_a_silent_stream_closes_it_and_cancels_the_run_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    silence = Silence()
    rig = Rig(Reply(steps=[*HEAD, silence]))
    await rig.leave_at(silence)
    assert rig.transport.open == 0
    await rig.settled()
    assert rig.transport.cancels == ["https://api.example/v1/agent/resp_t1/cancel"]
    cancel = rig.transport.sent[-1]
    assert (cancel.method, cancel.body) == ("POST", b"")
    assert cancel.headers["authorization"] == f"Bearer {KEY}"
    await rig.upstream.close()
    assert len(rig.transport.cancels) == 1
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert KEY not in caplog.text


async def test_leaving_between_batches_does_the_same() -> None:
    rig = Rig(WHOLE)
    async with aclosing(rig.upstream.ask(question(), model("sonar"), "alice")) as batches:
        async for batch in batches:
            if any(isinstance(event, TextDelta) for event in batch):
                break
    assert rig.transport.open == 0
    await rig.settled()
    assert len(rig.transport.cancels) == 1


async def test_leaving_before_the_id_is_known_cancels_nothing() -> None:
    silence = Silence()
    rig = Rig(Reply(steps=[silence]))
    await rig.leave_at(silence)
    await rig.settled()
    assert rig.transport.open == 0
    assert rig.transport.cancels == []


async def test_leaving_after_the_end_cancels_nothing() -> None:
    rig = Rig(WHOLE)
    async with aclosing(rig.upstream.ask(question(), model("sonar"), "alice")) as batches:
        async for batch in batches:
            if isinstance(batch[-1], Finished):
                break
    await rig.settled()
    assert rig.transport.cancels == []


@pytest.mark.parametrize("event", [{"type": "response.failed", "error": None}, {"type": "error", "message": "m"}])
async def test_a_run_that_failed_is_not_cancelled(event: Any) -> None:
    rig = Rig(Reply(steps=[stream(created(), event)]))
    await rig.fails(UpstreamError)
    await rig.settled()
    assert rig.transport.cancels == []


@pytest.mark.parametrize("answer", [Reply(status=400), Reply(error=UpstreamUnreachable("no route"))])
async def test_a_cancel_that_fails_is_no_error(answer: Reply, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    silence = Silence()
    rig = Rig(Reply(steps=[*HEAD, silence]), cancelled=answer)
    await rig.leave_at(silence)
    await rig.upstream.close()
    assert len(rig.transport.cancels) == 1
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_leaving_while_a_throttle_is_waited_for_sends_nothing_more() -> None:
    class Sleepy(FakeClock):
        async def sleep(self, seconds: float) -> None:
            started.set()
            await asyncio.Event().wait()

    started = asyncio.Event()
    clock = Sleepy()
    transport = FakeTransport(clock, Reply(status=429))
    upstream = ApiUpstream(transport, clock, KeyPool(clock, [only_key(Secret(KEY))]), BASE)
    task = asyncio.create_task(anext(upstream.ask(question(), model("sonar"), "alice")))
    await started.wait()
    assert transport.open == 0
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(transport.sent) == 1


async def test_closing_cancels_what_is_under_way_and_then_closes_the_transport() -> None:
    silence = Silence()
    rig = Rig(Reply(steps=[*HEAD, silence]))
    task = asyncio.create_task(rig.ask())
    await silence.reached.wait()
    closed_at_cancel: list[bool] = []
    rig.transport.on_request = lambda: closed_at_cancel.append(rig.transport.closed)
    await rig.upstream.close()
    assert rig.transport.closed
    assert closed_at_cancel == [False]
    with pytest.raises(UpstreamTruncated):
        await task
    await rig.settled()
    assert [sent.method for sent in rig.transport.sent] == ["POST", "POST"]
    assert len(rig.transport.cancels) == 1


async def test_nothing_is_remembered() -> None:
    rig = Rig(WHOLE)
    await rig.upstream.remember(question(), model("sonar"), "alice", TEXT, object())
    assert rig.transport.sent == []
