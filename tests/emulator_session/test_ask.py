"""The ask endpoint: what it takes, what it answers, and what the question's words choose."""

import json
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from pplx_gateway.emulator.session.forms import FORMS
from tests.emulator_session.asking import ASK, COOKIE, QUESTION, Page, ask_body
from tests.emulator_session.reader import Reader, events

GENERIC = "GENERIC_FAILED_RESPONSE"


async def failure(page: Page, query: str = QUESTION, **params: Any) -> dict[str, Any]:
    """The one frame of an ask that fails."""
    (frame,) = await page.frames(query, **params)
    assert frame["status"].upper() == "FAILED"
    assert frame["final_sse_message"] is True
    return frame


async def test_a_question_is_answered_with_text_and_sources(page: Page) -> None:
    reader = await page.read(QUESTION)
    assert "Leie" in reader.text
    assert "[1]" in reader.text
    assert len(reader.urls) >= 3
    assert reader.merged["display_model"] == reader.merged["user_selected_model"] == "gpt56_terra"
    assert reader.merged["related_queries"]


async def test_the_stream_is_written_as_the_page_reads_it(page: Page) -> None:
    reply = await page.ask(QUESTION)
    assert events(reply.content)[-1] == ("end_of_stream", "{}")
    assert b"\r\n\r\n: keepalive\r\n\r\n" in reply.content
    assert "cf-ray" in reply.headers
    assert "cf-mitigated" not in reply.headers


async def test_the_same_question_has_the_same_answer(page: Page) -> None:
    assert (await page.read("What is tea?")).text == (await page.read("What is tea?")).text
    assert (await page.read("What is tea?")).text != (await page.read("What is rain?")).text


@pytest.mark.parametrize("form", sorted(FORMS))
async def test_a_word_of_the_question_chooses_the_form(page: Page, form: str) -> None:
    plain = await page.read(QUESTION)
    frames = await page.frames(f"form:{form} {QUESTION}")
    if form == "E":
        assert Reader().read(frames).text == ""
    else:
        assert Reader().read(frames).text == plain.text
    if form == "D":
        assert frames[0]["blocks"][0]["intended_usage"] == "workflow_root"


async def test_the_form_may_stand_anywhere_beside_the_other_words(page: Page) -> None:
    plain = await page.read("What is tea?")
    for query in ("slow: form:C What is tea?", "form:c slow: What is tea?", "What is tea? form:C"):
        frames = await page.frames(query)
        assert "diff_block" in frames[0]["blocks"][0]
        assert Reader().read(frames).text == plain.text


async def test_an_unknown_form_is_answered_by_the_known_ones(page: Page) -> None:
    text = (await page.read("form:Z What is tea?")).text
    assert "no form `Z`" in text
    assert "patches-only" in text


async def test_an_unknown_fault_is_answered_by_the_known_ones(page: Page) -> None:
    text = (await page.read("fault:upstream_418 What is tea?")).text
    assert "no fault `upstream_418`" in text
    assert "midstream_drop" in text


async def test_the_default_form_can_be_set(page: Page, client: httpx2.AsyncClient) -> None:
    reply = await client.post("/_emulator/session", json={"form": "B"})
    assert reply.json()["settings"]["form"] == "B"
    frames = await page.frames(QUESTION)
    starts = [
        block["markdown_block"]["chunk_starting_offset"]
        for frame in frames
        for block in frame["blocks"]
        if "markdown_block" in block
    ]
    assert set(starts) == {0}
    wrong = await client.post("/_emulator/session", json={"form": "Z"})
    assert wrong.status_code == 400


async def test_form_e_is_read_back_from_the_thread(page: Page) -> None:
    reader = await page.read(f"form:E {QUESTION}")
    thread = await page.get(f"/rest/thread/{reader.merged['thread_url_slug']}", with_schematized_response="true")
    (entry,) = thread.json()["entries"]
    assert Reader().read([entry]).text == (await page.read(QUESTION)).text


@pytest.mark.parametrize("listed", [True, False])
async def test_an_envelope_is_answered_by_its_query(page: Page, listed: bool) -> None:
    history = [{"role": "user", "content": "What is the Zugspitze?"}, {"role": "assistant", "content": "A mountain."}]
    instructions = ["Be kind.", "Answer in German."] if listed else "Answer in German."
    envelope = {"instructions": instructions, "history": history, "query": f"form:C {QUESTION}"}
    frames = await page.frames(json.dumps(envelope))
    text = Reader().read(frames).text
    assert "Leie" in text
    assert "Zugspitze" in text
    assert text.startswith("Gern.")
    assert "diff_block" in frames[0]["blocks"][0]
    assert frames[0]["query_str"] == json.dumps(envelope)


