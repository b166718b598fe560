"""Whole streams, cut at every byte and in every line ending: the same answer each time (docs/wire-session.md 2.1)."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pplx_gateway.answer import AnswerEvent, Sources
from pplx_gateway.errors import GatewayError
from pplx_gateway.sse import Event
from pplx_gateway.upstreams.session.frames import END, Frame, decode, parse
from pplx_gateway.upstreams.session.oddities import Oddities
from pplx_gateway.upstreams.session.request import Ask
from pplx_gateway.upstreams.session.run import Run
from tests.session.fakes import HandClock
from tests.session.playing import asked, clean, feed, play, text
from tests.session.playing import assembler as new_assembler
from tests.session.stories import (
    CHUNKS,
    FORMS,
    TEXT,
    W_BASE,
    WEB_RESULTS,
    completed,
    done,
    markdown,
    pending,
    sse,
    wire,
)

EMOJI = "Zürich 🚲 東京 👩‍👩‍👧"
EMOJI_STORY = [pending(markdown(["Zürich 🚲 "], 0)), pending(markdown(["東京 👩‍👩‍👧"], 1)), completed(done([EMOJI]))]
STORIES: dict[str, Any] = {**FORMS, "letters": EMOJI_STORY}
NEWLINES = ["\n", "\r\n", "\r"]


def run() -> Run:
    ask = Ask(id="r", preference="gpt56_terra", query="question", params={})
    return Run(ask, asked(), HandClock(), 120.0, clean)


def read(pieces: list[bytes]) -> list[AnswerEvent]:
    """What a caller of the upstream would get from these reads."""
    target = run()
    events: list[AnswerEvent] = []
    for piece in pieces:
        events += target.take(piece)
        if target.assembler.ended:
            break
    else:
        events += target.finish()
    target.check()
    return events + target.assembler.close()


def gist(events: list[AnswerEvent]) -> tuple[str, list[Any]]:
    """The text and everything else, without how the text was cut into deltas."""
    return text(events), [event for event in events if type(event).__name__ != "TextDelta"]


@pytest.mark.parametrize("newline", NEWLINES)
@pytest.mark.parametrize("story", STORIES)
def test_one_byte_at_a_time_gives_the_same_answer(story: str, newline: str) -> None:
    data = wire(STORIES[story], newline)
    whole = gist(read([data]))
    assert whole[0] == (EMOJI if story == "letters" else TEXT)
    assert gist(read([data[place : place + 1] for place in range(len(data))])) == whole


@pytest.mark.parametrize("newline", NEWLINES)
def test_a_cut_at_any_byte_changes_nothing(newline: str) -> None:
    data = wire(EMOJI_STORY, newline)
    whole = gist(read([data]))
    for place in range(len(data)):
        assert gist(read([data[:place], data[place:]])) == whole


@given(data=st.data(), story=st.sampled_from(sorted(STORIES)), newline=st.sampled_from(NEWLINES))
@settings(max_examples=60, deadline=None)
def test_any_cuts_change_nothing(data: st.DataObject, story: str, newline: str) -> None:
    stream = wire(STORIES[story], newline)
    places = sorted(data.draw(st.sets(st.integers(1, len(stream) - 1), max_size=12)))
    pieces = [stream[a:b] for a, b in zip([0, *places], [*places, len(stream)], strict=True)]
    assert gist(read(pieces)) == gist(read([stream]))


@given(mixture=st.lists(st.sampled_from(NEWLINES), min_size=7, max_size=7))
@settings(max_examples=20, deadline=None)
def test_mixed_line_ends_change_nothing(mixture: list[str]) -> None:
    parts = [sse(frame, newline) for frame, newline in zip(W_BASE, mixture, strict=False)]
    assert text(read(["".join([*parts, sse({}, mixture[-1], "end_of_stream")]).encode()])) == TEXT


@pytest.mark.parametrize(
    "data",
    [
        wire(W_BASE, name=None),
        wire(W_BASE, name="something_else"),
        wire(W_BASE, name="ping"),
        b"\xef\xbb\xbf" + wire(W_BASE),
        wire(W_BASE, end=False),
        wire(W_BASE, end=False).rstrip(),
        wire([*W_BASE[:-1], {**W_BASE[-1], "final_sse_message": False}], end=False) + b"data: [DONE]\n\n",
        wire(W_BASE).replace(b"data: ", b"data:").replace(b"event: ", b"event:"),
        b": keepalive\r\n\r\n" + wire(W_BASE).replace(b"event: message", b": keepalive\r\n\r\nevent: message"),
        b'{"x": 1}\n\n' + wire(W_BASE),
        wire(W_BASE) + b"data: {garbage\n\n",
    ],
)
def test_liberties_of_the_wire_change_nothing(data: bytes) -> None:
    assert text(read([data])) == TEXT


@pytest.mark.parametrize(
    "noise",
    [
        ": ping\n\n",
        ":\n",
        "data:\n\n",
        "event: ping\ndata: {}\n\n",
        "data: null\n\n",
        'data: {"type":"keepalive"}\n\n',
        "data: 5\n\n",
        "data: []\n\n",
        "data: {broken\n\n",
        'event: heartbeat\ndata: "x"\n\n',
        "data: " + "[" * 100_000 + "\n\n",
        'data: {"a":' * 1 + '{"a":' * 50_000 + "\n\n",
    ],
)
def test_pings_and_noise_between_frames_change_nothing(noise: str) -> None:
    frames = [sse(frame) for frame in W_BASE]
    data = (noise.join(frames) + noise).encode()
    target = run()
    events = target.take(data) + target.assembler.close()
    assert text(events) == TEXT
    assert target.assembler.frames == len(W_BASE)


def test_several_data_lines_are_one_frame() -> None:
    pretty = json.dumps(completed(done(CHUNKS, answer=TEXT)), indent=1).replace("\n", "\ndata: ")
    assert text(read([f"event: message\ndata: {pretty}\n\n".encode()])) == TEXT


def test_a_frame_of_two_megabytes_is_read() -> None:
    page = {"name": "x" * 1000, "url": "https://a.example", "snippet": "é" * 1000}
    big = {"intended_usage": "web_results", "web_result_block": {"web_results": [page] * 700}}
    data = wire([pending(big), *W_BASE])
    assert len(data) > 2 << 20
    events = read([data[start : start + 65536] for start in range(0, len(data), 65536)])
    assert text(events) == TEXT
    assert max(len(event.sources) for event in events if isinstance(event, Sources)) == 700


def test_what_came_before_a_failure_is_given_first() -> None:
    target = run()
    failed = {"status": "FAILED", "final_sse_message": True}
    batch = target.take(wire([*W_BASE[:4], failed]))
    assert text(batch) == "".join(CHUNKS[:2])
    with pytest.raises(GatewayError):
        target.check()
    with pytest.raises(GatewayError):
        target.take(b": ping\n")


# frames


def frame(data: bytes, name: str = "message") -> Any:
    return decode(Event(name, data), Oddities())


@pytest.mark.parametrize("data", [b"", b"null", b"{}", b"5", b"[]", b"{", b'"x"', b'{"cursor": "c"}', b"\xff\xfe"])
def test_what_carries_nothing_is_no_frame(data: bytes) -> None:
    assert frame(data) is None


@pytest.mark.parametrize(
    ("data", "name"), [(b"{}", "end_of_stream"), (b"null", "end_of_stream"), (b"[DONE]", "message")]
)
def test_the_end_is_known(data: bytes, name: str) -> None:
    assert frame(data, name) is END


def test_a_frame_under_the_name_of_the_end_is_a_frame() -> None:
    assert isinstance(frame(b'{"status": "COMPLETED"}', "end_of_stream"), Frame)


BAD_BLOCKS: list[Any] = [
    None,
    5,
    "x",
    {"intended_usage": 5},
    {"intended_usage": "ask_text", "markdown_block": None},
    {"intended_usage": "ask_text", "markdown_block": 5},
    markdown(None),
    markdown(None, None),
    {"intended_usage": "ask_text", "markdown_block": {"chunks": {"a": 1}, "chunk_starting_offset": "0"}},
    {"intended_usage": "ask_text", "diff_block": None},
    {"intended_usage": "ask_text", "diff_block": {"field": 5, "patches": "x"}},
    {"intended_usage": "ask_text", "diff_block": {"patches": None}},
    {"intended_usage": "web_results", "web_result_block": None},
]


@pytest.mark.parametrize("bad", BAD_BLOCKS)
def test_a_bad_block_does_no_harm_to_its_neighbours(bad: Any) -> None:
    frames = [pending(bad, markdown(CHUNKS[:1], 0)), pending(bad), pending(markdown(CHUNKS[1:], 1), bad), completed()]
    assert text(play(frames)) == TEXT


@pytest.mark.parametrize("blocks", [None, 5, {}, "x"])
def test_blocks_of_a_wrong_type_do_no_harm(blocks: Any) -> None:
    odd = {**pending(), "blocks": blocks}
    assert text(play([odd, pending(markdown(CHUNKS)), odd, completed()])) == TEXT


@pytest.mark.parametrize(
    "field",
    ["final", "backend_uuid", "display_model", "read_write_token", "error_message", "thread_url_slug", "error_code"],
)
@pytest.mark.parametrize("value", [None, {}, [1]])
def test_fields_of_a_wrong_type_do_no_harm(field: str, value: Any) -> None:
    odd = {**pending(markdown(CHUNKS)), field: value}
    assert text(play([odd, completed()])) == TEXT


def test_a_chunk_of_a_wrong_type_keeps_the_places_of_the_others() -> None:
    target = new_assembler()
    feed(target, pending(markdown(["a", None, 5, "b"], 0)))
    feed(target, pending(markdown(["c"], 4)))
    feed(target, completed())
    assert target.oddities.counts["chunk_not_text"] == 1
    assert text(play([pending(markdown(["a", None, "b"], 0)), pending(markdown(["c"], 3)), completed()])) == "abc"


def test_bad_utf8_in_a_frame_does_no_harm() -> None:
    data = json.dumps(pending(WEB_RESULTS, markdown(CHUNKS))).encode().replace(b"A river.", b"A \xff river.")
    target = new_assembler()
    decoded = decode(Event("message", data), target.oddities)
    assert decoded is not None
    assert text(target.feed(decoded)) == TEXT


def test_any_json_can_be_parsed_and_no_text_raises() -> None:
    assert parse(b'{"a": "x\\ud83d", "\\ude00": [1]}') == {"a": "x\ufffd", "\ufffd": [1]}
    assert parse(b'{"a": "x\\ud83d"}', halves=True) == {"a": "x\ud83d"}
    assert parse(b"[" * 100_000) is None
    assert parse(b"\xff") is None


JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [None, 5, -1, 2.5, True, "", "x", "/chunks/0", [], {}, [None], [[]], {"a": None}, ["x", 5], "\ud83d"]
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value, the whole included."""
    found = [path]
    if isinstance(value, dict):
        for key, inner in value.items():
            found += places(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            found += places(inner, (*path, index))
    return found


def replaced(value: Any, path: tuple[Any, ...], junk: Any) -> Any:
    if not path:
        return junk
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], junk)
    return copy


@given(data=st.data(), story=st.sampled_from(sorted(FORMS)))
@settings(max_examples=300, deadline=None)
def test_junk_anywhere_in_a_frame_never_breaks_the_parser(data: st.DataObject, story: str) -> None:
    frames = list(FORMS[story])
    for _ in range(data.draw(st.integers(1, 3))):
        number = data.draw(st.integers(0, len(frames) - 1))
        path = data.draw(st.sampled_from(places(frames[number])))
        frames[number] = replaced(frames[number], path, data.draw(JUNK))
    try:
        msgspec.json.encode(play(frames))  # what cannot be encoded could not be sent to anybody
    except GatewayError as error:
        error.message.encode()
