"""Every form in which an answer's text can come (docs/wire-session.md 2.5, 2.9)."""

import json
from typing import Any

import pytest

from pplx_gateway.answer import Source
from pplx_gateway.errors import UpstreamTruncated
from pplx_gateway.upstreams.session.failures import AnswerRewritten
from pplx_gateway.upstreams.session.outlet import RENUMBERED
from tests.session.playing import answer, assembler, deltas, feed, finished, play, sources, text, thoughts, warnings
from tests.session.stories import (
    CHUNKS,
    FORM_A,
    FORM_D,
    FORMS,
    LEGACY,
    PAGES,
    TEXT,
    URLS,
    W_BASE,
    completed,
    diff,
    done,
    legacy_text,
    markdown,
    op,
    pending,
    text_item,
    workflow,
    workflow_block,
)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_text_and_sources(form: str) -> None:
    events = play(FORMS[form])
    assert text(events) == TEXT
    assert sources(events) == {1: URLS[0], 2: URLS[1]}
    assert finished(events).reason == "stop"


@pytest.mark.parametrize("form", FORMS)
def test_every_form_held_back_comes_as_one_piece(form: str) -> None:
    assert deltas(play(FORMS[form], hold=True)) == [TEXT]


def test_the_base_story_streams_each_chunk_once() -> None:
    events = play(W_BASE)
    assert deltas(events) == CHUNKS
    whole = answer(W_BASE)
    assert whole.related_questions == ["How long is the Leie?"]
    assert whole.sources[1] == Source(id=1, url=URLS[0], title="Leie", snippet="A river.", date="2026-02-03")
    assert [step.text for step in whole.steps] == ["Find the rivers"]


def test_final_before_completed_does_not_end_the_answer() -> None:
    target = assembler()
    for frame in W_BASE[:-1]:
        feed(target, frame)
    assert not target.ended
    feed(target, W_BASE[-1])
    assert target.ended


def test_completed_without_the_last_mark_waits_for_the_end_of_the_stream() -> None:
    target = assembler()
    feed(target, completed(done(["Half"]), final_sse_message=False))
    assert not target.ended
    assert text(feed(target, completed(done(["Half", " and half"])))) == " and half"


def test_the_last_mark_on_a_pending_frame_ends_nothing() -> None:
    target = assembler()
    feed(target, pending(markdown(["Half"], 0), final_sse_message=True))
    assert not target.ended


# form A: offsets


def test_a_gap_is_waited_for_and_then_filled() -> None:
    events = play(
        [pending(markdown(["a "], 0)), pending(markdown(["c"], 2)), pending(markdown(["b "], 1)), completed()]
    )
    assert deltas(events) == ["a ", "b c"]


def test_a_gap_that_stays_is_a_truncation() -> None:
    with pytest.raises(UpstreamTruncated):
        play([pending(markdown(["a "], 0)), pending(markdown(["c"], 2)), completed()])


def test_a_gap_that_the_last_frame_closes_is_no_loss() -> None:
    events = play([pending(markdown(["a "], 0)), pending(markdown(["c"], 2)), completed(done(["a ", "b ", "c"]))])
    assert text(events) == "a b c"


def test_overlapping_chunks_are_taken_once() -> None:
    events = play([pending(markdown(["a ", "b "], 0)), pending(markdown(["b ", "c"], 1)), completed()])
    assert deltas(events) == ["a b ", "c"]


def test_a_repeated_frame_adds_nothing() -> None:
    frame = pending(markdown(["a ", "b"], 0))
    later = pending(markdown([" c"], 2))
    assert text(play([frame, frame, later, later, frame, completed()])) == "a b c"


def test_an_absurd_offset_does_not_fill_the_memory() -> None:
    target = assembler()
    feed(target, pending(markdown(["a"], 0)))
    feed(target, pending(markdown(["b"], 10**9)))
    feed(target, pending(markdown(["c"], -3)))
    feed(target, completed(done(["a", "b"])))
    assert text(target.close()) == ""
    assert target.oddities.counts["offset_out_of_range"] == 2


def test_completed_without_any_block_keeps_what_was_streamed() -> None:
    assert text(play([*FORM_A[:-1], completed()])) == TEXT


def test_incremental_chunks_in_the_last_frame_are_placed_not_taken_for_all() -> None:
    frames = [pending(markdown(["one ", "two "], 0)), completed(done(["three"], offset=2))]
    assert text(play(frames)) == "one two three"


