"""`uvicorn pplx_gateway.asgi:app`: the gateway on the settings of the environment, opened when the server starts."""

import logging
from multiprocessing import parent_process
from pathlib import Path

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pplx_gateway import collector, environment, logs
from pplx_gateway.clock import Clock
from pplx_gateway.opening import lacking, open_gateway, secrets_of
from pplx_gateway.settings import Settings
from pplx_gateway.stopping import cut_late, orphan_stops
from pplx_gateway.web.app import create_app

logger = logging.getLogger("pplx_gateway")


class Application:
    """Opens the gateway at lifespan start and closes it at the end, so that everything lives in the server's loop."""

    def __init__(self, settings: Settings | None = None) -> None:
        self._settings = settings
        self._app: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._app is None:
            raise RuntimeError(
                "The gateway is not open: the server must run the lifespan protocol (uvicorn --lifespan on)."
            )
        else:
            await self._app(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            settings = self._settings or _from_environment()
            gateway = await open_gateway(settings, Clock(settings.clock_factor), Path.cwd())
        except (ValueError, OSError) as error:  # a setting that cannot be used: a line, not a traceback
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        for warning in lacking(gateway):
            logger.warning(warning)
        self._app = create_app(gateway)
        await send({"type": "lifespan.startup.complete"})
        with cut_late(gateway.close), orphan_stops():
            await receive()
        self._app = None
        await gateway.close()
        await send(_SHUT_DOWN)


_SHUT_DOWN: Message = {"type": "lifespan.shutdown.complete"}


def _from_environment() -> Settings:
    loaded = environment.load()
    logs.set_up(loaded.settings.log_level, secrets_of(loaded.settings), loaded.settings.log_format)
    collector.settle()
    for note in loaded.notes:
        logger.info(note)
    if parent_process() is None:  # else the parent has told it
        for warning in environment.warnings(loaded.settings):
            logger.warning(warning)
    return loaded.settings


app = Application()
