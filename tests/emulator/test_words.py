"""Control words, names of functions, words for arguments."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pplx_gateway.emulator.words import FAULTS, Controls, named_functions, numbers_in, parse_controls, telling_words


@pytest.mark.parametrize(
    ("question", "controls"),
    [
        ("plain", Controls(question="plain")),
        ("slow: hello", Controls(question="hello", slow=True)),
        ("  SLOW :hello", Controls(question="hello", slow=True)),
        ("fault:empty hello", Controls(question="hello", fault="empty")),
        ("fault: Upstream-429, hello", Controls(question="hello", fault="upstream_429")),
        ("fault:empty", Controls(question="", fault="empty")),
        ("slow: fault:empty hello", Controls(question="hello", slow=True, fault="empty")),
        ("fault:empty slow: hello", Controls(question="hello", slow=True, fault="empty")),
        ("fault:nope hello", Controls(question="hello", unknown_fault="nope")),
        ("what is fault:empty?", Controls(question="what is fault:empty?")),
        ("slower: hello", Controls(question="slower: hello")),
        ("", Controls(question="")),
    ],
)
def test_controls_stand_at_the_beginning(question: str, controls: Controls) -> None:
    assert parse_controls(question) == controls


@given(st.text())
def test_any_text_can_be_looked_at(text: str) -> None:
    controls = parse_controls(text)
    assert controls.question == "" or controls.question in text
    telling_words(text)
    numbers_in(text)
    named_functions(text, ["get_weather", "f"])


@given(st.sampled_from(sorted(FAULTS)), st.text(alphabet="abc ?", max_size=20))
def test_every_fault_is_understood(name: str, rest: str) -> None:
    assert parse_controls(f"fault:{name} {rest}") == Controls(question=rest.strip(), fault=name)


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("use get_weather please", ("get_weather",)),
        ("Get Weather for Lyon", ("get_weather",)),
        ("GET_WEATHER!", ("get_weather",)),
        ("get_weathers", ()),
        ("how is the weather?", ()),
        ("first find, then get_weather", ("find", "get_weather")),
        ("finding things", ()),
        ("web_search for tides", ("my_web_search",)),
    ],
)
def test_functions_are_named_by_whole_words(question: str, found: tuple[str, ...]) -> None:
    assert named_functions(question, ["get_weather", "find", "my_web_search"]) == found


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("What is the weather in Lyon?", ("Lyon",)),
        ("Use get_weather for New York and Lyon", ("New York", "Lyon")),
        ("Call it with 'red apple' and \"Bern\"", ("red apple", "Bern")),
        ("Don't tell Anna's friend", ("Anna's",)),
        ("`code` in Zürich", ("code", "Zürich")),
        ("nothing here", ()),
    ],
)
def test_quoted_words_come_before_names(question: str, words: tuple[str, ...]) -> None:
    assert telling_words(question) == words


def test_numbers_are_found_where_they_stand_alone() -> None:
    assert numbers_in("3 eggs, -2.5 degrees, v1.2.3 and a4, 7.") == (3.0, -2.5, 7.0)
