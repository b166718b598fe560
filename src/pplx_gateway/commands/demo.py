"""`pplx-gateway demo`: gateway and emulator in one process; no account, no settings, nothing kept.

The owner's environment and `.env` are left alone on purpose: a demo must never touch a real account.
"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

import uvloop

from pplx_gateway import logs
from pplx_gateway.clock import Clock
from pplx_gateway.emulator.server import EmulatorServer
from pplx_gateway.opening import open_gateway
from pplx_gateway.serving import Server, address, announce, bind
from pplx_gateway.settings import Secret, Settings
from pplx_gateway.web.app import create_app

TIMEOUT_REAL_SECONDS = 4.0


def run(options: argparse.Namespace) -> None:
    logs.set_up("WARNING")
    port = Settings().port if options.port is None else options.port
    with (
        tempfile.TemporaryDirectory(prefix="pplx-gateway-demo-") as folder,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        runner.run(_serve(port, Clock(options.clock_factor), Path(folder)))


async def _serve(port: int, clock: Clock, folder: Path) -> None:
    listener = bind("127.0.0.1", port)
    url = address(listener)

    def ready() -> None:
        announce(url)
        print(_hint(url), file=sys.stderr, flush=True)

    # A time-out that was asked for by `fault:upstream_timeout` shows itself while the person still watches.
    async with EmulatorServer(clock, hold_seconds=TIMEOUT_REAL_SECONDS * clock.factor) as emulator:
        gateway = await open_gateway(_settings(emulator.url, clock, folder), clock)
        try:
            await Server(create_app(gateway), ready, gateway.close).serve(sockets=[listener])
        finally:
            await gateway.close()


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
