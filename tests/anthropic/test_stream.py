"""The writer of streams and that of whole replies: one answer, however it is cut, says the same in both."""

import json
from collections.abc import Sequence
from itertools import count
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pplx_gateway.answer import (
    Annotation,
    AnswerEvent,
    Batch,
    Citations,
    Finished,
    Image,
    Images,
    ReasoningDelta,
    SearchStep,
    Source,
    Sources,
    Started,
    TextDelta,
    ToolCall,
    Usage,
    Warned,
)
from pplx_gateway.protocols.anthropic.question import Shown
from pplx_gateway.protocols.anthropic.reply import MessageReply
from pplx_gateway.protocols.anthropic.stream import MessageStream
from pplx_gateway.protocols.openai.reply import Head, Told
from tests.anthropic.readings import check_message, check_stream, events
from tests.openai.fakes import LEIE, SCHELDT

HEAD = Head("msg_1", 1, "sonar")
END = Finished(reason="stop", served_model="perplexity/sonar", usage=Usage(input_tokens=20, output_tokens=9))
EVERYTHING = Shown(thoughts=True, searches=True)
CALL = ToolCall(call_id="call_1", name="tide_table", arguments='{"port": "Ostend", "n": 12345678901234567890}')
CITED = Citations((Annotation(start=8, end=11, source=LEIE), Annotation(start=20, end=23, source=LEIE)))


def new_id() -> Any:
    numbers = count(1)
    return lambda: f"{next(numbers)}"


def streamed(batches: Sequence[Batch], shown: Shown = EVERYTHING, *, steps: bool = True) -> bytes:
    stream = MessageStream(HEAD, Told("api", show_steps=steps), shown, new_id(), input_tokens=7)
    return b"".join(stream.feed(batch) for batch in batches)


def whole(batches: Sequence[Batch], shown: Shown = EVERYTHING, *, steps: bool = True) -> dict[str, Any]:
    reply = MessageReply(Told("api", show_steps=steps), shown, new_id(), input_tokens=7)
    for batch in batches:
        reply.feed(batch)
    assert reply.finished is not None
    return check_message(json.loads(reply.body(HEAD, reply.finished)))


def both(*said: AnswerEvent, shown: Shown = EVERYTHING, steps: bool = True) -> dict[str, Any]:
    """The message that both ways come to."""
    batches = [[event] for event in said]
    message = whole(batches, shown, steps=steps)
    assert _comparable(check_stream(streamed(batches, shown, steps=steps))) == _comparable(message)
    return message


def kinds(message: dict[str, Any]) -> list[str]:
    return [block["type"] for block in message["content"]]


def _comparable(message: dict[str, Any]) -> dict[str, Any]:
    """The start of a stream says `service_tier`, its end does not; null and absent are the same."""
    return json.loads(json.dumps(_given(message)))  # type: ignore[no-any-return]


def _given(value: object) -> object:
    match value:
        case dict():
            return {key: _given(item) for key, item in value.items() if item is not None}
        case list():
            return [_given(item) for item in value]
        case _:
            return value


def test_text_is_one_block() -> None:
    message = both(Started(), TextDelta("The "), TextDelta(""), TextDelta("Leie."), END)
    assert message["content"] == [{"type": "text", "text": "The Leie.", "citations": None}]
    assert message["usage"]["input_tokens"] == 20
    assert message["model"] == "sonar"


