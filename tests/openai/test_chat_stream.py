import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pplx_gateway.answer import (
    Annotation,
    Batch,
    Citations,
    Cost,
    Finished,
    Image,
    Images,
    NativeItem,
    ReasoningDelta,
    RelatedQuestions,
    SearchStep,
    Source,
    Sources,
    Started,
    TextDelta,
    ToolCall,
    Usage,
    Warned,
)
from pplx_gateway.protocols.openai.chat_objects import ChatCompletionChunk
from pplx_gateway.protocols.openai.chat_stream import DONE, ChatStream
from pplx_gateway.protocols.openai.reply import Head, Told
from tests.openai import reading
from tests.openai.fakes import LEIE, SCHELDT, USAGE

HEAD = Head("chatcmpl-1", 1_767_225_600, "sonar")
END = Finished(reason="stop", served_model="perplexity/sonar", usage=USAGE)
URLS = [LEIE.url, SCHELDT.url]


def render(*batches: Batch, wants_usage: bool = False, show_steps: bool = False) -> bytes:
    stream = ChatStream(HEAD, Told("api", show_steps), wants_usage=wants_usage)
    return b"".join(stream.feed(batch) for batch in batches)


def test_a_stream_is_role_then_text_then_finish_then_done() -> None:
    found = reading.chunks(render([Started()], [TextDelta("Hi ")], [TextDelta("there")], [END]))
    assert reading.deltas(found) == [{"role": "assistant", "content": ""}, {"content": "Hi "}, {"content": "there"}, {}]
    assert [chunk["choices"][0]["finish_reason"] for chunk in found] == [None, None, None, "stop"]


def test_done_comes_last_and_once() -> None:
    stream = render([TextDelta("Hi")], [END])
    assert stream.endswith(DONE)
    assert stream.count(b"[DONE]") == 1


def test_nothing_is_rendered_for_what_a_caller_cannot_see() -> None:
    stream = ChatStream(HEAD, Told("api"))
    step = SearchStep(kind="search", queries=("rivers",))
    hidden: Batch = [Started(), Sources((LEIE,)), step, Warned("Careful."), NativeItem(b"{}"), TextDelta("")]
    assert stream.feed(hidden) == b""


def test_every_chunk_has_the_same_head() -> None:
    found = reading.chunks(render([Sources((LEIE,)), TextDelta("a")], [TextDelta("b")], [END], wants_usage=True))
    heads = {(c["id"], c["created"], c["model"], c["object"], c["system_fingerprint"]) for c in found}
    assert heads == {("chatcmpl-1", 1_767_225_600, "sonar", "chat.completion.chunk", None)}


@given(st.text())
@settings(max_examples=100)
def test_the_text_template_writes_what_the_structs_would(text: str) -> None:
    stream = ChatStream(HEAD, Told("api"), wants_usage=True)
    stream.feed([TextDelta("first")])
    data = stream.feed([TextDelta(text)])
    if text:
        chunk = msgspec.json.decode(data.removeprefix(b"data: "), type=ChatCompletionChunk)
        assert chunk.choices[0].delta.content == text
        assert chunk.usage is None
    else:
        assert data == b""


@given(st.lists(st.text(min_size=1), min_size=1), st.data())
@settings(max_examples=50)
def test_the_sdk_joins_text_and_role_as_sent_however_batches_fall(texts: list[str], data: st.DataObject) -> None:
    events: list[TextDelta] = [TextDelta(text) for text in texts]
    batches: list[Batch] = []
    while events:
        size = data.draw(st.integers(1, len(events)))
        batches.append([*events[:size]])
        events = events[size:]
    message = reading.joined(reading.chunks(render(*batches, [END])))
    assert message["content"] == "".join(texts)
    assert message["role"] == "assistant"


def test_half_a_surrogate_pair_never_breaks_the_stream() -> None:
    found = reading.chunks(render([TextDelta("\ud83d")], [TextDelta("\ud83d"), TextDelta("\ud83d\udeb2")], [END]))
    assert reading.joined(found)["content"] == "\ufffd\ufffd🚲"


# sources


def test_sources_known_before_the_text_ride_on_the_first_chunk_and_on_the_finish_chunk_only() -> None:
    found = reading.chunks(render([Sources((LEIE, SCHELDT))], [TextDelta("a")], [TextDelta("b")], [END]))
    assert ["citations" in chunk for chunk in found] == [True, False, False, True]
    assert found[0]["citations"] == found[-1]["citations"] == URLS
    results = found[-1]["search_results"]
    assert [(r["id"], r["url"], r["title"], r["date"]) for r in results] == [
        (1, LEIE.url, "Leie", "2026-02-03"),
        (2, SCHELDT.url, "Scheldt", None),
    ]


