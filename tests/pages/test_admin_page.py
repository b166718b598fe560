"""What the owner does on `/admin` in Chromium, and what the running gateway makes of it."""

import json
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.cases.scripts import agent_steps
from tests.pages.admin_page import AdminPage, admin, opened
from tests.rig import AGENT, ASK_PATH, COOKIE, KEY, Rig, bearer, running

__all__ = ["admin"]

pytestmark = pytest.mark.asyncio(loop_scope="package")

QUESTION = "Which two rivers meet in the old town of Ghent?"
ASK = {"model": "api/sonar", "messages": [{"role": "user", "content": QUESTION}]}


async def test_the_page_asks_for_the_key_and_keeps_it_in_memory_alone(browser: Browser, rig: Rig) -> None:
    async with opened(browser, rig.url, None) as admin:
        page = admin.page
        await expect(page.locator("#key-dialog")).to_be_visible()
        await expect(page.locator("#console")).to_be_hidden()
        await admin.enter(KEY)
        await expect(page.locator("#session-panel .state")).to_have_text("valid")
        kept = await page.evaluate(
            "[document.cookie, JSON.stringify({...localStorage, ...sessionStorage}), location.href]"
        )
        assert kept == ["", "{}", f"{rig.url}/admin"]
        assert KEY not in await page.content()
        await page.reload()
        await expect(page.locator("#key-dialog")).to_be_visible()


@pytest.mark.parametrize("kind", ["wrong", "a caller's"])
async def test_a_key_that_is_not_the_owners_is_refused_and_nothing_shows(browser: Browser, rig: Rig, kind: str) -> None:
    key = "gk-wrong"
    if kind == "a caller's":
        key = (await rig.post({"name": f"refused {kind}"}, path="/admin/caller-keys")).json["secret"]
    async with opened(browser, rig.url, None) as admin:
        await admin.enter(key)
        why = admin.page.locator("#key-dialog .why")
        await expect(why).to_contain_text("wrong" if kind == "wrong" else "Only the owner's key")
        await expect(admin.page.locator("#console")).to_be_hidden()
        assert await admin.page.locator(".panel").count() == 0
        answered = [await r.response() for r in admin.requests if "/admin/" in r.url]
        assert {reply.status for reply in answered if reply} <= {401, 403}


async def test_forgetting_the_key_takes_everything_away(admin: AdminPage) -> None:
    await admin.see("settings")
    await admin.page.click("#key-button")
    await admin.page.click("#key-dialog [data-forget]")
    await expect(admin.page.locator("#console")).to_be_hidden()
    assert await admin.page.locator(".panel").count() == 0
    assert await admin.page.locator("#readout dd").count() == 0


async def test_a_cookie_is_injected_and_a_bad_one_changes_nothing(admin: AdminPage, rig: Rig) -> None:
    page = admin.page
    try:
        await page.fill("#inject textarea", "emulator-pro-expired")
        await page.click("#inject button")
        await expect(page.locator("#inject .why")).to_contain_text("signed in")
        await expect(page.locator("#session-panel .state")).to_have_text("valid")
        assert await page.input_value("#inject textarea"), "it can be corrected"
        await page.fill("#inject textarea", "__Secure-next-auth.session-token=emulator-pro-left77-NEW")
        await page.click("#inject button")
        await admin.said("in use")
        assert await page.input_value("#inject textarea") == ""
        assert (await rig.get("/health")).json["session"]["state"] == "valid"
        await expect(page.locator('.gauge[data-kind="pro"] .big b')).to_have_text("77", timeout=30_000)
        await expect(page.locator('#readout [data-dial="pro"] dd')).to_have_text("77")
        assert "left77-NEW" not in await page.content()
    finally:
        await rig.post({"session_token": COOKIE}, path="/admin/refresh-cookie")


