"""What the page loads, from whom, how much, and what its policy lets it do."""

import re

import pytest
from playwright.async_api import Browser

from tests.pages.chromium import ChatPage
from tests.rig import KEY, Rig, bearer

pytestmark = pytest.mark.asyncio(loop_scope="package")

MOST_BYTES = 100_000
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "connect-src": "'self'",
    "img-src": "'self' data:",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    "require-trusted-types-for": "'script'",
    "trusted-types": "dompurify",
}


async def test_the_first_view_is_small_and_asks_no_other_host(browser: Browser, rig: Rig) -> None:
    context = await browser.new_context()
    page = ChatPage(await context.new_page(), rig.url)
    await page.open()
    sizes = [await request.sizes() for request in page.requests if (await request.response())]
    weight = sum(size["responseBodySize"] + size["responseHeadersSize"] for size in sizes)
    assert 10_000 < weight < MOST_BYTES
    assert page.hosts() == {rig.url.removeprefix("http://")}
    assert page.troubles == []
    # The Markdown library comes with the first question.
    assert not [request.url for request in page.requests if "min.js" in request.url]
    await page.ask("Which two rivers meet in Ghent?")
    assert len([request.url for request in page.requests if "min.js" in request.url]) == 2
    await context.close()


OVER_THE_WIRE = """() => performance.getEntriesByType("resource").filter((one) => one.transferSize > 0)
    .map((one) => new URL(one.name).pathname)"""


async def test_a_second_view_loads_no_file_again(browser: Browser, rig: Rig) -> None:
    context = await browser.new_context()
    page = ChatPage(await context.new_page(), rig.url)
    for first in (True, False):
        await page.page.goto(f"{rig.url}/chat")
        await page.page.wait_for_selector("html[data-ready]")
        paths = await page.page.evaluate(OVER_THE_WIRE)
        assert any(path.startswith("/static/") for path in paths) is first, paths
    await context.close()


async def test_files_last_only_under_the_name_of_their_release(rig: Rig) -> None:
    html = (await rig.client.get(f"{rig.url}/chat")).text
    (folder,) = set(re.findall(r'"(/static/[0-9a-f]{16}/)', html))
    kept = await rig.client.get(f"{rig.url}{folder}chat.js")
    other = await rig.client.get(f"{rig.url}/static/0123456789abcdef/chat.js")
    bare = await rig.client.get(f"{rig.url}/static/chat.js")
    assert "immutable" in kept.headers["cache-control"]
    assert [reply.headers["cache-control"] for reply in (other, bare)] == ["no-cache"] * 2
    assert kept.content == other.content == bare.content
    assert (await rig.client.get(f"{rig.url}{folder}none.js")).status_code == 404


async def test_every_file_has_the_policy_without_exception(rig: Rig, static_names: list[str]) -> None:
    for path in ["/chat", "/docs", *(f"/static/{name}" for name in static_names)]:
        reply = await rig.client.get(rig.url + path)
        assert reply.status_code == 200, path
        told = dict(part.strip().split(" ", 1) for part in reply.headers["content-security-policy"].split(";"))
        assert told == POLICY, path
        assert reply.headers["x-content-type-options"] == "nosniff"


async def test_files_are_packed_for_those_who_can_unpack_them_and_kept_by_their_tag(rig: Rig) -> None:
    url = f"{rig.url}/static/markdown-it.min.js"
    plain = await rig.client.get(url, headers={"accept-encoding": "identity"})
    packed = await rig.client.get(url, headers={"accept-encoding": "gzip"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < int(plain.headers["content-length"]) / 2
    assert packed.content == plain.content
    known = await rig.client.get(url, headers={"if-none-match": plain.headers["etag"]})
    assert (known.status_code, known.content) == (304, b"")
    other = await rig.client.get(url, headers={"if-none-match": '"other"'})
    assert other.status_code == 200


async def test_a_page_of_another_site_can_do_nothing_with_this_one(browser: Browser, rig: Rig) -> None:
    refused = await rig.client.get(f"{rig.url}/v1/models", headers={**bearer(KEY), "origin": "http://evil.example"})
    assert refused.status_code == 403
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(f"{rig.url}/openapi.json")
    framed = await page.evaluate(
        """url => new Promise((done) => {
            const frame = document.createElement("iframe");
            frame.src = url;
            frame.onload = () => done(frame.contentDocument === null);
            document.body.append(frame);
        })""",
        f"{rig.url}/chat",
    )
    assert framed
    await context.close()
