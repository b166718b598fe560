import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pplx_gateway.answer import (
    Answer,
    AnswerEvent,
    Batch,
    Citations,
    Finished,
    FinishReason,
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
    Warned,
)
from pplx_gateway.citations import Marks
from pplx_gateway.refine import Refinery
from tests.text.pieces import cut, every_cut, words

LEIE = Source(id=1, url="https://a.example/leie", title="Leie")
SCHELDT = Source(id=2, url="https://b.example/scheldt", title="Scheldt")
FOUND = Sources((LEIE, SCHELDT))
STOP = Finished(reason="stop")
CALL = ToolCall(call_id="c", name="f", arguments="{}")


def deltas(*pieces: str) -> Batch:
    return [TextDelta(piece) for piece in pieces]


def answer(refinery: Refinery, *events: AnswerEvent) -> Answer:
    """Feeds each event in a batch of its own."""
    whole = Answer()
    for event in events:
        whole.collect(refinery.feed([event]))
    assert whole.text == refinery.text
    return whole


def spans(whole: Answer) -> list[tuple[int, int, int]]:
    return [(note.start, note.end, note.source.id) for note in whole.annotations]


def test_kept_marks_are_annotated_at_the_end() -> None:
    whole = answer(Refinery(marks="keep"), Started(), FOUND, *deltas("The Leie[1] meets ", "the Scheldt[2]."), STOP)
    assert whole.text == "The Leie[1] meets the Scheldt[2]."
    assert spans(whole) == [(8, 11, 1), (29, 32, 2)]
    assert whole.finished == STOP


def test_a_mark_cut_in_two_is_stripped() -> None:
    whole = answer(Refinery(marks="strip"), FOUND, *deltas("The Leie[1] meets ", "the Scheldt[", "2]."), STOP)
    assert whole.text == "The Leie meets the Scheldt."
    assert spans(whole) == [(8, 8, 1), (26, 26, 2)]


def test_linked_marks_are_annotated_in_the_text_as_sent() -> None:
    whole = answer(Refinery(marks="link"), FOUND, *deltas("🚲[1]", " a"), STOP)
    assert whole.text == "🚲[1](https://a.example/leie) a"
    assert [whole.text[start:end] for start, end, _ in spans(whole)] == ["[1](https://a.example/leie)"]


@pytest.mark.parametrize("marks", ["strip", "keep"])
def test_sources_behind_the_text_still_count(marks: Marks) -> None:
    whole = answer(Refinery(marks=marks), *deltas("The Leie[1]."), FOUND, STOP)
    assert len(whole.annotations) == 1


def test_citations_come_once_right_before_finished() -> None:
    refinery = Refinery(marks="strip")
    out = refinery.feed([FOUND, *deltas("a[1] b [", "2]"), Started(), STOP])
    assert [type(event) for event in out] == [Sources, TextDelta, Started, Citations, Finished]


def test_without_annotations_there_is_no_citations_event() -> None:
    assert Refinery(marks="keep").feed([FOUND, *deltas("plain"), STOP]) == [FOUND, *deltas("plain"), STOP]


THOUGHTS = "<think>look at the map</think>\n\nThe Leie[1]."


@pytest.mark.parametrize("marks", ["keep", "strip", "link"])
def test_a_leading_think_block_becomes_reasoning_however_it_is_cut(marks: Marks) -> None:
    for pieces in every_cut(THOUGHTS):
        whole = answer(Refinery(marks=marks), FOUND, *deltas(*pieces), STOP)
        assert whole.reasoning == "look at the map"
        assert whole.text.startswith("The Leie")
        assert spans(whole)[0][0] == 8


def test_half_a_think_tag_is_never_sent_as_text() -> None:
    out = [Refinery(marks="keep").feed(deltas("<thi", "nk>look at the map</th", "ink>\n\nThe Leie."))]
    assert out == [[ReasoningDelta("look at the map"), TextDelta("The Leie.")]]


@pytest.mark.parametrize(
    "text",
    [
        '<think>look up</think>{"capital":"Reykjavík[1]","population":387758,"rank":[1]}',
        '```json\n{"capital":"Reykjavík[1]","population":387758,"rank":[1]}\n```',
        '<think>x</think>\n```json\n{"capital":"Reykjavík[1]","population":387758,"rank":[1]}\n```\n',
    ],
)
@pytest.mark.parametrize("marks", ["keep", "strip", "link"])
def test_json_parses_and_keeps_its_marks(text: str, marks: Marks) -> None:
    for pieces in every_cut(text):
        refinery = Refinery(marks=marks, json=True, source_list="append")
        whole = answer(refinery, Sources((LEIE,)), *deltas(*pieces), STOP)
        assert json.loads(whole.text) == {"capital": "Reykjavík[1]", "population": 387758, "rank": [1]}
        assert whole.sources == {1: LEIE}
        assert whole.annotations == ()


