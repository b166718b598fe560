import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pplx_gateway.fences import FenceStripper
from tests.text.pieces import cut, every_cut, words


def strip(*pieces: str) -> str:
    stripper = FenceStripper()
    return "".join(stripper.feed(piece) for piece in pieces) + stripper.close()


CASES = [
    ('{"a":1}', '{"a":1}'),
    ('```json\n{"a":1}\n```', '{"a":1}'),
    ('```json\r\n{"a":1}\r\n```\r\n', '{"a":1}'),
    ('\n\n```JSON\n{"a":1}\n```\n\n', '{"a":1}'),
    ('```\n{"a":1}\n```', '{"a":1}'),
    ('```json {"a":1} ```', '{"a":1}'),
    ("```[1]```", "[1]"),
    ('~~~~json\n{"a":1}\n~~~~', '{"a":1}'),
    ('```json\n{"a":"```"}\n```', '{"a":"```"}'),
    ('```json\n{"a":"b\\n```\\n"}\n```', '{"a":"b\\n```\\n"}'),
    ('```json\n{"a":1}', '{"a":1}'),
    ('```json\n{"a":1}\n', '{"a":1}\n'),
    ('```json\n{"a":1}\n``', '{"a":1}\n``'),
    ('````json\n{"a":1}\n```', '{"a":1}\n```'),
    ('```json\n{"a":1}\n```\nDone.', '{"a":1}\n```\nDone.'),
    ('Here:\n```json\n{"a":1}\n```', 'Here:\n```json\n{"a":1}\n```'),
    ("```python is code", "```python is code"),
    ("``", "``"),
    ("```", "```"),
    ('"`a`"', '"`a`"'),
    ("", ""),
    (" \n", " \n"),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_every_cut_loses_the_same_fence(text: str, expected: str) -> None:
    for pieces in every_cut(text):
        assert strip(*pieces) == expected


@given(cut(words("```", "`", "~~~", "json", "\n", "\r\n", " ", "{", "}", '"', "a", "[1]")))
def test_any_cut_of_any_text_gives_the_same(case: tuple[str, list[str]]) -> None:
    whole, pieces = case
    assert strip(*pieces) == strip(whole) == strip(*whole)


VALUES = st.text(max_size=20) | st.integers() | st.lists(st.text(alphabet="`~\n[1]", max_size=8), max_size=3)


@given(
    st.dictionaries(st.text(max_size=8), VALUES, max_size=4),
    st.sampled_from([None, 2]),
    st.sampled_from(["```json\n{}\n```", "{}", "```\n{}```\n"]),
)
def test_fenced_json_parses(value: dict[str, object], indent: int | None, wrapping: str) -> None:
    text = wrapping.replace("{}", json.dumps(value, indent=indent, ensure_ascii=False))
    assert json.loads(strip(*text)) == value


def test_bare_json_passes_at_once() -> None:
    stripper = FenceStripper()
    for piece in ('{"a":', ' "b ```', '"}\n'):
        assert stripper.feed(piece) == piece


def test_endless_white_space_is_let_through() -> None:
    for text in (" " * 1000, "```json\n{" + "\n" * 1000, "```" + "a" * 1000):
        stripper = FenceStripper()
        sent = "".join(map(stripper.feed, text))
        assert len(sent) >= len(text) - 256 - len("```json\n")
        assert sent + stripper.close() == text.removeprefix("```json\n")
