"""One Chromium for all, and one running program for each module of tests; the page is loaded anew for each test."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright

from tests.pages.chromium import ChatPage, launch
from tests.rig import KEY, Rig, bearer, running


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def browser() -> AsyncGenerator[Browser, None]:
    async with async_playwright() as playwright:
        launched = await launch(playwright)
        yield launched
        await launched.close()


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def rig(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Rig, None]:
    async with running(tmp_path_factory.mktemp("pages")) as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def window(browser: Browser, rig: Rig) -> AsyncGenerator[ChatPage, None]:
    """A wide window. A new one for each test would cost most of the tests' time."""
    context = await browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-GB")
    yield ChatPage(await context.new_page(), rig.url)
    await context.close()


@pytest_asyncio.fixture(loop_scope="package")
async def chat(window: ChatPage, rig: Rig) -> AsyncGenerator[ChatPage, None]:
    """`/chat`, loaded anew, with the key entered; what troubled it fails the test."""
    for kept in ("requests", "script"):
        await rig.client.delete(f"{rig.emulator_url}/_emulator/{kept}")
    for file in (await rig.get("/v1/files")).json["data"]:
        await rig.client.delete(f"{rig.url}/v1/files/{file['id']}", headers=bearer(KEY))
    window.forget()
    await window.open()
    yield window
    assert window.troubles == []
    assert window.hosts() == {rig.url.removeprefix("http://")}


@pytest.fixture
def static_names(modules: Path) -> list[str]:
    return [file.name for file in modules.iterdir()]


@pytest.fixture
def modules() -> Path:
    return Path(__file__).parents[2] / "src/pplx_gateway/web/static"
