"""The forms as pure functions: what each frame holds, and that every form tells the same answer."""

from itertools import pairwise
from typing import Any, NamedTuple
from uuid import uuid4

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pplx_gateway.emulator.session import forms
from pplx_gateway.emulator.session.entry import Entry
from pplx_gateway.emulator.session.forms import FORMS
from pplx_gateway.emulator.session.reply import Page, Picture, Reply, Report, grouped
from tests.emulator_session.reader import Reader

PAGES = (
    Page(url="https://a.example/leie", name="Leie", snippet="A river.", timestamp="2026-02-03T00:00:00"),
    Page(url="https://b.example/scheldt", name="Scheldt"),
)
REPLY = Reply(
    text="The Leie[1] meets the Scheldt[2] in Ghent, where the town grew[1][2].\n\nThat is all 🚲.",
    pages=PAGES,
    queries=("rivers of Ghent", "Ghent confluence"),
    goals=("Find the rivers", "Answer"),
    related=("How long is the Leie?",),
)
THINKING = msgspec.structs.replace(REPLY, thoughts=("First thought.", "Second thought.", "Third thought."))
TEXTLESS = {"E"}
LEGACY = {name for name in FORMS if name.startswith("legacy")}
STREAMING = set(FORMS) - TEXTLESS - LEGACY


def entry_with(reply: Reply, **fields: Any) -> Entry:
    usual: dict[str, Any] = {
        "owner": "emulator-pro",
        "query": "Which rivers?",
        "question": "Which rivers?",
        "asked_model": "gpt56_terra",
        "display_model": "gpt56_terra",
        "user_selected_model": "gpt56_terra",
        "mode": "copilot",
        "context_uuid": str(uuid4()),
        "frontend_uuid": str(uuid4()),
        "frontend_context_uuid": str(uuid4()),
        "slug": "slug",
        "title": "Which rivers?",
        "created": "2026-11-30T12:00:00.000Z",
        "reply": reply,
    }
    return Entry(**(usual | fields))


class Told(NamedTuple):
    """A course as a client gets it: decoded JSON."""

    way: list[Any]
    text: list[Any]
    completed: Any

    @property
    def frames(self) -> list[Any]:
        return [*self.way, *self.text, self.completed]


def course_of(form: str, reply: Reply = REPLY, **fields: Any) -> Told:
    course = forms.course(entry_with(reply, **fields), form)
    return Told(*msgspec.json.decode(msgspec.json.encode(course)))


def blocks(frame: dict[str, Any], usage: str) -> list[dict[str, Any]]:
    return [block for block in frame.get("blocks", []) if block["intended_usage"] == usage]


def markdown(frame: Any, usage: str = "ask_text") -> dict[str, Any]:
    (block,) = blocks(frame, usage)
    payload: dict[str, Any] = block["markdown_block"]
    return payload


@pytest.mark.parametrize("form", sorted(set(FORMS) - TEXTLESS))
@pytest.mark.parametrize("reply", [REPLY, THINKING], ids=["plain", "thinking"])
def test_every_form_tells_the_same_text(form: str, reply: Reply) -> None:
    assert Reader().read(course_of(form, reply).frames).text == REPLY.text


@pytest.mark.parametrize("form", sorted(STREAMING))
def test_streamed_text_only_grows(form: str) -> None:
    texts = Reader().read(course_of(form).frames).texts
    assert len(texts) > 3
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))


@given(
    text=st.text(alphabet=st.sampled_from("ab [1]\n*é🚲"), max_size=200),
    form=st.sampled_from(sorted(set(FORMS) - TEXTLESS)),
)
def test_any_text_survives_every_form(text: str, form: str) -> None:
    reader = Reader().read(course_of(form, Reply(text=f"a{text}")).frames)
    assert reader.text == f"a{text}"


@given(st.lists(st.text(min_size=1, max_size=3), max_size=300))
def test_groups_number_chunks_without_gap(chunks: list[str]) -> None:
    groups = grouped(chunks)
    assert [chunk for group in groups for chunk in group.chunks] == chunks
    assert [group.start for group in groups] == [0, *(group.end for group in groups)][: len(groups)]
    assert len(groups) <= 40


@pytest.mark.parametrize("form", sorted(FORMS))
def test_the_last_frame_alone_is_completed(form: str) -> None:
    course = course_of(form)
    assert [frame["status"] for frame in course.frames[:-1]] == ["PENDING"] * (len(course.frames) - 1)
    last = course.completed
    assert (last["status"], last["final"], last["final_sse_message"]) == ("COMPLETED", True, True)
    assert (last["message_mode"], last["step_type"]) == ("FULL", "FINAL")
    assert not any(frame.get("final_sse_message") for frame in course.frames[:-1])


