import json
from typing import Any

import pytest

from pplx_gateway.answer import (
    Annotation,
    AnswerEvent,
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
from pplx_gateway.errors import (
    GatewayError,
    InvalidRequest,
    QuotaExhausted,
    RateLimited,
    ToolProtocolError,
    UpstreamTruncated,
)
from pplx_gateway.protocols.openai.reply import Told
from pplx_gateway.protocols.openai.responses.events import frame
from pplx_gateway.protocols.openai.responses.question import Shown
from tests.openai.fakes import LEIE, SCHELDT, USAGE
from tests.responses_writer.telling import (
    CREATED_AT,
    EVERYTHING,
    FUNCTION,
    NOTHING,
    body,
    echo,
    kinds,
    read,
    writer,
    written,
)

END = Finished(reason="stop", served_model="perplexity/sonar", usage=USAGE)
CALL = ToolCall(call_id="call_1", name="tide", arguments='{"at":"Ghent"}')
SEARCH = SearchStep(kind="search", queries=("rivers", "Ghent"))
MARKS = Citations((Annotation(start=8, end=11, source=LEIE), Annotation(start=30, end=33, source=SCHELDT)))
RIVERS: list[Batch] = [
    [Started("run_1"), Sources((LEIE, SCHELDT))],
    [TextDelta("The Leie[1] meets ")],
    [TextDelta("the Scheldt [2]."), MARKS, END],
]

MESSAGE_START = ["output_item.added", "content_part.added"]
MESSAGE_END = ["output_text.done", "content_part.done", "output_item.done"]
REASONING = [
    "output_item.added",
    "reasoning_summary_part.added",
    "reasoning_summary_text.delta",
    "reasoning_summary_text.done",
    "reasoning_summary_part.done",
    "output_item.done",
]
SEARCHED = [
    "output_item.added",
    "web_search_call.in_progress",
    "web_search_call.searching",
    "web_search_call.completed",
    "output_item.done",
]
CALLED = [
    "output_item.added",
    "function_call_arguments.delta",
    "function_call_arguments.done",
    "output_item.done",
]


# the message


def test_an_answer_of_text_is_one_message_in_the_order_of_the_reference() -> None:
    found = read(written(writer(), RIVERS))
    assert kinds(found) == [
        "created",
        "in_progress",
        *MESSAGE_START,
        "output_text.delta",
        "output_text.delta",
        "output_text.annotation.added",
        "output_text.annotation.added",
        *MESSAGE_END,
        "completed",
    ]
    final = found[-1]["response"]
    assert [part["text"] for part in final["output"][0]["content"]] == ["The Leie[1] meets the Scheldt [2]."]
    assert final["usage"]["total_tokens"] == 29
    assert (final["created_at"], final["completed_at"]) == (CREATED_AT, CREATED_AT + 2)


def test_annotations_are_flat_and_cover_their_marks() -> None:
    found = read(written(writer(), RIVERS))
    (part,) = found[-1]["response"]["output"][0]["content"]
    marks = [part["text"][mark["start_index"] : mark["end_index"]] for mark in part["annotations"]]
    assert marks == ["[1]", "[2]"]
    assert part["annotations"][0] == {
        "type": "url_citation",
        "start_index": 8,
        "end_index": 11,
        "url": LEIE.url,
        "title": "Leie",
    }


def test_the_object_after_the_end_is_what_the_last_event_held() -> None:
    found = writer()
    last = written(found, RIVERS)[-1]
    assert last.data == b'{"type":"response.completed","sequence_number":%d,"response":%b}' % (
        last.number,
        found.object(),
    )


def test_the_finished_items_are_the_output_byte_for_byte() -> None:
    found = writer(EVERYTHING)
    events = written(found, [[ReasoningDelta("Hm."), SEARCH], *RIVERS[:-1], [CALL], RIVERS[-1]])
    done = [event.data for event in events if event.type == "response.output_item.done"]
    assert len(done) == len(found.output_items) == 5
    for event, item in zip(done, found.output_items, strict=True):
        assert event.endswith(b'"item":' + item + b"}")
    assert b'"output":[' + b",".join(found.output_items) + b"]" in found.object()


def test_a_plain_reply_is_the_same_object_without_the_events_being_read() -> None:
    streamed, plain = writer(), writer()
    written(streamed, RIVERS)
    for batch in RIVERS:
        plain.feed(batch)
    assert plain.object() == streamed.object()
    assert body(plain)["status"] == "completed"


def test_frames_name_their_type_and_end_with_a_blank_line() -> None:
    event = writer().begin()[0]
    assert frame(event) == b"event: response.created\ndata: " + event.data + b"\n\n"


def test_empty_text_opens_nothing() -> None:
    found = read(written(writer(), [[TextDelta(""), ReasoningDelta(""), CALL, Finished(reason="tool_calls")]]))
    assert kinds(found)[2:] == [*CALLED, "completed"]


def test_half_a_surrogate_pair_says_the_same_in_deltas_and_at_the_end() -> None:
    halves: Batch = [TextDelta("\ud83d"), TextDelta("\udeb2"), TextDelta("\ud83d\udeb2"), END]
    found = read(written(writer(EVERYTHING), [[ReasoningDelta("\ud83d"), ReasoningDelta("\udeb2")], halves]))
    assert found[-1]["response"]["output"][-1]["content"][0]["text"] == "\ufffd\ufffd🚲"


def test_half_a_surrogate_pair_elsewhere_never_breaks_an_event() -> None:
    odd = Source(id=1, url="https://a.example/\ud83d", title="\udeb2")
    call = ToolCall(call_id="call_1", name="tide", arguments='{"at":"\ud83d"}')
    marks = Citations((Annotation(start=0, end=1, source=odd),))
    found = writer(EVERYTHING)
    events = written(found, [[SEARCH, Sources((odd,)), TextDelta("a"), marks, call, END]])
    done = [event.data for event in events if event.type == "response.output_item.done"]
    read(events)
    assert [event.partition(b'"item":')[2][:-1] for event in done] == found.output_items


# what is said before the message


def test_reasoning_is_a_summary_before_the_message() -> None:
    found = read(
        written(writer(EVERYTHING), [[ReasoningDelta("Hm. ")], [ReasoningDelta("Ah."), TextDelta("Yes."), END]])
    )
    output = found[-1]["response"]["output"]
    assert [item["type"] for item in output] == ["reasoning", "message"]
    assert output[0]["summary"] == [{"type": "summary_text", "text": "Hm. Ah."}]
    assert [event["delta"] for event in found if event["type"].endswith("summary_text.delta")] == ["Hm. ", "Ah."]


def test_steps_and_sources_are_told_in_the_reasoning() -> None:
    steps = Shown(reasoning=True, searches=False, search_sources=False)
    found = read(written(writer(steps), [[SEARCH, Sources((LEIE,)), TextDelta("Yes."), END]]))
    assert [item["type"] for item in found[-1]["response"]["output"]] == ["reasoning", "message"]
    assert found[-1]["response"]["output"][0]["summary"][0]["text"] == (
        f"Searching: rivers\nSearching: Ghent\nFound: Leie ({LEIE.url})\n"
    )


def test_what_was_not_asked_for_is_not_shown() -> None:
    thoughts: Batch = [ReasoningDelta("Hm."), SEARCH, Sources((LEIE,)), NativeItem(b"{}")]
    found = read(written(writer(NOTHING), [thoughts, [TextDelta("Yes."), END]]))
    assert [item["type"] for item in found[-1]["response"]["output"]] == ["message"]


def test_a_search_item_holds_its_queries_and_what_it_found_until_the_text() -> None:
    searches = Shown(reasoning=False, searches=True, search_sources=True)
    read_page = SearchStep(kind="read", urls=("https://c.example/", LEIE.url))
    batches: list[Batch] = [[SEARCH], [Sources((LEIE,)), read_page], [TextDelta("a"), Sources((SCHELDT,)), END]]
    found = read(written(writer(searches), batches))
    assert kinds(found)[2:7] == SEARCHED
    assert found[-1]["response"]["output"][0]["action"] == {
        "type": "search",
        "query": "rivers",
        "queries": ["rivers", "Ghent"],
        "sources": [{"type": "url", "url": LEIE.url}, {"type": "url", "url": "https://c.example/"}],
    }


def test_sources_are_left_out_of_a_search_unless_asked_for() -> None:
    searches = Shown(reasoning=False, searches=True, search_sources=False)
    found = read(written(writer(searches), [[SEARCH, Sources((LEIE,)), TextDelta("a"), END]]))
    assert set(found[-1]["response"]["output"][0]["action"]) == {"type", "query", "queries"}


def test_each_search_has_its_item_and_its_own_sources() -> None:
    second = SearchStep(kind="search", queries=("tides",))
    batch: Batch = [SEARCH, Sources((LEIE,)), second, Sources((SCHELDT,)), TextDelta("a"), END]
    searches = Shown(reasoning=False, searches=True, search_sources=True)
    found = read(written(writer(searches), [batch]))
    actions = [item["action"] for item in found[-1]["response"]["output"][:2]]
    assert [action["query"] for action in actions] == ["rivers", "tides"]
    assert [[page["url"] for page in action["sources"]] for action in actions] == [[LEIE.url], [SCHELDT.url]]


@pytest.mark.parametrize("asked", [True, False])
def test_thoughts_close_no_search_whose_sources_are_asked_for_before_they_are_known(asked: bool) -> None:
    plan, more = SearchStep(kind="plan", text="Compare."), ReasoningDelta("Hm.")
    batches: list[Batch] = [[SEARCH, plan], [Sources((LEIE,))], [more], [TextDelta("a"), END]]
    everything = Shown(reasoning=True, searches=True, search_sources=asked)
    output = read(written(writer(everything), batches))[-1]["response"]["output"]
    assert [item["type"] for item in output] == ["reasoning", "web_search_call", "reasoning", "message"]
    assert output[1]["action"].get("sources") == ([{"type": "url", "url": LEIE.url}] if asked else None)
    assert output[2]["summary"][0]["text"].startswith("Compare.\nFound: ")
    assert output[2]["summary"][0]["text"].endswith("Hm.")


@pytest.mark.parametrize("then", [SearchStep(kind="search", queries=("tides",)), CALL, END])
def test_thoughts_that_waited_for_sources_are_told_in_any_case(then: AnswerEvent) -> None:
    everything = Shown(reasoning=True, searches=True, search_sources=True)
    batches: list[Batch] = [[SEARCH, SearchStep(kind="plan", text="Compare."), then, END]]
    output = read(written(writer(everything), batches))[-1]["response"]["output"]
    assert [item["type"] for item in output][:3] == ["reasoning", "web_search_call", "reasoning"]
    assert output[2]["summary"][0]["text"].startswith("Compare.\n")


def test_sources_of_a_search_that_was_not_told_have_an_item_without_queries() -> None:
    searches = Shown(reasoning=False, searches=True, search_sources=True)
    found = read(written(writer(searches), [[Sources((LEIE,))], [TextDelta("a"), END]]))
    action = found[-1]["response"]["output"][0]["action"]
    assert (action["query"], action["queries"]) == ("", [])
    assert action["sources"] == [{"type": "url", "url": LEIE.url}]


def test_nothing_but_the_beginning_is_shown_before_a_visible_event() -> None:
    found = writer(EVERYTHING)
    found.begin()
    hidden: Batch = [Started(), Sources((LEIE,)), Warned("Careful."), NativeItem(b"{}")]
    assert found.feed(hidden) == []


# function calls


def test_a_function_call_is_an_item_with_two_ids_and_its_name_at_the_end() -> None:
    found = read(written(writer(tools=[FUNCTION]), [[CALL, Finished(reason="tool_calls")]]))
    assert kinds(found)[2:] == [*CALLED, "completed"]
    assert found[2]["item"]["arguments"] == ""
    assert (found[4]["name"], found[4]["arguments"]) == ("tide", CALL.arguments)
    (item,) = found[-1]["response"]["output"]
    assert (item["call_id"], item["name"], item["arguments"]) == ("call_1", "tide", CALL.arguments)
    assert "thought_signature" not in item


def test_several_calls_follow_the_message_in_order() -> None:
    other = ToolCall(call_id="call_2", name="tide", arguments="{}", signature="c2ln")
    batch: Batch = [TextDelta("Wait"), CALL, other, TextDelta("."), Finished(reason="tool_calls")]
    found = read(written(writer(tools=[FUNCTION]), [batch]))
    message, first, second = found[-1]["response"]["output"]
    assert message["content"][0]["text"] == "Wait."
    assert (first["call_id"], second["call_id"], second["thought_signature"]) == ("call_1", "call_2", "c2ln")


def test_a_call_before_the_text_stands_before_the_message() -> None:
    found = read(written(writer(), [[CALL, TextDelta("a"), END]]))
    assert [item["type"] for item in found[-1]["response"]["output"]] == ["function_call", "message"]


def test_what_comes_while_the_message_is_open_is_not_lost_and_waits_for_its_end() -> None:
    late: Batch = [ReasoningDelta("Hm."), ReasoningDelta(" Ah."), SEARCH, Sources((LEIE,)), CALL]
    found = read(written(writer(EVERYTHING), [[TextDelta("a")], late, [TextDelta("b"), END]]))
    output = found[-1]["response"]["output"]
    assert [item["type"] for item in output] == ["message", "reasoning", "web_search_call", "function_call"]
    assert output[1]["summary"][0]["text"] == "Hm. Ah.\nSearching: rivers\nSearching: Ghent\n"
    assert output[2]["action"]["sources"] == [{"type": "url", "url": LEIE.url}]


# how it ends


@pytest.mark.parametrize(("reason", "details"), [("length", "max_output_tokens"), ("content_filter", "content_filter")])
def test_an_answer_that_was_cut_short_is_incomplete(reason: str, details: str) -> None:
    batch: Batch = [TextDelta("Half of"), Finished(reason=reason, usage=USAGE)]  # type: ignore[arg-type]
    found = read(written(writer(), [batch]))
    final = found[-1]["response"]
    assert found[-1]["type"] == "response.incomplete"
    assert final["incomplete_details"] == {"reason": details}
    assert (final["output"][0]["status"], final["completed_at"]) == ("incomplete", None)
    assert final["usage"]["output_tokens"] == 9


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (UpstreamTruncated("Cut."), "server_error", "upstream_truncated: Cut."),
        (ToolProtocolError("Bad."), "server_error", "tool_protocol_error: Bad."),
        (RateLimited("Slow."), "rate_limit_exceeded", "Slow."),
        (QuotaExhausted("Gone."), "rate_limit_exceeded", "quota_exhausted: Gone."),
        (InvalidRequest("Long.", param="input"), "invalid_prompt", "invalid_request: Long."),
    ],
)
def test_a_failure_has_a_code_of_the_closed_list_and_names_our_own(
    error: GatewayError, code: str, message: str
) -> None:
    found = writer()
    events = [*written(found, [[TextDelta("Half")]]), *found.fail(error)]
    final = read(events)[-1]["response"]
    assert (final["status"], final["output"], final["usage"]) == ("failed", [], None)
    told = final["error"]
    assert (told["code"], told["message"], told["type"]) == (code, message, error.code)
    assert told.get("param") == error.param


