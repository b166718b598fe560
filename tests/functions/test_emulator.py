"""The emulated session obeys instructions that want JSON, as the models behind the real one should."""

import json
from typing import Any

import pytest

from pplx_gateway.emulator.session.proposing import formed, proposal, wanted_by
from pplx_gateway.emulator.words import parse_controls
from pplx_gateway.question import FunctionTool, JsonSchemaFormat, Message, NamedFunction, Question, TextPart
from pplx_gateway.upstreams.session.formats import format_instruction
from pplx_gateway.upstreams.session.functions.bridge import bridge_of

CONTENT: dict[str, object] = {"type": "object", "properties": {"content": {"type": "string"}}, "required": ["content"]}
FUNCTIONS = (FunctionTool(name="write_note", parameters=CONTENT), FunctionTool(name="read_note"))
FORM = JsonSchemaFormat(name="n", schema={"type": "object", "properties": {"a": {"type": "integer"}}})


def orders(**more: Any) -> str:
    turns = (Message("user", (TextPart("?"),)),)
    bridge = bridge_of(Question(model="gpt", turns=turns, functions=FUNCTIONS, **more))
    assert bridge is not None
    return f"Be brief.\n{bridge.instruction}"


def names(text: str | None) -> list[str]:
    return [call["name"] for call in json.loads(text)["tool_calls"]] if text else []


@pytest.mark.parametrize(
    ("question", "more", "after", "expected"),
    [
        ("Use write_note, then read_note.", {}, False, ["write_note", "read_note"]),
        ("Use write_note, then read_note.", {"parallel_tool_calls": False}, False, ["write_note"]),
        ("Hello", {}, False, []),
        ("Use write_note.", {}, True, []),
        ("Hello", {"tool_choice": "required"}, False, ["write_note"]),
        ("Hello", {"tool_choice": "required"}, True, ["write_note"]),
        ("Use write_note.", {"tool_choice": NamedFunction("read_note")}, False, ["read_note"]),
    ],
)
def test_it_calls_what_it_is_asked_to(question: str, more: Any, after: bool, expected: list[str]) -> None:
    wanted = wanted_by(orders(**more))
    assert names(proposal(wanted, parse_controls(question), after_results=after)) == expected


def test_words_stand_in_content_and_in_the_form_that_is_asked_for() -> None:
    assert json.loads(formed(wanted_by(orders()), "7?", "Seven.")) == {"content": "Seven."}
    assert json.loads(formed(wanted_by(orders(format=FORM)), "7?", "Seven.")) == {"content": {"a": 7}}
    assert json.loads(formed(wanted_by(format_instruction(FORM) or ""), "7?", "Seven.")) == {"a": 7}
    assert formed(wanted_by("Answer in JSON."), "7?", "Seven.") == "Seven."
