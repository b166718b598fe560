import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pplx_gateway.answer import (
    AnswerEvent,
    Cost,
    Finished,
    Image,
    Images,
    NativeItem,
    SearchStep,
    Source,
    Sources,
    Started,
    TextDelta,
    ToolCall,
    Usage,
    Warned,
)
from pplx_gateway.errors import (
    EmptyAnswer,
    RateLimited,
    ToolProtocolError,
    UpstreamError,
    UpstreamTruncated,
)
from pplx_gateway.upstreams.names import Names
from tests.api.reading import BARE, LEVEL, Reading, read
from tests.api.stories import (
    A_BASE,
    S1,
    S2,
    TEXT,
    Json,
    completed,
    created,
    delta,
    function_call,
    item_done,
    line,
    message,
    response,
    search_item,
    stream,
    text_done,
)

SOURCE_1 = Source(
    id=1,
    url="https://a.example/leie",
    title="Leie",
    snippet="A river.",
    date="2026-02-03",
    last_updated="2026-05-01",
)
SOURCE_2 = Source(id=2, url="https://b.example/scheldt", title="Scheldt", snippet="Another river.")
USAGE = Usage(
    input_tokens=20,
    output_tokens=9,
    search_queries=1,
    cost=Cost(total=0.00503, input=0.00002, output=0.00001, tool_calls=0.005),
)
WHOLE: list[AnswerEvent] = [
    Started("resp_t1"),
    SearchStep(kind="search", queries=("rivers of Ghent",)),
    Sources((SOURCE_1, SOURCE_2)),
    TextDelta("The Leie[1] meets "),
    TextDelta("the Scheldt[2]."),
    Finished(reason="stop", served_model="perplexity/sonar", usage=USAGE),
]
PINGS = [
    b": ping\n\n",
    b":\n",
    b"data:\n\n",
    b"event: ping\ndata: {}\n\n",
    b"data: null\n\n",
    b"data: ping\n\n",
    b'data: {"type":"keepalive","sequence_number":7}\n\n',
    b'data: {"sequence_number":7,"type": "ping"}\n\n',
]


def test_the_whole_base_story() -> None:
    reading = read(stream(*A_BASE))
    assert reading.events == WHOLE
    assert reading.finished.usage is not None
    assert repr(reading.finished.usage.cost and reading.finished.usage.cost.total) == "0.00503"


@pytest.mark.parametrize("done", ["data: [DONE]\n\n", ""])
def test_each_line_says_what_it_means_at_once(done: str) -> None:
    reading = Reading()
    said = [reading.feed(line(event)) for event in A_BASE]
    assert [len(batch) for batch in said] == [1, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1]
    assert reading.reader.over
    reading.feed(done.encode())
    assert reading.close() == []
    assert reading.events == WHOLE


# -------------------------------------------------------------------------------- bytes and framing


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.lists(st.integers(0, 5000), max_size=12),
    st.lists(st.tuples(st.integers(0, 11), st.sampled_from(PINGS)), max_size=4),
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
    st.booleans(),
)
def test_every_split_line_end_and_ping_gives_the_same(
    end: str, cuts: list[int], pings: list[tuple[int, bytes]], mark: bytes, spaced: bool
) -> None:
    lines = [line(event, end) if spaced else line(event, end).replace(b"data: ", b"data:") for event in A_BASE]
    for place, ping in sorted(pings, reverse=True):
        lines.insert(place, ping.replace(b"\n", end.encode()))
    data = mark + b"".join(lines)
    edges = sorted({0, len(data), *(cut % len(data) for cut in cuts)})
    pieces = [data[start:stop] for start, stop in pairwise(edges)]
    assert read(pieces).events == WHOLE


def test_byte_by_byte_and_in_two_at_every_place() -> None:
    data = stream(created(), delta("Zürich 🚲 "), delta("東京", 7), completed(message("Zürich 🚲 東京")))
    assert read(data[n : n + 1] for n in range(len(data))).answer.text == "Zürich 🚲 東京"
    for cut in range(len(data)):
        assert read([data[:cut], data[cut:]]).answer.text == "Zürich 🚲 東京"


