import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.responses import ResponseItem
from pydantic import TypeAdapter

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.question import FilePart, FunctionCall, FunctionResult, ImagePart, Message, Question, Role, TextPart
from tests.responses_request.asking import (
    CALL,
    FUNCTION,
    PNG,
    RESULT,
    TEXT,
    Json,
    asked,
    kept,
    prepared,
    refused,
    said,
    text,
    turns,
    user,
)

ITEM: TypeAdapter[Any] = TypeAdapter(ResponseItem)

IMAGE: Json = {"type": "input_image", "image_url": PNG}
PDF: Json = {"type": "input_file", "file_data": "JVBERi0xLjQ=", "filename": "a.pdf"}
REASONING: Json = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Rivers."}]}
SEARCH: Json = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "rivers", "queries": ["rivers"]},
}
UNKNOWN_KINDS = (
    "nope",
    "custom_tool_call",
    "custom_tool_call_output",
    "local_shell_call",
    "local_shell_call_output",
    "shell_call",
    "shell_call_output",
    "apply_patch_call",
    "apply_patch_call_output",
    "computer_call",
    "computer_call_output",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_call",
    "mcp_list_tools",
    "mcp_approval_request",
    "mcp_approval_response",
    "compaction",
    "compaction_trigger",
    "tool_search_call",
    "additional_tools",
    "program",
    "search_results",
)


def message(role: Role, said: str) -> Message:
    return Message(role, (TextPart(said),))


def test_a_string_is_one_message_of_the_user() -> None:
    found = prepared(input=TEXT)
    assert found.question.turns == (message("user", TEXT),)
    assert kept(found) == [
        {
            "type": "message",
            "role": "user",
            "id": "msg_new1",
            "status": "completed",
            "content": [{"type": "input_text", "text": TEXT}],
        }
    ]


@pytest.mark.parametrize("role", ["system", "developer"])
def test_messages_of_every_role_come_through_in_order(role: str) -> None:
    rules = {"type": "message", "role": role, "content": [text("Be "), text("brief.")]}
    found = turns(rules, user("Hello"), said("Yes?"), user(text("Where?")))
    assert [(turn.role, turn.text) for turn in found if isinstance(turn, Message)] == [
        ("system", "Be brief."),
        ("user", "Hello"),
        ("assistant", "Yes?"),
        ("user", "Where?"),
    ]


def test_images_and_files_keep_their_place_among_the_text() -> None:
    (turn,) = turns(user(text("What is "), IMAGE, text(" and "), PDF))
    assert turn == Message(
        "user",
        (
            TextPart("What is "),
            ImagePart(PNG),
            TextPart(" and "),
            FilePart(data="data:application/pdf;base64,JVBERi0xLjQ=", filename="a.pdf"),
        ),
    )


def test_addresses_are_passed_on() -> None:
    parts = (
        {"type": "input_image", "image_url": "https://a.example/a.png"},
        {"type": "input_file", "file_url": "https://a.example/a.pdf", "filename": None},
    )
    (turn,) = turns(user(*parts))
    assert isinstance(turn, Message)
    assert turn.parts == (ImagePart("https://a.example/a.png"), FilePart(url="https://a.example/a.pdf"))


def test_uploaded_files_are_found_by_their_ids() -> None:
    attached = {"file-1": ImagePart(PNG, "a.png"), "file-2": FilePart(data="data:text/plain;base64,YQ==")}
    (turn,) = turns(
        user({"type": "input_image", "file_id": "file-1"}, {"type": "input_file", "file_id": "file-2"}),
        attached=attached,
    )
    assert isinstance(turn, Message)
    assert turn.parts == tuple(attached.values())
    refused("input[0].content[0].file_id", input=[user({"type": "input_file", "file_id": "file-9"})])
    refused(
        "input[0].content[0].file_id",
        input=[user({"type": "input_image", "file_id": "file-2"})],
        attached=attached,
    )


