"""What MCP's clients do with the running gateway, every result held against what holds for all of them."""

import contextlib
import json
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, Literal

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent

from tests.rig import AGENT, KEY, Rig, bearer, running

Json = dict[str, Any]
Mode = Literal["auto", "legacy", "2026-07-28"]
MODES: tuple[tuple[Mode, str], ...] = (("auto", "2026-07-28"), ("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28"))
TOOLS = [
    "perplexity_search",
    "perplexity_ask",
    "perplexity_reason",
    "perplexity_research",
    "perplexity_models",
    "perplexity_web_search",
    "perplexity_agent",
    "perplexity_agent_result",
    "perplexity_agent_cancel",
]
QUESTION = "Which two rivers meet in Ghent?"
PATIENCE_S = 60.0
VERSION = "2026-07-28"
FENCE = "<untrusted-web-content-"
ACCEPT = "application/json, text/event-stream"


class Told:
    """The result of a tool."""

    def __init__(self, result: CallToolResult) -> None:
        (block,) = result.content
        assert isinstance(block, TextContent)
        self.text = block.text
        self.is_error = result.is_error
        self.structured: Json = result.structured_content or {}

    @property
    def code(self) -> str:
        code: str = self.structured["error"]["code"]
        return code

    @property
    def fenced(self) -> str:
        """What stands between the tags."""
        found = re.search(rf"<({FENCE.removeprefix('<')}[0-9a-f]{{16}})>(.*)</\1>", self.text, re.DOTALL)
        assert found, self.text
        return found[2]


class Caller:
    """A client of MCP's own SDK in one of its modes."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.progress: list[tuple[float, str]] = []

    async def call(self, name: str, /, **arguments: object) -> Told:
        """A tool of ours: its structured part says what its text says."""
        told = Told(await self.client.call_tool(name, arguments, progress_callback=self._note))
        assert told.text
        if not told.text.startswith("Invalid arguments"):
            assert told.structured["text"] == told.text
        assert ("error" in told.structured or "Invalid arguments" in told.text) == told.is_error
        return told

    async def answer(self, name: str, /, **arguments: object) -> Told:
        """The same, collected as often as it takes."""
        told = await self.call(name, **arguments)
        while told.structured.get("status") == "running":
            response_id = told.structured["response_id"]
            told = await self.call("perplexity_agent_result", response_id=response_id, wait_seconds=45)
        return told

    async def _note(self, progress: float, total: float | None, message: str | None) -> None:
        self.progress.append((progress, message or ""))


@contextlib.asynccontextmanager
async def client_of(url: str, mode: Mode = "auto", *, key: str | None = KEY) -> AsyncGenerator[Caller, None]:
    """With the key as bearer token; None for none."""
    async with httpx2.AsyncClient(headers=bearer(key), timeout=PATIENCE_S, trust_env=False) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode, read_timeout_seconds=PATIENCE_S) as client:
            yield Caller(client)


@contextlib.asynccontextmanager
async def calling(
    folder: Path, *, mode: Mode = "auto", factor: float = 50, **settings: Any
) -> AsyncGenerator[tuple[Rig, Caller], None]:
    async with running(folder, factor=factor, **settings) as rig, client_of(f"{rig.url}/mcp", mode) as caller:
        yield rig, caller
        await rig.check()


def modern(method: str, params: Json | None = None, *, token: str | None = None) -> tuple[Json, dict[str, str]]:
    """Body and headers of a request of the stateless era."""
    meta: Json = {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    if token is not None:
        meta["progressToken"] = token
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**(params or {}), "_meta": meta}}
    headers = {"accept": ACCEPT, "mcp-protocol-version": VERSION, "mcp-method": method}
    if params and "name" in params:
        headers["mcp-name"] = str(params["name"])
    return body, headers


async def rpc(
    rig: Rig, path: str, method: str, params: Json | None = None, *, key: str | None = KEY
) -> httpx2.Response:
    body, headers = modern(method, params)
    return await rig.client.post(rig.url + path, json=body, headers={**headers, **bearer(key)})


def long_answer(paragraphs: int, words: int) -> str:
    """Each paragraph says its number, and cites a source of its own."""
    return "\n\n".join(f"Paragraph {n}[{n}]. " + f"word{n} " * words for n in range(1, paragraphs + 1))


def sources(numbers: range) -> list[Json]:
    return [
        {"id": n, "url": f"https://s{n}.example/page", "title": f"Page {n}", "snippet": "A page.", "source": "web"}
        for n in numbers
    ]


async def runs_begun(rig: Rig) -> int:
    return len([request for request in await rig.requests(AGENT) if request["method"] == "POST"])


def events_of(body: str) -> list[Json]:
    """The messages in a reply that is an event stream."""
    return [json.loads(line.removeprefix("data: ")) for line in body.splitlines() if line.startswith("data: ")]
