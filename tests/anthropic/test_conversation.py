import base64

import pytest

from pplx_gateway.capabilities import Feature, Support
from pplx_gateway.errors import RequestError
from pplx_gateway.question import FilePart, FunctionCall, FunctionResult, ImagePart, Message, TextPart
from tests.anthropic.asking import (
    PDF,
    PNG,
    QUESTION,
    TIDES,
    USER,
    Json,
    asked,
    document,
    image,
    ready,
    refusal,
    result,
    said,
    text,
    use,
)

CALLED = [USER, said(text("Let me look."), use(), role="assistant")]


def user(*parts: object) -> Message:
    return Message("user", parts)  # type: ignore[arg-type]


def test_text_may_be_a_string_or_blocks() -> None:
    assert asked().turns == (user(TextPart(QUESTION)),)
    turns = asked(messages=[said(text("One."), text(""), text("Two."))]).turns
    assert turns == (user(TextPart("One."), TextPart("Two.")),)


def test_system_text_comes_first_and_its_blocks_stay_apart() -> None:
    turns = asked(system=[text("Be brief.", cache_control={"type": "ephemeral"}), text(" "), text("In German.")]).turns
    assert turns[:2] == (Message("system", (TextPart("Be brief."),)), Message("system", (TextPart("In German."),)))
    assert asked(system="Be brief.").turns[0] == Message("system", (TextPart("Be brief."),))


def test_a_system_message_stands_where_it_stands() -> None:
    turns = asked(messages=[USER, {"role": "system", "content": "Be brief."}]).turns
    assert [turn.role for turn in turns if isinstance(turn, Message)] == ["user", "system"]


def test_assistant_messages_in_a_row_are_one_turn() -> None:
    messages = [USER, {"role": "assistant", "content": "The "}, said(text("Leie."), role="assistant"), USER]
    turns = asked(messages=messages).turns
    assert turns[1] == Message("assistant", (TextPart("The "), TextPart("Leie.")))
    assert len(turns) == 3


def test_calls_and_results_keep_their_places() -> None:
    turns = asked(messages=[*CALLED, said(result(), text("Well?"))], tools=[TIDES]).turns
    assert turns == (
        user(TextPart(QUESTION)),
        Message("assistant", (TextPart("Let me look."),)),
        FunctionCall("toolu_1", "tide_table", '{"port":"Ostend"}'),
        FunctionResult("toolu_1", "06:12"),
        user(TextPart("Well?")),
    )


@pytest.mark.parametrize(
    ("content", "output"),
    [
        ("06:12", "06:12"),
        (None, ""),
        ([text("06:12"), text("18:40")], "06:12\n18:40"),
        ([{"type": "search_result", "source": "s", "title": "t", "content": [text("x")]}], "t\ns\n\nx"),
        ([{"type": "tool_reference", "tool_name": "tide_table"}], "tide_table"),
    ],
)
def test_a_result_is_text_upstream(content: object, output: str) -> None:
    turns = asked(messages=[*CALLED, said(result(content))], tools=[TIDES]).turns
    assert turns[-1] == FunctionResult("toolu_1", output)


def test_a_result_that_is_an_error_says_so() -> None:
    turns = asked(messages=[*CALLED, said(result("no such port", is_error=True))], tools=[TIDES]).turns
    assert turns[-1] == FunctionResult("toolu_1", "The call failed.\nno such port")


def test_a_picture_of_a_result_stands_behind_the_results_and_says_whose_it_is() -> None:
    two = said(use(), use("toolu_2"), role="assistant")
    turns = asked(
        messages=[USER, two, said(result([text("a map"), image()]), result("b", "toolu_2"))], tools=[TIDES]
    ).turns
    *_, first, second, shown = turns
    assert (first, second) == (FunctionResult("toolu_1", "a map"), FunctionResult("toolu_2", "b"))
    assert isinstance(shown, Message)
    label, picture = shown.parts
    assert label == TextPart("From the result of the call toolu_1 of tide_table:")
    assert isinstance(picture, ImagePart)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        {"type": "mcp_tool_use", "id": "m", "name": "n", "server_name": "s", "input": {}},
    ],
    ids=lambda block: block["type"],
)
def test_what_an_answer_held_beside_words_and_calls_comes_back_and_is_told(block: Json) -> None:
    found = ready(messages=[USER, said(block, text("The Leie."), role="assistant"), USER])
    assert found.prepared.question.turns[1] == Message("assistant", (TextPart("The Leie."),))
    assert found.prepared.dropped == (f"messages[].content[] ({block['type']})",)