def test_a_failure_keeps_the_items_that_were_finished() -> None:
    found = writer(EVERYTHING)
    events = [
        *written(found, [[ReasoningDelta("Hm."), SEARCH, TextDelta("Half")]]),
        *found.fail(UpstreamTruncated("Cut.")),
    ]
    final = read(events)[-1]["response"]
    assert [item["type"] for item in final["output"]] == ["reasoning", "web_search_call"]
    assert json.loads(found.object()) == final


def test_a_failure_before_anything_still_begins() -> None:
    assert kinds(read(writer().fail(UpstreamTruncated("Cut.")))) == ["created", "in_progress", "failed"]


def test_a_cancelled_response_keeps_no_usage_and_no_unfinished_item() -> None:
    found = writer(EVERYTHING, background=True)
    written(found, [[ReasoningDelta("Hm."), SEARCH, TextDelta("Half")]])
    assert json.loads(found.cancel()) == body(found)
    assert (found.status, body(found)["usage"]) == ("cancelled", None)
    assert [item["type"] for item in body(found)["output"]] == ["reasoning", "web_search_call"]


def test_nothing_changes_once_it_is_over() -> None:
    found = writer()
    written(found, RIVERS)
    before = found.object()
    assert found.cancel() == before
    assert found.fail(UpstreamTruncated("Cut.")) == found.feed([TextDelta("more"), END]) == found.begin() == []
    assert (found.object(), found.status) == (before, "completed")