@pytest.mark.parametrize("name", ["message", "response.output_text.delta", "ping", "whatever"])
def test_the_type_decides_and_not_the_name(name: str) -> None:
    data = b"".join(f"event: {name}\n".encode() + line(event) for event in A_BASE)
    assert read(data).events == WHOLE


def test_type_may_stand_anywhere_in_its_object() -> None:
    turned = [dict(reversed(event.items())) for event in A_BASE]
    assert read(stream(*turned)).events == WHOLE
    spaced = "".join(f"data:   {json.dumps(event)}\n\n" for event in A_BASE)
    assert read(spaced.encode()).events == WHOLE


def test_the_last_line_needs_no_end() -> None:
    assert read(stream(*A_BASE).rstrip()).events == WHOLE


@pytest.mark.parametrize("ping", PINGS)
def test_a_ping_is_no_sign_of_life(ping: bytes) -> None:
    reading = Reading()
    active = []
    for data in (ping, line(created()), ping):
        reading.feed(data)
        active.append(reading.reader.active)
    assert active == [False, True, False]
    assert reading.events == [Started("resp_t1")]


def test_an_unknown_event_is_a_sign_of_life_and_says_nothing() -> None:
    reading = Reading()
    reading.feed(line(created()))
    assert reading.feed(line({"type": "response.skill.loaded", "sequence_number": 1, "name": "x"})) == []
    assert reading.reader.active


def test_half_characters_over_two_deltas_are_joined() -> None:
    halves = [json.dumps(delta("Velo \N{BICYCLE}", 6)), json.dumps(delta("!", 7))]
    assert "\\ud83d\\udeb2" in halves[0]
    first = halves[0].replace("\\udeb2", "")
    second = halves[1].replace("!", "\\udeb2!")
    reading = Reading()
    assert reading.feed(line(created()), line(first)) == [Started("resp_t1"), TextDelta("Velo ")]
    assert reading.feed(line(second)) == [TextDelta("\N{BICYCLE}!")]
    reading.feed(stream(text_done("Velo \N{BICYCLE}!"), completed(message("Velo \N{BICYCLE}!"))))
    assert reading.answer.text == "Velo \N{BICYCLE}!"
    assert reading.finished


def test_a_half_without_its_partner_is_replaced() -> None:
    lone = line(json.dumps(delta("a!", 6)).replace("!", "\\ud83d"))
    reading = read(line(created()) + lone + stream(delta("b", 7), completed()))
    assert reading.answer.text == "a\ufffdb"
    reading = read(line(created()) + lone + stream(completed()))
    assert reading.answer.text == "a\ufffd"
    reading = read(line(created()) + lone + stream(text_done("a\N{BICYCLE}"), completed(message("a\N{BICYCLE}"))))
    assert reading.answer.text == "a\N{BICYCLE}"


def test_half_characters_elsewhere_do_no_harm() -> None:
    event = {"type": "response.reasoning.search_results", "sequence_number": 3, "results": [{**S1, "title": "Le!"}]}
    odd = json.dumps(event).replace("Le!", "Le\\ud83d")
    native = json.dumps(item_done({"type": "sandbox_results", "code": "!"})).replace("!", "\\ud83d")
    reading = read(line(created()) + line(odd) + line(native) + stream(delta("x"), completed()))
    assert reading.answer.sources[1].title == "Le\ufffd"
    assert NativeItem('{"type":"sandbox_results","code":"\ufffd"}'.encode()) in reading.events
    for event_said in reading.events:
        repr(event_said).encode()


# -------------------------------------------------------------------------------- text


def without(*types: str) -> Iterator[Json]:
    return (event for event in A_BASE if event["type"] not in types)


DELTAS = "response.output_text.delta"


@pytest.mark.parametrize(
    "missing",
    [
        (DELTAS,),
        (DELTAS, "response.output_text.done"),
        (DELTAS, "response.output_text.done", "response.output_item.done"),
        ("response.output_text.done", "response.output_item.done"),
    ],
)
def test_text_that_only_a_copy_holds_is_not_lost(missing: tuple[str, ...]) -> None:
    assert read(stream(*without(*missing))).answer.text == TEXT


