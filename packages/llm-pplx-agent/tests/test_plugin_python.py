"""llm's Python API, for callers that block and for callers that await: streams, failures, second looks."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import llm
import pytest
from plugin_rig import ANSWER, KEY, SOURCES, SSE_HEADERS, Json, Rig, events, response, sse

RUN = "/v1/agent/resp_t1"
OVERLOADED: Json = {"message": "model overloaded"}
Ask = Callable[..., Awaitable[Any]]


@pytest.fixture
def led(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leads this process to the emulator."""
    for name, value in rig.environment.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest, led: None) -> Ask:
    """Asks, and gives the response when it is done."""
    assert led is None

    def blocking(question: str, more: dict[str, Any]) -> Any:
        answered = llm.get_model("pplx-agent").prompt(question, key=KEY, **more)
        answered.text()
        return answered

    async def awaiting(question: str, more: dict[str, Any]) -> Any:
        answered = llm.get_async_model("pplx-agent").prompt(question, key=KEY, **more)
        await answered.text()
        return answered

    async def either(question: str = "Which rivers?", **more: Any) -> Any:
        if request.param == "async":
            return await awaiting(question, more)
        return await asyncio.to_thread(blocking, question, more)

    return either


async def failure(ask: Ask, **more: Any) -> str:
    with pytest.raises(llm.ModelError) as caught:
        await ask(**more)
    assert KEY not in str(caught.value)
    return str(caught.value)


def cut(told: Sequence[Json], ending: Json) -> Json:
    return {"headers": SSE_HEADERS, "steps": [{"bytes": sse(*told)}, ending]}


async def test_the_answer_has_its_parts(rig: Rig, ask: Ask) -> None:
    await rig.script(events())
    answered = await ask()
    assert answered.text_or_raise() == ANSWER + SOURCES
    (message,) = answered._messages_now()
    reasoning, text = message.parts
    assert reasoning.text == "Look at the map\nSearching: rivers of Ghent\n"
    assert text.provider_metadata == {"pplx-agent": {"answer": [0, len(ANSWER)], "response_id": "resp_t1"}}
    assert answered.response_json == response()
    assert (answered.input_tokens, answered.output_tokens) == (20, 9)


@pytest.mark.parametrize("ending", [{"cut": True}, {"abort": True}, {"end": True}], ids=["cut", "reset", "end"])
async def test_a_broken_stream_is_gone_on_with_and_never_asked_for_again(rig: Rig, ask: Ask, ending: Json) -> None:
    await rig.script(cut(events()[:6], ending))
    await rig.script(cut(events()[6:7], ending), events()[4:], path=RUN, method="GET")
    answered = await ask()
    assert answered.text_or_raise() == ANSWER + SOURCES
    assert [seen["query"] for seen in await rig.requests("GET")] == [
        "stream=true&starting_after=5",
        "stream=true&starting_after=6",
    ]
    assert len(await rig.requests("POST")) == 1


async def test_a_run_whose_stream_cannot_be_had_is_looked_at(rig: Rig, ask: Ask) -> None:
    refused = {"status": 400, "headers": {"content-type": "application/json"}, "steps": [{"bytes": "{}"}]}
    for first in (refused, response("in_progress", text=""), events()[:2]):
        await rig.script(cut(events()[:6], {"cut": True}))
        await rig.script(first, response(), path=RUN, method="GET")
        assert (await ask()).text_or_raise() == ANSWER + SOURCES
    assert len(await rig.requests("POST")) == 3


async def test_a_run_that_is_told_as_json_is_looked_at(rig: Rig, ask: Ask) -> None:
    await rig.script({"id": "resp_t1", "status": "queued", "output": []})
    await rig.script(events(), path=RUN, method="GET")
    assert (await ask()).text_or_raise() == ANSWER + SOURCES


async def test_a_stream_without_numbers_is_not_read_twice(rig: Rig, ask: Ask) -> None:
    plain = [{name: value for name, value in event.items() if name != "sequence_number"} for event in events()]
    await rig.script(cut(plain[:6], {"cut": True}))
    await rig.script(response(), path=RUN, method="GET")
    assert (await ask()).text_or_raise() == ANSWER + SOURCES
    assert [seen["query"] for seen in await rig.requests("GET")] == [""]