def test_a_function_loop_comes_through() -> None:
    second = {**CALL, "call_id": "call_2", "id": "fc_2", "status": "completed", "thought_signature": "sig"}
    output = {**RESULT, "call_id": "call_2", "output": [text("low"), text("at six")]}
    assert turns(user(TEXT), CALL, second, RESULT, output, tools=[FUNCTION])[1:] == (
        FunctionCall("call_1", "tide", "{}"),
        FunctionCall("call_2", "tide", "{}", "sig"),
        FunctionResult("call_1", "high"),
        FunctionResult("call_2", "low\n\nat six"),
    )


def test_thoughts_and_searches_of_earlier_answers_make_no_turn_and_are_told_once() -> None:
    found = prepared(input=[user("Hello"), REASONING, SEARCH, said("Yes?"), {**REASONING, "id": "rs_2"}, user("Go on")])
    assert len(found.question.turns) == 3
    assert found.dropped == ("input[] (reasoning)", "input[] (web_search_call)")
    assert [item["type"] for item in kept(found)].count("reasoning") == 2


def test_texts_of_the_system_alone_end_with_what_is_asked() -> None:
    found = turns({"role": "system", "content": "Be brief."}, {"role": "developer", "content": "Title this."})
    assert found == (message("system", "Be brief."), message("user", "Title this."))
    alone = turns({"role": "developer", "content": "Title this."}, instructions="Be brief.")
    assert alone == found


def test_instructions_stand_in_front() -> None:
    assert asked(instructions="Be brief.").turns == (message("system", "Be brief."), message("user", TEXT))
    assert asked(instructions="").turns == (message("user", TEXT),)


def test_an_item_with_an_empty_text_of_the_assistant_makes_no_turn() -> None:
    assert turns(user("Hello"), said(""), user("Go on")) == (message("user", "Hello"), message("user", "Go on"))


def test_a_refusal_of_an_earlier_answer_is_what_the_assistant_said() -> None:
    part = {"type": "refusal", "refusal": "No."}
    found = turns(user("Hello"), {"role": "assistant", "content": [part]}, user("Why?"))
    assert found[1] == message("assistant", "No.")


# what is kept


def test_kept_items_have_ids_and_whole_parts_and_the_sdk_reads_them_strictly() -> None:
    found = prepared(
        input=[
            {"role": "developer", "content": "Be brief."},
            user(text("What is this?"), IMAGE, PDF),
            {"role": "assistant", "content": "A river."},
            said("It is the Leie.", id=None),
            REASONING,
            SEARCH,
            CALL,
            RESULT,
            {**CALL, "call_id": "call_2"},
            {**RESULT, "call_id": "call_2", "output": [text("low")]},
            user("Thanks"),
        ],
        tools=[FUNCTION],
    )
    items = kept(found)
    assert [item["id"].partition("_")[0] for item in items] == [
        *("msg", "msg", "msg", "msg", "rs", "ws", "fc", "fco", "fc", "fco", "msg")
    ]
    assert len({item["id"] for item in items}) == len(items)
    assert items[1]["content"][1]["detail"] == "auto"
    assert items[2]["content"] == [{"type": "output_text", "text": "A river.", "annotations": [], "logprobs": []}]
    for item in items:
        ITEM.validate_python(item, strict=True)


def test_kept_items_bring_the_same_turns_again() -> None:
    first = prepared(input=[user(text("What is this?"), IMAGE), said("A river."), CALL, RESULT], tools=[FUNCTION])
    again = prepared(context=kept(first), input="Thanks", tools=[FUNCTION])
    assert again.question.turns == (*first.question.turns, message("user", "Thanks"))


def test_what_a_caller_wrote_beside_stays_in_the_kept_item() -> None:
    (item,) = kept(prepared(input=[user("Hello", id="msg_mine", note={"a": [1]})]))
    assert item["id"] == "msg_mine"
    assert item["note"] == {"a": [1]}


# what came before


