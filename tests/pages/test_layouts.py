"""Widths, themes, keyboard and screen readers. PAGES_SHOTS names a folder for screenshots to look at."""

import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.async_api import Browser, Page, expect

from tests.pages.chromium import ChatPage
from tests.rig import Rig

pytestmark = pytest.mark.asyncio(loop_scope="package")

Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")
QUESTION = "Which two rivers meet in Ghent?"
WIDTHS = (360, 768, 1440)
VIEWS = ("talk", "setup", "raw", "check")
AXE = Path(__file__).parent / "node/node_modules/axe-core/axe.min.js"
RUN_AXE = """async () => (await axe.run(document, { resultTypes: ["violations"] })).violations.map(
    ({ id, impact, nodes }) => [impact, id, nodes.slice(0, 3).map((node) => node.target.join(" "))])"""
# Elements that stick out of the window to the right, but for what scrolls in a frame of its own.
WIDE = """() => [...document.querySelectorAll("body *")].filter((one) => {
    const box = one.getBoundingClientRect();
    if (!box.width || box.right <= innerWidth + 1 || one.closest(".unseen, svg")) return false;
    for (let up = one.parentElement; up; up = up.parentElement)
        if (["auto", "scroll", "hidden"].includes(getComputedStyle(up).overflowX) && up !== document.body) return false;
    return true;
}).map((one) => `${one.localName}.${one.className}`)"""
# Short words that stand on two lines, and fields that stick out of their dialog.
BROKEN = """() => {
    const right = (one) => one.getBoundingClientRect().right;
    const found = [...document.querySelectorAll("dialog[open] :is(input, select, textarea)")]
        .filter((one) => right(one) > right(one.closest("form")) + 1).map((one) => one.name);
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
        if (!text.parentElement.checkVisibility()) continue;
        for (const { 0: word, index } of text.data.matchAll(/(?<!\\S)\\w{2,12}(?!\\S)/g)) {
            range.setStart(text, index);
            range.setEnd(text, index + word.length);
            if (new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1) found.push(word);
        }
    }
    return found;
}"""
# The page itself never scrolls: whoever moved its bar out of sight could not bring it back.
SIZE = "[document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
SMALL = """() => [...document.querySelectorAll("button, select, input:not([type=radio], [type=checkbox], [type=file])")]
    .filter((one) => one.checkVisibility() && one.getBoundingClientRect().height < 23.5).map((one) => one.outerHTML)"""


async def found_by_axe(page: Page) -> list[Any]:
    found: list[Any] = await page.evaluate(RUN_AXE)
    return [entry for entry in found if entry[0] in ("serious", "critical")]


async def in_both_themes(page: Page) -> AsyncGenerator[Theme, None]:
    """As the system is light, then dark."""
    ink = "getComputedStyle(document.body).color"
    seen = set()
    for theme in THEMES:
        await page.emulate_media(color_scheme=theme)
        seen.add(await page.evaluate(ink))
        yield theme
    assert len(seen) == len(THEMES)


async def shoot(page: Page, name: str) -> None:
    if folder := os.environ.get("PAGES_SHOTS"):
        await page.screenshot(path=f"{folder}/{name}.png")


@pytest.mark.parametrize("width", WIDTHS)
async def test_every_view_fits_and_axe_finds_nothing_serious(browser: Browser, rig: Rig, width: int) -> None:
    assert AXE.is_file(), "run scripts/node-setup, as scripts/test does"
    context = await browser.new_context(viewport={"width": width, "height": 900}, locale="en-GB")
    await context.add_init_script(path=AXE)
    chat = ChatPage(await context.new_page(), rig.url)
    await chat.page.goto(f"{rig.url}/chat")
    await chat.page.wait_for_selector("#key-dialog[open]")
    async for _ in in_both_themes(chat.page):
        assert await found_by_axe(chat.page) == []
    await chat.open()
    async for theme in in_both_themes(chat.page):
        assert await found_by_axe(chat.page) == []
        await shoot(chat.page, f"{width}-{theme}-first")
    await chat.choose(tools=True, thinking=True, pictures=True)
    await chat.ask(f"{QUESTION}", answers=1)
    await chat.ask(f"fault:midstream_drop {QUESTION}")
    await chat.ask('Please calculate "17 * 23".', answers=2)
    for view in VIEWS:
        await chat.see(view)
        async for theme in in_both_themes(chat.page):
            assert await chat.page.evaluate(WIDE) == [], view
            assert await chat.page.evaluate(SMALL) == [], view
            assert await chat.page.evaluate(BROKEN) == [], view
            assert await chat.page.evaluate(SIZE) == [width, 900], view
            assert await found_by_axe(chat.page) == [], view
            await shoot(chat.page, f"{width}-{theme}-{view}")
    assert chat.troubles == []
    await context.close()


