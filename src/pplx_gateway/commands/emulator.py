"""`pplx-gateway emulator`: both upstreams, played on loopback."""

import argparse
import asyncio

import uvloop

from pplx_gateway import logs
from pplx_gateway.clock import Clock
from pplx_gateway.emulator import create_app
from pplx_gateway.serving import Server, announce, bind

PACE_SECONDS = 0.02


def run(options: argparse.Namespace) -> None:
    logs.set_up("WARNING")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(options.port or 0, Clock(options.clock_factor)))


async def _serve(port: int, clock: Clock) -> None:
    listener = bind("127.0.0.1", port)
    app = create_app(clock, pace_seconds=PACE_SECONDS)
    await Server(app, lambda: announce(listener), _nothing).serve(sockets=[listener])


async def _nothing() -> None:
    """The emulator has nothing to cut: its answers end with their connections."""