def test_the_items_of_the_responses_before_stand_in_front() -> None:
    found = prepared(context=[user("Hello", id="msg_0", type="message"), said("Yes?")], input="Go on")
    assert found.question.turns == (message("user", "Hello"), message("assistant", "Yes?"), message("user", "Go on"))
    assert [item["content"][0]["text"] for item in kept(found)] == ["Go on"]


def test_a_result_may_answer_a_call_of_the_response_before() -> None:
    found = prepared(context=[user("Hello"), CALL], input=[RESULT])
    assert found.question.turns[1:] == (FunctionCall("call_1", "tide", "{}"), FunctionResult("call_1", "high"))
    assert found.question.functions == ()
    assert found.question.tool_choice == "none"
    assert found.echo.tool_choice == "none"
    again = prepared(context=[user("Hello"), CALL], input=[RESULT], tools=[FUNCTION], tool_choice="required")
    assert again.question.tool_choice == again.echo.tool_choice == "required"


def test_another_result_for_a_call_that_the_chain_has_answered_is_refused() -> None:
    context = [user("Hello"), CALL, RESULT, said("High.")]
    refused("input[0].call_id", context=context, input=[{**RESULT, "output": "low"}, user("And now?")])
    assert len(prepared(context=context, input=[RESULT, user("And now?")]).question.turns) == 5


@pytest.mark.parametrize("extra", [{}, {"annotations": None}, {"annotations": [{"type": "url_citation"}]}])
def test_an_item_that_is_sent_back_beside_the_chain_stands_there_once(extra: Json) -> None:
    part = {"type": "output_text", "text": "Yes?", **extra}
    back = {"id": "msg_a", "role": "assistant", "content": [part]}
    context = [user("Hello"), said("Yes?"), CALL, RESULT]
    found = prepared(context=context, input=[back, {**CALL, "id": "fc_9"}, user("Go on")], tools=[FUNCTION])
    assert len(found.question.turns) == 5
    assert len(found.input_items) == 3


def test_a_caller_may_say_the_same_under_the_same_id_again() -> None:
    context = [user("Yes", id="msg_1"), said("Which?"), user("Yes"), user("Yes")]
    assert len(prepared(context=context, input=[user("Yes", id="msg_1")]).question.turns) == 5


def test_references_alone_say_nothing_new() -> None:
    refused("input", context=[user("Hello", id="msg_1")], input=[{"type": "item_reference", "id": "msg_1"}])


def test_two_items_that_share_an_id_and_say_different_things_both_stand() -> None:
    found = turns(user("One", id="msg_1"), user("Two", id="msg_1"))
    assert found == (message("user", "One"), message("user", "Two"))


def test_a_reference_brings_a_kept_item() -> None:
    before = json.dumps(said("The Leie.", id="msg_7")).encode()
    for reference in ({"type": "item_reference", "id": "msg_7"}, {"id": "msg_7"}, {"type": None, "id": "msg_7"}):
        found = prepared(input=[user("Hello"), reference, user("Go on")], references={"msg_7": before})
        assert found.question.turns[1] == message("assistant", "The Leie.")
        assert kept(found)[1]["id"] == "msg_7"
    refused("input[1].id", input=[user("Hello"), {"type": "item_reference", "id": "msg_8"}])


def test_a_reference_to_an_item_of_the_chain_does_not_say_it_twice() -> None:
    context = [user("Hello", id="msg_0"), said("Yes?", id="msg_7")]
    found = prepared(context=context, input=[{"type": "item_reference", "id": "msg_7"}, user("Go on")])
    assert len(found.question.turns) == 3


def test_a_chain_whose_file_is_gone_is_refused_by_the_name_of_the_chain() -> None:
    context = [user({"type": "input_file", "file_id": "file-1"})]
    refused("previous_response_id", context=context, previous_response_id="resp_1")


# what is refused

