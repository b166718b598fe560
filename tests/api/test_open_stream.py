from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from pplx_gateway.errors import UpstreamError
from pplx_gateway.transport.exchange import Streaming
from pplx_gateway.upstreams.api.open_stream import OpenStream


class Wire:
    """`log` tells what was opened and closed."""

    def __init__(self) -> None:
        self.log: list[str] = []

    def stream(self, name: str) -> AbstractAsyncContextManager[Streaming]:
        return self._stream(name)  # type: ignore[return-value]

    @asynccontextmanager
    async def _stream(self, name: str) -> AsyncGenerator[str, None]:
        self.log.append(f"open {name}")
        try:
            yield name
        except UpstreamError:
            self.log.append(f"{name} failed")
            raise
        finally:
            self.log.append(f"close {name}")


async def test_one_stream_is_open_at_a_time_and_closed_once() -> None:
    wire, place = Wire(), OpenStream()
    await place.enter(wire.stream("first"))
    await place.enter(wire.stream("second"))
    assert wire.log == ["open first", "close first", "open second"]
    await place.aclose()
    await place.aclose()
    assert wire.log[3:] == ["close second"]


async def test_the_stream_hears_of_the_error_that_leaves_the_block() -> None:
    wire = Wire()

    async def read() -> None:
        async with OpenStream() as place:
            await place.enter(wire.stream("first"))
            raise UpstreamError("broken")

    with pytest.raises(UpstreamError):
        await read()
    assert wire.log == ["open first", "first failed", "close first"]
