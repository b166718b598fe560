"""The door to a gateway that runs somewhere."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

from pplx_gateway.clock import Clock
from pplx_gateway.commands.door import URL, Arriving
from pplx_gateway.commands.exits import CommandFailed, Exit
from pplx_gateway.errors import UpstreamTruncated, UpstreamUnreachable
from pplx_gateway.transport import Network, Timeouts, Transport
from pplx_gateway.transport.exchange import Method, Outgoing

# The gateway itself knows when an upstream has been silent for too long; its keep-alive comments reset this one.
TIMEOUTS = Timeouts(connect=10.0, first_byte=1000.0, idle=300.0)


class RunningDoor:
    own = False

    def __init__(self, url: str, key: str | None, transport: Transport) -> None:
        self.place = url
        self._headers = {"authorization": f"Bearer {key}"} if key else {}
        self._transport = transport

    @asynccontextmanager
    async def open(self, method: str, path: str, body: bytes | None = None) -> AsyncIterator[Arriving]:
        """Raises CommandFailed, UpstreamError."""
        headers = {**self._headers, **({"content-type": "application/json"} if body is not None else {})}
        outgoing = Outgoing(
            method=cast(Method, method), url=self.place + path, headers=headers, body=body, timeouts=TIMEOUTS
        )
        try:
            async with self._transport.stream(outgoing) as streaming:
                yield Arriving(streaming.status, dict(streaming.headers.items), aiter(streaming))
        except UpstreamUnreachable as error:
            raise CommandFailed(
                f"No gateway answers at {self.place}: {error.message}",
                Exit.UPSTREAM,
                cure=f"Start it (pplx-gateway serve), correct {URL}, or go without it: --in-process.",
            ) from None
        except UpstreamTruncated:
            raise CommandFailed("The gateway broke the answer off.", Exit.CUT) from None


@asynccontextmanager
async def running_door(url: str, key: str | None) -> AsyncIterator[RunningDoor]:
    """Raises ValueError for a proxy or CA variable that cannot be used."""
    transport = Transport(Clock(), max_connections=4, network=Network.from_environ(os.environ))
    try:
        yield RunningDoor(url, key, transport)
    finally:
        await transport.close()