def test_the_stream_is_that_of_the_documents_to_the_letter() -> None:
    raw = streamed([[TextDelta("Hi"), END]])
    assert [event["type"] for event in events(raw)] == [
        "message_start",
        "ping",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert raw.endswith(b'event: message_stop\ndata: {"type":"message_stop"}\n\n')
    start = events(raw)[0]["message"]
    assert start["usage"]["input_tokens"] == 7
    assert start["usage"]["output_tokens"] == 0


def test_nothing_is_written_before_there_is_something_to_see() -> None:
    stream = MessageStream(HEAD, Told("api"), Shown(), new_id())
    quiet: Batch = [Started(), Warned("x"), Sources((LEIE,)), ReasoningDelta("hm"), SearchStep(kind="think", text="y")]
    assert stream.feed(quiet) == b""
    assert not stream.opened
    assert stream.feed([TextDelta("x")]).startswith(b"event: message_start\n")
    assert stream.opened


def test_an_empty_answer_is_a_message_without_content() -> None:
    message = both(Finished(reason="length"))
    assert message["content"] == []
    assert message["stop_reason"] == "max_tokens"
    assert message["pplx"]["usage_estimated"] is True


def test_citations_belong_to_the_text_each_page_once() -> None:
    message = both(Sources((LEIE, SCHELDT)), TextDelta("The Leie[1] is long[1]."), CITED, END, shown=Shown())
    (block,) = message["content"]
    assert block["citations"] == [
        {
            "type": "web_search_result_location",
            "url": LEIE.url,
            "title": "Leie",
            "cited_text": "A river.",
            "encrypted_index": "",
        }
    ]
    assert [found["id"] for found in message["search_results"]] == [1, 2]


def test_a_long_snippet_is_cut_where_anthropic_cuts_it() -> None:
    long = Source(id=1, url="https://a.example", snippet="x" * 1000)
    cited = Citations((Annotation(start=0, end=0, source=long),))
    (block,) = both(TextDelta("x"), cited, END)["content"]
    assert block["citations"][0]["cited_text"] == "x" * 150
    assert block["citations"][0]["title"] is None


def test_searches_are_shown_before_the_text_with_what_they_found() -> None:
    message = both(
        SearchStep(kind="search", queries=("leie", "scheldt")),
        Sources((LEIE,)),
        Sources((LEIE, SCHELDT)),
        SearchStep(kind="search", queries=("ghent",)),
        TextDelta("The Leie."),
        END,
    )
    assert kinds(message) == [
        "server_tool_use",
        "server_tool_use",
        "web_search_tool_result",
        "web_search_tool_result",
        "server_tool_use",
        "web_search_tool_result",
        "text",
    ]
    first, second, _, found, third, nothing, _ = message["content"]
    assert [use["input"] for use in (first, second, third)] == [
        {"query": "leie"},
        {"query": "scheldt"},
        {"query": "ghent"},
    ]
    assert found["tool_use_id"] == second["id"]
    assert found["content"][0] == {
        "type": "web_search_result",
        "url": LEIE.url,
        "title": "Leie",
        "page_age": "2026-02-03",
        "encrypted_content": "",
    }
    assert len(found["content"]) == 2
    assert nothing["content"] == []
    assert message["usage"]["server_tool_use"] == {"web_search_requests": 3, "web_fetch_requests": 0}


def test_pages_without_a_search_are_shown_as_those_of_a_search_without_a_query() -> None:
    message = both(Sources((LEIE,)), TextDelta("The Leie."), END)
    assert kinds(message) == ["server_tool_use", "web_search_tool_result", "text"]
    assert message["content"][0]["input"] == {}


def test_searches_are_not_shown_to_those_who_did_not_offer_them() -> None:
    step = SearchStep(kind="search", queries=("leie",))
    message = both(step, Sources((LEIE,)), TextDelta("The Leie."), END, shown=Shown())
    assert kinds(message) == ["text"]
    assert message["usage"]["server_tool_use"]["web_search_requests"] == 1
    assert message["search_results"]


def test_what_comes_while_the_text_is_written_stands_behind_it_and_calls_come_last() -> None:
    message = both(
        ReasoningDelta("First."),
        TextDelta("The "),
        ReasoningDelta("Then."),
        CALL,
        SearchStep(kind="search", queries=("leie",)),
        Sources((LEIE,)),
        TextDelta("Leie."),
        CITED,
        Finished(reason="tool_calls", usage=Usage(input_tokens=1, output_tokens=1)),
    )
    assert kinds(message) == ["thinking", "text", "thinking", "server_tool_use", "web_search_tool_result", "tool_use"]
    assert message["content"][1]["text"] == "The Leie."
    assert message["content"][1]["citations"]
    assert message["stop_reason"] == "tool_use"


def test_thoughts_are_signed_and_shown_to_those_who_asked_alone() -> None:
    said = (ReasoningDelta("The Leie "), ReasoningDelta("is one."), TextDelta("The Leie."), END)
    thinking, text = both(*said)["content"]
    assert thinking["thinking"] == "The Leie is one."
    assert thinking["signature"]
    assert both(ReasoningDelta("Another."), *said[2:])["content"][0]["signature"] != thinking["signature"]
    assert both(*said, shown=Shown())["content"] == [text]


def test_steps_are_thoughts_where_searches_are_not_shown() -> None:
    said = (SearchStep(kind="search", queries=("leie",)), Sources((LEIE,)), TextDelta("The Leie."), END)
    thinking, _ = both(*said, shown=Shown(thoughts=True))["content"]
    assert thinking["thinking"] == f"Searching: leie\nFound: Leie ({LEIE.url})\n"
    assert kinds(both(*said, shown=Shown(thoughts=True), steps=False)) == ["text"]


def test_arguments_come_as_the_model_wrote_them() -> None:
    batches: list[Batch] = [[CALL], [Finished(reason="tool_calls", usage=END.usage)]]
    (use,) = whole(batches)["content"]
    assert use == {"type": "tool_use", "id": "call_1", "name": "tide_table", "input": json.loads(CALL.arguments)}
    deltas = [event["delta"] for event in events(streamed(batches)) if event["type"] == "content_block_delta"]
    assert deltas == [{"type": "input_json_delta", "partial_json": CALL.arguments}]


def test_each_reason_to_stop_has_its_name() -> None:
    usage = Usage(input_tokens=1, output_tokens=1)
    reasons = {
        "end_turn": Finished(reason="stop", usage=usage),
        "max_tokens": Finished(reason="length", usage=usage),
        "refusal": Finished(reason="content_filter", usage=usage),
        "stop_sequence": Finished(reason="stop", stopped_by="END", usage=usage),
    }
    for reason, finished in reasons.items():
        message = both(TextDelta("x"), finished)
        assert message["stop_reason"] == reason
        assert message["stop_sequence"] == ("END" if reason == "stop_sequence" else None)


def test_usage_tells_the_cache_apart() -> None:
    usage = Usage(
        input_tokens=100,
        output_tokens=30,
        cached_tokens=60,
        cache_write_tokens=10,
        reasoning_tokens=8,
        search_queries=2,
    )
    found = both(TextDelta("x"), Finished(reason="stop", usage=usage))["usage"]
    assert found == {
        "input_tokens": 30,
        "cache_creation_input_tokens": 10,
        "cache_read_input_tokens": 60,
        "output_tokens": 30,
        "output_tokens_details": {"thinking_tokens": 8},
        "server_tool_use": {"web_search_requests": 2, "web_fetch_requests": 0},
        "service_tier": "standard",
    }


def test_an_answer_that_nobody_counted_is_estimated() -> None:
    message = both(TextDelta("12345678"), Finished(reason="stop"))
    assert (message["usage"]["input_tokens"], message["usage"]["output_tokens"]) == (7, 2)
    assert message["pplx"]["usage_estimated"] is True


def test_what_the_protocol_has_no_place_for_stands_beside_the_content() -> None:
    found = Finished(reason="stop", usage=END.usage, served_model="x", substituted_by="y")
    message = both(Images((Image(image_url="https://a.example/x.png"),)), TextDelta("x"), Warned("Mind."), found)
    assert message["images"][0]["image_url"] == "https://a.example/x.png"
    assert (message["pplx"]["substituted_by"], message["pplx"]["warnings"]) == ("y", ["Mind."])
    assert "citations" not in message


def test_half_a_letter_does_not_break_the_stream() -> None:
    message = both(ReasoningDelta("\ud83d"), SearchStep(kind="search", queries=("\ud83d",)), TextDelta("a\ud83d"), END)
    assert message["content"][-1]["text"] == "a\ufffd"


_texts = st.text(max_size=6)
_sources = st.lists(st.sampled_from([LEIE, SCHELDT]), min_size=1, max_size=2).map(lambda found: Sources(tuple(found)))
_events = st.one_of(
    _texts.map(TextDelta),
    _texts.map(ReasoningDelta),
    st.lists(_texts, max_size=2).map(lambda queries: SearchStep(kind="search", queries=tuple(queries))),
    _texts.map(lambda text: SearchStep(kind="plan", text=text)),
    _sources,
    st.just(Started()),
    st.just(Warned("Mind.")),
)


@st.composite
def _answers(draw: st.DrawFn) -> list[AnswerEvent]:
    said: list[AnswerEvent] = draw(st.lists(_events, max_size=12))
    calls = [
        ToolCall(call_id=f"call_{number}", name="tide_table", arguments='{"port":"Ostend"}')
        for number in range(draw(st.integers(0, 2)))
    ]
    for call in calls:
        said.insert(draw(st.integers(0, len(said))), call)
    if any(isinstance(event, TextDelta) and event.text for event in said):
        said.append(CITED)
    return [*said, Finished(reason="tool_calls" if calls else "stop", usage=draw(st.sampled_from([None, END.usage])))]


def _cut(said: Sequence[AnswerEvent], borders: set[int]) -> list[Batch]:
    batches: list[Batch] = [[]]
    for place, event in enumerate(said):
        if place in borders:
            batches.append([])
        batches[-1].append(event)
    return batches


@given(said=_answers(), borders=st.sets(st.integers(1, 16)), shown=st.builds(Shown, st.booleans(), st.booleans()))
def test_no_border_between_batches_changes_a_byte(said: list[AnswerEvent], borders: set[int], shown: Shown) -> None:
    raw = streamed(_cut(said, borders), shown)
    assert raw == streamed([[event] for event in said], shown)
    message = check_stream(raw)
    assert _comparable(message) == _comparable(whole(_cut(said, borders), shown))
    text = "".join(event.text for event in said if isinstance(event, TextDelta))
    assert "".join(block["text"] for block in message["content"] if block["type"] == "text") == text
    thoughts = "".join(block["thinking"] for block in message["content"] if block["type"] == "thinking")
    for event in said:
        if isinstance(event, ReasoningDelta):
            assert (event.text in thoughts) or not shown.thoughts


def test_the_text_of_a_stream_passes_through_unchanged() -> None:
    pieces = ["a", "\n", '"', "\\", "é", "🚲", "\u2028", "</script>"]
    message = both(*map(TextDelta, pieces), END)
    assert message["content"][0]["text"] == "".join(pieces)
