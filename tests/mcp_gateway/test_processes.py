"""The commands as processes: `pplx-gateway mcp` on pipes, and how `serve` starts, is shared and stops with MCP."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters

from tests.cases.scripts import TEXT, agent_steps
from tests.mcp_gateway.calling import (
    ACCEPT,
    MODES,
    PATIENCE_S,
    QUESTION,
    TOOLS,
    Caller,
    Json,
    Mode,
    client_of,
    events_of,
)
from tests.mcp_gateway.test_http import INITIALIZE, LIST
from tests.rig import AGENT, API_KEY, COOKIE, KEY, Rig, bearer, running
from tests.test_commands import Program, program, refusal

MAIN = ("-c", "from pplx_gateway.commands import main; main()")


def environment(rig: Rig, folder: Path, **more: str) -> dict[str, str]:
    """What leads a process to the rig's emulator, with a data folder of its own."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PPLX_", "PERPLEXITY_", "HTTP"))}
    return {
        **clean,
        "PPLX_COOKIE": COOKIE,
        "PERPLEXITY_API_KEY": API_KEY,
        "ACCOUNT_TYPE": "max",
        "PPLX_SESSION_URL": rig.emulator_url,
        "PPLX_API_URL": rig.emulator_url,
        "PPLX_CLOCK_FACTOR": "50",
        "PPLX_DATA_DIR": str(folder),
        **more,
    }


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncGenerator[Rig, None]:
    async with running(tmp_path / "gateway", factor=50) as found:
        yield found


def stdio(rig: Rig, folder: Path, mode: Mode) -> Client:
    server = StdioServerParameters(command=sys.executable, args=[*MAIN, "mcp"], env=environment(rig, folder))
    return Client(server, mode=mode, read_timeout_seconds=PATIENCE_S)


@pytest.mark.parametrize(("mode", "revision"), MODES)
async def test_stdio_has_the_same_tools(rig: Rig, tmp_path: Path, mode: Mode, revision: str) -> None:
    async with stdio(rig, tmp_path / "data", mode) as client:
        caller = Caller(client)
        assert client.protocol_version == revision
        assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
        await rig.script(AGENT, agent_steps())
        told = await caller.call("perplexity_agent", query=QUESTION)
        assert TEXT in told.fenced
        assert caller.progress
        assert "Leie" in (await caller.answer("perplexity_ask", query=QUESTION)).fenced
        refused = await caller.call("perplexity_ask", query=QUESTION, domains=["a.example"])
        assert refused.code == "unsupported_parameter"
        assert len((await client.list_prompts()).prompts) == 2
        (usage,) = (await client.read_resource("pplx://usage")).contents
        assert json.loads(usage.model_dump()["text"])["cost"] == "0.00503"
        assert (await client.list_resource_templates()).resource_templates == []


