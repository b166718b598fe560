"""Ids in use: in a session one request at a time has one. Of two the SDK leaves one without an answer, for ever."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator

from pplx_agent_mcp import INVALID_REQUEST, Fields, RpcError

GRACE_SECONDS = 1.0
"""For a client that uses an id again as soon as it has the answer: the request ends a moment after its last byte."""


class Ids:
    def __init__(self) -> None:
        self._running: dict[tuple[bytes, str | int], asyncio.Event] = {}

    @contextlib.asynccontextmanager
    async def held(self, session: bytes | None, message: Fields) -> AsyncGenerator[None, None]:
        """By a request of a session, while that is carried out. Raises RpcError."""
        if session is None or not message.keys() >= {"id", "method"}:
            yield
            return
        held = (session, message["id"])
        await self._free(held)
        ended = self._running[held] = asyncio.Event()
        try:
            yield
        finally:
            del self._running[held]
            ended.set()

    async def _free(self, wanted: tuple[bytes, str | int]) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE_SECONDS):
                while (other := self._running.get(wanted)) is not None:
                    await other.wait()
        if wanted in self._running:  # an answer with this id would be taken for the first request's
            raise RpcError(INVALID_REQUEST, "A request with the same 'id' is still running.")