def test_a_shorter_last_frame_without_answer_keeps_the_longer_text() -> None:
    for last in (["one "], ["on"]):
        frames = [pending(markdown(["one ", "two"], 0)), completed(done(last))]
        assert text(play(frames)) == text(play(frames, hold=True)) == "one two"


# form B: no offset


def test_snapshots_without_offset_are_told_from_more_text() -> None:
    snapshots = [pending(markdown(["Tea "], None)), pending(markdown(["Tea ", "is warm."], None)), completed()]
    more = [pending(markdown(["Tea "], None)), pending(markdown(["is warm."], None)), completed()]
    assert deltas(play(snapshots)) == deltas(play(more)) == ["Tea ", "is warm."]


def test_a_snapshot_may_cut_its_chunks_elsewhere() -> None:
    frames = [pending(markdown(["Te", "a "], 0)), pending(markdown(["Tea is ", "warm"], 0)), completed()]
    assert deltas(play(frames)) == ["Tea ", "is warm"]


# mirrored blocks and sections


def test_mirrored_usages_do_not_double_the_text() -> None:
    frames = [
        pending(markdown(["a "], 0, "ask_text_0_markdown")),
        pending(markdown(["a "], 0), markdown(["b "], 1, "ask_text_0_markdown")),
        pending(markdown(["b ", "c"], 1)),
        completed(done(["a b c"], "ask_text_0_markdown"), done(["a ", "b ", "c"])),
    ]
    assert deltas(play(frames)) == ["a ", "b c"]


def test_only_the_numbered_usage_is_streamed_too() -> None:
    usage = "ask_text_0_markdown"
    frames = [pending(markdown(["a "], 0, usage)), pending(markdown(["b"], 1, usage)), completed(done(["a b"], usage))]
    assert deltas(play(frames)) == ["a ", "b"]


def test_sections_come_in_the_order_of_their_numbers() -> None:
    frames = [
        pending(markdown(["# One"], 0, "ask_text_0_markdown")),
        pending(markdown(["# Two"], 0, "ask_text_1_markdown"), markdown([" more"], 1, "ask_text_0_markdown")),
        pending(done(["# One", " more"], "ask_text_0_markdown")),
        completed(done(["# Three"], "ask_text_2_markdown"), done(["# Two"], "ask_text_1_markdown")),
    ]
    events = play(frames)
    assert text(events) == "# One more\n# Two\n# Three"
    assert deltas(events)[:2] == ["# One", " more"]


def test_a_mirror_that_is_further_than_its_original_is_not_lost() -> None:
    frames = [pending(markdown(["a "], 0)), completed(done(["a b"], "ask_text_0_markdown", answer="a b"))]
    assert text(play(frames)) == "a b"


# form C: patches


def test_patches_alone_with_the_last_in_the_final_frame() -> None:
    frames = [
        pending(
            diff("ask_text", "markdown_block", op("replace", "", {"chunks": ["The Le"], "chunk_starting_offset": 0}))
        ),
        pending(diff("ask_text", "markdown_block", op("add", "/chunks/1", "ie flows n"))),
        completed(
            diff("ask_text", "markdown_block", op("add", "/chunks/2", "orth."), op("replace", "/progress", "DONE")),
            {"intended_usage": "sparkle_cards", "sparkle_block": {}},
            {"intended_usage": "web_results", "web_result_block": {"web_results": ["https://bare.example", PAGES[1]]}},
        ),
    ]
    events = play(frames)
    assert deltas(events) == ["The Le", "ie flows n", "orth."]
    assert sources(events) == {2: URLS[1]}


def test_a_whole_document_midway_replaces_the_chunks() -> None:
    frames = [
        pending(diff("ask_text", None, op("replace", "", {"chunks": ["a", "b"]}))),
        pending(diff("ask_text", None, op("replace", "", {"chunks": ["ab", "c"]}))),
        pending(diff("ask_text", None, op("add", "/chunks/2", "d"))),
        pending(diff("ask_text", None, op("replace", "", {"chunks": ["abc"]}))),
        pending(diff("ask_text", None, op("add", "/chunks/1", "de"))),
        completed(),
    ]
    assert deltas(play(frames)) == ["ab", "c", "d", "e"]


