"""What an answer brings besides its text (docs/wire-session.md 2.3, 2.4)."""

from typing import Any

import pytest

from pplx_gateway.answer import Image, SearchStep
from pplx_gateway.catalogue import SessionRoute
from pplx_gateway.upstreams.session.images import ImageWish
from tests.session.playing import answer, assembler, feed, finished, play, sources, steps, text
from tests.session.stories import (
    FORM_A,
    FORM_C,
    FORM_D,
    PAGES,
    SEARCH,
    URLS,
    WEB_RESULTS,
    completed,
    diff,
    done,
    legacy_text,
    markdown,
    op,
    pending,
    text_item,
    workflow_block,
)

SAID = done(["It is so."])
RESEARCH: dict[str, Any] = {
    "route": SessionRoute(mode="copilot", upstream_id="pplx_alpha"),
    "preference": "pplx_alpha",
    "research": True,
}


def pro_steps(*found: Any) -> dict[str, Any]:
    return {"intended_usage": "pro_search_steps", "plan_block": {"steps": list(found)}}


def web_results(*pages: Any) -> dict[str, Any]:
    return {"intended_usage": "web_results", "web_result_block": {"web_results": list(pages)}}


def rows(*found: Any) -> dict[str, Any]:
    return {"intended_usage": "sources_answer_mode", "sources_mode_block": {"rows": list(found)}}


# steps


def test_steps_and_goals_are_told_once_though_the_last_frame_repeats_them() -> None:
    assert steps(play([*FORM_A[:-1], completed(SEARCH)])) == [
        SearchStep(kind="search", queries=("rivers of Ghent",)),
        SearchStep(kind="read", urls=(URLS[0],)),
        SearchStep(kind="plan", text="Find the rivers"),
    ]


def test_a_step_that_grew_tells_only_what_is_new() -> None:
    first = {"uuid": "s", "step_type": "SEARCH_WEB", "search_web_content": {"queries": [{"query": "a"}]}}
    grown = {**first, "search_web_content": {"queries": [{"query": "a"}, {"query": "b"}, "c", 5]}}
    events = play([pending(pro_steps(first)), pending(pro_steps(grown)), completed(SAID)])
    assert [step.queries for step in steps(events)] == [("a",), ("b", "c")]
    usage = finished(events).usage
    assert usage is not None
    assert usage.search_queries == 3


def test_patched_goals_are_told_as_they_change() -> None:
    assert [step.text for step in steps(play(FORM_C))] == ["Reading", "Reading two pages"]


def test_fillers_are_no_thoughts() -> None:
    block = {
        "intended_usage": "reasoning_plan",
        "reasoning_plan_block": {
            "goals": [{"description": "Beginning analysis"}, {"description": "Compare both dates"}, {"x": 1}, None]
        },
    }
    assert steps(play([pending(block), completed(block, SAID)])) == [
        SearchStep(kind="think", text="Compare both dates")
    ]


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (
            {"step_type": "GET_URL_CONTENT", "get_url_content_content": {"pages": [{"url": URLS[0]}]}},
            SearchStep(kind="read", urls=(URLS[0],)),
        ),
        (
            {"step_type": "URL_NAVIGATE", "url_navigate_content": {"urls": [URLS[1]]}},
            SearchStep(kind="read", urls=(URLS[1],)),
        ),
        ({"step_type": "THOUGHT", "thought_content": {"thought": "Hm."}}, SearchStep(kind="think", text="Hm.")),
        ({"step_type": "THOUGHT", "thought_content": {"thought": "Wrapping up analysis"}}, None),
        ({"step_type": "LOAD_SKILL", "load_skill_content": {}}, None),
        ({"step_type": "SEARCH_WEB", "search_web_content": {"queries": None}}, None),
        ({"step_type": "READ_RESULTS"}, None),
        ({"step_type": 5}, None),
        ("no step", None),
    ],
)
def test_each_kind_of_step(step: Any, told: SearchStep | None) -> None:
    assert steps(play([completed(pro_steps(step), SAID)])) == ([told] if told else [])


