"""`pplx-gateway emulator`: both upstreams, played on loopback."""

import argparse
import asyncio

import uvloop

from pplx_gateway import logs
from pplx_gateway.clock import Clock
from pplx_gateway.emulator.server import serve
from pplx_gateway.serving import announce


def run(options: argparse.Namespace) -> None:
    logs.set_up("WARNING")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(options.port or 0, announce, Clock(options.clock_factor)))
