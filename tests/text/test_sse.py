import itertools
import json
import re
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pplx_gateway.errors import UpstreamError
from pplx_gateway.sse import KEEP_ALIVE, Event, EventReader, encode
from tests.text.pieces import cut, every_cut, halves

AGENT = [
    b'{"type":"response.created","sequence_number":0}',
    '{"type":"response.output_text.delta","delta":"Zürich 🚲 "}'.encode(),
    '{"type":"response.output_text.delta","delta":"東京"}'.encode(),
    b'{"type":"response.completed","sequence_number":3}',
]
LINE_ENDS = {"lf": b"\n", "crlf": b"\r\n", "cr": b"\r"}


def read(pieces: Iterable[bytes], limit_bytes: int = 8 << 20) -> list[Event]:
    reader = EventReader(limit_bytes)
    events = [event for piece in pieces for event in reader.feed(piece)]
    return events + reader.close()


def agent_stream(end: bytes, space: bytes = b" ", named: bytes = b"") -> bytes:
    return b"".join(named + b"data:" + space + data + end + end for data in AGENT)


def session_stream(end: bytes) -> bytes:
    frames = b"".join(b"event: message" + end + b"data: " + data + end + end for data in AGENT)
    return frames + b"event: end_of_stream" + end + b"data: {}" + end + end


@pytest.mark.parametrize("end", LINE_ENDS.values(), ids=LINE_ENDS)
def test_every_cut_of_an_unnamed_stream_gives_the_same_events(end: bytes) -> None:
    for pieces in every_cut(agent_stream(end)):
        assert read(pieces) == [Event("message", data) for data in AGENT]


@pytest.mark.parametrize("end", LINE_ENDS.values(), ids=LINE_ENDS)
def test_every_cut_of_a_named_stream_gives_the_same_events(end: bytes) -> None:
    expected = [*(Event("message", data) for data in AGENT), Event("end_of_stream", b"{}")]
    for pieces in every_cut(session_stream(end)):
        assert read(pieces) == expected


def test_line_ends_may_be_mixed() -> None:
    stream = b'event: a\ndata: {"n":1}\r\n\nevent: b\rdata: {"n":2}\n\r\ndata: {"n":3}\r\r\ndata: {"n":4}\n\n'
    expected = [
        Event("a", b'{"n":1}'),
        Event("b", b'{"n":2}'),
        Event("message", b'{"n":3}'),
        Event("message", b'{"n":4}'),
    ]
    for pieces in every_cut(stream):
        assert read(pieces) == expected


def test_crlf_behind_a_lone_cr_is_one_line_end_however_it_is_cut() -> None:
    for pieces in every_cut(b"data: 1\r\rdata: 2\r\ndata: 3\r\n\r\n"):
        assert read(pieces) == [Event("message", b"1"), Event("message", b"2\n3")]


def test_a_byte_order_mark_is_skipped_however_it_is_cut() -> None:
    for pieces in every_cut(b"\xef\xbb\xbf" + agent_stream(b"\n")):
        assert read(pieces) == [Event("message", data) for data in AGENT]


def test_a_byte_order_mark_counts_only_at_the_start() -> None:
    assert read([b"data: \xef\xbb\xbfa\n\n"]) == [Event("message", b"\xef\xbb\xbfa")]
    assert read([b"\xef\xbb"]) == []


@pytest.mark.parametrize("space", [b"", b" "])
def test_the_space_after_the_colon_may_be_missing(space: bytes) -> None:
    assert [event.data for event in read([agent_stream(b"\n", space)])] == AGENT


def test_only_one_space_is_dropped() -> None:
    assert read([b"data:  a \n\n"]) == [Event("message", b" a ")]


def test_wrong_event_names_leave_the_data_alone() -> None:
    events = read([agent_stream(b"\r\n", named=b"event: nonsense\r\n")])
    assert [event.data for event in events] == AGENT
    assert {event.event for event in events} == {"nonsense"}


def test_several_data_lines_are_joined_by_lf() -> None:
    for pieces in every_cut(b"data: one\r\ndata:\r\ndata:two\r\n\r\n"):
        assert read(pieces) == [Event("message", b"one\n\ntwo")]


def test_id_retry_comments_and_unknown_fields_are_ignored() -> None:
    stream = b": hello\nid: 7\nretry: 100\nfoo: bar\nno colon\ndata: a\n: in between\n\n"
    for pieces in every_cut(stream):
        assert read(pieces) == [Event("message", b"a")]


def test_an_event_name_holds_for_one_event_only() -> None:
    assert read([b"event: a\ndata: 1\n\ndata: 2\n\n"]) == [Event("a", b"1"), Event("message", b"2")]
    assert read([b"event: a\n\ndata: 2\n\n"]) == [Event("message", b"2")]
    assert read([b"event:\ndata: 3\n\n"]) == [Event("message", b"3")]


@pytest.mark.parametrize(
    "ping", [b": ping\n\n", b":\n", b"data:\n\n", b"data\n\n", b"event: ping\n\n", b"\n\n\n", KEEP_ALIVE]
)
def test_pings_without_data_give_no_event(ping: bytes) -> None:
    stream = b"data: 1\n\n" + ping + b"data: 2\n\n"
    for pieces in every_cut(stream):
        assert read(pieces) == [Event("message", b"1"), Event("message", b"2")]


def test_pings_with_data_are_events_for_the_decoder_to_judge() -> None:
    stream = b'event: ping\ndata: {}\n\ndata: null\n\ndata: {"type":"keepalive"}\n\n'
    assert read([stream]) == [
        Event("ping", b"{}"),
        Event("message", b"null"),
        Event("message", b'{"type":"keepalive"}'),
    ]


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\r"])
def test_the_last_event_needs_no_blank_line(end: bytes) -> None:
    for pieces in every_cut(b"data: 1\n\nevent: last\ndata: 2" + end):
        assert read(pieces) == [Event("message", b"1"), Event("last", b"2")]