def test_an_image_may_come_in_base64_or_by_address() -> None:
    url = "https://a.example/leie.png"
    turns = asked(messages=[said(text("What?"), image(), image(type="url", url=url))]).turns
    assert turns == (user(TextPart("What?"), ImagePart(f"data:image/png;base64,{PNG}"), ImagePart(url)),)


def test_files_are_found_by_their_ids() -> None:
    by_id = {"type": "file", "file_id": "file-1"}
    picture, paper = ImagePart("data:image/png;base64,x"), FilePart(data="data:application/pdf;base64,x")
    assert asked(messages=[said(image(**by_id))], files={"file-1": picture}).turns == (user(picture),)
    assert asked(messages=[said(document(by_id))], files={"file-1": paper}).turns == (user(paper),)
    assert (
        refusal(messages=[said(image(**by_id))], files={"file-1": paper}).param
        == "messages[0].content[0].source.file_id"
    )


def test_a_document_has_a_name_that_tells_its_type() -> None:
    (turn,) = asked(messages=[said(document(title="Tides: 2026/27"), text("What?"))]).turns
    assert isinstance(turn, Message)
    assert turn.parts[0] == FilePart(data=f"data:application/pdf;base64,{PDF}", filename="Tides 2026 27.pdf")


def test_a_document_may_be_text_an_address_or_blocks() -> None:
    plain = {"type": "text", "media_type": "text/plain", "data": "High water at 06:12."}
    (turn,) = asked(messages=[said(document(plain))]).turns
    assert isinstance(turn, Message)
    (part,) = turn.parts
    assert isinstance(part, FilePart)
    assert part.data == "data:text/plain;base64," + base64.b64encode(b"High water at 06:12.").decode()
    assert part.filename == "document.txt"
    url = {"type": "url", "url": "https://a.example/tides.pdf"}
    assert asked(messages=[said(document(url))]).turns == (user(FilePart(url=url["url"], filename="document.pdf")),)
    blocks = {"type": "content", "content": [text("High water"), image()]}
    assert asked(messages=[said(document(blocks))]).turns == (
        user(TextPart("High water"), ImagePart(f"data:image/png;base64,{PNG}")),
    )
    assert asked(messages=[said(document({"type": "content", "content": "Low"}))]).turns == (user(TextPart("Low")),)


def test_the_context_of_a_document_goes_before_it() -> None:
    (turn,) = asked(messages=[said(document(title="Tides", context="Of 2026."))]).turns
    assert isinstance(turn, Message)
    assert turn.parts[0] == TextPart("Tides: Of 2026.")


def test_a_search_result_is_told_in_words() -> None:
    block = {"type": "search_result", "source": "https://a.example", "title": "Leie", "content": [text("A river.")]}
    assert asked(messages=[said(block)]).turns == (user(TextPart("Leie\nhttps://a.example\n\nA river.")),)


def test_what_has_no_effect_in_blocks_is_told_once() -> None:
    marked = text("a", cache_control={"type": "ephemeral"})
    found = ready(system=[marked], messages=[said(marked, document(citations={"enabled": True}))])
    assert found.prepared.dropped == ("cache_control", "messages[].content[].citations (document)")


