import json

from hypothesis import given, settings
from hypothesis import strategies as st

from pplx_gateway.answer import AnswerEvent, Finished, TextDelta, ToolCall
from pplx_gateway.errors import UpstreamTruncated
from pplx_gateway.protocols.openai.encoding import encode
from pplx_gateway.protocols.openai.responses.events import TextDelta as TextDeltaEvent
from pplx_gateway.protocols.openai.responses.question import Shown
from tests import readings
from tests.responses_writer.answers import answers, batches, shown, unfinished
from tests.responses_writer.telling import EVERYTHING, parsed, read, writer, written

CUT = UpstreamTruncated("The upstream's answer ended before it was whole.")


@given(answers(), shown, st.booleans())
@settings(max_examples=150, deadline=None)
def test_any_answer_is_valid_under_all_three_readings(events: list[AnswerEvent], seen: Shown, later: bool) -> None:
    found = writer(seen, background=later)
    read(written(found, [events]))
    readings.check_response(json.loads(found.object()))


@given(answers(), st.data(), shown)
@settings(max_examples=150, deadline=None)
def test_batch_borders_change_no_byte(events: list[AnswerEvent], data: st.DataObject, seen: Shown) -> None:
    whole = written(writer(seen), [events])
    assert written(writer(seen), data.draw(batches(events))) == whole
    assert written(writer(seen), [[event] for event in events]) == whole


@given(answers())
@settings(max_examples=100, deadline=None)
def test_nothing_of_an_answer_is_lost(events: list[AnswerEvent]) -> None:
    output = parsed(written(writer(EVERYTHING), [events]))[-1]["response"]["output"]
    text = "".join(part["text"] for item in output for part in item.get("content", []))
    assert text == "".join(event.text for event in events if isinstance(event, TextDelta))
    calls = [(item["call_id"], item["arguments"]) for item in output if item["type"] == "function_call"]
    assert calls == [(event.call_id, event.arguments) for event in events if isinstance(event, ToolCall)]


@given(answers(), shown)
@settings(max_examples=40, deadline=None)
def test_a_failure_at_any_place_is_a_valid_failed_response(events: list[AnswerEvent], seen: Shown) -> None:
    for place in range(len(events)):
        found = writer(seen)
        before = written(found, [events[:place]])
        final = read([*before, *found.fail(CUT)])[-1]["response"]
        assert (final["status"], final["error"]["type"]) == ("failed", "upstream_truncated")
        assert json.loads(found.object()) == final
        assert found.feed(events[place:]) == []


@given(unfinished(), shown)
@settings(max_examples=100, deadline=None)
def test_a_response_cancelled_at_any_place_is_valid(events: list[AnswerEvent], seen: Shown) -> None:
    found = writer(seen, background=True)
    written(found, [events])
    cancelled = json.loads(found.cancel())
    readings.check_response(cancelled)
    assert (cancelled["status"], cancelled["usage"]) == ("cancelled", None)
    assert found.feed([Finished(reason="stop")]) == found.fail(CUT) == []


@given(st.text(), st.text(), st.integers(0, 3))
@settings(max_examples=150, deadline=None)
def test_the_text_template_writes_what_the_structs_would(first: str, text: str, calls: int) -> None:
    found = writer()
    before: list[AnswerEvent] = [ToolCall(call_id=f"call_{n}", name="tide", arguments="{}") for n in range(calls)]
    item = parsed(written(found, [[*before, TextDelta(first + "a")]]))[-2]
    count = item["sequence_number"] + 2
    expected = TextDeltaEvent(sequence_number=count, item_id=item["item_id"], output_index=calls, delta=text)
    assert [event.data for event in found.feed([TextDelta(text)])] == ([encode(expected)] if text else [])
