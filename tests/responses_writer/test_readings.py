"""The readings notice what is wrong: each key that is missing, each event that is missing or out of place."""

import copy
import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pydantic
import pytest

from pplx_gateway.answer import (
    Annotation,
    Batch,
    Citations,
    Finished,
    ReasoningDelta,
    SearchStep,
    Sources,
    TextDelta,
    ToolCall,
)
from pplx_gateway.protocols.openai.responses.aftermath import RunLost
from pplx_gateway.protocols.openai.responses.aftermath import error_event as error_event_of
from pplx_gateway.protocols.openai.responses.events import DONE, frame
from tests import readings
from tests.openai.fakes import LEIE, SCHELDT, USAGE
from tests.readings import Json
from tests.responses_writer.telling import EVERYTHING, FUNCTION, parsed, writer, written

BATCH: Batch = [
    ReasoningDelta("Hm."),
    ReasoningDelta(" Ah."),
    SearchStep(kind="search", queries=("rivers",)),
    Sources((LEIE, SCHELDT)),
    TextDelta("The Leie[1] and "),
    TextDelta("the Scheldt[2]."),
    Citations((Annotation(start=8, end=11, source=LEIE), Annotation(start=27, end=30, source=SCHELDT))),
    ToolCall(call_id="call_1", name="tide", arguments='{"at": 1}'),
    Finished(reason="stop", usage=USAGE),
]
RAW = written(writer(EVERYTHING, tools=[FUNCTION], background=True), [BATCH])
STREAM = parsed(RAW)
WRONG = (AssertionError, pydantic.ValidationError, RuntimeError, KeyError, TypeError, ValueError)


def renumbered(events: list[Json]) -> list[Json]:
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every key of every object, as a path."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        if isinstance(value, dict):
            yield (*path, key)
        yield from places(entry, (*path, key))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


# What may be absent, and what only its owner can judge.
FREE = ("parameters", "cost", "pplx", "search_results", "citations", "sources")


def test_the_stream_itself_is_right() -> None:
    assert readings.check_events(STREAM)["status"] == "completed"


@pytest.mark.parametrize("number", range(len(STREAM)), ids=lambda number: f"{number}-{STREAM[number]['type']}")
def test_a_missing_event_is_noticed(number: int) -> None:
    with pytest.raises(WRONG):
        readings.check_events(renumbered(STREAM[:number] + STREAM[number + 1 :]))


@pytest.mark.parametrize("number", range(len(STREAM) - 1))
def test_two_events_in_the_wrong_order_are_noticed(number: int) -> None:
    swapped = [*STREAM[:number], STREAM[number + 1], STREAM[number], *STREAM[number + 2 :]]
    with pytest.raises(WRONG):
        readings.check_events(renumbered(swapped))


@pytest.mark.parametrize("number", range(len(STREAM)))
def test_an_event_that_comes_twice_is_noticed(number: int) -> None:
    with pytest.raises(WRONG):
        readings.check_events(renumbered([*STREAM[: number + 1], *STREAM[number:]]))


@pytest.mark.parametrize("number", range(len(STREAM)))
def test_a_missing_key_and_a_null_are_noticed(number: int) -> None:
    unnoticed = []
    for path in places(STREAM[number]):
        if any(key in FREE for key in path):
            continue
        for change in (without, as_null):
            event = copy.deepcopy(STREAM[number])
            if not change(at(event, path[:-1]), path[-1]):
                continue
            try:
                readings.check_events([*STREAM[:number], event, *STREAM[number + 1 :]])
            except WRONG:
                continue
            unnoticed.append((change.__name__, path))
    assert not unnoticed


def without(owner: Json, key: str) -> bool:
    del owner[key]
    return True


def as_null(owner: Json, key: str) -> bool:
    changed = owner[key] is not None and key not in ("description", "parameters", "strict", "usage")
    owner[key] = None
    return changed


def altered(change: Callable[[list[Json]], object]) -> list[Json]:
    events = copy.deepcopy(STREAM)
    change(events)
    return events


def final(events: list[Json]) -> Json:
    found: Json = events[-1]["response"]
    return found


@pytest.mark.parametrize(
    "change",
    [
        lambda events: events[3].update(sequence_number=4),
        lambda events: events[0].update(sequence_number=False),
        lambda events: events[4].update(item_id="rs_other"),
        lambda events: events[4].update(output_index=1),
        lambda events: events[5].update(delta="Hum."),
        lambda events: events[5].update(extra=1),
        lambda events: final(events).update(id="resp_other"),
        lambda events: final(events).update(temperature=0.2),
        lambda events: final(events).update(created_at="soon"),
        lambda events: final(events).update(status="in_progress"),
        lambda events: final(events).update(output=[]),
        lambda events: final(events)["output"].reverse(),
        lambda events: final(events)["output"][0].update(id="rs_other"),
        lambda events: final(events)["output"][2]["content"][0]["annotations"].pop(),
        lambda events: final(events)["output"][2]["content"][0]["annotations"][0].update(end_index=99),
        lambda events: final(events)["usage"].update(total_tokens=1),
        lambda events: final(events).update(error={"code": "server_error", "message": "no", "type": "no"}),
        lambda events: final(events).update(incomplete_details={"reason": "max_output_tokens"}),
        lambda events: final(events).update(user=None),
        lambda events: final(events).update(output_text="The Leie"),
        lambda events: final(events).update(tool_choice={"type": "function"}),
        lambda events: final(events).update(text={"format": {"type": "json_schema", "name": "n"}}),
    ],
)
def test_what_contradicts_itself_is_noticed(change: Callable[[list[Json]], object]) -> None:
    with pytest.raises(WRONG):
        readings.check_events(altered(change))