async def test_a_cut_stream_of_a_run_that_is_gone_is_an_error(rig: Rig, ask: Ask) -> None:
    await rig.script(cut(events()[:6], {"cut": True}))
    gone = {"status": 404, "headers": {}, "steps": [{"bytes": '{"error": {"message": "resource not found"}}'}]}
    await rig.script(gone, gone, path=RUN, method="GET")
    told = await failure(ask)
    assert "HTTP 404. Nothing is there for this key. Perplexity says: resource not found" in told
    assert "-o response_id resp_t1" in told


async def test_a_stream_that_ends_before_the_run_is_named_is_an_error_that_says_it_may_cost(rig: Rig, ask: Ask) -> None:
    for answer in ("", ": ping\n\n", {"headers": SSE_HEADERS, "steps": [{"cut": True}]}):
        await rig.script(answer)
        assert "may have started the run" in await failure(ask)
    assert len(await rig.requests()) == 3


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            response("failed", text="", error=OVERLOADED),
            "The run resp_t1 failed: model overloaded",
        ),
        (response("cancelled", text=""), "The run resp_t1 was cancelled"),
        (response(text=""), "ended as completed without an answer"),
        (response("incomplete", text="", incomplete_details={"reason": "max_output_tokens"}), r"\(max_output_tokens\)"),
        ({"headers": {"content-type": "application/json"}, "steps": [{"bytes": ""}]}, "JSON object"),
        ({"headers": {"content-type": "text/html"}, "steps": [{"bytes": "<html>"}]}, "JSON object"),
        ({"id": "../x", "status": "queued"}, "no usable id"),
    ],
)
async def test_a_good_status_that_is_a_failure_is_an_error(
    rig: Rig, ask: Ask, stream: bool, answer: Json, told: str
) -> None:
    await rig.script(answer)
    with pytest.raises(llm.ModelError, match=told):
        await ask(stream=stream)


@pytest.mark.parametrize(
    ("last", "told"),
    [
        (
            {"type": "response.failed", "error": OVERLOADED},
            "The run resp_t1 failed: model overloaded",
        ),
        ({"type": "response.failed", "response": None, "error": None}, "The run resp_t1 failed."),
        ({"type": "error", "message": f"no: {KEY}"}, "The run resp_t1 failed: no: [key removed]"),
        ({"type": "error", "message": "boom"}, "The run resp_t1 failed: boom"),
        ({"type": "response.cancelled", "response": response("cancelled")}, "The run resp_t1 was cancelled"),
        ({"type": "response.completed", "response": response(text="Something else.")}, "not what Perplexity has kept"),
    ],
)
async def test_a_stream_that_ends_badly_is_an_error(rig: Rig, ask: Ask, last: Json, told: str) -> None:
    await rig.script(events(last=last))
    assert told in await failure(ask)


async def test_an_incomplete_answer_says_that_it_is(rig: Rig, ask: Ask) -> None:
    short = response("incomplete", incomplete_details={"reason": "max_output_tokens"})
    await rig.script(events(last={"type": "response.incomplete", "response": short}))
    answered = await ask()
    assert answered.text_or_raise() == f"{ANSWER}\n\n(This answer is INCOMPLETE: max_output_tokens.){SOURCES}"
    assert "response_id" not in answered._messages_now()[0].parts[1].provider_metadata["pplx-agent"]


async def test_a_terminal_event_without_the_response_is_completed_by_a_look(rig: Rig, ask: Ask) -> None:
    await rig.script(events(last={"type": "response.completed", "response": None}))
    await rig.script(response(), path=RUN, method="GET")
    answered = await ask()
    assert answered.text_or_raise() == ANSWER + SOURCES
    assert answered.input_tokens == 20


async def test_where_that_look_fails_the_events_have_to_do(rig: Rig, ask: Ask) -> None:
    found = {"type": "response.output_item.done", "item": response()["output"][0], "sequence_number": 20}
    last = {"type": "response.completed", "response": None, "sequence_number": 21}
    await rig.script([*events()[:-1], found, last])
    answered = await ask()  # the emulator knows no such run
    assert answered.text_or_raise() == ANSWER + SOURCES
    assert answered.input_tokens is None


