import re

import pytest

from pplx_gateway import __version__
from tests.web.calling import calling, error


async def test_health_says_little_and_at_once() -> None:
    async with calling() as caller:
        reply = await caller.get("/health", headers={})
    assert reply.json() == {"status": "ok", "service": "pplx-gateway", "version": __version__}


@pytest.mark.parametrize("path", ["/chat", "/docs"])
async def test_pages_run_nothing_but_their_own_files(path: str) -> None:
    async with calling() as caller:
        reply = await caller.get(path, headers={})
        policy = reply.headers["content-security-policy"]
        loaded = re.findall(r'(?:src|href)="(/static/[^"]+)"', reply.text)
        files = [await caller.get(name, headers={}) for name in loaded]
    assert reply.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|https?://(?!127\.0\.0\.1)", reply.text)
    assert loaded
    assert all(file.status_code == 200 for file in files)


async def test_the_chat_page_is_there_for_people_without_a_key_and_without_javascript() -> None:
    async with calling() as caller:
        text = (await caller.get("/chat", headers={})).text
    assert '<textarea id="question"' in text
    assert "<noscript>" in text


async def test_the_root_leads_people_to_the_page_and_answers_programs() -> None:
    async with calling() as caller:
        person = await caller.get("/", headers={"accept": "text/html,*/*"})
        program = await caller.get("/", headers={"accept": "*/*"})
    assert (person.status_code, person.headers["location"]) == (307, "/chat")
    assert program.json()["service"] == "pplx-gateway"


@pytest.mark.parametrize("name", ["nothing.css", "..%2fpages.py", "%2e%2e/app.py", "style.css%00", "docs.html/x"])
async def test_nothing_but_the_static_files_is_served(name: str) -> None:
    async with calling() as caller:
        reply = await caller.get(f"/static/{name}")
    assert reply.status_code == 404
    assert error(reply)["code"] == "not_found"
