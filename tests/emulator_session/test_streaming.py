"""Frames on the wire, their pace, and the half's seam to the rest of the emulator."""

import asyncio
from collections.abc import Sequence

import httpx2
import msgspec
import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.emulator.script import Bytes, Pause, Step
from pplx_gateway.emulator.server import EmulatorServer
from pplx_gateway.emulator.session import asked, forms, streaming
from pplx_gateway.emulator.session.asked import BadAsk
from pplx_gateway.emulator.session.frames import END_OF_STREAM, KEEP_ALIVE, Verdict, encode, write
from pplx_gateway.emulator.session.streaming import Pace
from tests.emulator_session.asking import QUESTION, Page, ask_body
from tests.emulator_session.test_forms import REPLY, entry_with


class RestlessClock(Clock):
    """A clock on which every wait is over at once; `waited` says how long they would have been."""

    def __init__(self) -> None:
        super().__init__()
        self.waited: list[float] = []

    def deadline(self, seconds: float | None) -> asyncio.Timeout:
        self.waited.append(seconds or 0.0)
        return asyncio.timeout(0)

    async def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)


def pauses(steps: Sequence[Step]) -> list[float]:
    return [step.seconds for step in steps if isinstance(step, Pause)]


def test_a_frame_is_an_event_line_and_one_data_line() -> None:
    assert encode({"a": "é\n"}) == 'event: message\r\ndata: {"a":"é\\n"}\r\n\r\n'.encode()
    assert encode({}, "error") == b"event: error\r\ndata: {}\r\n\r\n"


@pytest.mark.parametrize(
    ("status", "verdict"), [("PENDING", None), ("COMPLETED", "COMPLETED"), ("FAILED", "FAILED"), ("failed", "FAILED")]
)
def test_a_write_knows_whether_it_ends_the_answer(status: str, verdict: str | None) -> None:
    step = write({"status": status})
    assert (step.status if isinstance(step, Verdict) else None) == verdict


def test_a_whole_stream_has_a_comment_before_the_text_and_ends_once() -> None:
    course = forms.course(entry_with(REPLY), "A")
    steps = streaming.whole(course, Pace())
    assert pauses(steps) == []
    assert steps[len(course.way)] == Bytes(KEEP_ALIVE)
    assert steps[-1] == Bytes(END_OF_STREAM)
    assert isinstance(steps[-2], Verdict)
    assert len(steps) == len(course.frames) + 2


def test_research_is_silent_on_the_way_and_not_in_the_text() -> None:
    course = forms.course(entry_with(REPLY), "A")
    steps = streaming.whole(course, Pace(silence=90, answer=60))
    assert sum(pauses(steps)) == pytest.approx(150)
    assert pauses(steps[-len(course.text) - 2 :]) == []


def test_the_pace_lies_between_the_frames_of_the_text() -> None:
    course = forms.course(entry_with(REPLY), "A")
    assert pauses(streaming.whole(course, Pace(frame=0.5))) == [0.5] * len(course.text)


async def taken(steps: Sequence[Step], stop: asyncio.Event) -> list[Step]:
    seen = streaming.stoppable(steps, RestlessClock(), stop, lambda count: [Bytes(str(count).encode())])
    return [step async for step in seen]


async def test_a_stream_that_nobody_stops_runs_to_its_end() -> None:
    steps: list[Step] = [Bytes(b"a"), Pause(1000), Bytes(b"b")]
    assert await taken(steps, asyncio.Event()) == [Bytes(b"a"), Bytes(b"b")]


async def test_a_stopped_stream_ends_with_what_is_said_of_the_stop() -> None:
    stop = asyncio.Event()
    stop.set()
    assert await taken([Bytes(b"a"), Bytes(b"b")], stop) == [Bytes(b"0")]


async def test_a_slow_answer_takes_several_seconds_and_says_the_same() -> None:
    clock = RestlessClock()
    async with (
        EmulatorServer(clock) as server,
        httpx2.AsyncClient(base_url=server.url, trust_env=False, verify=False) as http,
    ):
        page = Page(http)
        text = (await page.read(QUESTION)).text
        quick = sum(clock.waited)
        clock.waited.clear()
        assert (await page.read(f"slow: {QUESTION}")).text == text
        assert quick < 2 < sum(clock.waited)


async def test_research_takes_long_pauses_of_the_clock() -> None:
    clock = RestlessClock()
    async with (
        EmulatorServer(clock) as server,
        httpx2.AsyncClient(base_url=server.url, trust_env=False, verify=False) as http,
    ):
        await Page(http).frames(QUESTION, model_preference="pplx_alpha")
        assert sum(clock.waited) > 60
        await Page(http).frames(f"ask back and go on {QUESTION}", model_preference="pplx_alpha")
        assert 60 in clock.waited


async def test_two_emulators_share_nothing() -> None:
    async with EmulatorServer(Clock()) as one, EmulatorServer(Clock()) as other:
        async with httpx2.AsyncClient(base_url=one.url, trust_env=False, verify=False) as http:
            first = await Page(http).read(QUESTION)
        async with httpx2.AsyncClient(base_url=other.url, trust_env=False, verify=False) as http:
            (frame,) = await Page(http).frames("And then?", last_backend_uuid=first.merged["backend_uuid"])
            assert frame["status"] == "FAILED"
            assert (await Page(http).left())["remaining_pro"] == 200


@pytest.mark.parametrize(
    ("query", "question", "form", "slow", "fault"),
    [
        ("What is tea?", "What is tea?", None, False, None),
        ("form:B What is tea?", "What is tea?", "B", False, None),
        ("FORM:patches-ONLY slow: What is tea?", "What is tea?", "patches-only", True, None),
        ("slow: fault:empty form:D What is tea?", "What is tea?", "D", True, "empty"),
        ("What does platform:C mean?", "What does platform:C mean?", None, False, None),
        ("What does form:C, mean?", "What does form:C, mean?", None, False, None),
    ],
)
def test_control_words_are_taken_off_the_question(
    query: str, question: str, form: str | None, slow: bool, fault: str | None
) -> None:
    found = asked.parse(msgspec.json.encode(ask_body(query)))
    assert (found.question, found.form, found.controls.slow, found.controls.fault) == (question, form, slow, fault)


def test_an_ask_that_cannot_be_read_says_where() -> None:
    body = ask_body(QUESTION)
    body["params"]["sources"] = [1]
    with pytest.raises(BadAsk, match=r"params\.sources\[0\]"):
        asked.parse(msgspec.json.encode(body))