@pytest.mark.parametrize("copy", [text_done(TEXT), item_done(message(TEXT)), completed(message(TEXT))])
def test_a_copy_brings_only_the_missing_tail(copy: Json) -> None:
    reading = Reading()
    reading.feed(stream(created(), delta("The Leie[1] ")))
    assert TextDelta("meets the Scheldt[2].") in reading.feed(line(copy))
    reading.feed(line(completed(message(TEXT))))
    assert reading.answer.text == TEXT


def test_a_copy_that_contradicts_the_deltas_changes_nothing() -> None:
    reading = read(
        stream(created(), delta("One."), text_done("Two."), item_done(message("Two")), completed(message("2")))
    )
    assert reading.answer.text == "One."
    assert reading.finished


def test_several_messages_come_in_order() -> None:
    reading = read(
        stream(
            created(),
            delta("Let me ", 1, 0, "msg_1"),
            item_done(message("Let me look. ", "msg_1"), 2, 0),
            item_done(search_item(S1), 3, 1),
            delta("Found", 4, 2, "msg_2"),
            text_done("Found it", 5, 2, "msg_2"),
            completed(message("Let me look. ", "msg_1"), search_item(S1), message("Found it.", "msg_2")),
        )
    )
    assert reading.answer.text == "Let me look. Found it."


def test_parts_of_one_message_are_joined() -> None:
    parts = [{"type": "output_text", "text": "One, "}, {"type": "output_text", "text": "two."}, "odd", {"type": "odd"}]
    item = {**message(""), "content": parts}
    assert read(stream(created(), item_done(item), completed(item))).answer.text == "One, two."
    assert read(stream(created(), completed({**message(""), "content": "plain"}))).answer.text == "plain"


def test_places_may_be_missing() -> None:
    bare = {"type": DELTAS, "sequence_number": 1, "delta": "Hi"}
    assert read(stream(created(), bare, completed(message("Hi there")))).answer.text == "Hi there"
    odd = {"type": DELTAS, "sequence_number": "one", "output_index": None, "delta": " you"}
    assert read(stream(created(), bare, odd, completed())).answer.text == "Hi you"
    empty: list[Json] = [{"type": DELTAS, "delta": value} for value in (None, "", 5)]
    assert read(stream(created(), *empty, bare, completed())).answer.text == "Hi"


# -------------------------------------------------------------------------------- findings


def test_sources_are_kept_by_id_wherever_they_come_from() -> None:
    def found(number: Any, url: str) -> Json:
        return {"id": number, "url": url, "title": "t"}

    reading = read(
        stream(
            created(),
            {"type": "response.reasoning.search_results", "results": [found(4, "https://four.example"), "odd", {}]},
            item_done(search_item(found(2, "https://two.example"), found(4, "https://four.example"))),
            item_done(search_item(found("9", "https://nine.example"), {"id": "x", "url": "https://x.example"})),
            delta("Founded[2]"),
            completed(
                search_item(found(2, "https://two.example"), {"url": "https://none.example"}, found(-4, "https://neg")),
                search_item({"url": "https://none.example"}, {"url": "https://two.example"}),
            ),
        )
    )
    sources = {number: source.url for number, source in reading.answer.sources.items()}
    assert sources == {
        4: "https://four.example",
        2: "https://two.example",
        9: "https://nine.example",
        -1: "https://x.example",
        -2: "https://none.example",
        -3: "https://neg",
    }
    told = [source for event in reading.events if isinstance(event, Sources) for source in event.sources]
    assert len(told) == 6


def test_a_poorer_repetition_blanks_nothing_and_a_better_one_counts() -> None:
    poor = {"id": 1, "url": S1["url"]}
    reading = read(
        stream(
            created(),
            item_done(search_item(poor)),
            item_done(search_item(S1)),
            delta("x"),
            completed(search_item(poor)),
        )
    )
    assert reading.answer.sources == {1: SOURCE_1}
    assert sum(isinstance(event, Sources) for event in reading.events) == 2