async def test_a_key_is_added_edited_disabled_and_removed(admin: AdminPage, rig: Rig) -> None:
    page, place = admin.page, await admin.see("keys")
    await page.click('#keys button:text-is("Add a key")')
    await admin.dialog("Add a key", name="a/b", value="pplx-SECOND-SECRET")
    await expect(page.locator("dialog[open] .why")).to_contain_text("name")
    await expect(page.locator('dialog[open] [name="name"]')).to_be_focused()
    await admin.dialog("Add a key", name="second", models="sonar, sonar-pro", weight="3")
    await admin.said("second was added")
    card = place.locator('[data-key="second"]')
    await expect(card).to_contain_text("not tried yet")
    await expect(card).to_contain_text("sonar-pro")
    await expect(card).to_contain_text("75 %")
    assert "SECOND-SECRET" not in await page.content()
    await card.get_by_role("button", name="Edit").click()
    await admin.dialog("Save", weight="1", models="")
    await admin.said("saved")
    await expect(card).to_contain_text("50 %")
    await card.get_by_role("button", name="Disable").click()
    await admin.said("disabled")
    await expect(card.locator(".lamp")).to_have_text("disabled")
    await expect(card.get_by_role("button", name="Enable")).to_be_focused()
    shown = {key["name"]: key for key in (await rig.get("/admin/keys")).json["keys"]}
    assert (shown["second"]["enabled"], shown["second"]["weight"], shown["second"]["models"]) == (False, 1, ["*"])
    await card.get_by_role("button", name="Remove").click()
    await admin.dialog("Cancel")
    await expect(card).to_be_visible()
    await card.get_by_role("button", name="Remove").click()
    await admin.dialog("Remove")
    await admin.said("removed")
    await expect(card).to_have_count(0)
    assert [key["name"] for key in (await rig.get("/admin/keys")).json["keys"]] == ["default"]


async def test_a_key_that_the_api_refuses_says_so_and_needs_the_owner(admin: AdminPage, rig: Rig) -> None:
    keys = f"{rig.emulator_url}/_emulator/keys"
    try:
        assert (await rig.client.post(keys, json={"pplx-REFUSED": "dead"})).status_code == 200
        await rig.post({"name": "bad", "value": "pplx-REFUSED", "weight": 0}, path="/admin/keys")
        reply = await rig.post(ASK, headers={"x-pplx-key-name": "bad"})
        assert reply.status == 502
        card = (await admin.see("keys")).locator('[data-key="bad"]')
        await expect(card.locator(".lamp")).to_have_text("refused")
        await expect(card.locator(".why")).not_to_be_empty()
        await admin.page.click("#tab-now")
        needs = admin.page.locator(".needs")
        await expect(needs).to_contain_text("bad: refused")
        await expect(admin.page.locator("#now-count")).to_contain_text("1")
        await needs.get_by_role("button").click()
        await expect(admin.page.locator("#keys")).to_be_visible()
    finally:
        await rig.client.delete(f"{rig.url}/admin/keys/bad", headers=bearer(KEY))


async def test_discovery_is_started_and_its_progress_is_seen(admin: AdminPage, rig: Rig) -> None:
    held = {"headers": {"content-type": "text/event-stream"}, "steps": [{"sleep": 3}, {"abort": True}]}
    await rig.client.post(
        f"{rig.emulator_url}/_emulator/session",
        json={"dead_models": ["gpt56_terra"], "added_models": {"gpt57_terra": "pro"}},
    )
    await rig.script(ASK_PATH, held)
    place = await admin.see("models")
    await expect(place.locator('#session-models td:has-text("gpt56_terra")').first).to_be_visible()
    await place.get_by_role("button", name="Look which models are alive").click()
    await admin.said("begun")
    await expect(place.locator("#run progress")).to_be_visible()
    await expect(place.get_by_role("button", name="Running …")).to_be_disabled()
    verdicts = place.locator("#discovery-panel .verdicts")
    await expect(place.locator("#run")).to_have_count(0, timeout=40_000)
    await expect(verdicts).to_contain_text("alive")
    await expect(place.locator("#discovery-panel")).to_contain_text("searches")
    report = (await rig.get("/admin/models")).json["discovery"]["last"]
    assert await verdicts.locator("li").count() == sum(
        len(report[kind]) for kind in ("alive", "dead", "added", "unclear", "skipped")
    )
    assert len(await rig.requests(ASK_PATH)) == report["probes"]


async def test_a_model_is_added_and_removed(admin: AdminPage, rig: Rig) -> None:
    place = await admin.see("models")
    await place.get_by_role("button", name="Add a model").click()
    await admin.dialog("Save", id="mine", upstream_id="gpt 5")
    await expect(admin.page.locator("dialog[open] .why")).to_contain_text("upstream id")
    await admin.dialog("Save", upstream_id="gpt5_mini")
    await admin.said("Saved")
    row = place.locator('#session-models tr:has(b:text-is("mine"))')
    await expect(row).to_contain_text("pinned")
    assert "mine" in {model["id"] for model in (await rig.get("/v1/models")).json["data"]}
    await row.get_by_role("button", name="Remove").click()
    await admin.dialog("Remove")
    await expect(row).to_have_count(0)
    assert "mine" not in {model["id"] for model in (await rig.get("/v1/models")).json["data"]}