BAD: list[tuple[object, str]] = [
    ("", "input"),
    (" \n", "input"),
    ([], "input"),
    (5, "input"),
    (None, "input"),
    ({}, "input"),
    (["Hello"], "input[0]"),
    ([[]], "input[0]"),
    ([None], "input[0]"),
    ([{}], "input[0].type"),
    ([{"content": "x"}], "input[0].type"),
    ([{"type": "message", "content": "x"}], "input[0].role"),
    ([{"role": "tool", "content": "x"}], "input[0].role"),
    ([{"role": 5, "content": "x"}], "input[0].role"),
    ([{"type": 5}], "input[0].type"),
    ([{"role": "user"}], "input[0].content"),
    ([user("a"), {"role": "user", "content": None}], "input[1].content"),
    ([{"role": "system", "content": None}], "input[0].content"),
    ([user("")], "input[0].content"),
    ([user(text(" "))], "input[0].content"),
    ([{"role": "user", "content": []}], "input[0].content"),
    ([{"role": "assistant", "content": []}], "input[0].content"),
    ([user({"text": "x"})], "input[0].content[0].type"),
    ([user({"type": "text", "text": "x"})], "input[0].content[0].type"),
    ([user(text("a"), {"type": "image_url", "image_url": {"url": PNG}})], "input[0].content[1].type"),
    ([user({"type": "output_text", "text": "x"})], "input[0].content[0].type"),
    ([user({"type": "refusal", "refusal": "x"})], "input[0].content[0].type"),
    ([user({"type": "input_audio", "input_audio": {"data": "", "format": "wav"}})], "input[0].content[0].type"),
    ([{"role": "system", "content": [IMAGE]}], "input[0].content[0].type"),
    ([{"role": "assistant", "content": [text("x")]}], "input[0].content[0].type"),
    ([user({"type": "input_text"})], "input[0].content[0].text"),
    ([user({"type": "input_text", "text": 5})], "input[0].content[0].text"),
    ([user({"type": "input_image", "image_url": {"url": PNG}})], "input[0].content[0].image_url"),
    ([user({"type": "input_image"})], "input[0].content[0].image_url"),
    ([user({**IMAGE, "file_id": "file-1"})], "input[0].content[0].file_id"),
    ([user({**IMAGE, "detail": "sharp"})], "input[0].content[0].detail"),
    ([user({"type": "input_file"})], "input[0].content[0].file_data"),
    ([user({**PDF, "file_url": "https://a.example/a.pdf"})], "input[0].content[0].file_url"),
    ([user({"type": "input_file", "file_url": "http://a.example/a.pdf"})], "input[0].content[0].file_url"),
    ([{**CALL, "call_id": ""}], "input[0].call_id"),
    ([{**CALL, "arguments": {}}], "input[0].arguments"),
    ([user("a"), {**CALL, "arguments": "notjson"}, RESULT], "input[1].arguments"),
    ([user("a"), CALL, RESULT, {**RESULT, "output": "low"}], "input[3].call_id"),
    ([{"type": "function_call", "call_id": "c", "arguments": "{}"}], "input[0].name"),
    ([user("a"), CALL], "input"),
    ([user("a"), CALL, {**CALL, "call_id": "call_2"}, RESULT], "input"),
    ([user("a"), CALL, {**CALL, "name": "other"}, RESULT], "input[2].call_id"),
    ([user("a"), RESULT], "input[1].call_id"),
    ([RESULT, CALL], "input[0].call_id"),
    ([user("a"), CALL, {**RESULT, "output": {"a": 1}}], "input[2].output"),
    ([user("a"), CALL, {**RESULT, "output": [IMAGE]}], "input[2].output[0].type"),
    ([user("a"), CALL, {**RESULT, "output": [text("a"), PDF]}], "input[2].output[1].type"),
    ([REASONING], "input"),
    ([said("")], "input"),
    ([{"type": "item_reference", "id": ""}], "input[0].id"),
    ([{"type": "item_reference"}], "input[0].id"),
    ([user("a", id=5)], "input[0].id"),
]