def test_sources_that_come_late_ride_on_the_next_text() -> None:
    found = reading.chunks(render([TextDelta("a")], [Sources((LEIE,)), TextDelta("b")], [TextDelta("c")], [END]))
    assert ["citations" in chunk for chunk in found] == [False, False, True, False, True]


def test_sources_that_come_during_reasoning_ride_on_it_and_on_the_first_text() -> None:
    batches: list[Batch] = [[ReasoningDelta("a")], [Sources((LEIE,)), ReasoningDelta("b")], [TextDelta("c")], [END]]
    found = reading.chunks(render(*batches))
    assert ["citations" in chunk for chunk in found] == [False, False, True, True, True]


def test_sources_after_the_first_telling_are_all_on_the_finish_chunk() -> None:
    found = reading.chunks(render([Sources((LEIE,)), TextDelta("a")], [Sources((SCHELDT,)), TextDelta("b")], [END]))
    assert found[0]["citations"] == [LEIE.url]
    assert reading.finish(found)["citations"] == URLS


def test_a_citation_stands_at_the_place_of_its_id() -> None:
    sparse = Sources((Source(id=4, url="https://four.example"), Source(id=2, url="https://two.example")))
    found = reading.finish(reading.chunks(render([sparse, TextDelta("a")], [END])))
    assert found["citations"] == ["", "https://two.example", "", "https://four.example"]
    assert [result["id"] for result in found["search_results"]] == [2, 4]


def test_ids_above_two_hundred_are_only_in_the_search_results() -> None:
    far = Sources((Source(id=1, url="https://one.example"), Source(id=5000, url="https://far.example")))
    found = reading.finish(reading.chunks(render([far, TextDelta("a")], [END])))
    assert found["citations"] == ["https://one.example"]
    assert [result["id"] for result in found["search_results"]] == [1, 5000]


def test_annotations_come_once_on_the_finish_chunk() -> None:
    text = "The Leie[1] meets."
    marks = Citations((Annotation(start=8, end=11, source=LEIE),))
    found = reading.chunks(render([Sources((LEIE,)), TextDelta(text), marks, END]))
    message = reading.joined(found)
    (mark,) = message["annotations"]
    citation = mark["url_citation"]
    assert mark["type"] == "url_citation"
    assert text[citation["start_index"] : citation["end_index"]] == "[1]"
    assert (citation["url"], citation["title"]) == (LEIE.url, "Leie")
    assert "annotations" in reading.finish(found)["choices"][0]["delta"]


def test_images_and_related_questions_are_on_the_finish_chunk() -> None:
    image = Image(image_url="https://img.example/l.png", origin_url="https://a.example/leie", title="Leie")
    extra: Batch = [Images((image,)), RelatedQuestions(("How long is the Leie?",))]
    found = reading.chunks(render([TextDelta("a")], extra, [TextDelta("b")], [END]))
    assert [("images" in chunk, "related_questions" in chunk) for chunk in found[:-1]] == [(False, False)] * 3
    told = found[-1]["images"][0]
    assert told["image_url"] == "https://img.example/l.png"
    assert told["origin_url"] == "https://a.example/leie"
    assert told["title"] == "Leie"
    assert found[-1]["related_questions"] == ["How long is the Leie?"]


# usage


def test_without_the_wish_no_chunk_has_usage_or_empty_choices() -> None:
    found = reading.chunks(render([TextDelta("a")], [END]))
    assert all("usage" not in chunk and chunk["choices"] for chunk in found)


