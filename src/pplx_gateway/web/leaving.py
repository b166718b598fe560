"""Callers who leave. No server tells a handler by itself: somebody must listen while the work goes on."""

import asyncio
from typing import Self

from starlette.types import Receive

from pplx_gateway.interrupting import Interruptible


class CallerLeft(Exception):
    """The connection is gone; nobody reads an answer any more."""


class Leaving(Interruptible):
    """While the block runs, a caller who goes away cancels it, and it ends with CallerLeft.

    The request's body must have been read to its end. `settle` stops the listening early: a server reports the end of
    the response as a disconnect too.
    """

    def __init__(self, receive: Receive) -> None:
        super().__init__()
        self._receive = receive
        self._watch: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self._watch = asyncio.create_task(self._listen())
        return self

    def settle(self) -> None:
        super().settle()
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None  # it holds this object in turn: nobody but the garbage collector would free the two

    async def _listen(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            continue
        self.interrupt(CallerLeft())