@pytest.mark.parametrize(
    "bad",
    [
        op("add", "/chunks/x", "?"),
        op("add", "/chunks/-1", "?"),
        op("add", "chunks", "?"),
        op("add", "/chunks/1", 5),
        op("remove", "/chunks/9"),
        op("test", "/chunks/0", "a"),
        op("replace", "", "no document"),
        "no patch",
        {"op": None, "path": None},
    ],
)
def test_a_bad_patch_waits_for_the_next_snapshot(bad: Any) -> None:
    frames = [
        pending(diff("ask_text", None, op("replace", "", {"chunks": ["a "]}))),
        pending(diff("ask_text", None, bad, op("add", "/chunks/1", "lost "))),
        pending(diff("ask_text", None, op("add", "/chunks/2", "too"))),
    ]
    assert text(play([*frames, completed(done(["a ", "b"]))])) == "a b"
    assert text(play([*frames, completed(diff("ask_text", None, op("add", "/answer", "a c")))])) == "a c"
    with pytest.raises(UpstreamTruncated):
        play([*frames, completed()])


def test_patches_beside_the_text_do_no_harm() -> None:
    frames = [
        pending(diff("ask_text", None, op("replace", "", {"chunks": ["a"]}))),
        pending(diff("ask_text", None, op("add", "/inline_token_annotations/3", {}), op("add", "/chunks/1", "b"))),
        completed(),
    ]
    assert text(play(frames)) == "ab"


def test_patches_can_insert_replace_and_remove() -> None:
    frames = [
        pending(diff("ask_text", None, op("replace", "", {"chunks": ["a", "c", "x"]}))),
        completed(
            diff(
                "ask_text",
                None,
                op("add", "/chunks/1", "b"),
                op("replace", "/chunks/2", "C"),
                op("remove", "/chunks/3"),
                op("add", "/chunks", ["a", "b", "C", "d"]),
            )
        ),
    ]
    assert text(play(frames, hold=True)) == "abCd"


def test_a_patch_of_text_alone_is_taken() -> None:
    frames = [
        pending(diff("ask_text", None, {"value": {"text": "Tea "}})),
        pending(diff("ask_text", None, {"value": {"text": "Tea is"}}, {"value": {"text": " warm"}})),
        completed(),
    ]
    assert text(play(frames)) == "Tea is warm"


def test_a_document_may_begin_at_a_later_chunk() -> None:
    frames = [
        pending(markdown(["a", "b"], 0)),
        pending(diff("ask_text", None, op("replace", "", {"chunks": ["c"], "chunk_starting_offset": 2}))),
        pending(diff("ask_text", None, op("add", "/chunks/1", "d"))),
        completed(),
    ]
    assert text(play(frames)) == "abcd"


# form D: workflows


def test_thinking_in_a_workflow_is_reasoning_and_never_text() -> None:
    events = play(FORM_D)
    assert thoughts(events) == "Let me see"
    assert deltas(events) == CHUNKS
    assert finished(events).usage is not None
    assert finished(events).usage.reasoning_tokens == 3  # type: ignore[union-attr]


def test_a_chunk_may_come_before_the_list_that_holds_it() -> None:
    item = {"id": "a", "type": "WORKFLOW_ITEM_TEXT", "payload": {"text_payload": {"text": "", "variant": "answer"}}}
    path = "/steps/0/items/0/payload/text_payload"
    frames = [
        pending(diff("workflow_root", None, op("replace", "", workflow(item)))),
        pending(diff("workflow_root", None, op("add", f"{path}/chunks/0", "Forty"))),
        pending(diff("workflow_root", None, op("add", f"{path}/chunks/1", " two."))),
        pending(diff("workflow_root", None, op("replace", f"{path}/text", "Forty two."))),
        completed(),
    ]
    assert deltas(play(frames)) == ["Forty", " two."]


def test_an_item_without_variant_is_the_answer() -> None:
    assert text(play([completed(workflow_block(text_item("a", ["It is."], None)))])) == "It is."


def test_the_variant_may_stand_on_the_item() -> None:
    item = {**text_item("t", ["Hm"], None), "variant": "thinking"}
    events = play([completed(workflow_block(item, {**text_item("a", ["So."], None), "variant": "answer"}))])
    assert (thoughts(events), text(events)) == ("Hm", "So.")


def test_of_text_and_chunks_the_longer_holds() -> None:
    assert text(play([completed(workflow_block(text_item("a", ["It ", "is."], text="It")))])) == "It is."
    assert text(play([completed(workflow_block(text_item("a", ["It "], text="It is.")))])) == "It is."


