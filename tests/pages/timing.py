"""How quick and how light the first views of the pages are, before the running demo and with nothing kept.

`python -m tests.pages.timing` prints it and ends with 1 where a goal is missed. It takes a quiet machine, so no test
holds the times.
"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import NamedTuple

from playwright.async_api import Browser, Request, async_playwright

from tests.pages.chromium import launch
from tests.test_commands import program

PAGES = ("/chat", "/admin")
MOST_MILLISECONDS = 200
MOST_BYTES = 100_000
ROUNDS = 9
_NOTE_READY = """addEventListener("DOMContentLoaded", () => {
    const note = () => document.documentElement.hasAttribute("data-ready") && (window.readyAt ??= performance.now());
    new MutationObserver(note).observe(document.documentElement, { attributes: true });
    note();
})"""
_PAINTED = """async () => (performance.getEntriesByName("first-contentful-paint")[0] ?? await new Promise((done) =>
    new PerformanceObserver((list) => list.getEntriesByName("first-contentful-paint").forEach(done))
        .observe({ type: "paint", buffered: true }))).startTime"""


class View(NamedTuple):
    """Milliseconds from the beginning of the navigation: until something could be seen, until the page could be used.
    `weight`: bytes over the wire, heads included."""

    painted: float
    ready: float
    weight: int


async def first_view(browser: Browser, url: str) -> View:
    """In a context of its own, so that no file is there yet."""
    context = await browser.new_context(viewport={"width": 1440, "height": 900})
    page = await context.new_page()
    requests: list[Request] = []
    page.on("requestfinished", lambda request: requests.append(request))  # noqa: PLW0108 - no attribute fits a built-in
    await page.add_init_script(_NOTE_READY)
    await page.goto(url)
    await page.wait_for_selector("html[data-ready]")
    view = View(
        painted=await page.evaluate(_PAINTED),
        ready=await page.evaluate("window.readyAt"),
        weight=sum(
            [size["responseBodySize"] + size["responseHeadersSize"] for r in requests if (size := await r.sizes())]
        ),
    )
    await context.close()
    return view


async def _measured(url: str, rounds: int) -> bool:
    async with async_playwright() as playwright:
        browser = await launch(playwright)
        await first_view(browser, url + PAGES[0])  # the browser's own first page is slow
        held = [await _told(browser, url + path, rounds) for path in PAGES]
        await browser.close()
    return all(held)


async def _told(browser: Browser, url: str, rounds: int) -> bool:
    views = [await first_view(browser, url) for _ in range(rounds)]
    painted, weight = median(view.painted for view in views), max(view.weight for view in views)
    worst, ready = max(view.painted for view in views), median(view.ready for view in views)
    held = painted < MOST_MILLISECONDS and weight < MOST_BYTES
    print(
        f"{'ok  ' if held else 'MISS'} {url}: painted after {painted:.0f} ms (worst {worst:.0f}), usable after "
        f"{ready:.0f} ms, {weight} bytes; goals: {MOST_MILLISECONDS} ms, {MOST_BYTES} bytes",
        flush=True,
    )
    return held


async def _main(url: str | None, rounds: int) -> bool:
    if url is not None:
        return await _measured(url.rstrip("/"), rounds)
    with tempfile.TemporaryDirectory() as folder:
        async with program("demo", "--port", "0", folder=Path(folder)) as demo:
            held = await _measured(demo.url, rounds)
            await demo.stop()
    return held


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="a gateway that runs; else a demo is started")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    sys.exit(0 if asyncio.run(_main(options.url, options.rounds)) else 1)