def test_steps_are_told_once() -> None:
    pages = [{"url": "https://a.example", "title": "A"}, {"url": "https://b.example"}, {}]
    reading = read(
        stream(
            created(),
            {"type": "response.reasoning.started", "thought": "Look up the tides"},
            {
                "type": "response.reasoning.search_queries",
                "thought": "Look up the tides",
                "queries": ["q1", "q2", "q1"],
            },
            {"type": "response.reasoning.fetch_url_queries", "urls": ["https://a.example"]},
            {"type": "response.reasoning.fetch_url_results", "contents": pages},
            {"type": "response.reasoning.image_search_queries", "call_id": "c", "queries": ["q3"]},
            {"type": "response.reasoning.stopped", "thought": None},
            item_done({"type": "fetch_url_results", "contents": pages}),
            item_done({"type": "search_results", "queries": ["q1", "q4"], "results": None}),
            delta("x"),
            completed({"type": "search_results", "queries": ["q4"], "results": []}),
        )
    )
    assert reading.answer.steps == [
        SearchStep(kind="think", text="Look up the tides"),
        SearchStep(kind="search", queries=("q1", "q2")),
        SearchStep(kind="read", urls=("https://a.example",)),
        SearchStep(kind="read", urls=("https://b.example",)),
        SearchStep(kind="search", queries=("q3",)),
        SearchStep(kind="search", queries=("q4",)),
    ]


def test_images_are_told_once() -> None:
    full = {"image_url": "https://i.example/l.png", "origin_url": "https://a.example", "width": 10, "height": 20}
    results = [{**full, "title": "Leie"}, {"title": "no address"}, "odd"]
    item = {"type": "image_search_results", "results": results}
    event = {"type": "response.reasoning.image_search_results", "call_id": "c", "results": results}
    reading = read(stream(created(), event, item_done(item), delta("x"), completed(item)))
    image = Image(
        image_url="https://i.example/l.png", origin_url="https://a.example", title="Leie", width=10, height=20
    )
    assert [event for event in reading.events if isinstance(event, Images)] == [Images((image,))]


def test_what_only_the_native_dialect_can_show_passes_raw_and_once() -> None:
    sandbox = {"type": "sandbox_results", "call_id": "c", "results": [{"stdout": "1"}]}
    people = {"type": "people_search_results", "results": [{**S1, "id": 7}]}
    unknown = {"type": "unknown", "item_name": "x"}
    reading = read(
        stream(created(), item_done(sandbox), item_done(people), delta("x"), completed(sandbox, people, unknown))
    )
    natives = [json.loads(event.raw) for event in reading.events if isinstance(event, NativeItem)]
    assert natives == [sandbox, people, unknown]
    assert reading.answer.sources[7].url == S1["url"]


# -------------------------------------------------------------------------------- functions


def test_a_function_call_comes_whole_with_its_own_name_and_signature() -> None:
    item = function_call("fn_web_search", '{"q":"Lyon"}', thought_signature="c2ln")
    reading = Reading(names=Names(["web_search"]))
    added = {"type": "response.output_item.added", "output_index": 0, "item": {**item, "arguments": ""}}
    reading.feed(stream(created(), added, item_done(item), completed(item)))
    call = ToolCall(call_id="call_1", name="web_search", arguments='{"q":"Lyon"}', signature="c2ln")
    assert reading.answer.tool_calls == [call]
    assert reading.finished.reason == "tool_calls"
    assert reading.kept == {"call_1": "c2ln"}


@pytest.mark.parametrize("status", ["completed", "requires_action"])
def test_a_call_may_come_in_the_final_response_only(status: str) -> None:
    final = {"type": f"response.{status}", "response": response(status, [function_call("f")], usage=None)}
    reading = read(stream(created(), final))
    assert reading.answer.tool_calls == [ToolCall(call_id="call_1", name="f", arguments="{}")]
    assert reading.finished.reason == "tool_calls"


