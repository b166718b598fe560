"""A server that counts who knocks."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from urllib.parse import urlsplit


class Listener:
    def __init__(self) -> None:
        self.hits = 0
        self.url = ""

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.hits += 1
        with closing(writer):
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")
            await writer.drain()

    @staticmethod
    async def knock(url: str) -> None:
        place = urlsplit(url)
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        with closing(writer):
            assert (await reader.read(12)).startswith(b"HTTP/1.1 200")


@asynccontextmanager
async def listening() -> AsyncGenerator[Listener, None]:
    listener = Listener()
    async with await asyncio.start_server(listener.take, "127.0.0.1", 0) as server:
        listener.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/schema"
        yield listener
