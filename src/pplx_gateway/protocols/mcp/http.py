"""MCP on the gateway's own server: `/mcp` (Streamable HTTP) and `/sse` (the transport before it).

The SDK is imported when the first client comes, in a thread, by a supervised task that then holds the transports open:
on the loop it would stall every stream for over a second, and most gateways never need it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from importlib import import_module
from multiprocessing import parent_process
from typing import TYPE_CHECKING

from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from pplx_gateway.errors import GatewayError, RequestError, RequestTimeout, TooLarge
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.openai.responses.background import Background
from pplx_gateway.supervisor import Supervisor
from pplx_gateway.web.access import CALLER_LEFT
from pplx_gateway.web.body import read_body
from pplx_gateway.web.leaving import CallerLeft
from pplx_gateway.web.replies import send_body, send_error_and_close

if TYPE_CHECKING:
    from pplx_gateway.protocols.mcp.face import Face
    from pplx_gateway.protocols.mcp.messages import Read
    from pplx_gateway.protocols.mcp.sdk import Transports

MCP_PATH, SSE_PATH = "/mcp", "/sse"
OPENING_SECONDS = 30.0
_SDK = "pplx_gateway.protocols.mcp.sdk"
_FACE = "pplx_gateway.protocols.mcp.face"


class NotServed(RequestError):
    """What this gateway cannot do as it is set up."""

    status = 501
    code = "not_served"


class NotReady(GatewayError):
    status = 503
    code = "mcp_not_ready"
    retry = True


def mcp_routes(gateway: Gateway, background: Background) -> list[BaseRoute]:
    """A loop must be running if the gateway has a supervisor."""

    def face() -> "Face":
        made: Face = import_module(_FACE).GatewayFace(gateway, background)
        return made

    settings = gateway.settings

    def read(receive: Receive) -> Awaitable[bytes]:
        limit, wait = settings.max_body_bytes, settings.body_timeout_seconds
        return read_body(receive, gateway.clock, limit=limit, wait_seconds=wait)

    return Mcp(face, gateway.supervisor, read, stateless=several_workers()).routes()


def several_workers() -> bool:
    """True in a process that a server has started as one of several: sessions are not shared between them."""
    return parent_process() is not None


class Mcp:
    """`face` is called once the SDK is there. `supervisor` None = nothing is ever ready. See messages.py for `read`,
    and Transports for `stateless`."""

    def __init__(
        self, face: "Callable[[], Face]", supervisor: Supervisor | None, read: "Read", *, stateless: bool
    ) -> None:
        self._face = face
        self._read = read
        self._stateless = stateless
        self._wanted = asyncio.Event()
        self._opened = asyncio.Event()
        self._transports: Transports | None = None
        if supervisor is not None:
            supervisor.keep("mcp", self._hold_open)

    def routes(self) -> list[BaseRoute]:
        return [
            Route(MCP_PATH, _Endpoint(self._streamable), methods=["GET", "POST", "DELETE"]),
            Route(SSE_PATH, _Endpoint(self._sse), methods=["GET", "POST"]),
        ]

    async def _streamable(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (await self._ready()).streamable(scope, receive, send)

    async def _sse(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._stateless:
            raise NotServed(
                "This gateway runs in several processes, of which each knows its own streams alone, so /sse is not "
                "served. Use /mcp, or one worker."
            )
        await (await self._ready()).sse(scope, receive, send)

    async def _ready(self) -> "Transports":
        """Raises NotReady."""
        self._wanted.set()
        try:
            async with asyncio.timeout(OPENING_SECONDS):
                await self._opened.wait()
        except TimeoutError:
            raise NotReady("MCP is not ready. The gateway's log may tell why.") from None
        if self._transports is None:
            raise NotReady("The gateway is stopping.")
        return self._transports

    async def _hold_open(self) -> None:
        """Runs as long as the gateway does."""
        await self._wanted.wait()
        sdk = await asyncio.to_thread(import_module, _SDK)
        transports = sdk.Transports(self._face(), self._read, stateless=self._stateless)
        async with transports.open():
            self._transports = transports
            self._opened.set()
            try:
                await asyncio.Event().wait()
            finally:
                self._transports = None


class _Endpoint:
    """Starlette takes an object for an ASGI app, and a function for something else."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except (NotServed, NotReady, TooLarge, RequestTimeout) as error:
            await send_error_and_close(receive, send, error)
        except CallerLeft:
            await send_body(send, CALLER_LEFT, [], b"")