def test_a_call_that_was_announced_only_is_not_lost() -> None:
    added = {"type": "response.output_item.added", "output_index": 0, "item": function_call("f", '{"a":1}')}
    final = {"type": "response.completed", "response": None}
    assert read(stream(created(), added, final)).answer.tool_calls[0].arguments == '{"a":1}'


@pytest.mark.parametrize(("arguments", "text"), [({"a": [1]}, '{"a":[1]}'), ("", "{}"), (None, "{}")])
def test_arguments_become_json_text(arguments: Any, text: str) -> None:
    item = function_call("f", arguments)
    assert read(stream(created(), item_done(item), completed(item))).answer.tool_calls[0].arguments == text


def test_two_calls_and_text_all_arrive() -> None:
    calls = [function_call("f", call_id="call_1"), function_call("g", call_id="call_2")]
    reading = read(stream(created(), completed(message("Wait."), *calls)))
    assert reading.answer.text == "Wait."
    assert [call.name for call in reading.answer.tool_calls] == ["f", "g"]


def test_a_call_that_nobody_allowed_is_an_error() -> None:
    item = function_call("f")
    reading = read(stream(created(), delta("x"), item_done(item), completed(item)), may_call=())
    assert isinstance(reading.failure, ToolProtocolError)
    assert not reading.answer.tool_calls


@pytest.mark.parametrize(
    "item",
    [
        function_call("h"),
        function_call("fn_web_search"),
        function_call("f", "{"),
        function_call("f", '{"a":1,}'),
        function_call("f", '{"a":NaN}'),
        function_call("f", '{"a":"\\ud83d"}'),
        function_call("f", "[1]"),
        function_call("f", "1"),
        function_call("f", [1]),
        function_call("f", "{" + '"a":{' * 9999),
    ],
)
def test_a_call_that_no_caller_could_make_is_an_error(item: Json) -> None:
    for events in ((item_done(item), completed(item)), (completed(item),)):
        reading = read(stream(created(), delta("x"), *events))
        assert isinstance(reading.failure, ToolProtocolError)
        assert reading.failure.retry is False
        assert not reading.answer.tool_calls


@pytest.mark.parametrize("item", [function_call(""), {**function_call("f"), "id": None, "call_id": None}])
def test_a_call_that_cannot_be_answered_is_an_error(item: Json) -> None:
    assert isinstance(read(stream(created(), item_done(item), completed(item))).failure, ToolProtocolError)
    assert isinstance(read(stream(created(), completed(item))).failure, ToolProtocolError)


# -------------------------------------------------------------------------------- verdicts


@pytest.mark.parametrize(
    ("reason", "finish"),
    [("max_output_tokens", "length"), ("content_filter", "content_filter"), (None, "length"), ("new", "length")],
)
def test_an_incomplete_answer_says_why(reason: str | None, finish: str) -> None:
    whole = response(
        "incomplete", [message("The Le")], incomplete_details={"reason": reason}, usage={"input_tokens": 3}
    )
    reading = read(stream(created(), delta("The"), {"type": "response.incomplete", "response": whole}))
    assert reading.answer.text == "The Le"
    assert reading.finished.reason == finish
    assert reading.finished.usage == Usage(input_tokens=3, output_tokens=0)


def test_an_answer_that_reasoning_used_up_is_cut_and_not_empty() -> None:
    whole = response("incomplete", [], incomplete_details={"reason": "max_output_tokens"})
    assert read(stream(created(), {"type": "response.incomplete", "response": whole})).finished.reason == "length"


def test_the_status_in_a_response_overrules_the_type_of_its_event() -> None:
    event = {"type": "response.completed", "response": response("failed", error={"message": "model overloaded"})}
    assert read(stream(created(), delta("x"), event)).failure.message == "model overloaded"