async def test_a_request_appears_by_itself_with_its_cost_and_never_with_its_prompt(admin: AdminPage, rig: Rig) -> None:
    place = await admin.see("requests")
    await rig.script(AGENT, agent_steps())
    reply = await rig.post({**ASK, "seed": 7})
    assert reply.status == 200
    row = place.locator(f'li[data-id="{reply.headers["x-request-id"]}"]')
    await expect(row.locator(".cost")).to_have_text("$0.00503")
    await expect(row.locator(".status")).to_have_text("200")
    await expect(row.locator(".upstream")).to_have_text("api · default")
    await expect(row.locator(".dropped")).to_have_text("dropped: seed")
    await row.locator("summary").click()
    await expect(row).to_contain_text("as Perplexity told it")
    failed = await rig.post({**ASK, "model": "nothing"})
    worse = place.locator(f'li[data-id="{failed.headers["x-request-id"]}"]')
    await expect(worse.locator(".error-code")).to_have_text(failed.error["code"])
    await expect(row.locator("details")).to_have_attribute("open", "")
    await place.locator('[name="outcome"][value="failed"]').check()
    await expect(row).to_have_count(0)
    await expect(worse).to_be_visible()
    content = await admin.page.content()
    assert QUESTION not in content
    assert "rivers" not in content


async def test_older_requests_come_a_page_at_a_time(admin: AdminPage, rig: Rig) -> None:
    for _ in range(52):
        await rig.post({"model": "nothing", "messages": []})
    rows = (await admin.see("requests")).locator(".log > li")
    await expect(rows).to_have_count(50)
    await admin.page.click('#requests button:text-is("Show older ones")')
    await expect(rows.nth(51)).to_be_visible()
    ids = await rows.evaluate_all("rows => rows.map((row) => row.dataset.id)")
    assert len(ids) == len(set(ids)) > 51


async def test_a_callers_key_is_shown_once_works_is_limited_and_revoked(admin: AdminPage, rig: Rig) -> None:
    page, place = admin.page, await admin.see("callers")
    await place.get_by_role("button", name="Make a key").click()
    await admin.dialog("Make it", name="laptop", cost_per_day="-1")
    await expect(page.locator("dialog[open]")).to_be_visible()
    await admin.dialog("Make it", cost_per_day="0.01", requests_per_day="5", models="sonar")
    secret = await page.inner_text("#secret")
    await admin.dialog("Done")
    await expect(page.locator("#secret")).to_have_count(0)
    assert secret not in await page.content()
    await rig.script(AGENT, agent_steps())
    assert (await rig.post(ASK, key=secret)).status == 200
    assert (await rig.post({**ASK, "model": "gpt"}, key=secret)).status == 403
    card = place.locator('[data-caller="laptop"]')
    await place.page.click("#tab-now")
    await admin.see("callers")
    await expect(card).to_contain_text("$0.00503 / $0.01")
    await expect(card).to_contain_text("2 / 5")
    await card.get_by_role("button", name="Edit").click()
    assert await page.input_value('dialog[open] [name="cost_per_day"]') == "0.01"
    await admin.dialog("Save", cost_per_day="0.001", requests_per_day="")
    await admin.said("saved")
    assert (await rig.post(ASK, key=secret)).error["code"] == "insufficient_quota"
    await card.get_by_role("button", name="Revoke").click()
    await admin.dialog("Revoke")
    await expect(card.locator(".lamp")).to_have_text("revoked")
    assert (await rig.post(ASK, key=secret)).status == 401


async def test_usage_is_drawn_and_summed_by_model_and_caller(admin: AdminPage, rig: Rig) -> None:
    await rig.script(AGENT, agent_steps())
    await rig.post(ASK)
    await rig.post({**ASK, "model": "gpt"})
    place = await admin.see("usage")
    chart = place.locator(".chart")
    await expect(chart.locator("svg g rect").first).to_be_visible()
    report = (await rig.get("/admin/usage?group_by=model")).json
    costs = {row["by"]["model"]: row["sums"]["cost"] for row in report["rows"]}
    cells = await place.locator("#usage-groups tbody tr").evaluate_all(
        "rows => rows.map((row) => [row.cells[0].innerText, row.cells[1].innerText])"
    )
    shown = {name: float(cost.strip("$+")) for name, cost in cells if cost != "–"}
    priced = {name or "no name": cost for name, cost in costs.items() if cost}
    assert shown == pytest.approx(priced, abs=0.005)
    assert len(shown) < len(cells), "what the plan answers has no price"
    await chart.focus()
    await admin.page.keyboard.press("ArrowLeft")
    await expect(place.locator(".reading .when")).not_to_have_text("The whole time")
    await place.locator('[name="by"][value="caller"]').check()
    await expect(place.locator("#usage-groups tbody")).to_contain_text("owner")
    await place.locator('[name="days"][value="1"]').check()
    await place.locator('[name="measure"][value="requests"]').check()
    await expect(place.locator("#usage-panel h2")).to_have_text("Requests, 24 hours")


