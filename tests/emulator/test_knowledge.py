"""Answers that are worth reading, and always the same."""

import re
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pplx_gateway.emulator.knowledge import compose, numbered, split
from pplx_gateway.emulator.pages import draw

MANY = [f"What should one know about subject number {number}?" for number in range(60)]


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200))
def test_any_question_gets_a_whole_answer(question: str) -> None:
    answer = compose(question)
    assert answer == compose(question)
    assert answer.text()
    assert "".join(answer.chunks()) == answer.text()
    assert 3 <= len(answer.sources) <= 5
    assert set(answer.cited) <= set(range(len(answer.sources)))
    assert answer.queries
    assert len(set(answer.related)) == len(answer.related) >= 2


@given(st.text(), st.text(max_size=5))
def test_chunks_lose_nothing(text: str, seed: str) -> None:
    assert "".join(split(text, seed)) == text


def test_marks_are_written_as_asked() -> None:
    answer = compose("Which two rivers meet in Ghent?")
    assert "[1]" in answer.text()
    assert answer.text(lambda index: f"<{numbered(index)}>").count("<[1]>") == answer.text().count("[1]")
    assert "[" not in compose("Which two rivers meet in Ghent?", marks=False).text()


def test_answers_vary_in_form() -> None:
    texts = [compose(question).text() for question in MANY]
    assert len(set(texts)) == len(MANY)
    for form in ("\n- ", "|---|", "```", "🚲", "東京"):
        assert 0 < sum(form in text for text in texts) < len(texts), form


def test_some_marks_are_cut_in_two() -> None:
    chunks = [chunk for question in MANY for chunk in compose(question).chunks()]
    assert any(chunk.endswith("[") for chunk in chunks)


def test_a_research_answer_is_longer_and_has_headings() -> None:
    short, long = compose(MANY[0]).text(), compose(MANY[0], length="long").text()
    assert len(long) > len(short)
    assert re.search(r"^## ", long, re.MULTILINE)


def test_pages_carry_dates_or_none_and_example_addresses() -> None:
    pages = [page for question in MANY for page in compose(question).sources]
    assert all(re.fullmatch(r"https://[a-z]+\.example/[a-z0-9-]+/[a-z0-9-]+", page.url) for page in pages)
    assert {page.date is None for page in pages} == {True, False}
    assert all(page.last_updated > page.date for page in pages if page.last_updated and page.date)


@pytest.mark.parametrize("question", ["hi", "Hello there!", "🚲", "???"])
def test_a_greeting_is_greeted(question: str) -> None:
    assert "fault:midstream_drop" in compose(question).text()


def test_a_drawn_picture_is_a_png() -> None:
    picture = draw("tides")
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    size = int.from_bytes(picture[33:37], "big")
    assert picture[37:41] == b"IDAT"
    assert len(zlib.decompress(picture[41 : 41 + size])) == 24 * (32 * 3 + 1)
