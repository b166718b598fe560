"""A server around an ASGI app: bind, tell when ready, stop in stages.

Stages of a stop: no new connections; streams under way may finish; then `cut` ends what is left with an error that its
callers can read; what still runs after that is cancelled.
"""

import asyncio
import contextlib
import ipaddress
import logging
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator

import uvicorn
from starlette.types import ASGIApp

from pplx_gateway.web.connection import Connection

logger = logging.getLogger("pplx_gateway")

GRACE_SECONDS = 5.0
STOP_SECONDS = 9.0
BACKLOG = 2048


def bind(host: str, port: int) -> socket.socket:
    """A listening socket. Raises OSError that names the address and the way out."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only where the protocol is named; without it replies wait 40 ms for an acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        reason = error.strerror or "cannot be bound"
        raise OSError(f"{host}:{port}: {reason}. Choose another port with --port.") from None
    listener.listen(BACKLOG)
    listener.setblocking(False)
    return listener


def address(listener: socket.socket) -> str:
    """The listener's address as a caller on this machine writes it."""
    host, port = listener.getsockname()[:2]
    ip = ipaddress.ip_address(host)
    if ip.is_unspecified:
        host = "127.0.0.1" if ip.version == 4 else "::1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def announce(url: str) -> None:
    """The one line that scripts and people wait for, on stdout."""
    sys.stdout.write(f"listening on {url}\n")
    sys.stdout.flush()


def configuration(app: ASGIApp | str, *, workers: int = 1, lifespan: bool = False) -> uvicorn.Config:
    """One configuration for every server of ours: uvloop, httptools, no access log, no banner."""
    return uvicorn.Config(
        app,
        loop="uvloop",
        http=Connection,  # httptools, with header limits of our own
        ws="none",
        lifespan="on" if lifespan else "off",
        access_log=False,
        log_config=None,
        proxy_headers=False,
        server_header=False,
        workers=workers,
        backlog=BACKLOG,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=round(STOP_SECONDS),
    )


class Server(uvicorn.Server):
    """`ready` is called once requests can come; `cut` after GRACE_SECONDS of a stop, if streams still run."""

    def __init__(self, app: ASGIApp, ready: Callable[[], None], cut: Callable[[], Awaitable[None]]) -> None:
        super().__init__(configuration(app))
        self._ready = ready
        self._cut = cut

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """uvicorn raises a caught signal again when all is served; that would end the process before the gateway is
        closed."""
        with super().capture_signals():
            yield
            self._captured_signals.clear()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        cutting = asyncio.create_task(self._cut_late())
        try:
            await super().shutdown(sockets)
        finally:
            cutting.cancel()

    async def _cut_late(self) -> None:
        await asyncio.sleep(GRACE_SECONDS)
        logger.warning("stopping: answers under way are ended with an error")
        await self._cut()
