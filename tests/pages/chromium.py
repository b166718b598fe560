"""Chromium as the system has it, and a page of the gateway's in it, with everything noted that a page should not do."""

import json
import shutil
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Browser, ConsoleMessage, Locator, Page, Playwright, Request, expect

from tests.rig import KEY

# How long a page may take before something must be wrong; a busy machine takes its time.
PATIENCE_MS = 20_000
expect.set_options(timeout=PATIENCE_MS)
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def executable() -> str:
    """Without a browser this fails and says what to do."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    assert found, "install chromium, as scripts/test does"
    return found


async def launch(playwright: Playwright) -> Browser:
    # Nothing but the gateway under test is ever loaded; the sandbox needs what root and containers do not have.
    return await playwright.chromium.launch(executable_path=executable(), chromium_sandbox=False)


class ChatPage:
    """`/chat` as a person uses it."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        page.set_default_timeout(PATIENCE_MS)
        self.url = url
        self.requests: list[Request] = []
        self.troubles: list[str] = []
        page.on("request", self._asked)
        page.on("pageerror", lambda error: self.troubles.append(f"error: {error}"))
        page.on("console", self._note)

    def _asked(self, request: Request) -> None:
        self.requests.append(request)

    def _note(self, message: ConsoleMessage) -> None:
        # Chromium tells every HTTP error there; those are the gateway's answers, and the tests look at them.
        if message.type in ("error", "warning") and not message.text.startswith("Failed to load resource"):
            self.troubles.append(f"{message.type}: {message.text}")

    def forget(self) -> None:
        """What was noted so far."""
        self.requests.clear()
        self.troubles.clear()

    async def open(self, *, key: str | None = KEY) -> None:
        """Until the page is ready to be asked. With a key: enters it where the page asks for it."""
        await self.page.goto(f"{self.url}/chat")
        await self.page.wait_for_selector("html[data-ready]")
        if key is not None:
            await self.page.fill("#key-dialog input", key)
            await self.page.press("#key-dialog input", "Enter")
            await self.page.wait_for_selector("#model option", state="attached")

    async def see(self, view: str) -> None:
        """Brings `view` (talk, setup, raw, check) to the front, if it does not show already."""
        if await self.page.is_visible(f"#tab-{view}"):
            await self.page.click(f"#tab-{view}")

    async def choose(self, *, model: str | None = None, api: str | None = None, **switches: bool) -> None:
        """Sets what Setup offers; `switches` are its check boxes by name."""
        await self.see("setup")
        if model is not None and await self.page.locator(f'#model option[value="{model}"]').count():
            await self.page.select_option("#model", model)
        elif model is not None:
            await self.page.select_option("#model", "")
            await self.page.fill("#other-model input", model)
            # As somebody would who looks: what the model can do has come, and nothing moves any more.
            await self.page.wait_for_selector('#capabilities:not([aria-busy="true"])', state="attached")
        if api is not None:
            await self.page.check(f'input[name="api"][value="{api}"]')
        for name, on in switches.items():
            await self.page.set_checked(f'input[name="{name}"]', on)

    async def send(self, question: str) -> None:
        await self.see("talk")
        await self.page.fill("#question", question)
        await self.page.press("#question", "Enter")

    async def ask(self, question: str, *, answers: int = 1) -> Locator:
        """Until `answers` more have ended; gives the last of them."""
        before = await self.page.locator(".wire-button").count()
        await self.send(question)
        await self.page.locator(".wire-button").nth(before + answers - 1).wait_for()
        await self.page.wait_for_selector("#send:not([hidden])")
        return self.page.locator(".answer").last

    async def checks(self) -> dict[str, str]:
        """The state of each check of the last exchange."""
        await self.see("check")
        rows = await self.page.locator("#check [data-check]").evaluate_all(
            "rows => rows.map((row) => [row.dataset.check, row.className])"
        )
        return dict(rows)

    def bodies(self) -> list[dict[str, Any]]:
        """What was asked of the model interfaces, in order."""
        asked = ("/v1/chat/completions", "/v1/responses")
        sent = [r.post_data for r in self.requests if urlsplit(r.url).path in asked and r.method == "POST"]
        return [json.loads(body) for body in sent if body is not None]

    def hosts(self) -> set[str]:
        """Whom the page asked for anything; `data:` is no host."""
        return {urlsplit(request.url).netloc for request in self.requests} - {""}


def names(states: dict[str, str], state: str) -> Sequence[str]:
    return [name for name, found in states.items() if found == state]