def test_a_cancelled_response_takes_no_more() -> None:
    found = writer()
    written(found, RIVERS[:-1])
    before = found.cancel()
    assert found.feed(RIVERS[-1]) == []
    assert (found.object(), found.status) == (before, "cancelled")


def test_events_behind_the_end_in_one_batch_are_not_said() -> None:
    found = read(written(writer(), [[TextDelta("a"), END, TextDelta("b"), END]]))
    assert found[-1]["response"]["output"][0]["content"][0]["text"] == "a"


# background


def test_a_background_response_is_queued_first() -> None:
    found = writer(background=True)
    assert (found.status, body(found)["status"]) == ("queued", "queued")
    events = read(written(found, RIVERS))
    assert kinds(events)[:3] == ["created", "queued", "in_progress"]


def test_a_response_under_way_shows_no_output() -> None:
    found = writer(EVERYTHING, background=True)
    written(found, [[ReasoningDelta("Hm."), CALL, TextDelta("Half")]])
    assert (body(found)["status"], body(found)["output"], len(found.output_items)) == ("in_progress", [], 2)


# what is repeated, and what is told beside the answer


def test_the_response_repeats_what_was_asked() -> None:
    fields: dict[str, Any] = {
        "instructions": "Be brief.",
        "previous_response_id": "resp_0000",
        "max_output_tokens": 100,
        "temperature": 0.5,
        "parallel_tool_calls": False,
        "metadata": {"a": "b"},
        "prompt_cache_key": "k",
        "safety_identifier": "s",
        "store": False,
        "user": "u",
        "text": {"format": {"type": "json_object"}, "verbosity": "low"},
        "tool_choice": {"type": "function", "name": "tide"},
        "tools": [FUNCTION],
    }
    found = body(writer(**fields, reasoning_effort="high", reasoning_summary="auto"))
    assert {key: found[key] for key in fields} == fields
    assert found["reasoning"] == {"effort": "high", "summary": "auto"}


