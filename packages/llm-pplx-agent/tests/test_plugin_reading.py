"""The parsers, fed at every split."""

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from llm_pplx_agent.reading import EventReader, HalfJoiner, ThinkSplitter
from plugin_rig import events, sse


def read(content: bytes, cuts: list[int]) -> list[dict[str, object]]:
    reader = EventReader()
    places = sorted({cut % (len(content) + 1) for cut in cuts} | {0, len(content)})
    pieces = [content[start:end] for start, end in pairwise(places)]
    return [event for piece in [*(piece for piece in pieces if piece), b""] for event in reader.feed(piece)]


@given(
    ends=st.lists(st.sampled_from(["\n", "\r\n", "\r"]), min_size=1, max_size=4),
    cuts=st.lists(st.integers(0, 10_000), max_size=20),
    mark=st.booleans(),
    ended=st.booleans(),
)
def test_events_are_the_same_however_they_are_cut_and_ended(
    ends: list[str], cuts: list[int], mark: bool, ended: bool
) -> None:
    told = events("Zürich 🚲 ", "東京")
    text = "".join(sse(event, end=ends[number % len(ends)]) for number, event in enumerate(told))
    content = (b"\xef\xbb\xbf" if mark else b"") + (text if ended else text.rstrip()).encode()
    assert read(content, cuts) == told


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=5))
def test_no_bytes_break_the_reader(content: bytes, cuts: list[int]) -> None:
    assert read(content, cuts) == read(content, [])


def test_an_event_may_have_its_data_on_several_lines() -> None:
    assert read(b'event: x\nid: 4\ndata: {"a":\ndata:1}\n\n', []) == [{"a": 1}]


def test_what_is_no_object_is_passed_over() -> None:
    for data in ("[DONE]", "null", "[1]", "", "{", "[" * 100_000):
        assert read(f"data: {data}\n\n".encode(), []) == []


@given(st.text(max_size=30), st.lists(st.integers(0, 40), max_size=6))
def test_halves_of_letters_are_joined(text: str, cuts: list[int]) -> None:
    escaped = text + "🚲"
    halves = "".join(json.loads(f'"\\u{unit:04x}"') for unit in memoryview(escaped.encode("utf-16-le")).cast("H"))
    joiner = HalfJoiner()
    places = sorted({cut % (len(halves) + 1) for cut in cuts} | {0, len(halves)})
    pieces = [halves[start:end] for start, end in pairwise(places)]
    assert "".join([*(joiner.feed(piece) for piece in pieces), joiner.close()]) == escaped


def test_a_half_alone_is_replaced() -> None:
    joiner = HalfJoiner()
    assert joiner.feed("a\ud83d") + joiner.feed("b\ud83d") + joiner.close() == "a\ufffdb\ufffd"


@given(
    st.sampled_from(
        [
            ("<think>map</think>\n\nThe Leie.", "map", "The Leie."),
            (" \n<think></think>x", "", "x"),
            ("<think>never closed", "never closed", ""),
            ("<thin>x", "", "<thin>x"),
            ("<think", "", "<think"),
            ("A <think>b</think>", "", "A <think>b</think>"),
            ("  plain", "", "  plain"),
            ("<think>a</think>  b </think> c", "a", "b </think> c"),
            ("", "", ""),
        ]
    ),
    st.lists(st.integers(0, 40), max_size=8),
)
def test_thoughts_are_split_off_however_they_are_cut(case: tuple[str, str, str], cuts: list[int]) -> None:
    text, thought, answer = case
    splitter = ThinkSplitter()
    places = sorted({cut % (len(text) + 1) for cut in cuts} | {0, len(text)})
    pieces = [text[start:end] for start, end in pairwise(places)]
    found = [*(splitter.feed(piece) for piece in pieces), splitter.close()]
    assert ("".join(one for one, _ in found), "".join(two for _, two in found)) == (thought, answer)
