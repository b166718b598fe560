"""The page's section of what nobody knows, in Chromium."""

import pytest
from playwright.async_api import Browser, expect

from tests.observability.test_canary import HIDDEN, odd_answer
from tests.pages.admin_page import AdminPage, admin, opened
from tests.rig import Rig

__all__ = ["admin"]

pytestmark = pytest.mark.asyncio(loop_scope="package")


async def test_the_owner_sees_what_is_unknown_and_captures_its_shape(admin: AdminPage, rig: Rig) -> None:
    place = await admin.see("wire")
    await expect(place.locator("#wire-panel")).to_contain_text("Nothing unknown was seen.")
    await place.locator('button:text-is("Capture the next one")').click()
    await expect(place.locator("#capture-panel .lamp")).to_contain_text("Waiting for something unknown")

    await odd_answer(rig)
    shape = place.locator("pre.report")  # the section looks again by itself while it waits
    await expect(shape).to_contain_text('"sparkle_block"')
    await expect(shape).not_to_contain_text(HIDDEN)
    await expect(place.locator("#capture-panel dl")).to_contain_text("block sparkle_cards")

    await admin.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await place.locator('button:text-is("Copy")').click()
    copied = await admin.page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("wire: session\nversion: ")
    assert "unknown: step TELEPATHY" in copied
    assert HIDDEN not in copied

    await place.locator('button:text-is("Remove")').click()
    await expect(shape).to_have_count(0)
    await admin.see("now")
    await admin.see("wire")
    row = place.locator("#wire-panel tbody tr", has_text="sparkle_cards")
    await expect(row).to_contain_text("block")
    await expect(row.locator("td.number")).to_have_text("1")


async def test_the_section_speaks_chinese_too(browser: Browser, rig: Rig) -> None:
    async with opened(browser, rig.url, locale="zh-CN") as page:
        place = await page.see("wire")
        await expect(place.locator("#capture-panel h2")).to_have_text("捕获")
        assert "capture." not in await place.inner_text()
        assert "wire." not in await place.inner_text()