def test_the_model_is_the_one_asked_for_until_the_one_that_answered_is_known() -> None:
    end = Finished(reason="stop", served_model="turbo", substituted_by="turbo")
    found = read(written(writer(model="gpt"), [[TextDelta("a"), end]]))
    assert [event["response"]["model"] for event in found if "response" in event] == ["gpt", "gpt", "turbo"]
    assert found[-1]["response"]["pplx"] == {"upstream": "api", "served_model": "turbo", "substituted_by": "turbo"}


def test_extras_stand_at_the_top_level_of_the_last_response_only() -> None:
    image = Image(image_url="https://img.example/l.png", title="Leie")
    batch: Batch = [Sources((LEIE, SCHELDT)), Images((image,)), RelatedQuestions(("Why?",)), TextDelta("a"), END]
    found = read(written(writer(), [batch]))
    assert not {"citations", "search_results", "images", "related_questions", "pplx"} & set(found[0]["response"])
    final = found[-1]["response"]
    assert final["citations"] == [LEIE.url, SCHELDT.url]
    assert [result["title"] for result in final["search_results"]] == ["Leie", "Scheldt"]
    assert final["images"][0]["url"] == "https://img.example/l.png"
    assert final["related_questions"] == ["Why?"]


def test_extras_without_news_are_absent() -> None:
    final = read(written(writer(), [[TextDelta("a"), END]]))[-1]["response"]
    assert not {"citations", "search_results", "images", "related_questions"} & set(final)