async def test_json_that_is_no_envelope_is_the_question_itself(page: Page) -> None:
    assert (await page.read('{"question": "tea"}')).text
    assert (await page.read("[1, 2]")).text
    assert (await page.read("")).text


async def test_a_thinking_model_tells_its_thoughts(page: Page) -> None:
    reader = await page.read(QUESTION, model_preference="gpt56_terra_thinking")
    assert "THOUGHT" in {step["step_type"] for step in reader.steps.values()}
    assert ("reasoning_plan", "reasoning_plan_block") in reader.documents
    plain = await page.read(QUESTION)
    assert "THOUGHT" not in {step["step_type"] for step in plain.steps.values()}
    always = await page.read(QUESTION, model_preference="glm_5_2")
    assert "THOUGHT" in {step["step_type"] for step in always.steps.values()}


async def test_pictures_come_when_they_are_asked_for(page: Page) -> None:
    asked = await page.read("Show me pictures of Ghent")
    items = asked.document("media_items", "media_block")["media_items"]
    assert all(item["medium"] == "image" and item["image"] and item["url"] for item in items)
    assert ("media_items", "media_block") not in (await page.read(QUESTION)).documents
    drawn = await page.read(QUESTION, supported_block_use_cases=["answer_modes", "media_items"])
    assert ("media_items", "media_block") in drawn.documents


@pytest.mark.parametrize(
    "params", [{"sources": []}, {"search_focus": "writing"}, {"search_focus": "SearchFocus.WRITING"}]
)
async def test_without_search_there_are_no_sources_and_no_marks(page: Page, params: dict[str, Any]) -> None:
    reader = await page.read(QUESTION, **params)
    assert "[1]" not in reader.text
    assert ("web_results", "web_result_block") not in reader.documents


async def test_the_sources_choose_where_pages_are_found(page: Page) -> None:
    reader = await page.read(QUESTION, sources=["scholar", "social"])
    assert {httpx2.URL(url).host for url in reader.urls} == {"journal.example", "forum.example"}


@pytest.mark.parametrize("name", [COOKIE, "next-auth.session-token"])
async def test_without_a_good_cookie_everything_becomes_turbo(client: httpx2.AsyncClient, name: str) -> None:
    token = None if name == COOKIE else "emulator-pro"
    reader = await Page(client, token, name=name).read(QUESTION, model_preference="claude50opus")
    assert reader.text
    assert (reader.merged["display_model"], reader.merged["user_selected_model"]) == ("turbo", "turbo")


async def test_an_expired_login_is_answered_as_turbo_too(client: httpx2.AsyncClient) -> None:
    reader = await Page(client, "emulator-expired").read(QUESTION)
    assert (reader.merged["display_model"], reader.merged["user_selected_model"]) == ("turbo", "turbo")


@pytest.mark.parametrize(
    ("token", "mode", "model"),
    [
        ("emulator-free", "concise", "pplx_pro"),
        ("emulator-free", "concise", "turbo"),
        ("emulator-pro", "copilot", "pplx_pro"),
        ("emulator-pro", "copilot", "experimental"),
        ("anything else", "copilot", "claude50sonnetthinking"),
        ("emulator-max", "copilot", "claude50opus"),
    ],
)
async def test_a_tier_may_ask_its_models(client: httpx2.AsyncClient, token: str, mode: str, model: str) -> None:
    reader = await Page(client, token).read(QUESTION, mode=mode, model_preference=model)
    assert (reader.merged["display_model"], reader.merged["mode"]) == (model, mode.upper())


@pytest.mark.parametrize(
    ("token", "model"),
    [("emulator-free", "gpt56_terra"), ("emulator-free", "pplx_pro"), ("emulator-pro", "claude50opus")],
)
async def test_a_model_above_the_tier_fails_without_a_code(client: httpx2.AsyncClient, token: str, model: str) -> None:
    frame = await failure(Page(client, token), model_preference=model)
    assert "error_code" not in frame
    assert (frame["display_model"], frame["user_selected_model"], frame["blocks"]) == ("turbo", model, [])


@pytest.mark.parametrize(
    ("mode", "model"),
    [
        ("copilot", "gpt99"),
        ("concise", "gpt56_terra"),
        ("copilot", "turbo"),
        ("asi", "pplx_pro"),
        ("research", "pplx_alpha"),
    ],
)
async def test_a_model_that_does_not_fit_the_mode_fails(page: Page, mode: str, model: str) -> None:
    frame = await failure(page, mode=mode, model_preference=model)
    assert frame["error_code"] == GENERIC
    assert "try again later" in frame["text"]