def test_usage_comes_in_a_chunk_of_its_own_after_the_finish_chunk() -> None:
    found = reading.chunks(render([TextDelta("a")], [END], wants_usage=True))
    assert [chunk["usage"] for chunk in found[:-1]] == [None] * 3
    assert found[-1]["choices"] == []
    assert found[-2]["choices"][0]["finish_reason"] == "stop"
    usage = found[-1]["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (20, 9, 29)


def test_a_cost_keeps_every_digit() -> None:
    usage = Usage(
        input_tokens=20,
        output_tokens=9,
        search_queries=1,
        cost=Cost(total=0.00503, input=0.00002, output=0.00001, tool_calls=0.005),
    )
    stream = render([TextDelta("a"), Finished(reason="stop", usage=usage)], wants_usage=True)
    found = reading.chunks(stream)[-1]["usage"]
    assert b'"total_cost":0.00503' in stream
    assert found["num_search_queries"] == 1
    assert found["completion_tokens_details"]["num_search_queries"] == 1
    assert found["cost"]["prompt_cost"] == found["cost"]["input_tokens_cost"] == 0.00002
    assert found["cost"]["completion_cost"] == found["cost"]["output_tokens_cost"] == 0.00001
    assert found["cost"]["request_cost"] == 0.005


def test_estimated_usage_says_so_and_names_no_cost() -> None:
    usage = Usage(input_tokens=5, output_tokens=2, estimated=True)
    found = reading.chunks(render([TextDelta("a"), Finished(reason="stop", usage=usage)], wants_usage=True))
    assert found[-1]["usage"]["estimated"] is True
    assert found[-1]["usage"]["cost"] is None
    assert reading.finish(found)["pplx"]["usage_estimated"] is True


def test_unknown_usage_is_not_told_as_zero() -> None:
    found = reading.chunks(render([TextDelta("a"), Finished(reason="stop")], wants_usage=True))
    assert all(chunk["choices"] for chunk in found)


# functions


def test_function_calls_are_joined_by_the_sdk_one_by_one() -> None:
    calls: Batch = [
        ToolCall(call_id="call_1", name="get_weather", arguments='{"city":"Lyon"}'),
        ToolCall(call_id="call_2", name="get_time", arguments="{}", signature="c2ln"),
    ]
    found = reading.chunks(render(calls, [Finished(reason="tool_calls")]))
    first, second = reading.joined(found)["tool_calls"]
    assert (first["index"], first["id"], first["type"]) == (0, "call_1", "function")
    assert first["function"] == {"name": "get_weather", "arguments": '{"city":"Lyon"}'}
    assert (second["index"], second["id"], second["thought_signature"]) == (1, "call_2", "c2ln")
    assert reading.finish(found)["choices"][0]["finish_reason"] == "tool_calls"


# reasoning


def test_thoughts_are_always_shown_and_unchanged() -> None:
    found = reading.chunks(render([ReasoningDelta("look ")], [ReasoningDelta("up")], [TextDelta("Yes.")], [END]))
    message = reading.joined(found)
    assert message["reasoning_content"] == "look up"
    assert message["content"] == "Yes."


@pytest.mark.parametrize(("show", "expected"), [(True, "Searching: rivers\nthink"), (False, "think")])
def test_search_steps_are_shown_only_when_asked_for(show: bool, expected: str) -> None:
    step = SearchStep(kind="search", queries=("rivers",))
    found = reading.chunks(render([step], [ReasoningDelta("think"), TextDelta("Yes."), END], show_steps=show))
    assert reading.joined(found)["reasoning_content"] == expected


def test_sources_are_told_in_the_reasoning_before_the_text_and_not_after_it() -> None:
    batches: list[Batch] = [[Sources((LEIE,))], [TextDelta("Yes")], [Sources((SCHELDT,)), TextDelta("."), END]]
    found = reading.chunks(render(*batches, show_steps=True))
    assert reading.joined(found)["reasoning_content"] == "Found: Leie (https://a.example/leie)\n"
    kinds = [next(iter(delta), None) for delta in reading.deltas(found)]
    assert kinds == ["role", "reasoning_content", "content", "content", None]


# what is told beside the answer


def test_the_finish_chunk_tells_what_answered_and_what_was_adjusted() -> None:
    told = Told("session", dropped=("seed",), warnings=("First.",), failover="quota_exhausted")
    stream = ChatStream(HEAD, told)
    end = Finished(reason="stop", served_model="turbo", substituted_by="turbo", needs_input=True)
    warned = Warned("Second.", left_out="messages[0]")
    found = reading.finish(reading.chunks(stream.feed([warned, TextDelta("a"), end])))
    assert found["pplx"] == {
        "upstream": "session",
        "served_model": "turbo",
        "substituted_by": "turbo",
        "needs_input": True,
        "failover": "quota_exhausted",
        "dropped": ["seed", "messages[0]"],
        "warnings": ["First.", "Second."],
    }
    assert stream.told_so_far.warnings == ("First.", "Second.")


def test_an_answer_without_text_still_has_a_role() -> None:
    found = reading.chunks(render([END]))
    assert reading.deltas(found)[0] == {"role": "assistant", "content": ""}
    assert json.dumps(found).count('"role"') == 1
