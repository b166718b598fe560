from typing import Any

import pytest

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.question import FilePart, FunctionCall, FunctionResult, ImagePart, Message, TextPart, Turn
from tests.openai.asking import USER, asked

CALL = {"id": "call_7", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Lyon"}'}}
PNG = "data:image/png;base64,iVBORw0KGgo="


def turns(*messages: Any) -> tuple[Turn, ...]:
    return asked(messages=list(messages)).turns


def texts(*messages: Any) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in turns(*messages) if isinstance(turn, Message)]


def refused(*messages: Any) -> str | None:
    with pytest.raises(InvalidRequest) as caught:
        turns(*messages)
    return caught.value.param


def test_two_turns_of_one_role_and_an_assistant_first_keep_their_order() -> None:
    assert texts(
        {"role": "assistant", "content": "Hello, how can I help?"},
        {"role": "user", "content": "I moved to Lyon."},
        {"role": "user", "content": "Best parks?"},
    ) == [("assistant", "Hello, how can I help?"), ("user", "I moved to Lyon."), ("user", "Best parks?")]


def test_parts_that_stand_for_themselves_do_not_run_into_each_other() -> None:
    def said(role: str, *pieces: str) -> str:
        parts = [{"type": "text", "text": piece} for piece in pieces]
        return texts({"role": "user", "content": "Hi"}, {"role": role, "content": parts}, USER)[1][1]

    assert said("user", "The document ends here", "What now?") == "The document ends here\n\nWhat now?"
    assert said("user", "It ends here.\n", "What ", "now?") == "It ends here.\nWhat now?"
    assert said("assistant", "The Le", "ie") == "The Leie", "pieces of one answer"