@pytest.mark.parametrize("form", sorted(FORMS))
def test_final_is_said_one_frame_too_early(form: str) -> None:
    *_, early, last = course_of(form).frames
    assert early["status"] == "PENDING"
    assert (early["final"], early["text_completed"]) == (True, True)
    assert last["final"] is True


@pytest.mark.parametrize("form", sorted(FORMS))
def test_the_way_is_told_before_the_text(form: str) -> None:
    course = course_of(form)
    assert Reader().read(course.way).text == ""
    assert course.way[0]["final"] is False
    assert course.way[0]["message_mode"] == "STREAMING"
    assert "read_write_token" not in course.way[0]
    assert course.way[1]["read_write_token"] == course.completed["read_write_token"]


@pytest.mark.parametrize("form", sorted(FORMS))
def test_model_and_mode_are_placeholders_until_the_end(form: str) -> None:
    course = course_of(form)
    assert (course.way[0]["display_model"], course.way[0]["mode"]) == ("turbo", "CONCISE")
    last = course.completed
    assert (last["display_model"], last["user_selected_model"], last["mode"]) == (
        "gpt56_terra",
        "gpt56_terra",
        "COPILOT",
    )
    assert not any("user_selected_model" in frame for frame in course.frames[:-1])


@pytest.mark.parametrize("form", sorted(FORMS))
def test_ids_are_the_same_in_every_frame(form: str) -> None:
    course = course_of(form)
    assert len({frame["backend_uuid"] for frame in course.frames}) == 1
    for name in ("context_uuid", "frontend_uuid", "frontend_context_uuid", "uuid"):
        assert course.way[0][name] == course.completed[name]
    assert course.completed["thread_url_slug"] == "slug"


@pytest.mark.parametrize("form", sorted(FORMS))
def test_sources_come_in_the_order_of_the_marks(form: str) -> None:
    assert Reader().read(course_of(form).frames).urls == [page.url for page in PAGES]


@pytest.mark.parametrize("form", sorted(FORMS))
def test_related_questions_come_at_the_end(form: str) -> None:
    course = course_of(form)
    assert course.completed["related_queries"] == ["How long is the Leie?"]
    assert course.completed["related_query_items"][0]["text"] == "How long is the Leie?"
    assert not any("related_queries" in frame for frame in course.frames[:-1])


def test_steps_are_told_once_and_then_all_again() -> None:
    course = course_of("A", THINKING)
    told = [
        step
        for frame in course.way
        for block in blocks(frame, "pro_search_steps")
        for step in block["plan_block"]["steps"]
    ]
    uuids = [step["uuid"] for step in told]
    assert len(set(uuids)) == len(uuids)
    (last,) = blocks(course.completed, "pro_search_steps")
    assert sorted(step["uuid"] for step in last["plan_block"]["steps"]) == sorted(uuids)
    assert last["plan_block"]["final"] is True


def test_each_kind_of_step_holds_its_content_under_its_own_key() -> None:
    reply = msgspec.structs.replace(THINKING, questions=("Which side?", "For whom?"))
    reader = Reader().read(course_of("A", reply, attachments=("https://files.example/cat.png",)).frames)
    steps = {step["step_type"]: step for step in reader.steps.values()}
    assert steps["INITIAL_QUERY"]["initial_query_content"] == {"query": "Which rivers?"}
    assert steps["ATTACHMENT"]["attachment_content"]["url"] == "https://files.example/cat.png"
    queries = steps["SEARCH_WEB"]["search_web_content"]["queries"]
    assert [query["query"] for query in queries] == ["rivers of Ghent", "Ghent confluence"]
    assert all({"engine", "query", "limit"} <= set(query) for query in queries)
    assert steps["SEARCH_RESULTS"]["web_results_content"]["web_results"][0]["url"] == PAGES[0].url
    assert steps["READ_RESULTS"]["read_results_content"]["urls"] == [page.url for page in PAGES]
    assert steps["THOUGHT"]["thought_content"]["thought"] == "Third thought."
    asked = steps["RESEARCH_CLARIFYING_QUESTIONS"]["research_clarifying_questions_content"]
    assert asked == {"questions": [{"question_text": "Which side?"}, {"question_text": "For whom?"}], "answers": []}


def test_a_plan_is_made_and_then_reached() -> None:
    course = course_of("A")
    plans = [block["plan_block"] for frame in course.frames for block in blocks(frame, "plan")]
    assert [goal["description"] for goal in plans[0]["goals"]] == ["Find the rivers", "Answer"]
    assert not any(goal["final"] for goal in plans[0]["goals"])
    assert all(goal["final"] for goal in plans[-1]["goals"])
    assert plans[-1]["final"] is True