def test_unknown_steps_and_blocks_are_counted() -> None:
    target = assembler()
    feed(target, pending(pro_steps({"step_type": "LOAD_SKILL"}), {"intended_usage": "widgets"}, {"x": 1}, None, 5))
    assert target.oddities.counts == {
        "step:LOAD_SKILL": 1,
        "block:widgets": 1,
        "block": 1,
        "block_not_an_object": 2,
        "slow_frame": 1,
    }


def test_workflows_tell_queries_and_pages() -> None:
    assert steps(play(FORM_D)) == [
        SearchStep(kind="search", queries=("rivers of Ghent",)),
        SearchStep(kind="read", urls=URLS),
    ]


# sources


def test_an_entry_that_cannot_be_read_keeps_its_number() -> None:
    block = web_results("https://bare.example", PAGES[0], {"name": "no address"}, PAGES[1])
    assert sources(play([completed(block, SAID)])) == {2: URLS[0], 4: URLS[1]}


def test_a_longer_list_adds_its_new_entries() -> None:
    events = play([pending(web_results(PAGES[0])), pending(web_results(*PAGES)), completed(WEB_RESULTS, SAID)])
    assert sources(events) == {1: URLS[0], 2: URLS[1]}
    assert sum(type(event).__name__ == "Sources" for event in events) == 2


def test_rows_name_their_own_numbers() -> None:
    block = rows(
        {"status": "SELECTED", "citation": 4, "web_result": PAGES[1]},
        {"status": "CRAWLING", "web_result": {"url": "https://c.example"}},
        "no row",
    )
    assert sources(play([completed(block, SAID)])) == {4: URLS[1]}


def test_rows_without_numbers_count_only_where_there_is_nothing_else() -> None:
    block = rows({"web_result": PAGES[0]}, {"web_result": PAGES[1]})
    assert sources(play([completed(block, SAID)])) == {1: URLS[0], 2: URLS[1]}
    assert sources(play([completed(block, web_results(PAGES[1]), SAID)])) == {1: URLS[1]}


def test_the_old_list_at_the_top_is_read() -> None:
    assert sources(play([completed(SAID, web_results=PAGES)])) == {1: URLS[0], 2: URLS[1]}


def test_sources_of_a_workflow_yield_to_a_real_list() -> None:
    workflow = workflow_block(
        {"id": "s", "payload": {"sources_payload": {"sources": [{"url": "https://first.example"}]}}},
        text_item("a", ["It is so."]),
    )
    assert sources(play([completed(workflow)])) == {1: "https://first.example"}
    assert sources(play([pending(workflow), completed(WEB_RESULTS)])) == {1: URLS[0], 2: URLS[1]}
    assert sources(play([pending(WEB_RESULTS), completed(workflow)])) == {1: URLS[0], 2: URLS[1]}


def test_an_attachment_says_so() -> None:
    block = web_results({"url": "https://f.example/a.pdf", "is_attachment": True, "timestamp": "soon"})
    (source,) = answer([completed(block, SAID)]).sources.values()
    assert (source.kind, source.date) == ("attachment", None)


# images and related questions

PICTURE = {"medium": "image", "image": "https://img.example/l.png", "url": "https://a.example/leie", "name": "Leie"}
LEIE = Image(image_url="https://img.example/l.png", origin_url="https://a.example/leie", title="Leie")


@pytest.mark.parametrize(
    "frame",
    [
        completed(SAID, {"intended_usage": "media_items", "media_block": {"media_items": [PICTURE, {"url": "x"}]}}),
        completed(SAID, {"intended_usage": "image_answer_mode", "image_mode_block": {"media_items": [PICTURE]}}),
        completed(SAID, media_items=[PICTURE, "odd", PICTURE]),
    ],
)
def test_images_come_in_each_form_and_once(frame: Any) -> None:
    assert answer([pending(media_items=[PICTURE]), frame]).images == [LEIE]


def test_images_that_nobody_asked_for_are_left_out() -> None:
    assert answer([completed(SAID, media_items=[PICTURE])], images=None).images == []


