"""Serving the emulator inside a running event loop."""

import asyncio
import contextlib
import signal
from collections.abc import Callable
from types import TracebackType
from typing import Self, Unpack

import uvicorn
from starlette.types import ASGIApp

from pplx_gateway.clock import Clock
from pplx_gateway.emulator.app import create_app
from pplx_gateway.emulator.stage import Durations
from pplx_gateway.emulator.wire import ConnectionProtocol, cancelled
from pplx_gateway.serving import bind


class EmulatorServer:
    """`async with EmulatorServer(Clock()) as server:` serves on `server.url` until the block ends.

    Takes a clock, with the durations of create_app, or an application made before. Port 0 takes a free one. Only
    loopback is listened on. At the end open connections are reset and running answers stopped.
    """

    def __init__(self, source: Clock | ASGIApp, *, port: int = 0, **durations: Unpack[Durations]) -> None:
        app = create_app(source, **durations) if isinstance(source, Clock) else source
        self._socket = bind("127.0.0.1", port)
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        config = uvicorn.Config(
            app,
            http=ConnectionProtocol,
            ws="none",
            lifespan="on",
            loop="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=75,
        )
        config.load()
        self._server = uvicorn.Server(config)
        self._server.lifespan = config.lifespan_class(config)
        self._ticking: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self._server.startup(sockets=[self._socket])
        self._ticking = asyncio.create_task(self._server.main_loop())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._ticking is not None:
            await cancelled(self._ticking)
        for listening in self._server.servers:
            listening.close()
        for connection in list(self._server.server_state.connections):
            connection.transport.abort()  # every answer ends with its connection
        # uvicorn's own shutdown waits for whole answers, in steps of a tenth of a second
        await cancelled(*self._server.server_state.tasks)
        await self._server.lifespan.shutdown()


async def serve(
    port: int, announce: Callable[[str], None], clock: Clock | None = None, **durations: Unpack[Durations]
) -> None:
    """The whole of `pplx-gateway emulator`: serves until SIGINT or SIGTERM. `announce` gets the address when ready.

    Raises OSError if the port is taken.
    """
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows has no signal handlers on its loop
            loop.add_signal_handler(number, stopped.set)
    async with EmulatorServer(clock or Clock(), port=port, **durations) as server:
        announce(server.url)
        await stopped.wait()
