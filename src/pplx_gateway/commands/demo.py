"""`pplx-gateway demo`: gateway and emulator in one process; no account, no settings, nothing kept.

The owner's environment and `.env` are left alone on purpose: a demo must never touch a real account.
"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

import uvicorn
import uvloop

from pplx_gateway import logs
from pplx_gateway.clock import Clock
from pplx_gateway.commands.emulator import PACE_SECONDS
from pplx_gateway.emulator import create_app as create_emulator
from pplx_gateway.opening import open_gateway
from pplx_gateway.serving import Server, address, announce, bind, configuration
from pplx_gateway.settings import Secret, Settings
from pplx_gateway.web.app import create_app


def run(options: argparse.Namespace) -> None:
    logs.set_up("WARNING")
    port = Settings().port if options.port is None else options.port
    with (
        tempfile.TemporaryDirectory(prefix="pplx-gateway-demo-") as folder,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        runner.run(_serve(port, Clock(options.clock_factor), Path(folder)))


async def _serve(port: int, clock: Clock, folder: Path) -> None:
    listener, emulator_listener = bind("127.0.0.1", port), bind("127.0.0.1", 0)
    emulator = uvicorn.Server(configuration(create_emulator(clock, pace_seconds=PACE_SECONDS)))
    emulating = asyncio.create_task(emulator._serve([emulator_listener]))  # `serve` would take the signals
    gateway = await open_gateway(_settings(address(emulator_listener), clock, folder), clock)

    def ready() -> None:
        announce(listener)
        print(_hint(address(listener)), file=sys.stderr, flush=True)

    try:
        await Server(create_app(gateway), ready, gateway.close).serve(sockets=[listener])
    finally:
        await gateway.close()
        emulator.should_exit = True
        await emulating


def _settings(emulator_url: str, clock: Clock, folder: Path) -> Settings:
    return Settings(
        cookie=Secret("emulator-max-demo"),
        account_type="max",
        perplexity_api_key=Secret("pplx-demo"),
        session_url=emulator_url,
        api_url=emulator_url,
        clock_factor=clock.factor,
        data_dir=folder,
    )


def _hint(url: str) -> str:
    return f"""
A page: {url}/chat
Ask (model gpt is the emulated session, api/sonar the emulated API):

  curl {url}/v1/chat/completions -H 'Content-Type: application/json' \\
    -d '{{"model": "gpt", "messages": [{{"role": "user", "content": "Which two rivers meet in Ghent?"}}]}}'
"""
