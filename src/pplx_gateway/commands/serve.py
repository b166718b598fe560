"""`pplx-gateway serve`: the gateway on real settings."""

import argparse
import asyncio
import contextlib
import logging
import os
import signal
from pathlib import Path
from types import FrameType

import msgspec
import uvloop
from uvicorn.supervisors import Multiprocess

from pplx_gateway import collector, environment, logs
from pplx_gateway.clock import Clock
from pplx_gateway.opening import lacking, open_gateway, secrets_of, startup_lines
from pplx_gateway.serving import Server, address, announce, bind, configuration
from pplx_gateway.settings import Settings
from pplx_gateway.stopping import cut_short
from pplx_gateway.web.app import create_app

logger = logging.getLogger("pplx_gateway")


def run(options: argparse.Namespace) -> None:
    # The first process of a container gets no signal that it does not handle; the server's own handlers come late.
    signal.signal(signal.SIGTERM, _leave)
    loaded = environment.load()
    settings = _with_options(loaded.settings, options)
    logs.set_up(settings.log_level, secrets_of(settings), settings.log_format)
    collector.settle()
    for line in (*loaded.notes, *startup_lines(settings)):
        logger.info(line)
    for warning in environment.warnings(settings):
        logger.warning(warning)
    if options.workers > 1:
        _many(settings, options.workers)
    else:
        with contextlib.suppress(asyncio.CancelledError), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_one(settings))


def _leave(_number: int, _frame: FrameType | None) -> None:
    """Nothing is open yet that wants closing, and an exception would come up wherever the start is by now."""
    os._exit(0)


def _with_options(settings: Settings, options: argparse.Namespace) -> Settings:
    given = {name: value for name in ("host", "port") if (value := getattr(options, name)) is not None}
    changed = msgspec.structs.replace(settings, **given)
    environment.check(changed)
    return changed


async def _one(settings: Settings) -> None:
    listener = bind(settings.host, settings.port)
    with cut_short():
        gateway = await open_gateway(settings, Clock(settings.clock_factor), Path.cwd())
        for warning in lacking(gateway):
            logger.warning(warning)
        server = Server(create_app(gateway), lambda: announce(address(listener)), gateway.close)
        try:
            await server.serve(sockets=[listener])
        finally:
            await gateway.close()


def _many(settings: Settings, workers: int) -> None:
    """Workers read the environment anew, so the options go there; the socket is bound once, here."""
    os.environ["PPLX_PROXY_HOST"], os.environ["PPLX_PROXY_PORT"] = settings.host, str(settings.port)
    listener = bind(settings.host, settings.port)
    config = configuration("pplx_gateway.asgi:app", workers=workers, lifespan=True)
    announce(address(listener))
    Multiprocess(config, sockets=[listener]).run()
