"""Follow-ups, reconnection, stop, and deep research."""

import json
from typing import Any

import httpx2
import pytest

from tests.emulator_session.asking import ASK, QUESTION, Page, ask_body
from tests.emulator_session.reader import Reader, events

GENERIC = "GENERIC_FAILED_RESPONSE"
RESEARCH: dict[str, Any] = {"model_preference": "pplx_alpha"}


async def test_a_follow_up_knows_the_question_before(page: Page) -> None:
    first = await page.read("How tall is the Zugspitze?")
    handle = {"last_backend_uuid": first.merged["backend_uuid"], "frontend_context_uuid": ...}
    second = await page.read("And its cable car?", **handle)
    assert "Zugspitze" in second.text
    assert second.merged["context_uuid"] == first.merged["context_uuid"]
    assert second.merged["thread_url_slug"] == first.merged["thread_url_slug"]
    assert second.merged["backend_uuid"] != first.merged["backend_uuid"]
    assert "Zugspitze" not in (await page.read("And its cable car?")).text


async def test_a_follow_up_may_bring_the_token(page: Page) -> None:
    first = (await page.read(QUESTION)).merged
    right = {"last_backend_uuid": first["backend_uuid"], "read_write_token": first["read_write_token"]}
    assert (await page.read("And then?", **right)).text
    (frame,) = await page.frames("And then?", **(right | {"read_write_token": "rw-of-another"}))
    assert frame["error_code"] == GENERIC


async def test_an_incognito_turn_can_be_followed_up(page: Page) -> None:
    first = await page.read(QUESTION, is_incognito=True)
    assert (await page.read("And then?", last_backend_uuid=first.merged["backend_uuid"])).text


async def test_a_stale_handle_fails(page: Page) -> None:
    (frame,) = await page.frames("And then?", last_backend_uuid="5b0f1c1e-0000-4000-8000-0000000000a1")
    assert (frame["status"], frame["error_code"]) == ("FAILED", GENERIC)


@pytest.mark.parametrize("other", ["emulator-max", None])
async def test_a_foreign_handle_fails(page: Page, client: httpx2.AsyncClient, other: str | None) -> None:
    first = await page.read(QUESTION)
    (frame,) = await Page(client, other).frames("And then?", last_backend_uuid=first.merged["backend_uuid"])
    assert frame["error_code"] == GENERIC


async def dropped(page: Page) -> str:
    """The id of a turn whose stream broke."""
    body = await page.cut(f"fault:midstream_drop {QUESTION}")
    first = json.loads(events(body[: body.index(b"\r\n\r\n") + 4])[0][1])
    assert first["reconnectable"] is True
    return str(first["backend_uuid"])


async def test_a_turn_that_broke_can_be_followed_up_only_after_a_reconnection(page: Page) -> None:
    handle = await dropped(page)
    (frame,) = await page.frames("And then?", last_backend_uuid=handle)
    assert frame["error_code"] == GENERIC
    reply = await page.post(f"{ASK}/reconnect/{handle}", {"reconnectInitialSnapshot": True})
    frames = [json.loads(data) for name, data in events(reply.content) if name == "message"]
    reader = Reader().read(frames)
    assert reader.merged["status"] == "COMPLETED"
    assert reader.text == (await page.read(QUESTION)).text
    assert (await page.read("And then?", last_backend_uuid=handle)).text


async def test_a_foreign_turn_cannot_be_reconnected(page: Page, client: httpx2.AsyncClient) -> None:
    handle = await dropped(page)
    assert (await Page(client, "emulator-max").get(f"{ASK}/reconnect/{handle}")).status_code == 404
    assert (await page.get(f"{ASK}/reconnect/{handle}")).status_code == 200


async def test_a_stopped_turn_is_completed_with_what_it_had(page: Page, client: httpx2.AsyncClient) -> None:
    await client.post("/_emulator/session", json={"research_seconds": 100_000})
    body = bytearray()
    async with client.stream("POST", ASK, json=ask_body(QUESTION, **RESEARCH), headers=page.headers()) as reply:
        async for data in reply.aiter_raw():
            if not body:
                handle = json.loads(events(data)[0][1])["backend_uuid"]
                stopped = await page.post("/rest/sse/perplexity_terminate", {"entry_uuid": handle})
                assert stopped.json() == {"status": "success"}
            body += data
    frames = [json.loads(data) for name, data in events(bytes(body)) if name == "message"]
    assert (frames[-1]["status"], frames[-1]["backend_uuid"]) == ("COMPLETED", handle)
    assert Reader().read(frames).text == ""
    assert not any(block["intended_usage"] == "assets_answer_mode" for block in frames[-1]["blocks"])
    assert (await page.left())["remaining_research"] == 19