@pytest.mark.parametrize(
    ("wish", "wanted"),
    [
        (ImageWish(formats=("png",)), True),
        (ImageWish(formats=("jpeg", "gif")), False),
        (ImageWish(domains=("a.example",)), True),
        (ImageWish(domains=("example",)), True),
        (ImageWish(domains=("b.example",)), False),
        (ImageWish(domains=("-a.example",)), False),
        (ImageWish(domains=("-b.example",)), True),
    ],
)
def test_image_filters_choose(wish: ImageWish, wanted: bool) -> None:
    assert wish.wants(LEIE) is wanted


def test_jpg_and_jpeg_are_one_format() -> None:
    assert ImageWish(formats=("jpeg",)).wants(Image(image_url="https://img.example/L.JPG?x=1.png"))


def test_related_questions_are_gathered_from_every_form() -> None:
    followups = {
        "intended_usage": "pending_followups",
        "pending_followups_block": {"followups": [{"text": "And in winter?"}, "And in June?", {"x": 1}, ""]},
    }
    frame = completed(
        SAID, followups, related_queries=["How long?"], related_query_items=[{"text": "How long?", "type": "x"}]
    )
    assert answer([frame]).related_questions == ["And in winter?", "And in June?", "How long?"]
    assert answer([frame], related=False).related_questions == []


# questions back, and reports

QUESTIONS = {
    "uuid": "q",
    "step_type": "RESEARCH_CLARIFYING_QUESTIONS",
    "research_clarifying_questions_content": {
        "questions": [{"question_text": "Which century?", "options": ["19th"]}, "Which country?"],
        "answers": [],
    },
}


ASKED_BACK = {
    "step_type": "RESEARCH_CLARIFYING_QUESTIONS",
    "content": {"questions": ["Which century?", "Which country?"]},
}


@pytest.mark.parametrize(
    "frame",
    [
        pending(pro_steps(QUESTIONS)),
        pending(text=legacy_text("", ASKED_BACK)),
        completed(pro_steps(QUESTIONS)),
    ],
)
def test_questions_back_are_the_answer_and_say_so(frame: Any) -> None:
    events = play([frame], end=False, **RESEARCH)
    assert text(events) == "Which century?\nWhich country?"
    assert finished(events).needs_input
    assert finished(events).continuation is None


def test_questions_that_were_passed_over_are_not_told() -> None:
    answered = {**QUESTIONS, "research_clarifying_questions_content": {"questions": ["Which?"], "answers": [{"a": 1}]}}
    for step in (QUESTIONS, answered):
        events = play([completed(pro_steps(step), SAID)], **RESEARCH)
        assert text(events) == "It is so."
        assert not finished(events).needs_input
    target = assembler(**RESEARCH)
    feed(target, pending(pro_steps(answered)))
    assert not target.ended


REPORT = "# Report\n\nLong."
ASSET = {"asset_type": "DOC_FILE", "research_report": {"source_content": REPORT}}


@pytest.mark.parametrize(
    "block",
    [
        {"intended_usage": "unified_assets", "unified_assets_block": {"assets": [ASSET]}},
        {"intended_usage": "assets_answer_mode", "assets_mode_block": {"assets": [None, ASSET]}},
        diff(
            "unified_assets",
            None,
            op("replace", "", {"assets": [{"research_report": {"source_content": "# Rep"}}]}),
            op("replace", "/assets/0/research_report/source_content", REPORT),
        ),
        workflow_block({"id": "s", "payload": {"sources_payload": {"assets": [ASSET]}}}),
        pro_steps({"step_type": "RESEARCH_ANSWER", "research_answer_content": {"answer": REPORT}}),
        pro_steps({"step_type": "CODE", "assets": [ASSET]}),
    ],
)
def test_a_report_inside_the_answer_follows_its_introduction_once(block: Any) -> None:
    intro = done(["Here is your report."])
    assert text(play([pending(block), completed(block, intro)], **RESEARCH)) == f"Here is your report.\n\n{REPORT}"
    assert text(play([completed(block, intro)])) == "Here is your report."


