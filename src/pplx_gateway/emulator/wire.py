"""Answers that are sent step by step, down to the socket: separate writes, resets, connections cut in mid-message."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncGenerator, AsyncIterable, Coroutine, Iterable, Sequence
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pplx_gateway.clock import Clock
from pplx_gateway.emulator.script import Abort, Bytes, Cut, End, Pause, Step

EXTENSION = "pplx_gateway.connection"


class Connection:
    """The connection below one request. `broken` = we broke it on purpose."""

    def __init__(self, transport: asyncio.Transport, flow: FlowControl) -> None:
        self._transport = transport
        self._flow = flow
        self.broken = False

    async def break_off(self, *, reset: bool) -> None:
        """Closes the connection once everything that was written has gone to the kernel; `reset` sends RST, not FIN."""
        if self._transport.is_closing():
            return
        self._transport.set_write_buffer_limits(high=0)
        await self._flow.drain()
        self.broken = True
        if reset and not self._transport.is_closing():
            # With lingering switched on for zero seconds, close sends RST.
            sock = self._transport.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._transport.abort()
        self._transport.close()


class ConnectionProtocol(HttpToolsProtocol):
    """uvicorn's protocol, which also hands each request its Connection."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {EXTENSION: Connection(self.transport, self.flow)}  # type: ignore[dict-item]


def connection_of(scope: Scope) -> Connection | None:
    """None under a server that does not use ConnectionProtocol. Breaks are coarser there: the message is left
    unfinished, and the server closes the connection."""
    connection: Connection | None = scope.get("extensions", {}).get(EXTENSION)
    return connection


class Play(Response):
    """An ASGI response made of steps. A caller who leaves ends it, also in the middle of a pause."""

    def __init__(
        self,
        clock: Clock,
        steps: AsyncIterable[Step] | Iterable[Step],
        *,
        status: int = 200,
        headers: Sequence[tuple[str, str]] = (),
        delay_seconds: float = 0.0,
    ) -> None:
        self._clock = clock
        self._steps = steps
        self.status_code = status
        self.background = None
        self.raw_headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        self._delay_seconds = delay_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        left = asyncio.ensure_future(until_disconnected(receive))
        play = asyncio.ensure_future(self._play(connection_of(scope), send))
        try:
            await asyncio.wait({left, play}, return_when=asyncio.FIRST_COMPLETED)
            if play.done() and play.result():
                await left  # the break is ours; the server closes the books once the connection is really gone
        finally:
            await cancelled(left, play)

    async def _play(self, connection: Connection | None, send: Send) -> bool:
        """Sends all steps; True if they ended in a break of the connection."""
        await self._clock.sleep(self._delay_seconds)
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async with contextlib.aclosing(steps_of(self._steps)) as steps:
            async for step in steps:
                match step:
                    case Bytes(data):
                        await send({"type": "http.response.body", "body": data, "more_body": True})
                        await asyncio.sleep(0)  # uvloop joins what is written in one turn of the loop
                    case Pause(seconds):
                        await self._clock.sleep(seconds)
                    case End():
                        break
                    case Abort() | Cut():
                        if connection is not None:
                            await connection.break_off(reset=isinstance(step, Abort))
                        return connection is not None
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        return False


async def unless_left(receive: Receive, work: Coroutine[Any, Any, None], timeout_seconds: float | None = None) -> bool:
    """Does `work` as long as the caller is there, at most `timeout_seconds` of real time; True if it got done."""
    working = asyncio.ensure_future(work)
    left = asyncio.ensure_future(until_disconnected(receive))
    try:
        await asyncio.wait({working, left}, timeout=timeout_seconds, return_when=asyncio.FIRST_COMPLETED)
        return working.done()
    finally:
        await cancelled(working, left)


async def until_disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue


async def cancelled(*tasks: asyncio.Future[Any]) -> None:
    """Cancels what still runs and waits for it. Errors of tasks that had ended by themselves are raised."""
    for task in tasks:
        if not task.done():
            task.cancel()
    for task in tasks:
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def steps_of(steps: AsyncIterable[Step] | Iterable[Step]) -> AsyncGenerator[Step, None]:
    """`steps` as one kind of generator; closing it closes the generator that it was made of."""
    if isinstance(steps, AsyncIterable):
        try:
            async for step in steps:
                yield step
        finally:
            if isinstance(steps, AsyncGenerator):
                await steps.aclose()
    else:
        for step in steps:
            yield step
