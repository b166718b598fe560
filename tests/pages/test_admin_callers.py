"""What a caller's key is for, as the page settles it when it makes one."""

import pytest
from playwright.async_api import expect

from tests.pages.admin_page import AdminPage, admin
from tests.rig import Rig

__all__ = ["admin"]

pytestmark = pytest.mark.asyncio(loop_scope="package")


async def test_a_key_for_mcps_address_is_made_and_told_apart(admin: AdminPage, rig: Rig) -> None:
    page, place = admin.page, await admin.see("callers")
    await place.get_by_role("button", name="Make a key").click()
    await page.select_option('dialog[open] [name="use"]', "mcp-path")
    await admin.dialog("Make it", name="desk")
    secret = await page.inner_text("#secret")
    await admin.dialog("Done")
    card = place.locator('[data-caller="desk"]')
    await expect(card).to_contain_text("in MCP's address, /KEY/mcp")
    refused = await rig.post({"model": "sonar", "messages": [{"role": "user", "content": "Hi"}]}, key=secret)
    assert (refused.status, refused.error["code"]) == (403, "forbidden")
    await card.get_by_role("button", name="Edit").click()
    await expect(page.locator('dialog[open] [name="name"]')).to_have_value("desk")
    await expect(page.locator('dialog[open] [name="use"]')).to_have_count(0)