@pytest.mark.parametrize(
    "event",
    [
        {"type": "response.failed", "error": {"message": "model overloaded", "code": None}},
        {"type": "response.failed", "response": response("failed", error={"message": "model overloaded"})},
        {
            "type": "response.failed",
            "error": None,
            "response": response("failed", error={"message": "model overloaded"}),
        },
        {"type": "error", "message": "model overloaded", "code": "x"},
        {"type": "error", "error": {"message": "model overloaded"}},
        {"type": "error", "error": "model overloaded"},
    ],
)
def test_a_failure_after_text_keeps_both(event: Json) -> None:
    reading = read(stream(created(), delta("The Leie"), event, completed(message("never"))))
    assert reading.answer.text == "The Leie"
    assert type(reading.failure) is UpstreamError
    assert reading.failure.message == "model overloaded"


@pytest.mark.parametrize("data", ['{"error":{"message":"gone wrong"}}', '{"message":"gone wrong"}', "gone wrong"])
def test_an_event_named_error_is_an_error(data: str) -> None:
    reading = read(stream(created(), delta("x")) + f"event: error\ndata: {data}\n\n".encode())
    assert reading.failure.message == "gone wrong"


def test_a_throttle_in_the_stream_is_a_throttle() -> None:
    event = {"type": "error", "error": {"message": "slow down", "code": 429}}
    assert isinstance(read(stream(created(), event)).failure, RateLimited)


def test_a_failure_shows_no_key() -> None:
    event = {"type": "response.failed", "error": {"message": "bad key pplx-SECRET"}}
    assert "SECRET" not in read(stream(created(), event)).failure.message


def test_a_cancelled_run_is_an_error() -> None:
    event = {"type": "response.cancelled", "response": response("cancelled", error={"code": "cancelled"})}
    assert "cancelled" in read(stream(created(), delta("x"), event)).failure.message


@pytest.mark.parametrize("cut", range(1, len(A_BASE)))
def test_a_stream_without_a_verdict_is_cut(cut: int) -> None:
    for end in (b"", b"data: [DONE]\n\n", line(A_BASE[cut]).rstrip()[:-9]):
        reading = read(stream(*A_BASE[:cut]) + end)
        assert isinstance(reading.failure, UpstreamTruncated)
        assert TEXT.startswith(reading.answer.text)


def test_done_without_a_verdict_is_the_end_at_once() -> None:
    reading = Reading()
    reading.feed(stream(created(), delta("x"), "[DONE]"))
    assert isinstance(reading.failure, UpstreamTruncated)


def test_finished_without_an_answer_is_empty() -> None:
    blank = stream(created(), delta(" \n"), completed(message(" \n")))
    for data in (stream(created(), completed(search_item(S1, S2))), stream(created(), completed()), blank):
        assert isinstance(read(data).failure, EmptyAnswer)


@pytest.mark.parametrize(
    "data", [b"", b"\n \r\n", b"\xef\xbb\xbf", b": ping\n\n", b"data: {}\n\n", b"data: [DONE]\n\n"]
)
def test_a_reply_without_anything_is_empty(data: bytes) -> None:
    assert isinstance(read(data).failure, EmptyAnswer)


@pytest.mark.parametrize("payload", ['{"type":"response.output_text.delta","delta":"x', "{nonsense}"])
def test_an_event_that_is_not_json_is_an_error(payload: str) -> None:
    reading = read(stream(created(), delta("The Leie"), payload, completed(message("The Leie"))))
    assert type(reading.failure) is UpstreamError
    assert reading.answer.text == "The Leie"


def test_a_null_response_is_put_up_with() -> None:
    events = [{**event, "response": None} if "response" in event else event for event in A_BASE]
    reading = read(stream(*events))
    assert reading.answer.text == TEXT
    assert reading.finished == Finished(reason="stop")


def test_nothing_is_read_after_the_verdict() -> None:
    assert read(stream(*A_BASE, delta("more"), {"type": "error", "message": "late"})).events == WHOLE


def test_events_without_numbers_are_fine() -> None:
    plain = [{key: value for key, value in event.items() if key != "sequence_number"} for event in A_BASE]
    assert read(stream(*plain)).events == WHOLE


