"""Every fault that a question can name, as a caller sees it."""

import json
from typing import Any

import httpx2
import pytest

from tests.emulator_session.asking import ASK, QUESTION, Page, ask_body
from tests.emulator_session.conftest import SkippingClock
from tests.emulator_session.reader import Reader, events, frames_of


def partial(body: bytes) -> Reader:
    """What can be read of a stream that was cut: its whole frames."""
    whole = body[: body.rindex(b"\r\n\r\n") + 4]
    return Reader().read([json.loads(data) for name, data in events(whole) if name == "message"])


async def faulty(page: Page, fault: str, **params: Any) -> httpx2.Response:
    return await page.ask(f"fault:{fault} {QUESTION}", **params)


@pytest.mark.parametrize(
    ("fault", "status"), [("upstream_429", 429), ("upstream_401", 401), ("upstream_402", 402), ("upstream_500", 500)]
)
async def test_an_http_fault_is_json_with_its_status(page: Page, fault: str, status: int) -> None:
    reply = await faulty(page, fault)
    assert reply.status_code == status
    assert reply.json()["status"] == "failed"
    assert ("retry-after" in reply.headers) is (status == 429)


async def test_upstream_html_is_the_challenge_page(page: Page) -> None:
    reply = await faulty(page, "upstream_html")
    assert (reply.status_code, reply.headers["cf-mitigated"]) == (403, "challenge")
    assert reply.headers["content-type"] == "text/html; charset=UTF-8"
    assert "_cf_chl_opt" in reply.text
    assert "/cdn-cgi/challenge-platform/" in reply.text


async def test_upstream_bad_json_never_completes(page: Page) -> None:
    reply = await faulty(page, "upstream_bad_json")
    assert reply.status_code == 200
    broken = 0
    for name, data in events(reply.content):
        if name == "message":
            try:
                assert json.loads(data)["status"] == "PENDING"
            except ValueError:
                broken += 1
    assert broken >= 1
    assert "COMPLETED" not in reply.text


async def test_upstream_timeout_is_silent_until_the_caller_leaves(page: Page, client: httpx2.AsyncClient) -> None:
    with pytest.raises(httpx2.ReadTimeout):
        await client.post(ASK, json=ask_body(f"fault:upstream_timeout {QUESTION}"), headers=page.headers(), timeout=0.3)
    found = await client.get("/_emulator/wait", params={"path": ASK, "closed": "1"})
    assert found.status_code == 200
    (record,) = found.json()["requests"]
    assert record["status"] is None


async def test_midstream_drop_breaks_after_some_text(page: Page) -> None:
    body = await page.cut(f"fault:midstream_drop {QUESTION}")
    assert not body.endswith(b"\r\n\r\n")
    reader = partial(body)
    assert reader.text
    assert (await page.read(QUESTION)).text.startswith(reader.text)
    assert reader.merged["status"] == "PENDING"


@pytest.mark.parametrize("form", ["A", "B", "C", "D"])
async def test_midstream_error_fails_after_some_text(page: Page, form: str) -> None:
    frames = frames_of((await faulty(page, f"midstream_error form:{form}")).content)
    assert Reader().read(frames[:-1]).text
    last = frames[-1]
    assert (last["status"], last["error_code"], last["final_sse_message"]) == (
        "FAILED",
        "GENERIC_FAILED_RESPONSE",
        True,
    )
    assert last["backend_uuid"] == frames[0]["backend_uuid"]


async def test_substituted_answers_by_another_model_than_was_selected(page: Page) -> None:
    for model in ("gpt56_terra", "grok45low"):
        reader = await page.read(f"fault:substituted {QUESTION}", model_preference=model)
        assert reader.merged["user_selected_model"] == model
        assert reader.merged["display_model"] not in (model, "turbo")
        assert reader.text


async def test_logged_out_answers_as_turbo_and_the_next_login_check_is_empty(page: Page) -> None:
    reader = await page.read(f"fault:logged_out {QUESTION}")
    assert (reader.merged["display_model"], reader.merged["user_selected_model"]) == ("turbo", "turbo")
    assert reader.text
    assert (await page.get("/api/auth/session")).json() == {}
    assert (await page.get("/api/auth/session")).json()["user"]


async def test_a_fault_long_ago_spoils_no_reading(page: Page, clock: SkippingClock) -> None:
    await page.read(f"fault:logged_out {QUESTION}")
    clock.skipped += 301
    assert (await page.get("/api/auth/session")).json()["user"]


@pytest.mark.parametrize(
    ("token", "params", "code"),
    [
        ("emulator-free", {"mode": "concise", "model_preference": "pplx_pro"}, "FREE_TIER_RATE_LIMITED"),
        (None, {}, "FREE_TIER_RATE_LIMITED"),
        ("emulator-pro", {}, "RATE_LIMIT"),
        ("emulator-pro", {"model_preference": "pplx_alpha"}, "QUOTA"),
    ],
)
async def test_quota_gone_is_an_error_frame(
    client: httpx2.AsyncClient, token: str | None, params: dict[str, Any], code: str
) -> None:
    (frame,) = await Page(client, token).frames(f"fault:quota_gone {QUESTION}", **params)
    assert code in frame["error_code"]
    assert frame["status"].lower() == "failed"
    assert frame["final_sse_message"] is True
    assert (frame["status"] == "failed") is (code == "FREE_TIER_RATE_LIMITED")


async def test_quota_gone_is_over_with_its_question(page: Page) -> None:
    await page.frames(f"fault:quota_gone {QUESTION}")
    assert (await page.left())["remaining_pro"] == 200
    status = (await page.get("/rest/rate-limit/status")).json()
    assert status["modes"]["pro_search"]["available"] is True
    assert (await page.read(QUESTION)).text


@pytest.mark.parametrize("form", ["A", "D", "legacy"])
async def test_empty_completes_without_a_word(page: Page, form: str) -> None:
    frames = frames_of((await faulty(page, f"empty form:{form}")).content)
    assert frames[-1]["status"] == "COMPLETED"
    assert Reader().read(frames).text == ""
    thread = await page.get(f"/rest/thread/{frames[-1]['thread_url_slug']}", with_schematized_response="true")
    assert Reader().read(thread.json()["entries"]).text == ""


@pytest.mark.parametrize("fault", ["tool_bad_json", "tool_bad_arguments", "tool_unknown_name"])
async def test_tool_faults_are_plain_answers_where_no_tool_is_offered(page: Page, fault: str) -> None:
    assert (await page.read(f"fault:{fault} {QUESTION}")).text == (await page.read(QUESTION)).text


async def test_a_fault_may_stand_inside_an_envelope(page: Page) -> None:
    envelope: dict[str, Any] = {"instructions": None, "history": [], "query": f"fault:upstream_429 {QUESTION}"}
    assert (await page.ask(json.dumps(envelope))).status_code == 429
