"""How an answer is put together from what the session sends: patches, final copies, reports, questions back."""

from pathlib import Path

import pytest

from tests.cases.scripts import ASK, CLEANED, W_BASE, WEB_RESULTS, Json, session_steps
from tests.rig import ASK_PATH, Rig, running

RESEARCH: Json = {"model": "deep-research", "messages": [{"role": "user", "content": "History of the river Leie"}]}


def patched(*patches: Json, **more: object) -> Json:
    block = {"intended_usage": "ask_text", "diff_block": {"field": "markdown_block", "patches": list(patches)}}
    return {"backend_uuid": "b-1", "status": "PENDING", "blocks": [block], **more}


async def test_final_copies_are_no_new_text(session: Rig) -> None:
    await session.script(ASK_PATH, session_steps())
    stream = await session.stream(ASK)
    assert stream.content == CLEANED
    assert stream.content.count("Scheldt") == 1


async def test_an_answer_of_patches_alone_is_whole_with_its_last_patch_in_the_last_frame(session: Rig) -> None:
    begun: Json = {"progress": "IN_PROGRESS", "chunks": ["The Le"], "chunk_starting_offset": 0}
    bad_source: Json = {
        "intended_usage": "web_results",
        "web_result_block": {"progress": "DONE", "web_results": ["a bare string"]},
    }
    unknown: Json = {"intended_usage": "hologram", "hologram_block": {"spin": 1}}
    frames: list[Json] = [
        patched({"op": "replace", "path": "", "value": begun}),
        {"backend_uuid": "b-1", "status": "PENDING", "blocks": [bad_source, unknown, None, "text"]},
        patched({"op": "add", "path": "/chunks/1", "value": "ie flows n"}),
        patched(
            {"op": "add", "path": "/chunks/2", "value": "orth."},
            {"op": "replace", "path": "/progress", "value": "DONE"},
            status="COMPLETED",
            final=True,
            final_sse_message=True,
        ),
    ]
    await session.script(ASK_PATH, session_steps(frames))
    stream = await session.stream(ASK)
    assert stream.content == "The Leie flows north."


@pytest.mark.parametrize("form", ["A", "B", "C", "D", "E", "legacy", "patches-only"])
@pytest.mark.parametrize("streamed", [False, True])
async def test_every_form_of_the_site_gives_the_same_answer(session: Rig, form: str, streamed: bool) -> None:
    body: Json = {
        "model": "gpt",
        "messages": [{"role": "user", "content": f"form:{form} Which two rivers meet in Ghent?"}],
    }
    if streamed:
        stream = await session.stream(body)
        text, sources = stream.content, stream.finish["search_results"]
    else:
        reply = await session.chat(body)
        text, sources = reply.content, reply.json["search_results"]
    assert "Leie" in text
    assert "Scheldt" in text
    assert "[1]" not in text
    assert len(sources) >= 2


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_research_answer_is_its_introduction_and_the_report_once(tmp_path: Path, streamed: bool) -> None:
    async with running(tmp_path, order=("session",), factor=300.0) as rig:
        if streamed:
            stream = await rig.stream(RESEARCH)
            text = stream.content
            assert stream.reasoning, "research shows its way"
        else:
            text = (await rig.chat(RESEARCH)).content
        (fetched,) = await rig.requests("/emulator-storage/*")
        report = await rig.emulated(fetched["path"])
    introduction, title = text.split("\n\n")[:2]
    assert "report" in introduction
    assert title in report.split("\n\n")[0]
    assert text.count(introduction) == 1
    assert text.split("\n\n").count(title) == 1
    assert text.rstrip().endswith(report.rstrip().split("\n\n")[-1].split("[")[0])


async def test_a_report_that_is_lost_is_told_and_no_failure(tmp_path: Path) -> None:
    body: Json = {
        "model": "deep-research",
        "messages": [{"role": "user", "content": "lost report History of the Leie"}],
    }
    async with running(tmp_path, order=("session",), factor=300.0) as rig:
        reply = await rig.chat(body)
    assert reply.status == 200
    assert reply.content
    assert "report" in reply.headers["x-pplx-warnings"]


async def test_a_question_back_is_the_answer_and_marked(tmp_path: Path) -> None:
    body: Json = {**RESEARCH, "messages": [{"role": "user", "content": "ask back History of the Leie"}]}
    async with running(tmp_path, order=("session",), factor=300.0) as rig:
        stream = await rig.stream(body)
        asked = len(await rig.requests(ASK_PATH))
    assert "?" in stream.content
    assert stream.finish["pplx"]["needs_input"] is True
    assert asked == 1


async def test_a_final_text_that_rewrites_what_was_sent_is_no_success(session: Rig) -> None:
    last = dict(W_BASE[-1])
    block = {"progress": "DONE", "chunks": ["Something else."], "chunk_starting_offset": 0, "answer": "Something else."}
    last["blocks"] = [{"intended_usage": "ask_text", "markdown_block": block}, WEB_RESULTS]
    await session.script(ASK_PATH, session_steps([*W_BASE[:-1], last]), session_steps([*W_BASE[:-1], last]))
    stream = await session.stream(ASK)
    assert stream.error is not None
    assert (await session.chat(ASK)).content == "Something else."


async def test_a_follow_up_goes_on_in_its_thread_and_a_stale_one_starts_anew(session: Rig) -> None:
    first: list[Json] = [{"role": "user", "content": "Which two rivers meet in Ghent?"}]
    await session.script(ASK_PATH, session_steps())
    answer = await session.chat({"model": "gpt", "messages": first})
    turns: list[Json] = [
        *first,
        {"role": "assistant", "content": answer.content},
        {"role": "user", "content": "How long?"},
    ]
    stale: Json = {
        "backend_uuid": "b-2",
        "status": "FAILED",
        "error_code": "GENERIC_FAILED_RESPONSE",
        "text": "Please try again later",
        "final": True,
        "final_sse_message": True,
    }
    await session.script(ASK_PATH, session_steps([stale]), session_steps())
    again = await session.chat({"model": "gpt", "messages": turns})
    assert again.content == CLEANED
    _, followed, anew = await session.requests(ASK_PATH)
    assert followed["json"]["params"]["last_backend_uuid"] == "b-1"
    assert followed["json"]["query_str"] == "How long?"
    assert anew["json"]["params"]["last_backend_uuid"] is None
    assert "Ghent" in anew["json"]["query_str"]
