"""The emulator in a thread of its own, for programs that are not asynchronous themselves."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from typing import Unpack

import uvloop
from starlette.types import ASGIApp

from pplx_gateway.clock import Clock
from pplx_gateway.emulator.server import EmulatorServer
from pplx_gateway.emulator.stage import Durations


@contextlib.contextmanager
def serving(source: Clock | ASGIApp, *, port: int = 0, **durations: Unpack[Durations]) -> Iterator[str]:
    """Serves as EmulatorServer does until the block ends; gives its address. Raises what starting raised."""
    runner = _Runner(source, port, durations)
    thread = threading.Thread(target=runner.run, name="emulator", daemon=True)
    thread.start()
    runner.ready.wait()
    try:
        if runner.error is not None:
            raise runner.error
        yield runner.url
    finally:
        runner.stop()
        thread.join()


class _Runner:
    def __init__(self, source: Clock | ASGIApp, port: int, durations: Durations) -> None:
        self._source = source
        self._port = port
        self._durations = durations
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = asyncio.Event()
        self.ready = threading.Event()
        self.error: OSError | None = None
        self.url = ""

    def run(self) -> None:
        try:
            uvloop.run(self._serve())
        except OSError as error:
            self.error = error
        finally:
            self.ready.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        async with EmulatorServer(self._source, port=self._port, **self._durations) as server:
            self.url = server.url
            self.ready.set()
            await self._stopped.wait()

    def stop(self) -> None:
        if self._loop is not None and self.error is None:
            self._loop.call_soon_threadsafe(self._stopped.set)
