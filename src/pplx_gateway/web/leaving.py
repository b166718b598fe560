"""Callers who leave. No server tells a handler by itself: somebody must listen while the work goes on."""

import asyncio
from types import TracebackType
from typing import Self

from starlette.types import Receive


class CallerLeft(Exception):
    """The connection is gone; nobody reads an answer any more."""


class Leaving:
    """While the block runs, a caller who goes away cancels it, and it ends with CallerLeft.

    The request's body must have been read to its end. `settle` stops the listening early: a server reports the end of
    the response as a disconnect too.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._left = False

    async def __aenter__(self) -> Self:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("Leaving needs a task to cancel.")
        self._task = task
        self._cancelling = task.cancelling()
        self._watch: asyncio.Task[None] | None = asyncio.create_task(self._listen())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.settle()
        # Only a cancellation of our own becomes CallerLeft; one from outside goes on.
        if self._left and self._task.uncancel() <= self._cancelling and kind in (None, asyncio.CancelledError):
            raise CallerLeft from error

    def settle(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None  # it holds this object in turn: nobody but the garbage collector would free the two

    async def _listen(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            continue
        self._left = True
        self._task.cancel()