def test_warnings_come_first() -> None:
    reading = Reading(warnings=("The limit was raised.",))
    reading.feed(stream(*A_BASE))
    assert reading.events[:2] == [Started("resp_t1"), Warned("The limit was raised.")]
    assert reading.events[2:] == WHOLE[1:]


def test_a_failure_before_anything_else_says_nothing() -> None:
    reading = Reading(warnings=("The limit was raised.",))
    assert reading.feed(line({"type": "error", "message": "no"})) == []
    assert reading.failure.message == "no"


def test_a_run_id_that_could_bend_an_address_is_not_taken() -> None:
    for odd in ("../x", "a/b", "a?b", "", "x" * 999, 5):
        reading = read(stream({"type": "response.created", "response": {"id": odd}}))
        assert reading.assembly.run_id is None


# -------------------------------------------------------------------------------- usage and models


def test_usage_is_kept_in_full() -> None:
    usage = {
        "input_tokens": 2410,
        "output_tokens": 96,
        "total_tokens": 2506,
        "input_tokens_details": {"cached_tokens": 900, "cache_creation_input_tokens": 1500},
        "output_tokens_details": {"reasoning_tokens": 12},
        "tool_calls_details": {"search_web": {"invocation": 2, "cost_usd": 0.005}, "fetch_url": {"invocation": 1}},
        "cost": {
            "currency": "EUR",
            "input_cost": 0.00001,
            "output_cost": 0.00005,
            "cache_read_cost": 0.00001,
            "cache_creation_cost": 0.00018,
            "tool_calls_cost": 0.0081,
            "tool_calls_cost_details": {"search_web": 0.005},
            "total_cost": 0.00835,
        },
    }
    event = {"type": "response.completed", "response": response("completed", [message("x")], usage=usage)}
    assert read(stream(created(), event)).finished.usage == Usage(
        input_tokens=2410,
        output_tokens=96,
        cached_tokens=900,
        cache_write_tokens=1500,
        reasoning_tokens=12,
        search_queries=2,
        other_tools=True,
        cost=Cost(
            total=0.00835,
            input=0.00001,
            output=0.00005,
            tool_calls=0.0081,
            cache_read=0.00001,
            cache_creation=0.00018,
            currency="EUR",
        ),
    )


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, None),
        ("odd", None),
        ({}, Usage(input_tokens=0, output_tokens=0)),
        ({"input_tokens": "x", "output_tokens": 2, "cost": {}}, Usage(input_tokens=0, output_tokens=2)),
        ({"tool_calls_details": {}}, Usage(input_tokens=0, output_tokens=0, search_queries=0)),
        ({"cost": {"total_cost": 0}}, Usage(input_tokens=0, output_tokens=0, cost=Cost(total=0.0))),
        (
            {"input_tokens_details": {"cache_read_input_tokens": 4}, "tool_calls_details": {"search_web": None}},
            Usage(input_tokens=0, output_tokens=0, cached_tokens=4),
        ),
    ],
)
def test_usage_that_is_not_given_is_not_made_up(usage: Any, expected: Usage | None) -> None:
    event = {"type": "response.completed", "response": response("completed", [message("x")], usage=usage)}
    assert read(stream(created(), event)).finished.usage == expected


def test_the_final_response_names_who_answered() -> None:
    def served(route: Any, began: str, ended: str) -> tuple[str | None, str | None]:
        finished = read(stream(created(model=began), completed(message("x"), model=ended)), route).finished
        return finished.served_model, finished.substituted_by

    reading_bare = read(stream(*A_BASE)).finished
    assert (reading_bare.served_model, reading_bare.substituted_by) == ("perplexity/sonar", None)
    assert served(BARE, "perplexity/sonar", "openai/gpt-6-luna") == ("openai/gpt-6-luna", "openai/gpt-6-luna")
    assert served(BARE, "perplexity/sonar", "perplexity/sonar-2026-10-01") == ("perplexity/sonar-2026-10-01", None)
    assert served(LEVEL, "medium", "openai/gpt-6-luna") == ("openai/gpt-6-luna", None)
    assert served(LEVEL, "medium", "medium") == (None, None)


