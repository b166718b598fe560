"""The reader of events as they came: at every split, with every line ending, and with what upstreams do wrong."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pplx_gateway.clock import Clock
from pplx_gateway.errors import EmptyAnswer, UpstreamError, UpstreamTruncated
from pplx_gateway.operations import RunEvent
from pplx_gateway.upstreams.api.raw_events import RawReader
from pplx_gateway.upstreams.faults import Faults
from tests.cases.scripts import A_BASE, agent_steps, sse

WIRE = b"".join(str(step["bytes"]).encode() for step in agent_steps())
TYPES = [event["type"] for event in A_BASE]


def reader(**more: Any) -> RawReader:
    return RawReader(Faults("The Perplexity API", "KEY", lambda: ["pplx-SECRET"], Clock()), **more)


def read(found: RawReader, *parts: bytes) -> list[RunEvent]:
    events = [event for part in parts for event in found.feed(part)]
    return events + found.close()


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_at_every_split(newline: bytes) -> None:
    wire = WIRE.replace(b"\n", newline)
    whole = read(reader(), wire)
    assert [event.type for event in whole] == TYPES
    for place in range(0, len(wire), 7):
        found = reader()
        assert read(found, wire[:place], wire[place:]) == whole
        assert found.finished
        assert found.run_id == "resp_t1"


@given(st.lists(st.integers(0, len(WIRE)), max_size=6))
def test_in_any_parts(places: list[int]) -> None:
    cuts = [0, *sorted(places), len(WIRE)]
    parts = [WIRE[start:end] for start, end in itertools.pairwise(cuts)]
    assert [event.type for event in read(reader(), *parts)] == TYPES


@given(st.binary(max_size=200))
def test_any_bytes_end_in_a_verdict(data: bytes) -> None:
    found = reader()
    read(found, data)
    assert found.over


def test_what_was_known_is_not_told_again() -> None:
    assert [event.number for event in read(reader(after=4), WIRE)] == list(range(5, len(A_BASE)))


def test_pings_and_comments_are_no_events() -> None:
    pings = b': hello\n\nevent: ping\ndata: {}\n\ndata: {"type":"ping"}\n\ndata: tick\n\n'
    found = reader()
    assert found.feed(pings) == []
    assert not found.active
    assert len(read(found, WIRE)) == len(A_BASE)


@pytest.mark.parametrize("rest", [b"", b'data: {"type":"response.comp', b"data: [DONE]\n\n"])
def test_an_end_without_a_last_event_is_none(rest: bytes) -> None:
    found = reader()
    events = read(found, WIRE[: WIRE.rindex(b"data: ")] + rest)
    assert [event.type for event in events] == TYPES[:-1]
    assert isinstance(found.failure, UpstreamTruncated)
    assert not found.finished


def test_nothing_at_all_is_empty() -> None:
    found = reader()
    assert read(found) == []
    assert isinstance(found.failure, EmptyAnswer)


def test_a_page_is_no_answer() -> None:
    found = reader()
    assert read(found, b"<html><title>502 Bad Gateway</title>") == []
    assert type(found.failure) is UpstreamError


def test_a_whole_response_that_still_runs_is_no_end() -> None:
    found = reader(run_id="resp_t1", after=3)
    assert read(found, b'{"id":"resp_t1","status":"in_progress"}') == []
    assert found.alive
    assert not found.finished


def test_a_whole_response_after_a_gap_says_so() -> None:
    found = reader(run_id="resp_t1", after=3)
    (event,) = read(found, json.dumps({"id": "resp_t1", "status": "completed", "output": [{"type": "x"}]}).encode())
    assert (event.type, event.number) == ("response.completed", 4)
    assert found.end is not None
    assert found.end.skipped


def test_numbers_that_are_none_are_passed_on() -> None:
    events = [{k: v for k, v in event.items() if k != "sequence_number"} for event in A_BASE]
    found = reader()
    told = read(found, b"".join(sse(event).encode() for event in events))
    assert [event.number for event in told] == [None] * len(A_BASE)
    assert found.last_sequence is None


def test_half_a_character_passes() -> None:
    data = b'{"type":"response.output_text.delta","sequence_number":1,"delta":"\\ud83d"}'
    (event,) = reader().feed(b"data: " + data + b"\n\n")
    assert event.data == data
    assert event.number == 1