@pytest.mark.parametrize(("width", "beside"), [(360, 1), (768, 1), (1000, 2), (1440, 3)])
async def test_views_stand_beside_each_other_as_the_width_allows(
    browser: Browser, rig: Rig, width: int, beside: int
) -> None:
    context = await browser.new_context(viewport={"width": width, "height": 900})
    chat = ChatPage(await context.new_page(), rig.url)
    await chat.open()
    shown = [view for view in VIEWS if await chat.page.is_visible(f"#{view}")]
    tabs = [view for view in VIEWS if await chat.page.is_visible(f"#tab-{view}")]
    assert len(shown) == beside
    assert len(tabs) == 5 - beside
    await context.close()


async def test_the_description_of_the_interface_shows_every_path_and_object(window: ChatPage, rig: Rig) -> None:
    described = (await rig.client.get(f"{rig.url}/openapi.json")).json()
    window.forget()
    await window.page.goto(f"{rig.url}/docs")
    await window.page.locator("#schemas details").first.wait_for()
    assert await window.page.locator("#schemas details").count() == len(described["components"]["schemas"])
    shown = await window.page.locator("#paths h2 code").all_inner_texts()
    assert {text.split(" ")[1] for text in shown} == set(described["paths"])
    assert window.troubles == []


async def test_the_theme_can_be_chosen(chat: ChatPage) -> None:
    colours = set()
    for _ in range(3):
        colours.add(await chat.page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))
        await chat.page.click("#theme-button")
    assert len(colours) == 2


async def test_all_can_be_done_from_the_keyboard(browser: Browser, rig: Rig) -> None:
    context = await browser.new_context(viewport={"width": 768, "height": 900}, locale="en-GB")
    chat = ChatPage(await context.new_page(), rig.url)
    await chat.open()
    page, press = chat.page, chat.page.keyboard.press
    await page.evaluate("document.activeElement.blur()")
    await press("Tab")
    await expect(page.get_by_role("link", name="Skip to the question")).to_be_focused()
    await press("Enter")
    await page.keyboard.type("Which two")
    await press("Shift+Enter")
    await page.keyboard.type("rivers meet in Ghent?")
    await press("Enter")
    await page.locator(".wire-button").wait_for()
    assert chat.bodies()[0]["messages"][0]["content"] == "Which two\nrivers meet in Ghent?"
    await page.locator("#tab-talk").focus()
    for name in ("setup", "raw", "check", "talk"):
        await press("ArrowRight")
        await expect(page.locator(f"#tab-{name}")).to_be_focused()
        await expect(page.locator(f"#{name}")).to_be_visible()
    await press("End")
    await expect(page.locator("#tab-check")).to_have_attribute("aria-selected", "true")
    await context.close()


async def test_enter_that_ends_a_composition_does_not_send(chat: ChatPage) -> None:
    await chat.page.fill("#question", "nihao")
    await chat.page.evaluate(
        """document.querySelector("#question").dispatchEvent(
            new KeyboardEvent("keydown", { key: "Enter", isComposing: true, bubbles: true, cancelable: true }))"""
    )
    assert await chat.page.input_value("#question") == "nihao"
    assert chat.bodies() == []


async def test_screen_readers_are_told_when_an_answer_comes_and_when_it_is_there(chat: ChatPage) -> None:
    await chat.send(f"slow: {QUESTION}")
    await expect(chat.page.get_by_role("status")).to_have_text("The answer is coming.")
    await expect(chat.page.locator(".answer")).to_have_attribute("aria-busy", "true")
    await chat.page.click("#stop")
    await expect(chat.page.get_by_role("status")).to_have_text("The answer is here.")
    await expect(chat.page.locator(".answer")).to_have_attribute("aria-busy", "false")
