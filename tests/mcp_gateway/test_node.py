"""The other people's clients: the TypeScript client, and the MCP Inspector's command line, over HTTP and on stdio."""

import json
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.cases.scripts import TEXT, agent_steps
from tests.mcp_gateway.calling import QUESTION, TOOLS, Json
from tests.mcp_gateway.programs import node
from tests.mcp_gateway.test_processes import MAIN, environment
from tests.rig import AGENT, KEY, Rig, running

INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
COMMAND = (sys.executable, *MAIN, "mcp")


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncGenerator[Rig, None]:
    async with running(tmp_path / "gateway", factor=50) as found:
        yield found
        await found.check()


WAYS = (
    "bearer:legacy",
    "bearer:auto",
    "bearer:pinned",
    "path:auto",
    "path:legacy",
    "sse:legacy",
    "stdio:legacy",
    "stdio:auto",
)


async def test_the_typescript_client(rig: Rig, tmp_path: Path) -> None:
    await rig.script(AGENT, *[agent_steps() for _ in WAYS])
    told = {
        "GATEWAY_URL": rig.url,
        "GATEWAY_KEY": KEY,
        "GATEWAY_COMMAND": json.dumps(COMMAND),
        "QUESTION": QUESTION,
    }
    code, text = await node("client.mjs", *WAYS, **environment(rig, tmp_path / "data"), **told)
    assert code == 0, text[-3000:]
    rows: list[Json] = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    assert [f"{row['way']}:{row['mode']}" for row in rows] == list(WAYS)
    for row in rows:
        assert row["tools"] == TOOLS
        assert TEXT in row["text"]
        assert row["structured"]["text"] == row["text"]
        assert row["progress"], row["way"]
        assert row["wrong"]["isError"] is True
        assert "domain" in row["wrong"]["text"]
        assert row["unknown"] == -32602
        assert row["resources"] == ["pplx://quota", "pplx://usage"]
        assert "remaining_pro" in row["quota"]
        assert row["prompts"] == ["research_brief", "fact_check"]
        assert "Tides." in row["prompt"]


async def inspect(*arguments: str, folder: Path, **environ: str) -> Json:
    code, text = await node(INSPECTOR, "--cli", *arguments, **{**environ, "HOME": str(folder)})
    assert code == 0, text[-3000:]
    start = text.index("{\n")
    found: Json = json.JSONDecoder().raw_decode(text[start:])[0]
    return found


@pytest.mark.parametrize("way", ["http", "path", "sse", "stdio"])
async def test_the_inspector(rig: Rig, tmp_path: Path, way: str) -> None:
    targets = {
        "http": [f"{rig.url}/mcp", "--header", f"Authorization: Bearer {KEY}"],
        "path": [f"{rig.url}/{KEY}/mcp"],
        "sse": [f"{rig.url}/{KEY}/sse"],
        "stdio": list(COMMAND),
    }
    environ = environment(rig, tmp_path / "data") if way == "stdio" else {}
    options = [
        option
        for name, value in environ.items()
        if name.startswith(("PPLX", "PERPL", "ACC"))
        for option in ("-e", f"{name}={value}")
    ]
    target = [*targets[way], *options]

    async def done(*method: str) -> Json:
        return await inspect(*target, *method, folder=tmp_path, **environ)

    listed = await done("--method", "tools/list")
    assert [tool["name"] for tool in listed["tools"]] == TOOLS
    await rig.script(AGENT, agent_steps())
    asked = await done("--method", "tools/call", "--tool-name", "perplexity_agent", "--tool-arg", f"query={QUESTION}")
    assert TEXT in asked["content"][0]["text"]
    read = await done("--method", "resources/read", "--uri", "pplx://usage")
    assert "spent_today" in read["contents"][0]["text"]
    filled = await done("--method", "prompts/get", "--prompt-name", "fact_check", "--prompt-args", "statement=Tides.")
    assert "Tides." in filled["messages"][0]["content"]["text"]
