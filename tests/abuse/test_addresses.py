"""Nothing that a caller or an upstream names is fetched: a server that waits for it is never called."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import httpx2

from tests.cases.scripts import Json, agent_steps, session_steps
from tests.drills.faces import FACES
from tests.rig import AGENT, API_KEY, ASK_PATH, COOKIE, KEY, Rig, bearer, running

QUESTION = "Which two rivers meet in Ghent?"


class Bait:
    """Counts who comes."""

    def __init__(self) -> None:
        self.visits: list[bytes] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.visits.append(await reader.read(65_536))
        writer.close()


@contextlib.asynccontextmanager
async def bait() -> AsyncGenerator[Bait, None]:
    waiting = Bait()
    server = await asyncio.start_server(waiting.serve, "127.0.0.1", 0)
    waiting.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield waiting
    assert waiting.visits == []


def addresses(url: str) -> Iterator[str]:
    """The bait's, as it could be written to get past a look at it."""
    port = url.rpartition(":")[2]
    yield f"{url}/picture.png"
    yield f"{url}/picture.png?again"  # once over each upstream
    yield f"https://127.0.0.1:{port}/picture.png"
    yield f"http://localhost:{port}/picture.png"
    yield f"http://2130706433:{port}/"
    yield f"http://0x7f.1:{port}/"
    yield f"http://[::ffff:127.0.0.1]:{port}/"
    yield f"http://user:word@127.0.0.1:{port}/"
    yield f"http://example.org@127.0.0.1:{port}/"
    yield f"HTTP://127.0.0.1:{port}/"
    yield "file:///etc/passwd"
    yield f"gopher://127.0.0.1:{port}/_x"


def bodies(address: str, model: str) -> Iterator[tuple[str, Json]]:
    """Every place for an address that a request has."""
    part: dict[str, Any]
    for part in (
        {"type": "image_url", "image_url": {"url": address}},
        {"type": "file_url", "file_url": {"url": address}},
        {"type": "pdf_url", "pdf_url": {"url": address}},
        {"type": "video_url", "video_url": {"url": address}},
        {"type": "file", "file": {"file_data": address, "filename": "a.pdf"}},
    ):
        content = [{"type": "text", "text": QUESTION}, part]
        for path in ("/v1/chat/completions", "/v1/sonar"):
            yield path, {"model": model, "messages": [{"role": "user", "content": content}]}
    for part in (
        {"type": "input_image", "image_url": address},
        {"type": "input_file", "file_url": address},
        {"type": "input_file", "file_data": address, "filename": "a.pdf"},
    ):
        said = [{"role": "user", "content": [{"type": "input_text", "text": QUESTION}, part]}]
        for path in ("/v1/responses", "/v1/agent"):
            yield path, {"model": model if path == "/v1/responses" else "perplexity/sonar", "input": said}
    for kind in ("image", "document"):
        source = [{"type": "text", "text": QUESTION}, {"type": kind, "source": {"type": "url", "url": address}}]
        yield "/v1/messages", {"model": model, "max_tokens": 9, "messages": [{"role": "user", "content": source}]}
    schema = {"type": "object", "properties": {"a": {"$ref": address}}, "$schema": address}
    function = {"name": "f", "parameters": schema}
    ask: Json = {"model": model, "messages": [{"role": "user", "content": QUESTION}]}
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    yield "/v1/chat/completions", {**ask, "tools": [{"type": "function", "function": function}]}
    yield "/v1/chat/completions", {**ask, "response_format": form}
    for tool in (
        {"type": "mcp", "server_label": "m", "server_url": address},
        {"type": "function", **function},
    ):
        for path in ("/v1/responses", "/v1/agent"):
            yield path, {"model": "perplexity/sonar", "input": QUESTION, "tools": [tool]}
    yield "/v1/responses", {"model": model, "input": QUESTION, "metadata": {"webhook": address}}


async def test_no_address_of_a_callers_is_fetched(tmp_path: Path) -> None:
    async with bait() as waiting, running(tmp_path) as rig:
        for number, address in enumerate(addresses(waiting.url)):
            asking = [
                rig.client.post(rig.url + path, json=body, headers=bearer(KEY))
                for path, body in bodies(address, ("api/sonar", "session/sonar")[number % 2])
            ]
            for reply in await asyncio.gather(*asking):
                assert reply.status_code < 500, reply.text
                assert "root:" not in reply.text


async def test_no_redirect_is_followed(tmp_path: Path) -> None:
    async with bait() as waiting, running(tmp_path) as rig:
        for status in (301, 302, 303, 307, 308):
            moved: Json = {"status": status, "headers": {"location": f"{waiting.url}/stolen"}, "steps": []}
            for path, model in ((AGENT, "api/sonar"), (ASK_PATH, "session/sonar"), ("/search", "")):
                await rig.script(path, {**moved, "repeat": len(FACES)})
                if model:
                    reply = await asked(rig, model)
                else:
                    search: Any = {"query": QUESTION}
                    reply = await rig.client.post(f"{rig.url}/perplexity/search", json=search, headers=bearer(KEY))
                assert reply.status_code >= 400, (status, path, reply.text)
                assert not any(secret in reply.text for secret in (API_KEY, COOKIE))


async def asked(rig: Rig, model: str) -> httpx2.Response:
    body = {"model": model, "messages": [{"role": "user", "content": QUESTION}]}
    return await rig.client.post(f"{rig.url}/v1/chat/completions", json=body, headers=bearer(KEY))


async def test_no_address_in_an_answer_is_fetched(tmp_path: Path) -> None:
    """Sources, pictures and links of an answer are handed on; whoever shows them decides what to load."""
    async with bait() as waiting, running(tmp_path) as rig:
        evil = f"{waiting.url}/x.png"
        for path, steps, model in ((AGENT, agent_steps(), "api/sonar"), (ASK_PATH, session_steps(), "session/sonar")):
            poisoned = [{"bytes": str(step["bytes"]).replace("https://a.example/leie", evil)} for step in steps]
            await rig.script(path, poisoned)
            reply = await asked(rig, model)
            assert reply.status_code == 200
            assert evil in reply.text
