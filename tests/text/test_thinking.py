import pytest
from hypothesis import given

from pplx_gateway.thinking import Split, ThinkingSplitter, overlap
from tests.text.pieces import cut, every_cut, words


def split(*pieces: str) -> Split:
    splitter = ThinkingSplitter()
    parts = [splitter.feed(piece) for piece in pieces]
    parts.append(splitter.close())
    return Split("".join(part.reasoning for part in parts), "".join(part.content for part in parts))


CASES = [
    ("<think>look at the map</think>\n\nThe Leie.", "look at the map", "The Leie."),
    ("\n <think>a</think>b", "a", "b"),
    ("<think>\n a \n</think>b", "\n a \n", "b"),
    ("<think></think>b", "", "b"),
    ("</think>\n\nb", "", "b"),
    ("<think>a</think>b <think>c</think>", "a", "b <think>c</think>"),
    ("<think>a<think>b</think>c", "a<think>b", "c"),
    ("<think>never closed </thi", "never closed </thi", ""),
    ("The <think> tag</think>.", "", "The <think> tag</think>."),
    ("  plain", "", "  plain"),
    (" \n ", "", " \n "),
    ("<thi", "", "<thi"),
    ("<thinking>a</thinking>", "", "<thinking>a</thinking>"),
    ("< think>a", "", "< think>a"),
    ("", "", ""),
    ("reasoning without opener</think>b", "", "reasoning without opener</think>b"),
    ("<think>a</think> \n ", "a", ""),
]


@pytest.mark.parametrize(("text", "reasoning", "content"), CASES)
def test_every_cut_gives_the_same_split(text: str, reasoning: str, content: str) -> None:
    for pieces in every_cut(text):
        assert split(*pieces) == (reasoning, content)


@given(cut(words("<think>", "</think>", "<thi", "nk>", "</", "a", " ", "\n", "<", "🚲")))
def test_any_cut_of_any_text_gives_the_same_split(case: tuple[str, list[str]]) -> None:
    whole, pieces = case
    assert split(*pieces) == split(whole) == split(*whole)


@pytest.mark.parametrize("over", [0, 1])
def test_a_block_far_behind_white_space_is_text(over: int) -> None:
    text = " " * (1024 + over) + "<think>a</think>b"
    expected = Split("", text) if over else Split("a", "b")
    assert split(text) == split(*text) == expected


def test_half_a_tag_is_never_content() -> None:
    splitter = ThinkingSplitter()
    assert splitter.feed("<thi") == ("", "")
    assert splitter.feed("nk>look at the map</th") == ("look at the map", "")
    done_inside = splitter.done
    assert not done_inside
    assert splitter.feed("ink>\n\nThe Leie.") == ("", "The Leie.")
    assert splitter.done
    assert splitter.feed("</th") == ("", "</th")


def test_an_answer_without_a_block_is_done_with_its_first_letter() -> None:
    splitter = ThinkingSplitter()
    assert splitter.feed("T") == ("", "T")
    assert splitter.done


def test_close_does_not_end_the_wait_for_a_block_where_nothing_came_yet() -> None:
    splitter = ThinkingSplitter()
    assert splitter.close() == ("", "")
    assert splitter.feed("<think>a") == ("a", "")


@pytest.mark.parametrize(
    ("text", "wanted", "length"),
    [("a</th", "</think>", 4), ("aa", "aab", 2), ("x", "a", 0), ("ab", "ab", 0), ("", "a", 0)],
)
def test_overlap_is_the_longest_proper_beginning(text: str, wanted: str, length: int) -> None:
    assert overlap(text, wanted) == length