def test_lists_of_parts_are_joined_and_developer_is_system() -> None:
    assert texts(
        {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
        {"role": "user", "content": [{"type": "text", "text": "Hi "}, {"type": "text", "text": "there"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Hello."}]},
        {"role": "user", "content": "Go on"},
    ) == [("system", "Be brief."), ("user", "Hi there"), ("assistant", "Hello."), ("user", "Go on")]


def test_late_system_text_stays_where_it_stands() -> None:
    late = {"role": "system", "content": "In French."}
    assert texts(USER, late, USER) == [("user", USER["content"]), ("system", "In French."), ("user", USER["content"])]


def test_a_lone_system_text_is_the_question() -> None:
    title = {"role": "system", "content": "Give a three-word title for: rivers of Ghent"}
    assert texts(title) == [("user", title["content"])]
    assert texts({"role": "system", "content": "Be brief."}, title) == [
        ("system", "Be brief."),
        ("user", title["content"]),
    ]


def test_empty_system_and_assistant_texts_make_no_turn() -> None:
    assert texts({"role": "system", "content": ""}, USER, {"role": "assistant", "content": ""}) == [
        ("user", USER["content"])
    ]


def test_function_turns_keep_their_ids_and_leave_no_empty_assistant() -> None:
    found = turns(
        USER,
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_7", "content": '{"t":21}'},
    )
    assert found[1:] == (
        FunctionCall("call_7", "get_weather", '{"city":"Lyon"}'),
        FunctionResult("call_7", '{"t":21}'),
    )


def test_a_signature_that_the_client_kept_goes_back() -> None:
    call = {**CALL, "thought_signature": "c2ln"}
    found = turns(
        USER,
        {"role": "assistant", "content": "Let me see.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_7", "content": [{"type": "text", "text": "21"}]},
    )
    assert found[1] == Message("assistant", (TextPart("Let me see."),))
    assert found[2] == FunctionCall("call_7", "get_weather", '{"city":"Lyon"}', "c2ln")
    assert found[3] == FunctionResult("call_7", "21")


def test_function_turns_in_the_old_form_are_converted() -> None:
    found = turns(
        USER,
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "1"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "[]"}},
        {"role": "function", "name": "f", "content": "2"},
    )
    calls = [turn for turn in found if isinstance(turn, FunctionCall)]
    results = [turn for turn in found if isinstance(turn, FunctionResult)]
    assert [call.call_id for call in calls] == [result.call_id for result in results]
    assert len({call.call_id for call in calls}) == 2
    assert [result.output for result in results] == ["1", "2"]


def test_a_result_without_its_call_is_refused() -> None:
    stray = {"role": "tool", "tool_call_id": "call_9", "content": "x"}
    assert refused(USER, stray) == "messages[1].tool_call_id"
    assert refused(USER, {"role": "function", "name": "f", "content": "x"}) == "messages[1].name"


def test_a_call_has_one_result_until_its_id_is_used_anew() -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    result = {"role": "tool", "tool_call_id": "call_7", "content": "21"}
    assert refused(USER, call, result, result) == "messages[3].tool_call_id"
    assert refused(USER, call, result, {**result, "content": "22"}) == "messages[3].tool_call_id"
    assert turns(USER, call, result, call, result)[-1] == FunctionResult("call_7", "21")


@pytest.mark.parametrize("text", ["notjson", "{", '{"a":1} and', "{'a': 1}", "NaN", "[" * 100_000])
def test_arguments_that_are_no_json_are_refused(text: str) -> None:
    made = {**CALL, "function": {"name": "f", "arguments": text}}
    call = {"role": "assistant", "content": None, "tool_calls": [CALL, made]}
    assert refused(USER, call) == "messages[1].tool_calls[1].function.arguments"
    old = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": text}}
    assert refused(USER, old) == "messages[1].function_call.arguments"


def test_no_arguments_at_all_are_an_empty_object() -> None:
    made = {**CALL, "function": {"name": "f", "arguments": ""}}
    result = {"role": "tool", "tool_call_id": "call_7", "content": "21"}
    assert turns(USER, {"role": "assistant", "tool_calls": [made]}, result)[1] == FunctionCall("call_7", "f", "{}")


def test_a_call_without_its_result_is_refused() -> None:
    assert refused(USER, {"role": "assistant", "content": None, "tool_calls": [CALL]}) == "messages"


def test_text_image_text_keep_their_order() -> None:
    content = [
        {"type": "text", "text": "Compare"},
        {"type": "image_url", "image_url": {"url": PNG, "detail": "low"}},
        {"type": "text", "text": "with"},
        {"type": "image_url", "image_url": {"url": "https://img.example/a.png"}},
    ]
    (turn,) = turns({"role": "user", "content": content})
    assert isinstance(turn, Message)
    assert turn.parts == (
        TextPart("Compare"),
        ImagePart(PNG),
        TextPart("with"),
        ImagePart("https://img.example/a.png"),
    )


def test_perplexitys_own_file_parts_are_addresses() -> None:
    content = [
        {"type": "text", "text": "Read"},
        {"type": "file_url", "file_url": {"url": "https://a.example/a.docx"}, "file_name": "a.docx"},
        {"type": "pdf_url", "pdf_url": "https://a.example/b.pdf"},
    ]
    (turn,) = turns({"role": "user", "content": content})
    assert isinstance(turn, Message)
    assert turn.parts[1:] == (
        FilePart(url="https://a.example/a.docx", filename="a.docx"),
        FilePart(url="https://a.example/b.pdf"),
    )


@pytest.mark.parametrize(
    ("messages", "param"),
    [
        ([], "messages"),
        ("hello", "messages"),
        (["hello"], "messages[0]"),
        ([{"role": "wizard", "content": "x"}], "messages[0].role"),
        ([{"content": "x"}], "messages[0].role"),
        ([{"role": "user", "content": None}], "messages[0].content"),
        ([{"role": "user"}], "messages[0].content"),
        ([{"role": "user", "content": ""}], "messages[0].content"),
        ([{"role": "user", "content": []}], "messages[0].content"),
        ([{"role": "user", "content": 5}], "messages[0].content"),
        ([{"role": "system", "content": None}, USER], "messages[0].content"),
        ([{"role": "system", "content": ""}], "messages"),
        ([USER, {"role": "assistant", "content": None}], "messages[1].content"),
        ([USER, {"role": "tool", "content": "x"}], "messages[1].tool_call_id"),
    ],
)
def test_wrong_messages_are_refused_by_name(messages: object, param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        asked(messages=messages)
    assert caught.value.param == param


@pytest.mark.parametrize(
    ("part", "tail"),
    [
        ({"type": "input_text", "text": "x"}, "type"),
        ({"text": "x"}, "type"),
        ({"type": "text"}, "text"),
        ({"type": "text", "text": 5}, "text"),
        ({"type": "image_url", "image_url": "https://img.example/a.png"}, "image_url"),
        ({"type": "refusal", "refusal": "No."}, "type"),
        ({"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}, "type"),
        ({"type": "video_url", "video_url": {"url": "https://v.example"}}, "type"),
    ],
)
def test_wrong_parts_are_refused_by_their_path(part: dict[str, Any], tail: str) -> None:
    content = [{"type": "text", "text": "x"}, part]
    assert refused(USER, {"role": "user", "content": content}) == f"messages[1].content[1].{tail}"


def test_an_assistants_refusal_is_text() -> None:
    refusal = {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}
    assert texts(USER, refusal, USER)[1] == ("assistant", "No.")
