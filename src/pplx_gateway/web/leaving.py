"""Callers who leave. No server tells a handler by itself: somebody must listen while the work goes on."""

import asyncio
from collections.abc import Callable
from typing import Self

from starlette.types import Receive, Scope

from pplx_gateway.interrupting import Interruptible


class CallerLeft(Exception):
    """The connection is gone; nobody reads an answer any more."""


class Line:
    """A caller's connection, as far as a server of our own tells of it (connection.py). `whole`: all of the last
    request is here. `on_loss` is called at the connection's end; one request at a time listens."""

    __slots__ = ("lost", "on_loss", "whole")

    def __init__(self) -> None:
        self.whole = False
        self.lost = False
        self.on_loss: Callable[[], None] | None = None

    def lose(self) -> None:
        self.lost = True
        if self.on_loss is not None:
            self.on_loss()


LINE = "pplx_gateway.line"
"""Where the scope of a request holds its Line."""


def is_whole(scope: Scope) -> bool:
    """True if all of the request is surely here."""
    line: Line | None = scope.get(LINE)
    return line is not None and line.whole


class Leaving(Interruptible):
    """While the block runs, a caller who goes away cancels it, and it ends with CallerLeft.

    The request's body must have been read to its end. `settle` stops the listening early: a server reports the end of
    the response as a disconnect too. On a Line no task need listen, which is most of what this costs.
    """

    def __init__(self, receive: Receive, scope: Scope | None = None) -> None:
        super().__init__()
        self._receive = receive
        self._line: Line | None = scope.get(LINE) if scope else None
        self._watch: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        if self._line is None:
            self._watch = asyncio.create_task(self._listen())
        elif self._line.lost:
            self._leave()
        else:
            self._line.on_loss = self._leave
        return self

    def settle(self) -> None:
        super().settle()
        if self._line is not None and self._line.on_loss == self._leave:  # the next request may listen already
            self._line.on_loss = None
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None  # it holds this object in turn: nobody but the garbage collector would free the two

    async def _listen(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            continue
        self._leave()

    def _leave(self) -> None:
        self.interrupt(CallerLeft())
