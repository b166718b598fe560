"""The emulator as one ASGI application."""

import contextlib
from collections.abc import AsyncGenerator
from typing import Unpack

from starlette.applications import Starlette
from starlette.routing import BaseRoute

from pplx_gateway.clock import Clock
from pplx_gateway.emulator import agent, session
from pplx_gateway.emulator.control import Control
from pplx_gateway.emulator.front import Front
from pplx_gateway.emulator.stage import Durations, Stage


def create_app(
    clock: Clock,
    **durations: Unpack[Durations],
) -> Front:
    """Both halves and the control paths. Best served by server.py: only there answers reach down to the socket."""
    stage = Stage(clock, **durations)

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None, None]:
        yield
        await stage.close()

    routes: list[BaseRoute] = [*Control(stage).routes(), *agent.routes(stage), *session.routes(stage)]
    app = Starlette(routes=routes, exception_handlers=agent.exception_handlers(), lifespan=lifespan)
    app.router.redirect_slashes = False
    return Front(app, stage)
