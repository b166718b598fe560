import pytest
from hypothesis import given
from hypothesis import strategies as st

from pplx_gateway.stops import StopCutter
from tests.text.pieces import cut, every_cut, words


def send(stops: list[str], *pieces: str) -> tuple[str, bool]:
    cutter = StopCutter(stops)
    return "".join(cutter.feed(piece) for piece in pieces) + cutter.close(), cutter.hit


CASES = [
    (["END"], "one END two END", "one ", True),
    (["END"], "no end, EN", "no end, EN", False),
    (["\n\n"], "a\nb\n\nc", "a\nb", True),
    (["aab"], "aaab", "a", True),
    (["b", "abc"], "xabc", "xa", True),
    (["bc", "c"], "abc", "a", True),
    ([""], "abc", "abc", False),
    ([], "abc", "abc", False),
    (["🚲"], "bike 🚲!", "bike ", True),
]


@pytest.mark.parametrize(("stops", "text", "sent", "hit"), CASES)
def test_every_cut_stops_at_the_same_place(stops: list[str], text: str, sent: str, hit: bool) -> None:
    for pieces in every_cut(text):
        assert send(stops, *pieces) == (sent, hit)


def reference(stops: list[str], text: str) -> tuple[str, bool]:
    """Letter by letter, as a model would stop."""
    for end in range(1, len(text) + 1):
        met = [stop for stop in stops if text[:end].endswith(stop)]
        if met:
            return text[: end - max(map(len, met))], True
    return text, False


@given(
    st.lists(words("a", "b", "c", max_size=4).filter(bool), min_size=1, max_size=4),
    cut(words("a", "b", "c", max_size=20)),
)
def test_any_cut_stops_where_a_model_would(stops: list[str], case: tuple[str, list[str]]) -> None:
    whole, pieces = case
    assert send(stops, *pieces) == reference(stops, whole)


def test_only_what_may_begin_a_stop_string_is_held_back() -> None:
    cutter = StopCutter(["END"])
    assert cutter.feed("abc E") == "abc "
    assert cutter.feed("x") == "Ex"
    assert cutter.feed("EN") == ""
    assert cutter.close() == "EN"