REFUSED: dict[str, tuple[Json, str]] = {
    "no messages": ({"messages": []}, "messages"),
    "nothing but an assistant": ({"messages": [{"role": "assistant", "content": "x"}]}, "messages"),
    "nothing but system text": ({"messages": [{"role": "system", "content": "x"}]}, "messages"),
    "a wrong role": ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].role"),
    "no content": ({"messages": [{"role": "user"}]}, "messages[0].content"),
    "content of a wrong type": ({"messages": [{"role": "user", "content": 1}]}, "messages[0].content"),
    "empty text": ({"messages": [{"role": "user", "content": " "}]}, "messages[0].content"),
    "no blocks": ({"messages": [said()]}, "messages[0].content"),
    "an unknown block": ({"messages": [said({"type": "audio"})]}, "messages[0].content[0].type"),
    "a block without text": ({"messages": [said({"type": "text"})]}, "messages[0].content[0].text"),
    "a call by the user": ({"messages": [said(use())]}, "messages[0].content[0].type"),
    "an unanswered call": ({"messages": CALLED}, "messages"),
    "an unanswered call on the way": ({"messages": [*CALLED, USER]}, "messages"),
    "a result of nothing": ({"messages": [said(result())]}, "messages[0].content[0].tool_use_id"),
    "a result given twice": (
        {"messages": [*CALLED, said(result(), result())]},
        "messages[2].content[1].tool_use_id",
    ),
    "two calls with one id": ({"messages": [USER, said(use(), use(), role="assistant")]}, "messages[1].content[1].id"),
    "a call whose input is no object": (
        {"messages": [USER, said({**use(), "input": "x"}, role="assistant")]},
        "messages[1].content[0].input",
    ),
    "an image that is none": (
        {"messages": [said(image(type="base64", media_type="image/png", data="AAAA"))]},
        "messages[0].content[0].source.data",
    ),
    "an image of an unknown type": (
        {"messages": [said(image(type="base64", media_type="image/tiff", data=PNG))]},
        "messages[0].content[0].source.data",
    ),
    "an image by a bad address": (
        {"messages": [said(image(type="url", url="http://a.example/x.png"))]},
        "messages[0].content[0].source.url",
    ),
    "an image without a source": ({"messages": [said({"type": "image"})]}, "messages[0].content[0].source"),
    "an unknown source": ({"messages": [said(image(type="ftp"))]}, "messages[0].content[0].source.type"),
    "a file that is not there": (
        {"messages": [said(document({"type": "file", "file_id": "file-9"}))]},
        "messages[0].content[0].source.file_id",
    ),
    "a document that is none": (
        {"messages": [said(document({"type": "base64", "media_type": "application/pdf", "data": "AAAA"}))]},
        "messages[0].content[0].source.data",
    ),
    "an empty document": (
        {"messages": [said(document({"type": "text", "data": " "}))]},
        "messages[0].content[0].source.data",
    ),
    "a container": (
        {"messages": [said({"type": "container_upload", "file_id": "file-1"})]},
        "messages[0].content[0].type",
    ),
    "a picture within a result that is none": (
        {"messages": [*CALLED, said(result([image(type="base64", media_type="image/png", data="!")]))]},
        "messages[2].content[0].content[0].source.data",
    ),
    "system text of a wrong type": ({"system": 1}, "system"),
    "a system block of a wrong kind": ({"system": [image()]}, "system[0].type"),
}


@pytest.mark.parametrize(("fields", "param"), REFUSED.values(), ids=REFUSED)
def test_a_wrong_message_is_named_by_its_path(fields: Json, param: str) -> None:
    with pytest.raises(RequestError) as caught:
        ready(**fields)
    assert caught.value.param == param, caught.value
    assert caught.value.message


def test_blocks_ask_for_what_they_need() -> None:
    refused = dict.fromkeys(Feature, Support.REFUSED)
    blocks = {
        "image": image(),
        "image by address": image(type="url", url="https://a.example/x.png"),
        "document": document(),
        "document by address": document({"type": "url", "url": "https://a.example/x.pdf"}),
    }
    params = {
        name: refusal(support=refused, messages=[said(text("What?"), block)]).param for name, block in blocks.items()
    }
    assert params == {
        "image": "messages[0].content[1]",
        "image by address": "messages[0].content[1]",
        "document": "messages[0].content[1]",
        "document by address": "messages[0].content[1].source.url",
    }