async def test_a_turn_whose_asker_leaves_is_cleared_away(page: Page, client: httpx2.AsyncClient) -> None:
    await client.post("/_emulator/session", json={"research_seconds": 100_000})
    async with client.stream("POST", ASK, json=ask_body(QUESTION, **RESEARCH), headers=page.headers()) as reply:
        await anext(reply.aiter_raw())
        assert await running(client) == 1
    left = await client.get("/_emulator/wait", params={"path": ASK, "closed": "1"})
    assert left.status_code == 200
    while await running(client):
        continue


async def running(client: httpx2.AsyncClient) -> int:
    count: int = (await client.get("/_emulator/state")).json()["session"]["running"]
    return count


async def test_stopping_an_unknown_turn_is_404(page: Page) -> None:
    assert (await page.post("/rest/sse/perplexity_terminate", {"entry_uuid": "nothing"})).status_code == 404


def download_url(frame: dict[str, Any]) -> str:
    (block,) = [block for block in frame["blocks"] if block["intended_usage"] == "assets_answer_mode"]
    url: str = block["assets_mode_block"]["assets"][0]["download_info"][0]["url"]
    return url


async def test_research_introduces_a_report_that_is_downloaded(page: Page, client: httpx2.AsyncClient) -> None:
    frames = await page.frames("What is known about the Leie?", **RESEARCH)
    introduction = Reader().read(frames).text
    assert "report" in introduction
    assert len(introduction) < 200
    report = await client.get(download_url(frames[-1]))
    assert report.status_code == 200
    assert len(report.text.split()) >= 3000
    assert introduction not in report.text
    assert (await page.left())["remaining_research"] == 19


async def test_a_report_is_not_given_to_who_sends_the_session_along(page: Page) -> None:
    frames = await page.frames(QUESTION, **RESEARCH)
    assert (await page.get(download_url(frames[-1]))).status_code == 400


async def test_a_lost_report_is_404(page: Page, client: httpx2.AsyncClient) -> None:
    frames = await page.frames(f"lost report {QUESTION}", **RESEARCH)
    assert (await client.get(download_url(frames[-1]))).status_code == 404


def questions_in(frame: dict[str, Any]) -> list[str]:
    """What a frame asks back."""
    steps = [
        step
        for block in frame["blocks"]
        if block["intended_usage"] == "pro_search_steps"
        for step in block["plan_block"]["steps"]
        if step["step_type"] == "RESEARCH_CLARIFYING_QUESTIONS"
    ]
    contents = [step["research_clarifying_questions_content"] for step in steps]
    assert all(content["answers"] == [] for content in contents)
    return [question["question_text"] for content in contents for question in content["questions"]]


async def test_research_may_ask_back_and_end_with_that(page: Page) -> None:
    frames = await page.frames("ask back: What about the Leie?", **RESEARCH)
    assert len(questions_in(frames[-1])) == 2
    assert all(question.endswith("?") for question in questions_in(frames[-1]))
    assert frames[-1]["status"] == "COMPLETED"
    assert Reader().read(frames).text == ""
    assert not any(block["intended_usage"] == "assets_answer_mode" for block in frames[-1]["blocks"])


async def test_research_may_ask_back_and_go_on(page: Page) -> None:
    frames = await page.frames("ask back and go on: What about the Leie?", **RESEARCH)
    asked = [number for number, frame in enumerate(frames) if questions_in(frame)]
    assert asked[0] < len(frames) - 2
    assert "ask back" not in Reader().read(frames).text
    assert download_url(frames[-1])


async def test_only_research_asks_back(page: Page) -> None:
    reader = await page.read("ask back: What about the Leie?")
    assert "RESEARCH_CLARIFYING_QUESTIONS" not in {step["step_type"] for step in reader.steps.values()}
    assert reader.text == (await page.read("What about the Leie?")).text