async def test_settings_tell_their_source_and_no_secret(admin: AdminPage) -> None:
    place = await admin.see("settings")
    rows = place.locator("[data-setting]")
    await expect(rows.first).to_be_visible()
    every = await rows.count()
    await expect(place.locator('[data-setting="PPLX_COOKIE"]')).to_contain_text("set, not shown")
    await expect(place.locator('[data-setting="KEEPALIVE_HOURS"] .chip')).to_have_text("default")
    await expect(place.locator('[data-setting="ACCOUNT_TYPE"] .chip')).to_have_text("given at the start")
    await place.get_by_role("switch").check()
    assert 0 < await rows.count() < every
    await place.get_by_role("searchbox").fill("cookie")
    await expect(place.locator('[data-setting="PPLX_COOKIE"]')).to_be_visible()
    await expect(place.locator('[data-setting="ACCOUNT_TYPE"]')).to_have_count(0)
    content = await admin.page.content()
    assert not any(secret in content for secret in (KEY, COOKIE, "SECRET"))


async def test_the_report_can_be_copied(admin: AdminPage, rig: Rig) -> None:
    await admin.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    place = await admin.see("report")
    await expect(place.locator("pre")).to_contain_text("[session]")
    await place.get_by_role("button", name="Copy the report").click()
    await expect(place.get_by_role("button", name="Copied")).to_be_visible()
    copied = await admin.page.evaluate("navigator.clipboard.readText()")
    assert "state: valid" in copied
    assert "[checks]" not in copied
    await place.get_by_role("button", name="Run the checks").click()
    await expect(place.locator("pre")).to_contain_text("ok      session: signed in")
    await expect(place.get_by_role("button", name="Run the checks")).to_be_enabled()
    assert not any(word in copied for word in (KEY, COOKIE, "SECRET", rig.emulator_url, QUESTION))


FORGE = """async ([url, key]) => {
    const read = await fetch(`${url}/admin/keys`, { headers: { authorization: `Bearer ${key}` } }).catch((e) => e.name);
    const simple = { method: "POST", mode: "no-cors", body: "emulator-free-FORGED" };
    await fetch(`${url}/admin/refresh-cookie`, simple).catch(() => null);
    const frame = document.createElement("iframe");
    frame.src = `${url}/admin`;
    const framed = new Promise((done) => (frame.onload = () => done(frame.contentDocument === null)));
    document.body.append(frame);
    return [read, await framed];
}"""


async def test_a_page_of_another_origin_is_locked_out(browser: Browser, tmp_path: Path) -> None:
    """Even where no key is set, so that whoever asks from this machine rules."""
    async with running(tmp_path, api_key=None) as open_rig:
        context = await browser.new_context()
        page = await context.new_page()
        await page.goto(f"{open_rig.emulator_url}/_emulator/requests")
        assert await page.evaluate(FORGE, [open_rig.url, KEY]) == ["TypeError", True]
        health = (await open_rig.get("/health", key=None)).json
        assert health["session"]["account_type"] != "free"
        reached = [json.dumps(request) for request in await open_rig.requests("/*")]
        assert not any("FORGED" in request for request in reached)
        await context.close()
        async with opened(browser, open_rig.url, None) as admin:  # whereas its own page rules without a key
            await expect(admin.page.locator("#session-panel .state")).to_have_text("valid")


async def test_the_page_says_so_when_the_gateway_is_gone_and_comes_back(admin: AdminPage) -> None:
    await admin.page.context.set_offline(True)
    await admin.page.click("#tab-keys")
    await expect(admin.page.locator("#trouble")).to_contain_text("cannot be reached")
    await admin.page.context.set_offline(False)
    await admin.see("keys")
    await expect(admin.page.locator("#trouble")).to_be_hidden()
