"""The Raw tab: the wire as it was, and copies of the request that really run."""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.pages.chromium import ChatPage
from tests.rig import KEY

pytestmark = pytest.mark.asyncio(loop_scope="package")

QUESTION = "Which two rivers meet in Ghent? It's 'quoted', \"twice\" & costs $HOME `no` \\n"
FORMS = [("chat", True), ("chat", False), ("responses", True), ("responses", False)]


async def copied(chat: ChatPage, what: str) -> str:
    await chat.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await chat.page.click(f'[data-copy="{what}"]')
    await expect(chat.page.locator(f'[data-copy="{what}"]')).to_have_text("Copied")
    text: str = await chat.page.evaluate("navigator.clipboard.readText()")
    return text


async def ran(*command: str, folder: Path) -> str:
    environ = {**os.environ, "PPLX_PROXY_API_KEY": KEY, "NO_PROXY": "*"}
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, env=environ, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, told = await process.communicate()
    assert process.returncode == 0, told.decode()
    return out.decode()


@pytest.mark.parametrize(("api", "stream"), FORMS)
async def test_the_request_and_every_event_stand_as_they_went(chat: ChatPage, api: str, stream: bool) -> None:
    await chat.choose(api=api, stream=stream)
    await chat.ask(QUESTION)
    await chat.see("raw")
    raw = chat.page.locator("#raw")
    sent = next(request for request in chat.requests if request.method == "POST")
    assert await raw.locator(".wire").first.inner_text() == sent.post_data
    reply = await sent.response()
    assert reply is not None
    body = await reply.text()
    assert await copied(chat, "response") == body
    await expect(raw).to_contain_text("HTTP 200")
    await expect(raw.locator(".headers").last).to_contain_text(reply.headers["x-request-id"], use_inner_text=False)
    if stream:
        assert await raw.locator(".events li").count() == body.count("\n\n")
        times = await raw.locator(".events time").all_inner_texts()
        assert all(time.startswith("+") and time.endswith("s") for time in times)
        first = next(line for line in body.split("\n") if line.startswith("data: "))
        await raw.locator(".events summary").first.click()
        shown = await raw.locator(".events li").first.locator(".wire").inner_text()
        assert json.loads(shown) == json.loads(first.removeprefix("data: "))
    else:
        assert json.loads(await raw.locator(".wire").last.inner_text()) == json.loads(body)


@pytest.mark.parametrize(("api", "stream"), FORMS)
async def test_copies_run(chat: ChatPage, tmp_path: Path, api: str, stream: bool) -> None:
    await chat.choose(api=api, stream=stream, tools=True, thinking=True)
    await chat.page.select_option('[name="recency"]', "year")
    await chat.ask(QUESTION)
    await chat.see("raw")
    curl, python = await copied(chat, "curl"), await copied(chat, "python")
    assert KEY not in curl + python
    assert "Leie" in await ran("bash", "-c", curl, folder=tmp_path)
    assert "Leie" in await ran(sys.executable, "-c", python, folder=tmp_path)


async def test_each_exchange_can_be_looked_at_again(chat: ChatPage) -> None:
    await chat.ask("Which two rivers meet in Ghent?")
    await chat.ask("How long is the Leie?")
    await chat.page.locator(".wire-button").first.click()
    first = await chat.page.locator("#raw .wire").first.inner_text()
    assert len(json.loads(first)["messages"]) == 1
    await chat.page.locator(".wire-button").nth(1).click()
    second = await chat.page.locator("#raw .wire").first.inner_text()
    assert len(json.loads(second)["messages"]) == 3