def test_a_report_that_the_text_quotes_is_not_repeated() -> None:
    block = {"intended_usage": "unified_assets", "unified_assets_block": {"assets": [ASSET]}}
    assert text(play([completed(block, done([f"Look: {REPORT}"]))], **RESEARCH)) == f"Look: {REPORT}"


def test_a_report_without_introduction_is_the_answer() -> None:
    block = {"intended_usage": "unified_assets", "unified_assets_block": {"assets": [ASSET]}}
    assert text(play([completed(block)], **RESEARCH)) == REPORT


def test_findings_on_the_way_are_not_a_research_answer() -> None:
    finding = workflow_block(text_item("f", ["A finding."], None))
    frames = [pending(finding), pending(markdown(["The cover."])), completed(finding)]
    assert text(play(frames, **RESEARCH)) == "The cover."


@pytest.mark.parametrize(
    ("info", "offered"),
    [
        ([{"url": "https://x.example/r", "media_type": "text/markdown; charset=utf-8"}], "https://x.example/r"),
        ([{"url": "https://x.example/r.pdf"}, {"url": "https://x.example/r.md?sig=1"}], "https://x.example/r.md?sig=1"),
        ({"url": "https://x.example/r", "filename": "Report.MD"}, "https://x.example/r"),
        ([{"url": "https://x.example/r.pdf", "filename": "r.pdf"}], None),
        ([{"url": None, "filename": "r.md"}, "odd"], None),
        (None, None),
    ],
)
def test_the_text_file_among_the_downloads_is_offered(info: Any, offered: str | None) -> None:
    target = assembler(**RESEARCH)
    block = {"intended_usage": "assets_answer_mode", "assets_mode_block": {"assets": [{"download_info": info}]}}
    feed(target, pending(block))
    assert (target.download.url if target.download else None) == offered


def test_other_answers_fetch_no_files() -> None:
    target = assembler()
    assets = [{"download_info": [{"url": "https://x.example/r.md"}]}]
    feed(target, pending({"intended_usage": "unified_assets", "unified_assets_block": {"assets": assets}}))
    assert target.download is None


@pytest.mark.parametrize(
    "usage", ["plan", "web_results", "media_items", "workflow_root", "unified_assets", "reasoning_plan"]
)
@pytest.mark.parametrize("payload", [5, "x", [], [1], {"steps": 5, "goals": {}, "web_results": 3, "assets": {}}])
def test_no_payload_of_a_wrong_type_is_fatal(usage: str, payload: Any) -> None:
    fields = {
        "plan": "plan_block",
        "web_results": "web_result_block",
        "media_items": "media_block",
        "workflow_root": "workflow_block",
        "unified_assets": "unified_assets_block",
        "reasoning_plan": "reasoning_plan_block",
    }
    assert text(play([pending({"intended_usage": usage, fields[usage]: payload}), completed(SAID)])) == "It is so."


def test_a_dirty_document_waits_for_a_whole_one() -> None:
    frames = [
        pending(diff("web_results", None, op("replace", "", {"web_results": [PAGES[0]]}))),
        pending(diff("web_results", None, op("add", "/nowhere/0/x", {}), op("replace", "/web_results", []))),
        pending(diff("web_results", None, op("add", "/web_results", [PAGES[0], {"url": "https://lost.example"}]))),
        completed(diff("web_results", None, op("replace", "", {"web_results": PAGES})), SAID),
    ]
    events = play(frames)
    assert sources(events) == {1: URLS[0], 2: URLS[1]}
    assert sum(type(event).__name__ == "Sources" for event in events) == 2


def test_an_unknown_usage_with_a_known_payload_is_read() -> None:
    block = {"intended_usage": "web_results_2", "web_result_block": {"web_results": PAGES}}
    assert sources(play([completed(block, SAID)])) == {1: URLS[0], 2: URLS[1]}
    assert text(play([completed(diff("canvas", "canvas_block", op("replace", "", {})), SAID)])) == "It is so."
