"""The door to a gateway of our own, opened in this process on the settings of the environment.

Requests go straight into the ASGI app: no port is taken, nothing listens.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from starlette.types import ASGIApp, Message

from pplx_gateway import environment, logs
from pplx_gateway.clock import Clock
from pplx_gateway.commands.door import Arriving
from pplx_gateway.commands.exits import CommandFailed, Exit
from pplx_gateway.gateway import Gateway
from pplx_gateway.opening import open_gateway, secrets_of
from pplx_gateway.settings import Settings
from pplx_gateway.web.app import create_app

LEAVING_SECONDS = 5.0
"""How long a request that was left may take to stop its work upstream."""


class OwnDoor:
    place = "The gateway in this process"
    own = True

    def __init__(self, gateway: Gateway, app: ASGIApp) -> None:
        self.gateway = gateway
        self._app = app
        key = gateway.settings.api_key
        self._headers = [(b"host", b"localhost")]
        self._headers += [(b"authorization", f"Bearer {key.reveal()}".encode())] if key else []

    @asynccontextmanager
    async def open(self, method: str, path: str, body: bytes | None = None) -> AsyncIterator[Arriving]:
        """Raises CommandFailed."""
        call = _Call(body or b"")
        task = asyncio.create_task(self._run(call, method, path, body))
        try:
            yield await call.begun()
        finally:
            call.left.set()
            await asyncio.wait([task], timeout=LEAVING_SECONDS)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(self, call: "_Call", method: str, path: str, body: bytes | None) -> None:
        try:
            await self._app(self._scope(method, path, body), call.receive, call.send)
        finally:
            call.messages.put_nowait(None)

    def _scope(self, method: str, path: str, body: bytes | None) -> dict[str, object]:
        pure, _, query = path.partition("?")
        sent = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())] if body else []
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": pure,
            "raw_path": pure.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [*self._headers, *sent],
            "client": ("127.0.0.1", 0),
            "server": ("127.0.0.1", 0),
            "state": {},
        }


class _Call:
    """One request as the ASGI app sees it."""

    def __init__(self, body: bytes) -> None:
        self.messages: asyncio.Queue[Message | None] = asyncio.Queue()
        self.left = asyncio.Event()
        self._body: bytes | None = body

    async def receive(self) -> Message:
        body, self._body = self._body, None
        if body is not None:
            return {"type": "http.request", "body": body, "more_body": False}
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.messages.put_nowait(message)
        await asyncio.sleep(0)  # so that whoever prints keeps up with whoever writes

    async def begun(self) -> Arriving:
        start = await self.messages.get()
        if start is None:
            raise CommandFailed("The gateway failed on this request.", Exit.FAILED)
        headers: Mapping[str, str] = {name.decode(): value.decode("latin-1") for name, value in start["headers"]}
        return Arriving(start["status"], headers, self._parts())

    async def _parts(self) -> AsyncIterator[bytes]:
        while (message := await self.messages.get()) is not None:
            if message.get("body"):
                yield message["body"]
            if not message.get("more_body"):
                return
        raise CommandFailed("The answer was broken off.", Exit.CUT)


def own_settings(settings: Settings) -> Settings:
    """Nothing runs beside a command that may spend searches, and what is told beside an answer does not stand in it."""
    return msgspec.structs.replace(settings, probe_interval_hours=0.0, notices=False)


@asynccontextmanager
async def own_door() -> AsyncIterator[OwnDoor]:
    """Raises ValueError that names the setting, StoreUnavailable."""
    settings = own_settings(environment.load().settings)
    logs.set_up("CRITICAL", secrets_of(settings))
    gateway = await open_gateway(settings, Clock(settings.clock_factor), Path.cwd())
    try:
        yield OwnDoor(gateway, create_app(gateway))
    finally:
        await gateway.close()