def test_a_code_outside_the_closed_list_is_noticed() -> None:
    failed = {**STREAM[2]["response"], "status": "failed"}
    readings.check_response(
        {**failed, "error": {"code": "server_error", "message": "no", "type": "tool_protocol_error"}}
    )
    with pytest.raises(pydantic.ValidationError):
        readings.check_response({**failed, "error": {"code": "tool_protocol_error", "message": "no", "type": "x"}})


# each reading for itself


def test_openais_models_are_strict() -> None:
    response = STREAM[-1]["response"]
    readings._RESPONSE.validate_python(response, strict=True)
    for key in ("id", "created_at", "model", "output", "parallel_tool_calls", "tool_choice", "tools"):
        with pytest.raises(pydantic.ValidationError):
            readings._RESPONSE.validate_python({k: v for k, v in response.items() if k != key}, strict=True)
    with pytest.raises(pydantic.ValidationError):
        readings._RESPONSE.validate_python({**response, "created_at": "1767225600"}, strict=True)


def test_the_models_of_open_responses_are_strict() -> None:
    shown = readings._for_open_responses(STREAM[-1]["response"])
    readings._OPEN_RESPONSE.validate_json(json.dumps(shown), strict=True)
    for key in (
        "completed_at",
        "instructions",
        "service_tier",
        "temperature",
        "text",
        "truncation",
        "prompt_cache_key",
    ):
        with pytest.raises(pydantic.ValidationError):
            readings._OPEN_RESPONSE.validate_json(json.dumps({k: v for k, v in shown.items() if k != key}), strict=True)
    with pytest.raises(pydantic.ValidationError):
        readings._OPEN_RESPONSE.validate_json(json.dumps({**shown, "background": "no"}), strict=True)


def test_the_helper_of_the_sdk_is_asked() -> None:
    readings._check_helper(STREAM)
    doubled = [*STREAM[:4], STREAM[3], *STREAM[4:]]
    with pytest.raises(RuntimeError, match="Duplicate response output index"):
        readings._check_helper(doubled)


# bytes


def body() -> bytes:
    return b"".join(map(frame, RAW)) + DONE


def test_a_stream_is_read_with_comments_between_its_frames() -> None:
    raw = body().replace(b"\n\nevent", b"\n\n: keep-alive\nevent", 2)
    assert readings.read_stream(raw) == STREAM


@pytest.mark.parametrize(
    "raw",
    [
        body().replace(b"\n", b"\r\n"),
        body().removesuffix(b"\n"),
        body().removesuffix(DONE),
        body() + DONE,
        body().replace(b"event: response.created", b"event: response.in_progress"),
        b"".join(map(frame, RAW[:-1])) + DONE,
    ],
)
def test_wrong_frames_are_noticed(raw: bytes) -> None:
    with pytest.raises(WRONG):
        readings.read_stream(raw)


def test_a_stream_cut_between_any_two_frames_and_its_rest_are_the_whole() -> None:
    frames = [*map(frame, RAW)]
    for cut in range(len(frames) + 1):
        parts = (frames[:cut], frames[cut:])
        assert [*itertools.chain(*(readings.read_frames(b"".join(part)) for part in parts))] == STREAM


def test_a_page_of_input_items_is_read() -> None:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "user",
        "status": "completed",
        "content": [{"type": "input_text", "text": "Hi"}],
    }
    page = {"object": "list", "data": [message], "first_id": "msg_1", "last_id": "msg_1", "has_more": False}
    readings.check_items(page)
    for wrong in ({"last_id": "msg_2"}, {"has_more": None}, {"data": [message, message]}, {"object": "page"}):
        with pytest.raises(WRONG):
            readings.check_items({**page, **wrong})


def error_event(number: int) -> Json:
    told = error_event_of(number, RunLost("It was lost."))
    found: Json = json.loads(told.data)
    return found


def test_an_error_is_the_last_event_wherever_it_comes() -> None:
    for cut in range(3, len(STREAM)):
        assert readings.check_events([*STREAM[:cut], error_event(cut)]) == {}
        assert readings.check_events([*STREAM[:cut], error_event(cut - 1)]) == {}, "it may repeat the last number"
    for wrong in ([error_event(3), STREAM[3]], [error_event(3), error_event(4)], [error_event(4)]):
        with pytest.raises(WRONG):
            readings.check_events([*STREAM[:3], *wrong])


@pytest.mark.parametrize(
    "wrong",
    [
        {"code": None},
        {"code": ""},
        {"message": ""},
        {"message": "two\nlines"},
        {"param": 5},
        {"sequence_number": "2"},
        {"error": None},
        {"error": {"type": "api_error", "code": "other", "message": "It was lost.", "param": None}},
        {"error": {"type": "api_error", "code": "run_lost", "message": "It was lost."}},
        {"response": None},
    ],
)
def test_an_error_that_one_of_its_readers_would_miss_is_none(wrong: Json) -> None:
    readings.check_event(error_event(2))
    with pytest.raises(WRONG):
        readings.check_event({**error_event(2), **wrong})