def test_warnings_and_what_was_dropped_are_told() -> None:
    found = writer(told=Told("api", dropped=("seed",), warnings=("First.",)))
    found.begin()
    found.feed([Warned("Careful.", "instructions")])
    assert found.told_so_far.dropped == ("seed", "instructions")
    found.feed([TextDelta("a"), END])
    assert body(found)["pplx"]["warnings"] == ["First.", "Careful."]
    assert body(found)["pplx"]["dropped"] == ["seed", "instructions"]


def test_what_the_first_target_found_is_forgotten_when_another_takes_over() -> None:
    found = writer(EVERYTHING, Told("session"))
    first = [*found.begin(), *found.feed([Sources((LEIE,)), Warned("From the first.")])]
    found.told = Told("api", failover="quota_exhausted")
    final = read([*first, *found.feed([TextDelta("a"), END])])[-1]["response"]
    assert "citations" not in final
    assert [item["type"] for item in final["output"]] == ["message"]
    assert final["pplx"] == {"upstream": "api", "served_model": "perplexity/sonar", "failover": "quota_exhausted"}


def test_usage_keeps_its_details_and_every_digit_of_the_cost() -> None:
    usage = Usage(
        input_tokens=10,
        output_tokens=7,
        cached_tokens=4,
        cache_write_tokens=2,
        reasoning_tokens=3,
        search_queries=2,
        cost=Cost(total=0.00503, input=0.00002, output=0.00001, tool_calls=0.005),
    )
    final = read(written(writer(), [[TextDelta("a"), Finished(reason="stop", usage=usage)]]))[-1]["response"]
    assert final["usage"] == {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 3},
        "total_tokens": 17,
        "num_search_queries": 2,
        "cost": {
            "total_cost": 0.00503,
            "input_cost": 0.00002,
            "output_cost": 0.00001,
            "tool_calls_cost": 0.005,
            "currency": "USD",
        },
    }


def test_estimated_usage_says_so_and_unknown_usage_is_null() -> None:
    estimated = Finished(reason="stop", usage=Usage(input_tokens=5, output_tokens=2, estimated=True))
    final = read(written(writer(), [[TextDelta("a"), estimated]]))[-1]["response"]
    assert final["usage"]["estimated"] is True
    assert final["pplx"]["usage_estimated"] is True
    assert read(written(writer(), [[TextDelta("a"), Finished(reason="stop")]]))[-1]["response"]["usage"] is None


def test_ids_follow_from_the_response_and_the_place() -> None:
    found = writer(EVERYTHING)
    written(found, [[ReasoningDelta("a"), ReasoningDelta("b"), CALL, TextDelta("c"), END]])
    again = writer(EVERYTHING)
    written(again, [[ReasoningDelta("other"), CALL, TextDelta("text"), END]])
    ids = [item["id"] for item in body(found)["output"]]
    assert ids == [item["id"] for item in body(again)["output"]]
    assert [item_id.partition("_")[0] for item_id in ids] == ["rs", "fc", "msg"]


def test_the_echo_of_a_request_is_all_there_is_before_the_answer() -> None:
    assert body(writer())["model"] == echo().model