def test_close_gives_the_last_event_once() -> None:
    reader = EventReader()
    assert reader.feed(b"data: 1") == []
    assert reader.close() == [Event("message", b"1")]
    assert reader.close() == []


def test_an_event_is_given_as_soon_as_its_blank_line_is_there() -> None:
    reader = EventReader()
    assert reader.feed(b"data: 1\r\n\r") == [Event("message", b"1")]
    assert reader.feed(b"\ndata: 2\r\n\r\n") == [Event("message", b"2")]


def test_events_come_with_the_read_that_completes_them() -> None:
    reader = EventReader()
    assert reader.feed(b"data: 1\n\ndata: 2\n\ndata: 3") == [Event("message", b"1"), Event("message", b"2")]
    assert reader.feed(b"") == []
    assert reader.feed(b"\n\n") == [Event("message", b"3")]


def test_an_event_name_that_is_not_utf8_is_replaced() -> None:
    assert read([b"event: \xff\ndata: 1\n\n"]) == [Event("\ufffd", b"1")]


def test_a_frame_of_megabytes_arrives_whole_from_small_reads() -> None:
    data = b"x" * (3 << 20)
    stream = b"event: message\r\ndata: " + data + b"\r\n\r\n" + b"data: 2\r\n\r\n"
    pieces = [stream[start : start + 16384] for start in range(0, len(stream), 16384)]
    assert read(pieces) == [Event("message", data), Event("message", b"2")]


def test_an_event_of_exactly_the_limit_passes_and_one_byte_more_raises() -> None:
    for pieces in every_cut(b"data: " + b"x" * 20 + b"\r\n\r\n"):
        assert len(read(pieces, limit_bytes=20)) == 1
    for pieces in every_cut(b"data: " + b"x" * 21 + b"\r\n\r\n"):
        with pytest.raises(UpstreamError, match="more than 20 bytes"):
            read(pieces, limit_bytes=20)


def test_the_limit_counts_all_data_lines_of_an_event_but_not_of_two() -> None:
    line = b"data: " + b"x" * 11 + b"\n"
    assert len(read([line + b"\n" + line + b"\n"], limit_bytes=20)) == 2
    with pytest.raises(UpstreamError):
        read([line + line + b"\n"], limit_bytes=20)


def test_a_line_that_never_ends_raises_instead_of_filling_memory() -> None:
    endless = (b": comment without an end" for _ in itertools.count())
    with pytest.raises(UpstreamError):
        read(endless, limit_bytes=1000)


def test_many_comments_without_a_blank_line_never_reach_the_limit() -> None:
    assert read([KEEP_ALIVE] * 1000 + [b"data: 1\n\n"], limit_bytes=100) == [Event("message", b"1")]


def reference(stream: bytes) -> list[Event]:
    """The same rules, written for a stream that is all there."""
    events, name, data = [], "message", list[bytes]()
    lines = re.split(rb"\r\n|\r|\n", stream.removeprefix(b"\xef\xbb\xbf"))
    for line in [*lines, b""]:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not line:
            if any(data):
                events.append(Event(name, b"\n".join(data)))
            name, data = "message", []
        elif field == b"data":
            data.append(value)
        elif field == b"event":
            name = value.decode() or "message"
    return events


TOKENS = [
    b"data:",
    b"data: ",
    b"data",
    b"event:",
    b"event: x",
    b": c",
    b"id: 1",
    b"{}",
    b" ",
    b"\xef\xbb\xbf",
    b"a",
    b":",
]
STREAMS = st.lists(st.sampled_from([*TOKENS, b"\n", b"\r", b"\r\n", b"\n\n", b"\r\n\r\n"]), max_size=30).map(b"".join)


@given(cut(STREAMS))
def test_any_bytes_in_any_cut_are_read_as_the_whole(case: tuple[bytes, list[bytes]]) -> None:
    whole, pieces = case
    assert read(pieces) == read([whole]) == reference(whole)


@given(cut(st.lists(st.binary(max_size=8), max_size=12).map(b"\n".join)))
def test_nonsense_never_raises(case: tuple[bytes, list[bytes]]) -> None:
    whole, pieces = case
    assert [event.data for event in read(pieces)] == [event.data for event in read([whole])]


def test_encode_writes_one_whole_event_with_lf() -> None:
    assert encode(b"{}") == b"data: {}\n\n"
    assert encode(b"{}", "ping") == b"event: ping\ndata: {}\n\n"


def test_encode_keeps_line_breaks_in_data_from_ending_the_event() -> None:
    assert encode(b"a\nb\r\nc\rd") == b"data: a\ndata: b\ndata: c\ndata: d\n\n"


@pytest.mark.parametrize("name", ["a\nb", "a\rb"])
def test_encode_refuses_an_event_name_with_a_line_break(name: str) -> None:
    with pytest.raises(ValueError, match="line break"):
        encode(b"{}", name)


@given(st.lists(st.tuples(st.sampled_from([None, "a", "response.done"]), st.text(min_size=1)), max_size=5))
def test_what_encode_writes_is_read_back(items: list[tuple[str | None, str]]) -> None:
    payloads = [(name, json.dumps(text).encode()) for name, text in items]
    stream = KEEP_ALIVE.join(encode(data, name) for name, data in payloads)
    for pieces in halves(stream) if len(stream) < 200 else [[stream]]:
        assert read(pieces) == [Event(name or "message", data) for name, data in payloads]


def test_the_keep_alive_is_a_comment_with_one_line_end() -> None:
    assert re.fullmatch(rb":[^\r\n]*\n", KEEP_ALIVE)