async def test_thoughts_in_the_text_are_reasoning(rig: Rig, ask: Ask) -> None:
    for stream in (True, False):
        if stream:
            await rig.script(events("<th", "ink>look at the map</th", "ink>\n", "\nThe Leie."))
        else:
            await rig.script(response(text="<think>look at the map</think>\n\nThe Leie."))
        answered = await ask(stream=stream, include_citations=False)
        assert answered.text_or_raise() == "The Leie."
        assert "look at the map\n" in answered._messages_now()[0].parts[0].text


async def test_pings_odd_lines_and_split_letters_change_nothing(rig: Rig, ask: Ask) -> None:
    told = events("Zürich \ud83d", "\udeb2 ", "東京", last={"type": "response.completed", "response": None})
    whole = sse(*told[:6], end="\r\n") + ": ping\n\ndata:\n\nevent: ping\ndata: {}\n\ndata: null\n\ndata: [DONE]\n\n"
    whole += 'data: {"type":"keepalive","sequence_number":6}\n\n' + sse(*told[6:], end="\r")
    letters = [{"bytes": letter} for letter in "\ufeff" + whole]
    await rig.script({"headers": SSE_HEADERS, "steps": letters})
    await rig.script(response(text="Zürich 🚲 東京"), path=RUN, method="GET")
    assert (await ask(include_citations=False)).text_or_raise() == "Zürich 🚲 東京"


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("upstream_401", "llm keys set perplexity"),
        ("upstream_402", "no credit left"),
        ("upstream_500", "may have started the run all the same"),
        ("upstream_html", "HTTP 502"),
        ("midstream_error", "failed: the model is overloaded"),
        ("empty", "ended as completed without an answer"),
    ],
)
async def test_failures_of_the_emulated_api_are_errors(rig: Rig, ask: Ask, fault: str, told: str) -> None:
    for stream in (True, False):
        assert told in await failure(ask, question=f"fault: {fault}: Which rivers?", stream=stream)
    assert len(await rig.requests("POST")) == 2


async def test_a_throttled_question_is_asked_again(rig: Rig, ask: Ask) -> None:
    await rig.script({"status": 429, "headers": {}, "steps": [{"bytes": "{}"}]}, events())
    assert (await ask()).text_or_raise() == ANSWER + SOURCES
    assert len(await rig.requests("POST")) == 2


async def test_time_that_is_up_gives_the_way_to_the_answer(rig: Rig, ask: Ask) -> None:
    await rig.script(cut(events()[:6], {"sleep": 30}))
    await rig.script(response("in_progress", text=""), path=RUN, method="GET")
    told = await failure(ask, timeout=1)
    assert "No answer within 1 seconds" in told
    assert "llm -m pplx-agent -o response_id resp_t1" in told
    await rig.script(response(), path=RUN, method="GET")
    answered = await ask(response_id="resp_t1")
    assert answered.text_or_raise() == ANSWER + SOURCES
    assert len(await rig.requests("POST")) == 1


async def test_what_cannot_be_sent_is_refused_before_it_costs(rig: Rig, ask: Ask, tmp_path: Path) -> None:
    note = tmp_path / "note.png"
    note.write_text("no picture")
    plain = llm.Attachment(type="image/png", url="http://pictures.example/a.png")
    assert "nothing to ask" in await failure(ask, question="")
    assert "by https only" in await failure(ask, attachments=[plain])
    assert "root is an object" in await failure(ask, schema={"type": "array", "items": {}})
    assert "fenced" in await failure(ask, schema={"type": "object"}, spotlight=True)
    gone = llm.Attachment(type="image/png", path=str(tmp_path / "gone.png"))
    assert "could not be read (FileNotFoundError)" in await failure(ask, attachments=[gone])
    assert await rig.requests() == []


@pytest.mark.usefixtures("led")
async def test_who_no_longer_awaits_waits_for_nothing(rig: Rig) -> None:
    """Nor for the end: what was told before the silence has come already."""
    await rig.script(cut(events()[:6], {"sleep": 600}))
    stream = llm.get_async_model("pplx-agent").prompt("Which rivers?", key=KEY).astream_events()  # type: ignore[no-untyped-call]
    while (await anext(stream)).type != "text":
        pass
    await asyncio.wait_for(stream.aclose(), 5)