class Pipe:
    """A process on pipes, line by line."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def send(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(line)
        await self.process.stdin.drain()

    async def read(self) -> Json:
        assert self.process.stdout
        line = await asyncio.wait_for(self.process.stdout.readline(), 30)
        assert line.endswith(b"\n")
        assert not line.endswith(b"\r\n")
        found: Json = json.loads(line.decode("utf-8"))
        return found

    async def end(self) -> str:
        """Closes its stdin; what stderr had to say. Nothing more may stand on stdout."""
        assert self.process.stdin
        self.process.stdin.close()
        out, err = await asyncio.wait_for(self.process.communicate(), 30)
        assert out == b""
        return err.decode()


@contextlib.asynccontextmanager
async def piped(folder: Path, environ: dict[str, str]) -> AsyncGenerator[Pipe, None]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, *MAIN, "mcp", cwd=folder, env=environ,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, limit=1 << 24,
    )  # fmt: skip
    try:
        yield Pipe(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


def call(number: int, name: str, **arguments: Any) -> bytes:
    params = {"name": name, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    return json.dumps(body, ensure_ascii=False).encode() + b"\n"


async def test_stdout_is_the_protocols_whatever_the_platform_says(rig: Rig, tmp_path: Path) -> None:
    """A code page, lines that end in CR LF, a folder that cannot be written, no HOME, and bad lines in between."""
    folder = tmp_path / "readonly"
    folder.mkdir()
    folder.chmod(0o555)
    odd = {"PYTHONUTF8": "0", "PYTHONIOENCODING": "cp1252", "PYTHONWARNINGS": "always"}
    environ = environment(rig, tmp_path / "data", **odd)
    environ.pop("HOME", None)
    async with piped(folder, environ) as pipe:
        await pipe.send(json.dumps(INITIALIZE).encode() + b"\r\n")
        assert (await pipe.read())["result"]["serverInfo"]["name"] == "pplx-gateway"
        await pipe.send(b"{bad\r\n")
        assert (await pipe.read())["error"]["code"] == -32700
        await pipe.send(call(3, "perplexity_web_search", query="HALF").replace(b"HALF", rb"\ud83d"))
        halved = await pipe.read()
        assert (halved["id"], halved["result"]["isError"]) == (3, True)
        assert "'query' holds half of a surrogate pair" in halved["result"]["content"][0]["text"]
        await pipe.send(call(2, "perplexity_ask", query="東京 🚲").replace(b"\n", b"\r\n"))
        told = await pipe.read()
        assert told["id"] == 2
        assert told["result"]["isError"] is False, told
        err = await pipe.end()
        assert pipe.process.returncode == 0
    assert "東京" not in err
    assert "Traceback" not in err
    for secret in (COOKIE, API_KEY):
        assert secret not in err


async def test_calls_run_beside_each_other_and_can_be_called_off(rig: Rig, tmp_path: Path) -> None:
    slow = [*agent_steps()[:4], {"sleep": 3000}]
    await rig.script(AGENT, slow, agent_steps())
    async with piped(tmp_path, environment(rig, tmp_path / "data")) as pipe:
        await pipe.send(call(1, "perplexity_agent", query=QUESTION))
        await rig.wait(AGENT)
        await pipe.send(b'{"jsonrpc":"2.0","id":2,"method":"ping"}\n')
        assert (await pipe.read())["id"] == 2
        await pipe.send(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n')
        await pipe.send(call(3, "perplexity_agent", query=QUESTION))
        third = await pipe.read()
        assert third["id"] == 3
        assert TEXT in third["result"]["content"][0]["text"]
        await pipe.end()


async def test_the_first_reply_does_not_wait_for_the_gateway(rig: Rig, tmp_path: Path) -> None:
    """The kernel answers before what takes long to import is imported: no call of the store stands in between."""
    async with piped(tmp_path, environment(rig, tmp_path / "data")) as pipe:
        await pipe.send(json.dumps(INITIALIZE).encode() + b"\n")
        assert (await pipe.read())["id"] == 1
        assert not (tmp_path / "data").exists()
        pipe.process.send_signal(signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it(rig: Rig, tmp_path: Path, number: signal.Signals) -> None:
    async with piped(tmp_path, environment(rig, tmp_path / "data")) as pipe:
        await pipe.send(call(1, "perplexity_models"))
        assert (await pipe.read())["id"] == 1
        pipe.process.send_signal(number)
        assert await asyncio.wait_for(pipe.process.wait(), 20) == 0


async def test_a_setting_that_cannot_be_used_is_a_line_on_stderr(tmp_path: Path) -> None:
    assert "PPLX_UPSTREAMS" in await refusal("mcp", folder=tmp_path, PPLX_UPSTREAMS="nobody")


async def test_stdio_and_http_collect_from_each_other(rig: Rig, tmp_path: Path) -> None:
    """One data folder, two programs."""
    shared = tmp_path / "gateway"
    await rig.script(AGENT, agent_steps(), agent_steps())
    async with stdio(rig, shared, "auto") as client, client_of(f"{rig.url}/mcp") as http:
        inside = Caller(client)
        begun = (await inside.call("perplexity_agent", query=QUESTION)).structured["response_id"]
        assert TEXT in (await http.call("perplexity_agent_result", response_id=begun)).fenced
        begun = (await http.call("perplexity_agent", query=QUESTION)).structured["response_id"]
        assert TEXT in (await inside.call("perplexity_agent_result", response_id=begun)).fenced


# serve


def serving(rig: Rig, folder: Path) -> dict[str, str]:
    return {**environment(rig, folder), "PPLX_PROXY_API_KEY": KEY}


def mapped(running_program: Program) -> str:
    """The files that a process has in memory."""
    return Path(f"/proc/{running_program.process.pid}/maps").read_text()


async def test_the_sdk_is_imported_for_the_first_client_and_not_before(rig: Rig, tmp_path: Path) -> None:
    environ = serving(rig, tmp_path / "data")
    async with (
        program("serve", "--port", "0", folder=tmp_path, **environ) as gateway,
        httpx2.AsyncClient(timeout=60, trust_env=False, headers={"accept": ACCEPT, **bearer(KEY)}) as client,
    ):
        assert (await client.get(f"{gateway.url}/health")).status_code == 200
        assert "pydantic_core" not in mapped(gateway)
        assert (await client.post(f"{gateway.url}/mcp", json=INITIALIZE)).status_code == 200
        assert "pydantic_core" in mapped(gateway)
        out, err = await gateway.stop()
    assert err.count("PPLX_PROXY_API_KEY also opens") == 1
    assert KEY not in out + err


async def test_several_workers_serve_without_sessions_and_without_sse(rig: Rig, tmp_path: Path) -> None:
    environ = serving(rig, tmp_path / "data")
    async with (
        program("serve", "--port", "0", "--workers", "2", folder=tmp_path, **environ) as gateway,
        httpx2.AsyncClient(timeout=60, trust_env=False, headers={"accept": ACCEPT, **bearer(KEY)}) as client,
    ):
        began = await client.post(f"{gateway.url}/mcp", json=INITIALIZE)
        assert events_of(began.text)[-1]["result"]["protocolVersion"] == "2025-11-25"
        assert "mcp-session-id" not in began.headers
        plain = await client.post(f"{gateway.url}/mcp", json=LIST)
        assert [tool["name"] for tool in events_of(plain.text)[-1]["result"]["tools"]] == TOOLS
        for path in ("/sse", f"/{KEY}/sse"):
            refused = await client.get(gateway.url + path)
            assert refused.status_code == 501
            assert "/mcp" in refused.json()["error"]["message"]
        await rig.script(AGENT, agent_steps(), agent_steps())
        modes: tuple[Mode, ...] = ("auto", "legacy")
        for mode in modes:
            async with client_of(f"{gateway.url}/mcp", mode) as caller:
                assert TEXT in (await caller.call("perplexity_agent", query=QUESTION)).fenced
        await gateway.stop()


async def test_clients_that_listen_do_not_hold_up_a_stop(rig: Rig, tmp_path: Path) -> None:
    environ = serving(rig, tmp_path / "data")
    async with (
        program("serve", "--port", "0", folder=tmp_path, **environ) as gateway,
        httpx2.AsyncClient(timeout=60, trust_env=False, headers={"accept": ACCEPT, **bearer(KEY)}) as client,
    ):
        began = await client.post(f"{gateway.url}/mcp", json=INITIALIZE)
        session = {"mcp-session-id": began.headers["mcp-session-id"]}
        async with (
            client.stream("GET", f"{gateway.url}/mcp", headers=session) as one,
            client.stream("GET", f"{gateway.url}/sse") as other,
        ):
            assert one.status_code == other.status_code == 200
            _, err = await gateway.stop()
            assert "answers under way" not in err, "nobody waits for those who only listen"
            assert gateway.process.returncode == 0
            assert "Traceback" not in err
