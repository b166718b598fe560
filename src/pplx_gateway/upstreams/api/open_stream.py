"""The stream under way: one at a time, whichever part of the upstream opened it, closed by whoever owns the place."""

from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Self

from pplx_gateway.transport.exchange import Streaming


class OpenStream:
    """A place for one stream. Leaving the block closes what is in it."""

    __slots__ = ("_stream",)

    def __init__(self) -> None:
        self._stream: AbstractAsyncContextManager[Streaming] | None = None

    async def enter(self, stream: AbstractAsyncContextManager[Streaming]) -> Streaming:
        """Opens `stream`, after closing the one before. Raises as the stream does."""
        if self._stream is not None:
            await self.aclose()
        streaming = await stream.__aenter__()
        self._stream = stream
        return streaming

    async def aclose(self) -> None:
        """May be called at any time, and again."""
        await self.__aexit__(None, None, None)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            await stream.__aexit__(kind, error, trace)