@pytest.mark.parametrize(("given", "param"), BAD)
def test_bad_input_is_refused_by_its_path(given: object, param: str) -> None:
    refused(param, input=given, tools=[FUNCTION])


@pytest.mark.parametrize("kind", UNKNOWN_KINDS)
def test_items_of_other_kinds_are_refused_by_name(kind: str) -> None:
    error = refused("input[1].type", input=[user("a"), {"type": kind, "id": "x", "call_id": "c"}])
    assert f"'{kind}'" in error.message
    assert "function_call_output" in error.message


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("data:image/png;base64,", "invalid_base64_image"),
        ("data:image/png;base64,iVBO Rw0K", "invalid_base64_image"),
        ("data:image/svg+xml;base64,PHN2Zz4=", "unsupported_image_media_type"),
        ("data:text/html;base64,PGI+", "unsupported_image_media_type"),
        ("data:,", "unsupported_image_media_type"),
        ("data:image/jpeg;base64,iVBORw0KGgo=", "invalid_base64_image"),
        ("http://a.example/a.png", "invalid_request"),
        ("file:///etc/passwd", "invalid_request"),
    ],
)
def test_bad_images_are_refused_before_anything_is_uploaded(url: str, code: str) -> None:
    error = refused("input[0].content[0].image_url", input=[user({"type": "input_image", "image_url": url})])
    assert error.code == code


def test_the_case_of_a_data_url_does_not_matter() -> None:
    (turn,) = turns(user(text("What?"), {"type": "input_image", "image_url": "DATA:Image/PNG;BASE64,iVBORw0KGgo="}))
    assert isinstance(turn, Message)
    assert turn.parts[1] == ImagePart(PNG)


def test_more_items_and_parts_than_anybody_sends_are_refused() -> None:
    refused("input", input=[user("a")] * 10_001)
    refused("input[0].content", input=[user(*[text("a")] * 5001)])


# whatever comes

SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "call_1", "msg_1", PNG, "user"])
KEYS = ("type", "role", "id", "status", "content", "call_id", "name", "arguments", "output", "summary", "action")
KINDS = ("message", "function_call", "function_call_output", "reasoning", "web_search_call", "item_reference", "nope")
PARTS = st.dictionaries(
    st.sampled_from(["type", "text", "image_url", "file_id", "file_data", "refusal", "detail"]),
    SCALARS | st.sampled_from(["input_text", "input_image", "input_file", "output_text", "refusal"]),
    max_size=4,
)
ITEMS = st.dictionaries(
    st.sampled_from(KEYS),
    SCALARS | st.sampled_from(KINDS) | st.sampled_from(["system", "assistant"]) | st.lists(PARTS, max_size=3),
    max_size=7,
)
GOOD = st.sampled_from([user("a"), said("b"), CALL, RESULT, REASONING, SEARCH, user(text("c"), IMAGE)])


def words(question: Question) -> list[object]:
    """The turns without their roles: texts of the system alone end as the user's."""
    return [turn.parts if isinstance(turn, Message) else turn for turn in question.turns]


@given(st.lists(ITEMS | GOOD, max_size=5), st.booleans())
@settings(max_examples=400, deadline=None)
def test_any_items_make_a_question_or_an_error_that_names_a_field(items: list[Json], chained: bool) -> None:
    context = [user("a"), CALL] if chained else []
    try:
        found = prepared(input=items, context=context, tools=[FUNCTION])
    except InvalidRequest as error:
        assert error.param is not None
        assert error.param.startswith(("input", "previous_response_id"))
        assert "\n" not in error.message
    else:
        assert isinstance(found.question, Question)
        assert 0 < len(found.input_items) <= len(items)
        assert all(item["id"] and item["type"] for item in kept(found))
        again = prepared(context=[*context, *kept(found)], input="more", tools=[FUNCTION])
        assert words(again.question)[:-1] == words(found.question)
