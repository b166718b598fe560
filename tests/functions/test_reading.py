"""Proposals and their guard without a network: what is read, whatever comes and however it is cut."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pplx_gateway.answer import Finished, RelatedQuestions, TextDelta, ToolCall, Usage, Warned
from pplx_gateway.errors import ToolProtocolError
from pplx_gateway.question import FunctionTool, JsonObjectFormat, Message, Question, TextPart
from pplx_gateway.upstreams.session.cleaning import Cleaner
from pplx_gateway.upstreams.session.functions.bridge import Bridge, bridge_of
from pplx_gateway.upstreams.session.functions.guard import CallGuard
from pplx_gateway.upstreams.session.functions.proposal import read_proposal

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(st.text(), VALUES, max_size=4)
FENCES = st.sampled_from([("", ""), ("\n ", "\n"), ("```json\n", "\n```"), ("```\n", "\n```\n"), ("<response>", "")])
PIECES = st.lists(
    st.sampled_from(["{", "}", '"tool_calls"', '"name"', ":", "[", "]", " ", "\n", "```json\n", "```", "x", "1", '"']),
    max_size=12,
).map("".join)


def bridge(**more: Any) -> Bridge:
    turns = (Message("user", (TextPart("How warm?"),)),)
    functions = (FunctionTool(name="f"), FunctionTool(name="g", parameters={"type": "object"}))
    found = bridge_of(Question(model="gpt", turns=turns, functions=functions, **more))
    assert found is not None
    return found


@given(ARGUMENTS, FENCES)
def test_arguments_come_out_as_they_were_proposed(arguments: dict[str, Any], around: tuple[str, str]) -> None:
    before, after = around
    text = before + json.dumps({"tool_calls": [{"name": "g", "arguments": arguments}]}) + after
    end = Finished(reason="stop", continuation="thread", usage=Usage(input_tokens=1, output_tokens=1))
    half = len(text) // 2
    batch = bridge().read([Warned("w"), TextDelta(text[:half]), TextDelta(text[half:]), RelatedQuestions(("r",)), end])
    assert [type(event) for event in batch] == [Warned, RelatedQuestions, ToolCall, Finished]
    call, finished = batch[2:]
    assert isinstance(call, ToolCall)
    assert json.loads(call.arguments) == arguments
    assert isinstance(finished, Finished)
    assert (finished.reason, finished.continuation, finished.usage) == ("tool_calls", None, end.usage)


def test_a_number_keeps_all_of_its_digits() -> None:
    text = '{"tool_calls":[{"name":"g","arguments":{"n":123456789012345678901234567890,"x":1.0,"e":1e2}}]}'
    call = bridge().read([TextDelta(text), Finished(reason="stop")])[0]
    assert isinstance(call, ToolCall)
    assert call.arguments == '{"n":123456789012345678901234567890,"x":1.0,"e":100.0}'


@given(PIECES | st.text())
def test_whatever_comes_is_a_proposal_or_a_breach(text: str) -> None:
    try:
        batch = bridge().read([TextDelta(text), Finished(reason="stop")])
    except ToolProtocolError as error:
        assert error.retry is False
        assert "\n" not in error.message
    else:
        assert "tool_calls" in text or "content" in text
        assert len(batch) >= 2


@pytest.mark.parametrize("content", ["Warm.", " Warm.\n", "{}", "[1]"])
def test_content_is_text_unless_a_form_was_asked_for(content: str) -> None:
    text = json.dumps({"content": content})
    assert bridge().read([TextDelta(text), Finished(reason="stop")])[0] == TextDelta(content)
    with pytest.raises(ToolProtocolError):
        bridge(format=JsonObjectFormat()).read([TextDelta(text), Finished(reason="stop")])


def test_content_in_a_form_comes_out_as_that_json() -> None:
    text = '{"content": {"a": [1, "é"]}}'
    read = bridge(format=JsonObjectFormat()).read([TextDelta(text), Finished(reason="stop")])
    assert read[0] == TextDelta('{"a":[1,"é"]}')


def test_every_call_has_an_id_that_no_other_had() -> None:
    text = json.dumps({"tool_calls": [{"name": "f", "arguments": {}}] * 2})
    ids = [event.call_id for _ in range(20) for event in bridge().read([TextDelta(text), Finished(reason="stop")])[:2]]  # type: ignore[union-attr]
    assert len(set(ids)) == len(ids)


@given(PIECES | st.text(), st.lists(st.integers(0, 60)))
def test_the_guard_lets_out_all_text_or_none(text: str, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    guard = CallGuard(Cleaner())
    out = "".join(guard.feed(text[start:end]) for start, end in pairwise(places))
    try:
        out += guard.close()
    except ToolProtocolError:
        assert out == ""
        assert "tool_calls" in text
    else:
        cleaner = Cleaner()
        assert out == cleaner.feed(text) + cleaner.close()


@given(ARGUMENTS, FENCES, st.data())
def test_no_proposal_gets_past_the_guard(
    arguments: dict[str, Any], around: tuple[str, str], data: st.DataObject
) -> None:
    before, after = around
    text = before + json.dumps({"tool_calls": [{"name": "g", "arguments": arguments}]}) + after
    guard = CallGuard(Cleaner())
    out = ""
    while text:
        size = data.draw(st.integers(1, len(text)))
        out += guard.feed(text[:size])
        text = text[size:]
    with pytest.raises(ToolProtocolError):
        guard.close()
    assert out == ""


def test_other_text_passes_the_guard_at_once() -> None:
    for text in ("It", "```python\nx", '{"a"', "{1", "[", "~", '{"tools"'):
        assert CallGuard(Cleaner()).feed(text) == text


def test_a_long_beginning_of_nothing_is_let_out() -> None:
    guard = CallGuard(Cleaner())
    assert "".join(guard.feed(" ") for _ in range(1000)).strip(" ") == ""
    assert guard.feed("x") == "x"


def test_a_proposal_is_read_whatever_its_size() -> None:
    text = json.dumps({"tool_calls": [{"name": "g", "arguments": {"text": "x" * 1_000_000}}]})
    assert len(read_proposal(text).calls[0].arguments["text"]) == 1_000_000
