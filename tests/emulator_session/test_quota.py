"""Quota and settings."""

from typing import Any

import httpx2
import pytest

from tests.emulator_session.asking import QUESTION, Page


async def status(page: Page) -> dict[str, Any]:
    found: dict[str, Any] = (await page.get("/rest/rate-limit/status")).json()
    return found


async def test_the_quota_has_the_counters_of_the_page(page: Page) -> None:
    quota = await page.left()
    assert (quota["remaining_pro"], quota["remaining_research"], quota["remaining_labs"]) == (200, 20, 25)
    assert quota["free_queries"] == {"available": True, "remaining_detail": {"kind": "exact", "remaining": 3}}
    assert {"remaining_agentic_research", "model_specific_limits", "sources"} <= set(quota)


async def test_a_pro_answer_counts_down_and_a_quick_one_does_not(page: Page) -> None:
    await page.read(QUESTION)
    assert (await page.left())["remaining_pro"] == 199
    await page.read(QUESTION, mode="concise", model_preference="pplx_pro")
    assert (await page.left())["remaining_pro"] == 199
    await page.read(QUESTION, model_preference="pplx_pro")
    assert (await page.left())["remaining_pro"] == 198


async def test_research_has_a_counter_of_its_own(page: Page) -> None:
    await page.read(QUESTION, model_preference="pplx_alpha")
    quota = await page.left()
    assert (quota["remaining_pro"], quota["remaining_research"]) == (200, 19)


async def test_what_failed_is_not_counted(page: Page) -> None:
    await page.frames(f"fault:midstream_error {QUESTION}")
    await page.cut(f"fault:midstream_drop {QUESTION}")
    await page.frames(QUESTION, model_preference="gpt99")
    assert (await page.left())["remaining_pro"] == 200


async def test_accounts_do_not_share_their_quota(page: Page, client: httpx2.AsyncClient) -> None:
    await page.read(QUESTION)
    assert (await Page(client, "emulator-pro-two").left())["remaining_pro"] == 200


async def test_the_last_search_is_answered_and_the_next_is_refused(client: httpx2.AsyncClient) -> None:
    page = Page(client, "emulator-pro-left1")
    assert (await page.left())["remaining_pro"] == 1
    assert (await page.read(QUESTION)).text
    assert (await status(page))["modes"]["pro_search"]["available"] is False
    (frame,) = await page.frames(QUESTION)
    assert "RATE_LIMIT" in frame["error_code"]
    assert (await page.read(QUESTION, mode="concise", model_preference="pplx_pro")).text


async def test_a_spent_account_has_nothing_left(client: httpx2.AsyncClient) -> None:
    page = Page(client, "emulator-max-spent")
    quota = await page.left()
    assert [quota[f"remaining_{kind}"] for kind in ("pro", "research", "labs")] == [0, 0, 0]
    modes = (await status(page))["modes"]
    assert modes["research"] == {"available": False, "remaining_detail": {"kind": "exact", "remaining": 0}}
    (frame,) = await page.frames(QUESTION, model_preference="pplx_alpha")
    assert "QUOTA" in frame["error_code"]


async def test_zeros_may_mean_nothing(client: httpx2.AsyncClient) -> None:
    page = Page(client, "emulator-pro-unknown")
    quota = await page.left()
    assert quota["remaining_pro"] == 0
    assert quota["free_queries"]["remaining_detail"]["kind"] == "not_provided"
    assert (await status(page))["modes"]["pro_search"]["available"] is True
    assert (await page.read(QUESTION)).text


@pytest.mark.parametrize("token", [None, "emulator-expired"])
async def test_without_a_login_the_counters_are_null_and_the_status_200(
    client: httpx2.AsyncClient, token: str | None
) -> None:
    page = Page(client, token)
    quota = await page.left()
    assert quota["remaining_pro"] is None
    assert (await status(page))["modes"]["pro_search"]["available"] is False


async def test_the_counters_can_be_set(page: Page, client: httpx2.AsyncClient) -> None:
    await client.post("/_emulator/session", json={"left": {"emulator-pro": {"pro": 5}}})
    assert (await page.left())["remaining_pro"] == 5


async def test_the_settings_tell_the_tier_and_the_limits(page: Page, client: httpx2.AsyncClient) -> None:
    settings = (await page.get("/rest/user/settings")).json()
    assert (settings["subscription_tier"], settings["stripe_status"]) == ("pro", "active")
    assert settings["connector_limits"]["max_file_size_mb"] == 50
    assert (await Page(client, None).get("/rest/user/settings")).status_code == 401


async def test_the_state_shows_accounts_without_their_tokens(page: Page, client: httpx2.AsyncClient) -> None:
    await Page(client, "emulator-pro-SECRETWORD").read(QUESTION)
    state = await client.get("/_emulator/state")
    (account,) = state.json()["session"]["accounts"]
    assert (account["tier"], account["left"]["pro"]) == ("pro", 199)
    assert "SECRETWORD" not in state.text


async def test_a_control_that_makes_no_sense_is_400(client: httpx2.AsyncClient) -> None:
    bodies: tuple[object, ...] = ({"colour": "red"}, {"added_models": {"x": "gold"}}, [])
    for body in bodies:
        assert (await client.post("/_emulator/session", json=body)).status_code == 400