def test_a_second_text_waits_for_the_first_to_be_whole() -> None:
    def frame(first: list[str], second: list[str], *, streaming: bool) -> Any:
        items = (text_item("a", first, is_streaming=streaming), text_item("b", second))
        return pending({"intended_usage": "workflow_root", "workflow_block": workflow(*items)})

    frames = [
        frame(["One"], ["Two"], streaming=True),
        frame(["One", "."], ["Two"], streaming=True),
        frame(["One", "."], ["Two"], streaming=False),
        completed(),
    ]
    assert deltas(play(frames)) == ["One", ".", "\nTwo"]


def test_several_thoughts_are_parted_by_a_blank_line() -> None:
    items = (text_item("t", ["First"], "thinking"), text_item("u", ["Then"], "thinking"), text_item("a", ["So."]))
    assert thoughts(play([completed(workflow_block(*items))])) == "First\n\nThen"


def test_ask_text_wins_over_a_workflow() -> None:
    frames = [completed(workflow_block(text_item("a", ["Something else."])), done(["It is so."]))]
    assert text(play(frames)) == "It is so."


# legacy text


@pytest.mark.parametrize(
    "legacy",
    [
        legacy_text(TEXT),
        legacy_text({"answer": TEXT}),
        legacy_text(json.dumps({"answer": TEXT, "web_results": []})),
        legacy_text(json.dumps({"answer": json.dumps({"answer": TEXT, "web_results": []}), "web_results": []})),
        legacy_text(None, content={"answer": json.dumps({"chunks": CHUNKS, "web_results": []})}),
        legacy_text(None, content={"answer": {"structured_answer": [{"type": "markdown", "text": TEXT}]}}),
        json.dumps({"answer": TEXT}),
        json.dumps({"steps": json.loads(legacy_text(TEXT))}),
        json.dumps({"step_type": "FINAL", "content": {"answer": TEXT}}),
        json.dumps({"content": {"answer": TEXT}}),
        TEXT,
        legacy_text(TEXT, {"step_type": "SEARCH_WEB", "content": None}, {"odd": 1}),
    ],
)
def test_the_legacy_text_is_read_in_each_variant(legacy: str) -> None:
    assert text(play([pending(text=legacy), completed(text=legacy)])) == TEXT


def test_an_answer_in_two_wrappings_may_be_json_itself() -> None:
    wrapped = json.dumps({"answer": '{"answer": "yes"}', "web_results": []})
    assert text(play([completed(text=legacy_text(wrapped))])) == '{"answer": "yes"}'


@pytest.mark.parametrize("answer_text", ['{"capital": "Reykjavík"}', '{"answer": 42}', "[1, 2]", '{"a": [}', "42"])
def test_an_answer_that_is_json_itself_is_not_opened(answer_text: str) -> None:
    assert text(play([completed(text=legacy_text(answer_text))])) == answer_text


@pytest.mark.parametrize(
    "odd", ["null", "5", "[]", "[[[[", '{"x": 1}', '[{"step_type": "FINAL"}]', '[{"step_type": 3}]']
)
def test_no_legacy_text_raises_when_blocks_hold_the_answer(odd: str) -> None:
    assert text(play([completed(done(["It is so."]), text=odd)])) == "It is so."


def test_a_text_field_of_another_type_is_skipped() -> None:
    assert text(play([completed(done(["It is so."]), text={"a": 1})])) == "It is so."


def test_the_legacy_sources_count_where_there_are_no_others() -> None:
    assert sources(play(LEGACY)) == {1: URLS[0], 2: URLS[1]}


# the final text against what was sent


def test_the_final_answer_may_go_on_where_the_stream_stopped() -> None:
    frames = [pending(markdown(["The "], 0)), completed(done(["end."], answer="The very end."))]
    assert deltas(play(frames)) == ["The ", "very end."]


def test_a_final_text_that_rewrites_the_start_is_an_error_in_a_stream() -> None:
    frames = [
        pending(markdown(["The Leie meets the Scheldt in Ghent."], 0)),
        completed(done(["x"], answer="Two rivers, the Leie and the Scheldt, meet in Ghent.")),
    ]
    with pytest.raises(AnswerRewritten, match="rewrote its answer"):
        play(frames)


def test_a_final_text_that_rewrites_the_start_reaches_who_does_not_stream() -> None:
    final = "Two rivers, the Leie and the Scheldt, meet in Ghent."
    frames = [pending(markdown(["The Leie meets the Scheldt."], 0)), completed(done(["x"], answer=final))]
    assert text(play(frames, hold=True)) == final