def test_thoughts_come_only_where_the_model_thinks() -> None:
    assert not any(blocks(frame, "reasoning_plan") for frame in course_of("A").frames)
    (found,) = [b for frame in course_of("A", THINKING).frames for b in blocks(frame, "reasoning_plan")]
    goals = [goal["description"] for goal in found["reasoning_plan_block"]["goals"]]
    assert goals == ["Beginning analysis", "First thought.", "Wrapping up analysis"]


def test_pictures_are_media_items() -> None:
    picture = Picture(image="https://img.example/l.png", url="https://a.example/leie", name="Leie")
    for form in ("A", "D"):
        course = course_of(form, msgspec.structs.replace(REPLY, pictures=(picture,)))
        (block,) = blocks(course.completed, "media_items")
        (item,) = block["media_block"]["media_items"]
        assert {"medium": "image", "image": picture.image, "url": picture.url, "name": "Leie"}.items() <= item.items()


@pytest.mark.parametrize("form", ["A", "C", "D", "E"])
def test_a_report_is_an_asset_to_download(form: str) -> None:
    report = Report(filename="report.md", url="https://files.example/assets/e1/report.md", size=7)
    course = course_of(form, msgspec.structs.replace(REPLY, report=report))
    (block,) = blocks(course.completed, "assets_answer_mode")
    (asset,) = block["assets_mode_block"]["assets"]
    (download,) = asset["download_info"]
    assert (download["url"], download["filename"], download["size"]) == (report.url, "report.md", 7)
    assert download["media_type"] == "text/markdown"


def test_form_a_numbers_chunks_and_mirrors_them() -> None:
    course = course_of("A")
    place = 0
    for frame in course.text:
        payload = markdown(frame)
        assert payload["progress"] == "IN_PROGRESS"
        assert payload["chunk_starting_offset"] == place
        assert "answer" not in payload
        assert markdown(frame, "ask_text_0_markdown")["chunks"] == payload["chunks"]
        assert "inline_token_annotations" in markdown(frame, "ask_text_0_markdown")
        place += len(payload["chunks"])
    done = markdown(course.completed)
    assert (done["progress"], done["chunk_starting_offset"], done["answer"]) == ("DONE", 0, REPLY.text)
    assert len(done["chunks"]) == place
    assert markdown(course.completed, "ask_text_0_markdown")["chunks"] == [REPLY.text]


def test_a_mark_is_cut_in_two_at_times() -> None:
    reply = Reply(text=" ".join(f"word{n}[1]" for n in range(60)), pages=PAGES)
    cut = [chunk for frame in course_of("A", reply).text for chunk in markdown(frame)["chunks"] if chunk.endswith("[")]
    assert cut


def test_form_a_unnumbered_says_nothing_of_places() -> None:
    assert not any("chunk_starting_offset" in markdown(frame) for frame in course_of("A-unnumbered").text)


def test_form_a_mirror_has_no_ask_text() -> None:
    course = course_of("A-mirror")
    assert not any(blocks(frame, "ask_text") for frame in course.frames)
    assert markdown(course.completed, "ask_text_0_markdown")["answer"] == REPLY.text


def test_form_a_no_answer_completes_with_the_last_chunks_only() -> None:
    done = markdown(course_of("A-no-answer").completed)
    assert "answer" not in done
    assert done["chunk_starting_offset"] > 0
    assert "".join(done["chunks"]) != REPLY.text


def test_form_a_no_blocks_completes_with_none() -> None:
    assert "blocks" not in course_of("A-no-blocks").completed


@pytest.mark.parametrize("form", ["B", "B-unnumbered"])
def test_form_b_repeats_everything_in_each_frame(form: str) -> None:
    course = course_of(form)
    collected = [markdown(frame)["chunks"] for frame in course.text]
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(collected))
    assert "".join(collected[-1]) == REPLY.text
    assert {markdown(frame).get("chunk_starting_offset") for frame in course.text} == {0 if form == "B" else None}


def test_form_c_is_patches_until_it_is_whole() -> None:
    course = course_of("C")
    assert all("diff_block" in block for frame in [*course.way, *course.text] for block in frame["blocks"])
    (first,) = blocks(course.text[0], "ask_text")
    (whole,) = first["diff_block"]["patches"]
    assert (whole["op"], whole["path"], whole["value"]["chunk_starting_offset"]) == ("replace", "", 0)
    (second,) = blocks(course.text[1], "ask_text")
    assert second["diff_block"]["patches"][0].items() >= {"op": "add", "path": "/chunks/1"}.items()
    (end,) = blocks(course.text[-1], "ask_text")
    paths = [(p["op"], p["path"]) for p in end["diff_block"]["patches"]]
    assert paths == [("replace", "/progress"), ("add", "/answer")]
    assert markdown(course.completed)["answer"] == REPLY.text


