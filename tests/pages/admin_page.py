"""`/admin` as the owner uses it, in a Chromium and before a program that run for a module of tests."""

import contextlib
from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import urlsplit

import pytest_asyncio
from playwright.async_api import Browser, ConsoleMessage, Locator, Page, Request, expect

from tests.rig import KEY, Rig

VIEWS = ("now", "usage", "requests", "models", "keys", "callers", "wire", "settings", "report")


class AdminPage:
    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.requests: list[Request] = []
        self.troubles: list[str] = []
        page.on("request", self._sent)
        page.on("pageerror", lambda error: self.troubles.append(f"error: {error}"))
        page.on("console", self._note)

    def _sent(self, request: Request) -> None:
        self.requests.append(request)

    def _note(self, message: ConsoleMessage) -> None:
        # Chromium tells every HTTP error there; those are the gateway's answers, and the tests look at them.
        if message.type in ("error", "warning") and not message.text.startswith("Failed to load resource"):
            self.troubles.append(f"{message.type}: {message.text}")

    async def open(self, key: str | None = KEY) -> None:
        """Until the page asks for the key; with one: until it shows how things stand."""
        await self.page.goto(f"{self.url}/admin")
        await self.page.wait_for_selector("html[data-ready]")
        if key is not None:
            await self.enter(key)
            await self.page.wait_for_selector("#day-panel .tiles")

    async def enter(self, key: str) -> None:
        await self.page.fill("#key-dialog input", key)
        await self.page.press("#key-dialog input", "Enter")

    async def see(self, view: str) -> Locator:
        """Brings `view` to the front, and gives it once it shows what it asked for."""
        await self.page.click(f"#tab-{view}")
        place = self.page.locator(f"#{view}")
        await expect(place.locator(".panel").first).to_be_visible()
        return place

    async def said(self, words: str) -> None:
        await expect(self.page.locator("#said")).to_contain_text(words)

    async def dialog(self, verb: str, **fields: str) -> None:
        """Fills in the dialog that is open, and presses its button `verb`."""
        for name, value in fields.items():
            await self.page.fill(f'dialog[open] [name="{name}"]', value)
        await self.page.click(f'dialog[open] .dialog-row button:text-is("{verb}")')

    def hosts(self) -> set[str]:
        """Whom the page asked for anything; `data:` is no host."""
        return {urlsplit(request.url).netloc for request in self.requests} - {""}


@contextlib.asynccontextmanager
async def opened(browser: Browser, url: str, key: str | None = KEY, **context: Any) -> AsyncGenerator[AdminPage, None]:
    """What troubled the page fails the test, and so does a request to another host, or a key in an address."""
    chosen = {"viewport": {"width": 1440, "height": 900}, "locale": "en-GB", **context}
    profile = await browser.new_context(**chosen)
    admin = AdminPage(await profile.new_page(), url)
    await admin.open(key)
    yield admin
    assert await profile.cookies() == []
    await profile.close()
    assert admin.troubles == []
    assert admin.hosts() == {url.removeprefix("http://")}
    assert KEY not in "".join(request.url for request in admin.requests)


@pytest_asyncio.fixture(loop_scope="package")
async def admin(browser: Browser, rig: Rig) -> AsyncGenerator[AdminPage, None]:
    """On a wide screen, signed in."""
    for kept in ("requests", "script"):
        await rig.client.delete(f"{rig.emulator_url}/_emulator/{kept}")
    async with opened(browser, rig.url) as page:
        yield page
