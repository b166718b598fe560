"""How `/admin` looks and sounds, what it weighs and may do, and what others could write into it. PAGES_SHOTS names a
folder for screenshots to look at."""

import json
import re

import pytest
from playwright.async_api import Browser, expect

from tests.cases.scripts import agent_steps
from tests.pages.admin_page import VIEWS, AdminPage, admin, opened
from tests.pages.test_layouts import AXE, BROKEN, SIZE, SMALL, WIDE, WIDTHS, found_by_axe, in_both_themes, shoot
from tests.pages.test_policy import MOST_BYTES, POLICY
from tests.rig import AGENT, KEY, Rig

__all__ = ["admin"]

pytestmark = pytest.mark.asyncio(loop_scope="package")

# axe looks at everything once narrow and once wide, once light and once dark.
AXED = ((360, "dark"), (1440, "light"))
IMAGE = "<img src=x onerror=document.title='taken'>"
ASK = {"model": "api/sonar", "messages": [{"role": "user", "content": "Which two rivers meet in Ghent?"}]}


@pytest.fixture(scope="module", autouse=True)
def there_is_axe() -> None:
    assert AXE.is_file(), "run scripts/node-setup, as scripts/test does"


async def filled(rig: Rig) -> None:
    """Something to see in every section."""
    await rig.script(AGENT, agent_steps(), agent_steps())
    made = await rig.post({"name": "phone", "cost_per_day": 1, "requests_per_day": 9}, path="/admin/caller-keys")
    for key in (KEY, made.json["secret"]):
        await rig.post({**ASK, "seed": 1}, key=key)
    await rig.post({**ASK, "model": "nothing"})


@pytest.mark.parametrize("width", WIDTHS)
async def test_every_section_fits_and_axe_finds_nothing_serious(browser: Browser, rig: Rig, width: int) -> None:
    if not (await rig.get("/admin/caller-keys")).json["keys"]:
        await filled(rig)
    async with opened(browser, rig.url, None, viewport={"width": width, "height": 900}) as admin:
        page = admin.page
        await page.evaluate(AXE.read_text())
        async for theme in in_both_themes(page):
            assert await found_by_axe(page) == []
            await shoot(page, f"admin-{width}-{theme}-door")
        await admin.enter(KEY)
        for view in VIEWS:
            place = await admin.see(view)
            if view == "requests":
                await place.locator("summary").first.click()
            async for theme in in_both_themes(page):
                assert await page.evaluate(WIDE) == [], view
                assert await page.evaluate(SMALL) == [], view
                assert await page.evaluate(BROKEN) == [], view
                assert await page.evaluate(SIZE) == [width, 900], view
                if (width, theme) in AXED:
                    assert await found_by_axe(page) == [], view
                await shoot(page, f"admin-{width}-{theme}-{view}")
        await page.click("#tab-callers")
        await page.get_by_role("button", name="Make a key").click()
        async for theme in in_both_themes(page):
            assert await found_by_axe(page) == []
            assert await page.evaluate(WIDE) == []
            assert await page.evaluate(BROKEN) == []
            await shoot(page, f"admin-{width}-{theme}-dialog")


async def test_sections_are_chosen_from_the_keyboard(admin: AdminPage) -> None:
    page, press = admin.page, admin.page.keyboard.press
    await page.locator("#tab-now").focus()
    for view in (*VIEWS[1:], VIEWS[0]):
        await press("ArrowDown")
        await expect(page.locator(f"#tab-{view}")).to_be_focused()
        await expect(page.locator(f"#{view} .panel").first).to_be_visible()
    await press("End")
    await expect(page.locator("#report")).to_be_visible()
    await press("Home")
    await press("Shift+Tab")
    await press("Shift+Tab")
    await press("Enter")
    assert await page.evaluate("document.documentElement.dataset.theme") != "auto"


async def test_what_keeps_itself_up_to_date_keeps_the_focus_and_what_is_typed(admin: AdminPage, rig: Rig) -> None:
    await admin.page.fill("#inject textarea", "half of it")
    async with admin.page.expect_response(re.compile("/admin/quota"), timeout=20_000):
        pass
    await expect(admin.page.locator("#inject textarea")).to_have_value("half of it")
    await expect(admin.page.locator("#inject textarea")).to_be_focused()


async def test_it_speaks_chinese_to_those_who_read_it(browser: Browser, rig: Rig) -> None:
    async with opened(browser, rig.url, locale="zh-CN") as admin:
        page = admin.page
        assert await page.evaluate("document.documentElement.lang") == "zh-Hans"
        for view in VIEWS:
            place = await admin.see(view)
            assert re.search("[\u4e00-\u9fff]", await place.inner_text()), view
        await expect(page.locator("#tab-now")).to_contain_text("现状")


async def test_both_languages_have_the_same_words(admin: AdminPage) -> None:
    english, chinese = await admin.page.evaluate(
        """async () => {
            const words = await Promise.all(["en", "zh"].map((name) => import(`/static/admin-${name}.js`)));
            return words.map(({ default: found }) => Object.entries(found));
        }"""
    )
    holes = [{key: sorted(re.findall(r"\{\d\}", text)) for key, text in words} for words in (english, chinese)]
    assert holes[0] == holes[1]


async def test_the_first_view_is_small_has_the_policy_and_asks_no_other_host(browser: Browser, rig: Rig) -> None:
    reply = await rig.client.get(f"{rig.url}/admin")
    told = dict(part.strip().split(" ", 1) for part in reply.headers["content-security-policy"].split(";"))
    assert (reply.status_code, told) == (200, POLICY)
    async with opened(browser, rig.url) as admin:
        loaded = [request for request in admin.requests if await request.response()]
        sizes = [await request.sizes() for request in loaded]
        assert 10_000 < sum(size["responseBodySize"] + size["responseHeadersSize"] for size in sizes) < MOST_BYTES
        assert not [request.url for request in loaded if "admin-usage.js" in request.url], (
            "it is loaded when it is seen"
        )


async def test_what_others_have_named_stays_text(admin: AdminPage, rig: Rig) -> None:
    key = (await rig.post({"name": IMAGE, "models": [IMAGE, "sonar"]}, path="/admin/caller-keys")).json["secret"]
    await rig.script(AGENT, agent_steps())
    assert (await rig.post(ASK, key=key)).status == 200
    await rig.post({"name": "odd", "value": "env.NOWHERE", "models": [IMAGE]}, path="/admin/keys")
    await rig.post({"models": {"odd": ["copilot", "gpt5_mini"]}}, path="/admin/update-models")
    for view in VIEWS:
        place = await admin.see(view)
        if view == "usage":
            await place.locator('[name="by"][value="caller"]').check()
            await expect(place.locator("#usage-groups")).to_contain_text(IMAGE)
        if view in ("callers", "keys", "requests"):
            await expect(place).to_contain_text(IMAGE)
        assert await place.locator("img, script, iframe").count() == 0
    assert await admin.page.title() == "Admin · pplx-gateway"
    await admin.page.click("#tab-callers")
    await admin.page.locator(f"[data-caller={json.dumps(IMAGE)}]").get_by_role("button", name="Revoke").click()
    await expect(admin.page.locator("dialog[open] h2")).to_contain_text(IMAGE)
    await admin.dialog("Revoke")
    await admin.said(IMAGE)