def test_text_that_stops_fitting_is_not_sent_until_it_fits_again() -> None:
    frames = [
        pending(markdown(["a b "], 0)),
        pending(markdown(["x y z"], 0)),
        pending(markdown(["a b c"], 0)),
        completed(),
    ]
    assert deltas(play(frames)) == ["a b ", "c"]


def test_white_space_alone_is_no_rewrite() -> None:
    frames = [pending(markdown(["  The  Leie\n"], 0)), completed(done(["x"], answer="The Leie meets the Scheldt."))]
    assert text(play(frames)) == "  The  Leie\n meets the Scheldt."


def test_a_small_difference_at_the_end_is_an_auxiliary_models() -> None:
    body = "word " * 100
    frames = [pending(markdown([body, "Ask me more?"], 0)), completed(done(["x"], answer=body + "Ask away!"))]
    assert text(play(frames)) == body + "Ask me more?"


def test_a_small_difference_is_too_much_for_a_small_answer() -> None:
    with pytest.raises(AnswerRewritten):
        play([pending(markdown(["Yes."], 0)), completed(done(["x"], answer="No!!"))])


def test_a_longer_difference_at_the_end_is_a_rewrite() -> None:
    body = "word " * 400
    frames = [
        pending(markdown([body, "and so forth to the end"], 0)),
        completed(done(["x"], answer=body + "but in the end it was otherwise")),
    ]
    with pytest.raises(AnswerRewritten):
        play(frames)


def test_an_answer_shorter_than_its_stream_is_a_rewrite() -> None:
    frames = [pending(markdown(["The Leie meets the Scheldt in Ghent."], 0)), completed(done(["x"], answer="The Leie"))]
    with pytest.raises(AnswerRewritten):
        play(frames)


def test_renumbered_citations_are_told() -> None:
    frames = [
        pending(markdown(["It rains[3]. It", " snows[10]."], 0)),
        completed(done(["x"], answer="It rains[4]. It snows[9]. Often.")),
    ]
    events = play(frames)
    assert text(events) == "It rains[3]. It snows[10]. Often."
    assert warnings(events) == [RENUMBERED]
    assert text(play(frames, hold=True)) == "It rains[4]. It snows[9]. Often."
    assert warnings(play(frames, hold=True)) == []


# letters


def escaped(chunk: str, place: int) -> str:
    """A frame whose one chunk holds escapes as they stand."""
    return json.dumps(pending(markdown(["CHUNK"], place))).replace("CHUNK", chunk)


def test_halves_of_a_letter_are_joined_over_frames() -> None:
    halves = [escaped("Rad \\ud83d", 0), escaped("\\udeb2!", 1)]
    assert deltas(play([*halves, completed(done(["x"], answer="Rad 🚲!"))])) == ["Rad ", "🚲!"]
    assert text(play(halves)) == "Rad 🚲!"


def test_half_a_letter_that_stays_alone_becomes_a_sign_for_it() -> None:
    events = play([escaped("a\\udeb2b \\ud83d", 0), pending(markdown(["c"], 1))])
    assert text(events) == "a\ufffdb \ufffdc"
    text(events).encode()


def test_half_a_letter_at_the_very_end_is_not_lost() -> None:
    assert text(play([escaped("a \\ud83d", 0)])) == "a \ufffd"


def test_halves_in_a_workflow_are_joined_in_text_and_thoughts() -> None:
    def story(chunks: list[str]) -> str:
        items = (text_item("t", chunks, "thinking"), text_item("a", chunks))
        block = {"intended_usage": "workflow_root", "workflow_block": workflow(*items)}
        return json.dumps(pending(block)).replace("HIGH", "\\ud83d").replace("LOW", "\\udeb2")

    events = play([story(["Rad HIGH"]), story(["Rad HIGH", "LOW!"]), completed()])
    assert text(events) == thoughts(events) == "Rad 🚲!"


def test_half_a_letter_in_a_page_can_still_be_sent() -> None:
    block = {"intended_usage": "web_results", "web_result_block": {"web_results": [{"url": "u", "name": "HIGH"}]}}
    patched = diff("web_results", None, op("replace", "/web_results/0/name", "LOW"))
    frames = [
        json.dumps(pending(found)).replace("HIGH", "\\ud83d").replace("LOW", "\\udeb2") for found in (block, patched)
    ]
    pages = answer([*frames, completed(done(["It is so."]))]).sources
    assert pages[1].title == "\ufffd"