# -------------------------------------------------------------------------------- whole replies


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 2000), max_size=5), st.sampled_from([b"", b"\xef\xbb\xbf", b"\n  "]))
def test_a_reply_that_is_no_stream_reads_the_same(cuts: list[int], front: bytes) -> None:
    data = front + json.dumps(A_BASE[-1]["response"]).encode()
    edges = sorted({0, len(data), *(cut % len(data) for cut in cuts)})
    reading = read([data[start:stop] for start, stop in pairwise(edges)])
    assert reading.answer.text == TEXT
    assert reading.answer.sources == {1: SOURCE_1, 2: SOURCE_2}
    assert reading.answer.steps == [SearchStep(kind="search", queries=("rivers of Ghent",))]
    assert reading.finished.usage == USAGE
    assert reading.events[0] == Started("resp_t1")


def test_a_failed_reply_is_an_error() -> None:
    reply = {
        "id": "r",
        "object": "response",
        "status": "failed",
        "error": {"message": "model overloaded"},
        "output": [],
    }
    reading = read(json.dumps(reply).encode())
    assert reading.failure.message == "model overloaded"
    assert reading.events == []


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (b'{"error":{"message":"no","code":429}}', RateLimited),
        (b'{"hello":1}', UpstreamError),
        (b'{"status":"completed"', UpstreamError),
        (b"<html><title>Sign in</title></html>", UpstreamError),
        (json.dumps(response("completed", [search_item(S1)])).encode(), EmptyAnswer),
        (json.dumps(response("queued", [])).encode(), UpstreamTruncated),
        (json.dumps(response("cancelled", [])).encode(), UpstreamError),
    ],
)
def test_a_reply_that_is_no_answer_is_an_error(reply: bytes, kind: type[UpstreamError]) -> None:
    assert type(read(reply).failure) is kind


def test_a_reply_without_an_end_is_not_collected_for_ever() -> None:
    reading = Reading()
    for _ in range(40):
        reading.feed(b'{"output":[' + b" " * (1 << 20))
    assert "longer" in reading.failure.message
    reading = Reading()
    reading.feed(*[b"\n" * 1000] * 9, stream(*A_BASE))
    assert reading.events == WHOLE


def test_a_queued_reply_leaves_its_id() -> None:
    assert read(json.dumps(response("queued", [])).encode()).assembly.run_id == "resp_t1"


# -------------------------------------------------------------------------------- resuming


@pytest.mark.parametrize("cut", range(1, len(A_BASE)))
def test_a_resumed_stream_tells_nothing_twice(cut: int) -> None:
    for again in (A_BASE, A_BASE[cut:]):
        reading = Reading()
        reading.feed(stream(*A_BASE[:cut]), b'data: {"type":"response.output_te')
        reading.close()
        reading.reader.resume()
        reading.feed(stream(*again))
        assert reading.events == WHOLE


def test_a_resume_that_brings_the_whole_response_brings_the_missing_tail() -> None:
    reading = Reading()
    reading.feed(stream(*A_BASE[:7]))
    reading.close()
    reading.reader.resume()
    reading.feed(json.dumps(A_BASE[-1]["response"]).encode())
    reading.close()
    assert reading.answer.text == TEXT
    assert reading.finished.usage == USAGE


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200), st.integers(1, 50))
def test_no_bytes_break_it(data: bytes, size: int) -> None:
    reading = read([data[n : n + size] for n in range(0, len(data), size)] or [b""])
    assert reading.failure.message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "type", "text"]), inner),
    max_leaves=5,
)
KEYS = ["delta", "text", "response", "item", "results", "queries", "urls", "contents", "error", "sequence_number"]
TYPES = [event["type"] for event in A_BASE] + ["response.failed", "response.reasoning.fetch_url_results", "error"]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(TYPES), st.dictionaries(st.sampled_from(KEYS), JSON)), max_size=4))
def test_no_event_breaks_it(events: list[tuple[str, Json]]) -> None:
    reading = read(stream(created(), *(json.dumps({"type": kind, **fields}) for kind, fields in events)))
    assert reading.reader.over