def test_text_ends_at_a_stop_string_and_other_events_go_on() -> None:
    for pieces in every_cut("The Leie[1]. END And more[2]."):
        refinery = Refinery(marks="strip", stop=["END", "xyz"], source_list="append")
        stopped_before = refinery.stopped
        assert not stopped_before
        whole = answer(refinery, FOUND, *deltas(*pieces), RelatedQuestions(("q",)), Finished(reason="length"))
        assert whole.text == "The Leie. "
        assert refinery.stopped
        assert whole.related_questions == ["q"]
        assert spans(whole) == [(8, 8, 1)]
        assert whole.finished is not None
        assert whole.finished.reason == "stop"


@pytest.mark.parametrize("reason", ["tool_calls", "content_filter", "stop"])
def test_a_stop_string_hides_no_other_reason(reason: FinishReason) -> None:
    whole = answer(Refinery(marks="keep", stop=["b"]), *deltas("abc"), CALL, Finished(reason=reason))
    assert whole.finished == Finished(reason=reason, stopped_by="b" if reason == "stop" else None)


def test_without_a_hit_the_reason_stays() -> None:
    whole = answer(Refinery(marks="keep", stop=["x"]), *deltas("abc"), Finished(reason="length"))
    assert whole.finished == Finished(reason="length")


def test_half_a_stop_string_at_the_end_is_sent() -> None:
    refinery = Refinery(marks="keep", stop=["END"])
    assert refinery.feed(deltas("the EN")) == deltas("the ")
    assert refinery.feed([STOP]) == [TextDelta("EN"), STOP]


def test_stop_strings_do_not_cut_reasoning() -> None:
    whole = answer(Refinery(marks="keep", stop=["map"]), *deltas("<think>a map</think>b map"), STOP)
    assert (whole.reasoning, whole.text) == ("a map", "b ")


def test_the_source_list_is_appended_behind_unchanged_text() -> None:
    whole = answer(Refinery(marks="keep", source_list="append"), *deltas("The Leie[1]."), FOUND, STOP)
    head, _, tail = whole.text.partition("\n\n")
    assert head == "The Leie[1]."
    assert [tail.count(source.url) for source in FOUND.sources] == [1, 1]
    assert spans(whole) == [(8, 11, 1)]


@pytest.mark.parametrize(
    "events",
    [
        [FOUND, CALL, Finished(reason="tool_calls")],
        [FOUND, *deltas("calling"), CALL, STOP],
        [FOUND, *deltas("calling"), Finished(reason="tool_calls")],
        [FOUND, STOP],
        [FOUND, *deltas(""), STOP],
        [*deltas("no sources"), STOP],
    ],
)
def test_no_source_list_for_calls_or_for_nothing(events: Batch) -> None:
    for marks in ("keep", "strip"):
        refinery = Refinery(marks=marks, source_list="append")
        refinery.feed(events)
        assert "Sources" not in refinery.text


def test_held_text_goes_out_before_a_tool_call() -> None:
    for event in (CALL, NativeItem(b"{}")):
        refinery = Refinery(marks="strip", stop=["END"])
        assert refinery.feed([FOUND, *deltas("a [1] EN")]) == [FOUND, *deltas("a  ")]
        assert refinery.feed([event, *deltas("D b[2]")]) == [TextDelta("EN"), event, *deltas("D b")]


def test_a_tool_call_lets_out_white_space_that_might_have_led_to_a_block() -> None:
    assert Refinery(marks="keep").feed([*deltas("\n"), CALL, STOP]) == [TextDelta("\n"), CALL, STOP]


def test_other_events_pass_unchanged_and_at_once() -> None:
    events: Batch = [
        Started(),
        Warned("w"),
        ReasoningDelta("r"),
        SearchStep(kind="search", queries=("q",)),
        FOUND,
        Images(()),
        RelatedQuestions(()),
    ]
    for marks in ("keep", "strip", "link"):
        refinery = Refinery(marks=marks)
        refinery.feed(deltas("half a mark ["))
        out = refinery.feed(events)
        assert out == events
        assert all(sent is given for sent, given in zip(out, events, strict=True))


def test_kept_text_passes_as_the_same_object() -> None:
    refinery = Refinery(marks="keep")
    first, second, third = deltas("The Leie[1]", " meets [", "2]")
    assert refinery.feed([first])[0] is first
    batch: Batch = [second]
    assert refinery.feed(batch) is batch
    assert refinery.feed([third, SearchStep(kind="read")])[0] == third
    assert refinery.text == "The Leie[1] meets [2]"