def test_patches_only_ends_with_patches_in_its_last_frame() -> None:
    course = course_of("patches-only")
    (end,) = blocks(course.completed, "ask_text")
    patches = end["diff_block"]["patches"]
    assert patches[0]["path"].startswith("/chunks/")
    assert patches[-1] == {"op": "replace", "path": "/progress", "value": "DONE"}
    assert not any("markdown_block" in block for frame in course.frames for block in frame["blocks"])


def test_form_d_is_one_workflow() -> None:
    course = course_of("D", THINKING)
    assert {block["intended_usage"] for frame in course.frames for block in frame["blocks"]} == {"workflow_root"}
    reader = Reader().read([*course.way, *course.text])
    streamed = reader.document("workflow_root", "workflow_block")
    reader.read([course.completed])
    whole = reader.document("workflow_root", "workflow_block")
    assert (streamed["status"], whole["status"]) == ("WORKFLOW_EXECUTING_STEPS", "WORKFLOW_COMPLETED")
    assert [step["id"] for step in streamed["steps"]] == [step["id"] for step in whole["steps"]]
    assert streamed["steps"][0] == whole["steps"][0]
    assert streamed["steps"][1]["items"] == whole["steps"][1]["items"]
    assert reader.workflow_texts("thinking") == ["First thought.\nSecond thought.\nThird thought.\n"]
    kinds = [item["type"] for step in whole["steps"] for item in step["items"]]
    assert kinds == ["WORKFLOW_ITEM_QUERIES", "WORKFLOW_ITEM_SOURCES", "WORKFLOW_ITEM_TEXT", "WORKFLOW_ITEM_TEXT"]


def test_form_d_chunks_do_not_repeat_the_variant() -> None:
    course = course_of("D")
    grown = [p for frame in course.text[1:-1] for b in frame["blocks"] for p in b["diff_block"]["patches"]]
    assert all(isinstance(p["value"], str) and "/text_payload/chunks/" in p["path"] for p in grown)


def test_form_d_no_variant_has_none_on_its_answer() -> None:
    course = course_of("D-no-variant")
    workflow = course.completed["blocks"][0]["workflow_block"]
    (item,) = workflow["steps"][-1]["items"]
    assert "variant" not in item
    assert "variant" not in item["payload"]["text_payload"]


def test_form_e_has_no_text_anywhere() -> None:
    course = course_of("E")
    assert Reader().read(course.frames).text == ""
    assert "text" not in course.completed
    assert not any(blocks(frame, "ask_text") for frame in course.frames)


@pytest.mark.parametrize("form", sorted(LEGACY))
def test_legacy_forms_have_text_and_no_answer_blocks(form: str) -> None:
    course = course_of(form)
    assert isinstance(course.completed["text"], str)
    assert course.completed["blocks"] == []
    assert not any(blocks(frame, "ask_text") for frame in course.frames)


def test_legacy_variants_differ_where_they_should() -> None:
    def top(form: str) -> Any:
        return msgspec.json.decode(course_of(form).completed["text"])

    def answer(form: str) -> Any:
        return top(form)[-1]["content"]["answer"]

    assert msgspec.json.decode(answer("legacy"))["answer"] == REPLY.text
    assert answer("legacy-plain") == REPLY.text
    assert answer("legacy-object")["answer"] == REPLY.text
    assert msgspec.json.decode(msgspec.json.decode(answer("legacy-deeper"))["answer"])["answer"] == REPLY.text
    assert top("legacy-dict")["answer"] == REPLY.text
    assert course_of("legacy-bare").completed["text"] == REPLY.text
    first, *_ = top("legacy")
    assert first["step_type"] == "INITIAL_QUERY"
    assert first["content"] == {"query": "Which rivers?"}


def test_text_is_sent_too_if_it_was_asked_for() -> None:
    assert "text" in course_of("A", with_text=True).completed
    assert "text" not in course_of("A").completed


def test_a_reply_without_search_has_no_sources_and_no_plan() -> None:
    course = course_of("A", Reply(text="Hello."))
    usages = {block["intended_usage"] for frame in course.frames for block in frame["blocks"]}
    assert usages == {"pro_search_steps", "ask_text", "ask_text_0_markdown"}
    assert course.way[0]["expect_search_results"] == "false"


@pytest.mark.parametrize("form", sorted(FORMS))
def test_a_reply_without_text_has_no_text_in_any_form(form: str) -> None:
    course = course_of(form, Reply(text="", questions=("Which side?",)))
    reader = Reader().read(course.frames)
    assert reader.text == ""
    assert [step["step_type"] for step in reader.steps.values()] == ["INITIAL_QUERY", "RESEARCH_CLARIFYING_QUESTIONS"]
