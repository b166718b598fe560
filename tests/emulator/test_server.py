"""Starting and stopping the emulator."""

import asyncio
import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest
import uvicorn

from pplx_gateway.clock import Clock
from pplx_gateway.emulator import create_app
from pplx_gateway.emulator.server import EmulatorServer
from pplx_gateway.emulator.threads import serving
from tests.emulator.caller import GHENT, Caller


class _PlainServer(uvicorn.Server):
    """uvicorn as it comes, without the emulator's own protocol class."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


async def test_it_serves_inside_a_running_loop_and_stops_with_the_block() -> None:
    async with EmulatorServer(Clock(), pace_seconds=0.0) as server:
        reply = await asyncio.to_thread(Caller(server.url).ask, GHENT)
        assert reply.status == 200
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", server.port)


async def test_an_application_made_before_can_be_served() -> None:
    async with EmulatorServer(create_app(Clock(7))) as server:
        state = await asyncio.to_thread(Caller(server.url).send, "GET", "/_emulator/state")
        assert state.json["clock_factor"] == 7


@pytest.mark.parametrize(("step", "reset"), [("abort", True), ("cut", False)])
async def test_breaks_work_on_the_standard_event_loop_too(step: str, reset: bool) -> None:
    async with EmulatorServer(Clock()) as server:
        steps = [{"bytes": "x" * 1_000_000}, {step: True}]
        await asyncio.to_thread(Caller(server.url).script, "/s", {"steps": steps})
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET /s HTTP/1.1\r\nhost: x\r\n\r\n")
        assert (await reader.readuntil(b"x" * 1000)).endswith(b"x")
        if reset:
            with pytest.raises(ConnectionResetError):
                await reader.read()
        else:
            assert len(await reader.read()) >= 999_000
        writer.close()


async def test_two_emulators_share_nothing() -> None:
    async with EmulatorServer(Clock()) as one, EmulatorServer(Clock()) as two:
        await asyncio.to_thread(Caller(one.url).send, "GET", "/v1/models")
        assert await asyncio.to_thread(Caller(two.url).requests) == []


async def test_stopping_ends_silent_answers_and_endless_runs_at_once() -> None:
    async with asyncio.timeout(10):
        async with EmulatorServer(Clock(), slow_seconds=1e9) as server:
            caller = Caller(server.url)
            await asyncio.to_thread(caller.answer, f"slow: {GHENT}", background=True)
            body = b'{"model":"perplexity/sonar","input":"fault:upstream_timeout x"}'
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            head = f"POST /v1/agent HTTP/1.1\r\nhost: x\r\nauthorization: Bearer pplx-x\r\ncontent-length: {len(body)}"
            writer.write(f"{head}\r\n\r\n".encode() + body)
            await asyncio.to_thread(caller.wait, "path=/v1/agent&count=2")
        with contextlib.suppress(ConnectionResetError):  # an abort may show as a reset or as the end of the stream
            assert await reader.read() == b""
        writer.close()


async def test_a_taken_port_is_an_oserror() -> None:
    async with EmulatorServer(Clock()) as server:
        with pytest.raises(OSError, match="in use"):
            EmulatorServer(Clock(), port=server.port)
        with pytest.raises(OSError, match="in use"), serving(Clock(), port=server.port):
            pytest.fail("the block must not be entered")


async def test_another_server_can_carry_it_with_coarser_breaks() -> None:
    config = uvicorn.Config(create_app(Clock(), pace_seconds=0.0), port=0, log_config=None, access_log=False)
    server = _PlainServer(config)
    serving_task = asyncio.create_task(server._serve())
    await server.ready.wait()
    caller = Caller(f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}")
    try:
        assert (await asyncio.to_thread(caller.ask, GHENT)).status == 200
        with pytest.raises(http.client.IncompleteRead):
            await asyncio.to_thread(caller.ask, f"fault:midstream_drop {GHENT}")
    finally:
        server.should_exit = True
        await serving_task


def test_the_command_announces_its_address_and_stops_on_sigterm() -> None:
    code = (
        "import asyncio; from pplx_gateway.emulator.server import serve; "
        "asyncio.run(serve(0, lambda url: print(url, flush=True)))"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"{url}/v1/models") as reply:
            assert reply.status == 200
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(timeout=10) == 0
