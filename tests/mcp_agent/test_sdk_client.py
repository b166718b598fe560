"""The one-file server, driven by the client of MCP's own SDK in each of its modes, against the emulator."""

import re
import sys
from typing import Literal

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.types import CallToolResult, TextContent

from tests.mcp_agent.way import FILE

Mode = Literal["auto", "legacy", "2026-07-28"]
MODES: tuple[tuple[Mode, str], ...] = (("auto", "2026-07-28"), ("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28"))
TOOLS = ["perplexity_agent", "perplexity_agent_result", "perplexity_agent_cancel"]
PATIENCE_S = 60.0


def client(environment: dict[str, str], mode: Mode) -> Client:
    server = StdioServerParameters(command=sys.executable, args=["-I", "-S", str(FILE)], env=environment)
    return Client(server, mode=mode, read_timeout_seconds=PATIENCE_S)


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


@pytest.mark.parametrize(("mode", "revision"), MODES)
async def test_every_mode_of_the_client_starts_follows_and_collects_a_run(
    environment: dict[str, str], mode: Mode, revision: str
) -> None:
    told: list[str] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append(message or "")

    async with client(environment, mode) as session:
        assert session.protocol_version == revision
        listed = await session.list_tools()
        assert [tool.name for tool in listed.tools] == TOOLS
        arguments = {"query": "Which two rivers meet in Ghent?", "recency": "year", "domains": ["-spam.example"]}
        answered = await session.call_tool("perplexity_agent", arguments, progress_callback=note)
        assert not answered.is_error
        assert "UNTRUSTED DATA" in text_of(answered)
        assert re.search(r"Sources:\n\[\d+\] .+ — https://", text_of(answered))
        assert told
        assert all(message.startswith("status ") for message in told)


async def test_a_run_is_started_by_one_client_and_collected_by_another(environment: dict[str, str]) -> None:
    async with client(environment, "legacy") as session:
        started = await session.call_tool("perplexity_agent", {"query": "What is a neap tide?", "wait": False})
        (response_id,) = set(re.findall(r'"response_id": "(resp_[\w-]+)"', text_of(started)))
    async with client(environment, "auto") as session:
        arguments = {"response_id": response_id, "wait_seconds": 55}
        collected = await session.call_tool("perplexity_agent_result", arguments)
        assert not collected.is_error
        assert "Sources:" in text_of(collected)
        ended = await session.call_tool("perplexity_agent_cancel", {"response_id": response_id})
        assert not ended.is_error
        assert "not running now" in text_of(ended)


async def test_a_run_is_cancelled(environment: dict[str, str]) -> None:
    async with client(environment, "auto") as session:
        started = await session.call_tool("perplexity_agent", {"query": "slow: What is a tide?", "wait": False})
        (response_id,) = set(re.findall(r'"response_id": "(resp_[\w-]+)"', text_of(started)))
        asked = await session.call_tool("perplexity_agent_cancel", {"response_id": response_id})
        assert "was requested" in text_of(asked)
        arguments = {"response_id": response_id, "wait_seconds": 55}
        ended = await session.call_tool("perplexity_agent_result", arguments)
        assert ended.is_error
        assert "was cancelled" in text_of(ended)


@pytest.mark.parametrize("mode", [mode for mode, _ in MODES])
async def test_errors_reach_the_client_in_their_own_shapes(environment: dict[str, str], mode: Mode) -> None:
    async with client(environment, mode) as session:
        refused = await session.call_tool("perplexity_agent", {"query": "x", "domain": ["a.example"]})
        assert refused.is_error
        assert "Accepted: domains, preset, query, recency, wait" in text_of(refused)
        with pytest.raises(MCPError) as unknown:
            await session.call_tool("no_such_tool", {})
        assert unknown.value.error.code == -32602
        unset = await session.call_tool("perplexity_agent_result", {"response_id": "resp_nowhere"})
        assert unset.is_error
        assert "resp_nowhere" in text_of(unset)


async def test_a_call_without_a_key_is_an_error_that_names_the_variable(environment: dict[str, str]) -> None:
    async with client({**environment, "PERPLEXITY_API_KEY": ""}, "auto") as session:
        refused = await session.call_tool("perplexity_agent", {"query": "x"})
        assert refused.is_error
        assert "PERPLEXITY_API_KEY" in text_of(refused)