async def test_models_can_die_and_be_born(page: Page, client: httpx2.AsyncClient) -> None:
    change = {"dead_models": ["gpt56_terra"], "added_models": {"gpt57_terra": "pro", "gpt57_sol": "max"}}
    await client.post("/_emulator/session", json=change)
    assert (await failure(page))["error_code"] == GENERIC
    assert (await page.read(QUESTION, model_preference="gpt57_terra")).merged["display_model"] == "gpt57_terra"
    assert "error_code" not in await failure(page, model_preference="gpt57_sol")


@pytest.mark.parametrize(
    "missing",
    [
        "version",
        "source",
        "mode",
        "model_preference",
        "language",
        "frontend_uuid",
        "sources",
        "attachments",
        "is_incognito",
    ],
)
async def test_a_body_without_a_needed_field_is_400(page: Page, missing: str) -> None:
    reply = await page.ask(QUESTION, **{missing: ...})
    assert reply.status_code == 400
    assert missing in reply.json()["detail"]


@pytest.mark.parametrize(
    "params",
    [
        {"version": "2.17"},
        {"version": "1.99"},
        {"version": "new"},
        {"frontend_uuid": "not a uuid"},
        {"sources": "web"},
        {"frontend_context_uuid": ...},
    ],
    ids=str,
)
async def test_a_body_that_makes_no_sense_is_400(page: Page, params: dict[str, Any]) -> None:
    reply = await page.ask(QUESTION, **params)
    assert reply.status_code == 400
    assert reply.json()["status"] == "failed"


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'{"query_str": 1, "params": {}}', b"\xff\xfe", b"[" * 5000]
)
async def test_a_body_that_is_not_an_ask_is_400(page: Page, body: bytes) -> None:
    reply = await page.client.post(ASK, content=body, headers=page.headers())
    assert reply.status_code == 400


async def test_a_newer_version_is_fine(page: Page) -> None:
    assert (await page.read(QUESTION, version="2.19")).text
    assert (await page.read(QUESTION, version="3.0")).text


async def test_a_query_over_the_limit_is_a_failed_entry(page: Page) -> None:
    assert (await page.read("x" * 96_000)).text
    frame = await failure(page, "x" * 96_001)
    assert frame["error_code"] != GENERIC


async def test_an_attachment_that_was_never_uploaded_fails(page: Page) -> None:
    frame = await failure(page, attachments=["https://bucket.s3.amazonaws.com/web/cat.png"])
    assert frame["error_code"] == GENERIC


async def test_ids_are_echoed(page: Page) -> None:
    frontend, context = str(uuid4()), str(uuid4())
    frames = await page.frames(QUESTION, frontend_uuid=frontend, frontend_context_uuid=context)
    for frame in (frames[0], frames[-1]):
        assert (frame["frontend_uuid"], frame["frontend_context_uuid"]) == (frontend, context)


async def test_text_comes_with_the_frames_if_it_is_asked_for(page: Page) -> None:
    frames = await page.frames(QUESTION, send_back_text_in_streaming_api=True)
    assert json.loads(frames[-1]["text"])[-1]["step_type"] == "FINAL"


async def test_cookies_and_bodies_are_recorded(page: Page, client: httpx2.AsyncClient) -> None:
    body = ask_body(QUESTION)
    await page.post(ASK, body)
    (record,) = (await client.get("/_emulator/requests", params={"path": ASK})).json()["requests"]
    assert record["json"] == body
    assert record["headers"]["cookie"] == f"{COOKIE}=emulator-pro"
    assert record["headers"]["x-app-apiclient"] == "default"


async def test_a_script_takes_the_place_of_an_answer(page: Page, client: httpx2.AsyncClient) -> None:
    steps = [{"bytes": 'event: message\r\ndata: {"status":"COMPLETED"}\r\n\r\n'}]
    await client.post("/_emulator/script", json={"path": ASK, "answers": [{"steps": steps}]})
    assert (await page.ask(QUESTION)).text == steps[0]["bytes"]
    assert (await page.read(QUESTION)).text


async def test_a_blocked_account_meets_the_challenge_everywhere(client: httpx2.AsyncClient) -> None:
    page = Page(client, "emulator-blocked")
    replies = [await page.ask(QUESTION), await page.get("/api/auth/session"), await page.get("/rest/rate-limit/all")]
    for reply in replies:
        assert reply.status_code == 403
        assert reply.headers["cf-mitigated"] == "challenge"
        assert reply.headers["content-type"].startswith("text/html")
        assert "Just a moment..." in reply.text
