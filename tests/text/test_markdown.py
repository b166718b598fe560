import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pplx_gateway.markdown import LOOKAHEAD, CodeScanner
from tests.text.pieces import cut, every_cut, words


def flags(pieces: list[str]) -> list[tuple[str, bool]]:
    """Each character and whether it is code."""
    scanner = CodeScanner()
    segments = [segment for piece in pieces for segment in scanner.feed(piece)]
    return [(char, segment.code) for segment in segments + scanner.close() for char in segment.text]


def code(text: str) -> list[str]:
    """The stretches of code in `text`."""
    runs = itertools.groupby(flags([text]), key=lambda flag: flag[1])
    return ["".join(char for char, _ in run) for is_code, run in runs if is_code]


CASES = [
    ("no code at all", []),
    ("a `b` c", ["`b`"]),
    ("a ``b ` c`` d", ["``b ` c``"]),
    ("`a``b`", ["`a``b`"]),
    ("an open ` run", []),
    ("an open `` run with ` inside", []),
    ("open ` here and `b` there", ["` here and `"]),
    ("`a` `b`", ["`a`", "`b`"]),
    ("over a `line\nend` too", ["`line\nend`"]),
    ("not over `a\n\nblank` line", []),
    ("nor over `a\n- list` item", []),
    ("nor over `a\n1. list` item", []),
    ("nor over `a\n> quote`", []),
    ("nor over `a\n# heading`", []),
    ("nor over `a\n```\nfence`\n```\n", ["```\nfence`\n```\n"]),
    ("escaped \\`a` b", []),
    ("escaped backslash \\\\`a` b", ["`a`"]),
    ("in code \\ is nothing: `a\\` b", ["`a\\`"]),
    ("```\na\n```\nb", ["```\na\n```\n"]),
    ("a\n```python\nb[1]\n```\nc", ["```python\nb[1]\n```\n"]),
    ("a\n~~~ x`y\nb\n~~~\nc", ["~~~ x`y\nb\n~~~\n"]),
    ("````\n```\n````\nb", ["````\n```\n````\n"]),
    ("```\na\n`````\nb", ["```\na\n`````\n"]),
    ("```\na\n~~~\n```\nb", ["```\na\n~~~\n```\n"]),
    ("~~~\na\n```\n~~~\nb", ["~~~\na\n```\n~~~\n"]),
    ("```\na\n``` no\n```\nb", ["```\na\n``` no\n```\n"]),
    ("```\na\n```  \nb", ["```\na\n```  \n"]),
    ("```\r\na\r\n```\r\nb", ["```\r\na\r\n```\r\n"]),
    ("```\na\n    ```\n```\nb", ["```\na\n    ```\n```\n"]),
    ("   ```\na\n   ```\nb", ["```\na\n   ```\n"]),
    ("    ```\na\n\n    ```\nb", []),
    ("``\na\n``\nb", ["``\na\n``"]),
    ("```a``` b", ["```a```"]),
    ("```a `b` c", ["`b`"]),
    ("a ```b\nc", []),
    ("```\nunclosed [1]\n\nto the end", ["```\nunclosed [1]\n\nto the end"]),
    ("```", ["```"]),
    ("a\n```js", ["```js"]),
    ("- ```\n  a\n  ```\nb", ["```\n  a\n  ```\n"]),
    ("1. a\n\n    ```py\n    b\n    ```\n\n2. c", ["```py\n    b\n    ```\n"]),
    ("- a\n  - b\n\n      ```\n      c\n      ```\nd", ["```\n      c\n      ```\n"]),
    ("- a\n\nb\n\n    ```\n\nc", []),
    ("> ```\n> a\n> ```\nb", ["```\n> a\n> ```\n"]),
    ("~~struck~~ and ~~~ three", []),
    ("tab\n\t```\n\na", []),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_code_is_told_from_prose(text: str, expected: list[str]) -> None:
    assert code(text) == expected


@pytest.mark.parametrize("text", [text for text, _ in CASES])
def test_every_cut_gives_the_same_segmentation(text: str) -> None:
    whole = flags([text])
    assert "".join(char for char, _ in whole) == text
    for pieces in every_cut(text):
        assert flags(pieces) == whole


MARKDOWN = words(
    *(
        "`",
        "``",
        "```",
        "~~~",
        "~",
        "\n",
        "\n\n",
        "\r\n",
        " ",
        "    ",
        "\t",
        "a",
        "b[1]",
        "\\",
        "- ",
        "1. ",
        "> ",
        "#",
        "9",
        "-",
        "```py\n",
    ),
    max_size=30,
)


@given(cut(MARKDOWN))
@example(("1" * 40 + ". ```\na", ["1" * 20, "1" * 20 + ". ```\na"]))
def test_any_cut_of_any_text_gives_the_same_segmentation(case: tuple[str, list[str]]) -> None:
    whole, pieces = case
    assert flags(pieces) == flags([whole])
    assert flags(list(whole)) == flags([whole])
    assert [char for char, _ in flags(pieces)] == list(whole)


@given(
    st.integers(-3, 3),
    st.sampled_from(["`", "``", "a\n```", "a\n~~~"]),
    st.sampled_from(["`", "``", "\n", "`\n\n", ""]),
)
def test_the_cut_does_not_matter_at_the_limit_either(off: int, opener: str, closer: str) -> None:
    text = opener + "x" * (LOOKAHEAD + off - len(opener)) + closer + "y `z`"
    whole = flags([text])
    for place in range(LOOKAHEAD - 5, LOOKAHEAD + 5):
        assert flags([text[:place], text[place:]]) == whole
    assert flags(list(text)) == whole


def test_a_span_longer_than_the_limit_is_prose() -> None:
    assert code("`" + "x" * (LOOKAHEAD - 2) + "`") != []
    assert code("`" + "x" * LOOKAHEAD + "`") == []


def test_an_open_run_is_held_back_no_longer_than_the_limit() -> None:
    scanner = CodeScanner()
    assert scanner.feed("a `") != []
    held = next(count for count in itertools.count() if scanner.feed("b"))
    assert held <= LOOKAHEAD


def test_an_open_run_is_given_up_at_the_end_of_the_paragraph() -> None:
    scanner = CodeScanner()
    scanner.feed("a ` b")
    assert "".join(segment.text for segment in scanner.feed("\n\n")) == "` b\n\n"


def test_endless_runs_are_let_through() -> None:
    scanner = CodeScanner()
    out = sum(len(segment.text) for _ in range(5000) for segment in scanner.feed("`"))
    assert out >= 5000 - LOOKAHEAD


def test_a_run_that_outgrows_the_opening_one_is_not_waited_for() -> None:
    scanner = CodeScanner()
    out = sum(len(segment.text) for piece in ["x `a", *"`" * 5000] for segment in scanner.feed(piece))
    assert out >= 5000 - 2 * LOOKAHEAD


@pytest.mark.parametrize("over", [-1, 0])
def test_a_closing_fence_longer_than_the_limit_closes_nothing(over: int) -> None:
    closing = "```" + " " * (LOOKAHEAD + over - 3)
    text = f"```\na\n{closing}\nb"
    whole = flags([text])
    assert whole[-1] == ("b", over == 0)
    assert flags(list(text)) == whole
    assert flags([text[:-2], text[-2:]]) == whole


def test_white_space_in_a_fence_is_held_back_no_longer_than_the_limit() -> None:
    scanner = CodeScanner()
    scanner.feed("```\n")
    assert sum(len(segment.text) for _ in range(3000) for segment in scanner.feed(" ")) >= 3000 - LOOKAHEAD


def test_what_might_be_a_list_marker_is_held_back_only_shortly() -> None:
    scanner = CodeScanner()
    held = next(count for count in itertools.count(1) if scanner.feed("1"))
    assert held <= 32


def test_prose_without_backticks_is_never_held_back() -> None:
    scanner = CodeScanner()
    for piece in ("Hello", " world, ", "what [1] is\n", "up? ", "~", "x"):
        assert "".join(segment.text for segment in scanner.feed(piece)) == piece


def test_fenced_code_streams_line_by_line_and_within_lines() -> None:
    scanner = CodeScanner()
    scanner.feed("```\n")
    for piece in ("some", " code", "\n", "more\n"):
        assert [segment.text for segment in scanner.feed(piece)] == [piece]


def test_feeding_may_go_on_after_close() -> None:
    scanner = CodeScanner()
    scanner.feed("a `b")
    assert [segment.text for segment in scanner.close()] == ["`b"]
    assert [(segment.text, segment.code) for segment in scanner.feed(" `c` ")] == [
        (" ", False),
        ("`c`", True),
        (" ", False),
    ]
    assert scanner.close() == []


@given(words("`", "``", "a", " b", "c ", "\\", max_size=20))
def test_spans_in_one_line_are_those_of_commonmark(text: str) -> None:
    line = "x " + text + " x"
    parsed = MarkdownIt("commonmark").parseInline(line)[0].children or []
    ours = [span.strip("`").replace(" ", "") for span in code(line)]
    assert ours == [token.content.replace(" ", "").strip("`") for token in parsed if token.type == "code_inline"]


@given(words("```", "````", "~~~", "~~~~", "\n", "\n", "a", " ", max_size=20))
def test_fences_at_the_top_level_are_those_of_commonmark(text: str) -> None:
    tokens = MarkdownIt("commonmark").parse(text)
    lines = text.split("\n")
    fenced = [False] * len(lines)
    for token in tokens:
        if token.type == "fence" and token.map:
            fenced[token.map[0] : token.map[1]] = [True] * (token.map[1] - token.map[0])
    told = flags([text])
    start = 0
    for line, expected in zip(lines, fenced, strict=True):
        stretch = told[start : start + len(line)]
        start += len(line) + 1
        if expected or "`" not in text:  # elsewhere there may be inline spans
            assert all(is_code == expected for char, is_code in stretch if char != " ")