def test_texts_of_one_read_that_stand_side_by_side_go_out_as_one() -> None:
    for marks in ("keep", "strip", "link"):
        refinery = Refinery(marks=marks, expect_sources=False)
        step = SearchStep(kind="read")
        batch: Batch = [*deltas("The ", "Leie"), step, *deltas(" meets ", "the ", "Scheldt")]
        assert refinery.feed(batch) == [*deltas("The Leie"), step, *deltas(" meets the Scheldt")]
        assert refinery.text == "The Leie meets the Scheldt"


@pytest.mark.parametrize("event", [FOUND, CALL, STOP])
def test_kept_text_is_recorded_once_whatever_shares_its_batch(event: AnswerEvent) -> None:
    refinery = Refinery(marks="keep")
    refinery.feed(deltas("a"))
    assert refinery.feed([*deltas("b"), event, *deltas("c")]) == [*deltas("b"), event, *deltas("c")]
    assert refinery.text == "abc"


def test_unchanged_text_passes_as_the_same_object_in_every_mode() -> None:
    refinery = Refinery(marks="strip")
    first, second = deltas("The Leie", " meets")
    assert [refinery.feed([event])[0] for event in (first, second)] == [first, second]
    assert refinery.feed([second])[0] is second


def test_close_lets_out_what_an_upstream_that_failed_had_sent() -> None:
    refinery = Refinery(marks="strip", stop=["END"])
    refinery.feed(deltas("The Leie `un"))
    assert refinery.close() == deltas("`un")
    assert refinery.close() == []
    assert refinery.text == "The Leie `un"


def test_close_lets_out_unfinished_reasoning() -> None:
    refinery = Refinery(marks="keep")
    assert refinery.feed(deltas("<think>a</thi")) == [ReasoningDelta("a")]
    assert refinery.close() == [ReasoningDelta("</thi")]


def test_letters_of_any_script_pass_whole() -> None:
    text = "Zürich 🚲 東京 👩‍👩‍👧‍👦[1] e\u0301[2]"
    for pieces in every_cut(text):
        whole = answer(Refinery(marks="keep"), FOUND, *deltas(*pieces), STOP)
        assert whole.text == text
        assert [text[start:end] for start, end, _ in spans(whole)] == ["[1]", "[2]"]


ANSWERS = words(
    *(
        "<think>",
        "</think>",
        "<thi",
        "[1]",
        "[",
        "2]",
        "[3]",
        "```json\n",
        "```",
        "`",
        "\n",
        " ",
        "a",
        "END",
        "EN",
        "🚲",
        "{",
        "](x)",
    ),
)


@given(
    case=cut(ANSWERS),
    marks=st.sampled_from(["keep", "strip", "link"]),
    stop=st.sampled_from([(), ("END",), ("EN", "a[")]),
    as_json=st.booleans(),
)
def test_the_cut_does_not_matter(
    case: tuple[str, list[str]], marks: Marks, stop: tuple[str, ...], as_json: bool
) -> None:
    whole, pieces = case

    def refined(*parts: str) -> tuple[str, str, list[tuple[int, int, int]]]:
        refinery = Refinery(marks=marks, stop=stop, json=as_json)
        result = answer(refinery, FOUND, *deltas(*parts), STOP)
        return result.reasoning, result.text, spans(result)

    assert refined(*pieces) == refined(whole) == refined(*whole)


def joined(events: Batch) -> Batch:
    """With neighbouring texts as one."""
    out: Batch = []
    for event in events:
        last = out[-1] if out else None
        if isinstance(event, TextDelta | ReasoningDelta) and type(last) is type(event):
            out[-1] = type(event)(last.text + event.text)
        else:
            out.append(event)
    return out


@given(
    st.lists(st.sampled_from([FOUND, CALL, Warned("w"), *deltas("a[", "1]", "<think>", "</think>", "b")])),
    st.integers(1, 4),
)
def test_batches_do_not_matter(events: Batch, size: int) -> None:
    events = [*events, STOP]
    one, other = Refinery(marks="strip"), Refinery(marks="strip")
    singly = [sent for event in events for sent in one.feed([event])]
    batched = [sent for start in range(0, len(events), size) for sent in other.feed(events[start : start + size])]
    assert joined(singly) == joined(batched)
    assert [event for event in singly if isinstance(event, ToolCall | Warned | Finished)] == [
        event for event in events if isinstance(event, ToolCall | Warned | Finished)
    ]
