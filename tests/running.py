"""Any ASGI app on a free port of loopback, in the test's own loop, on the server that the gateway runs on."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator

import uvicorn
from starlette.types import ASGIApp

from pplx_gateway.serving import bind, configuration
from pplx_gateway.web.connection import Connection


@contextlib.asynccontextmanager
async def serve(app: ASGIApp, connection: type[Connection] = Connection) -> AsyncGenerator[str, None]:
    """Gives the address. At the end connections are cut and whatever still runs is cancelled.

    The server's own main loop is left out: it takes over signals, and its polling would cost every test a fifth of a
    second."""
    listener = bind("127.0.0.1", 0)
    config = configuration(app)
    config.http = connection
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    await server.startup([listener])
    await server.on_tick(0)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        await _stop(server)


async def _stop(server: uvicorn.Server) -> None:
    for listening in server.servers:
        listening.close()
    for connection in list(server.server_state.connections):
        connection.transport.abort()
    tasks = list(server.server_state.tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await server.lifespan.shutdown()
