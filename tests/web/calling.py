"""The running app over real HTTP: a client for whole answers, and sockets for everything that no client would send."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx2

from pplx_gateway.gateway import Gateway
from pplx_gateway.web.app import create_app
from pplx_gateway.web.connection import Connection
from tests.openai.fakes import KEY, gateway
from tests.running import serve

CHAT = "/v1/chat/completions"
ASK: dict[str, Any] = {"model": "sonar", "messages": [{"role": "user", "content": "Which two rivers meet in Ghent?"}]}
BEARER = {"authorization": f"Bearer {KEY}"}


class Caller:
    """Calls the app at `url`; the key is sent unless a test says otherwise."""

    def __init__(self, url: str, client: httpx2.AsyncClient) -> None:
        self.url = url
        self.client = client

    async def get(self, path: str, headers: Mapping[str, str] = BEARER, method: str = "GET") -> httpx2.Response:
        return await self.client.request(method, self.url + path, headers=headers)

    async def ask(
        self, body: Mapping[str, Any] | bytes = ASK, headers: Mapping[str, str] = BEARER, path: str = CHAT
    ) -> httpx2.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.client.post(
            self.url + path, content=content, headers={"content-type": "application/json", **headers}
        )

    async def stream(self, **fields: Any) -> httpx2.Response:
        return await self.ask({**ASK, "stream": True, **fields})

    @contextlib.asynccontextmanager
    async def socket(self) -> AsyncGenerator["Socket", None]:
        parts = urlsplit(self.url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        try:
            yield Socket(reader, writer, parts.netloc)
        finally:
            writer.transport.abort()


class Socket:
    """One connection, byte by byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str) -> None:
        self.reader = reader
        self.writer = writer
        self.host = host

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def head(
        self, *lines: str, method: str = "POST", path: str = CHAT, length: int | None = None, key: str | None = KEY
    ) -> None:
        """A request's headers; Host and the key are there."""
        found = [f"{method} {path} HTTP/1.1", f"Host: {self.host}", *lines]
        if key:
            found.append(f"Authorization: Bearer {key}")
        if length is not None:
            found.append(f"Content-Length: {length}")
        await self.send("".join(line + "\r\n" for line in found).encode("latin-1") + b"\r\n")

    async def ask(self, body: Mapping[str, Any] = ASK) -> None:
        content = json.dumps(body).encode()
        await self.head(length=len(content))
        await self.send(content)

    async def response(self) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and a body of known length; the connection may go on after it."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        body = await self.reader.readexactly(int(headers.get("content-length", 0)))
        return int(head[0].split()[1]), headers, body

    async def until(self, end: bytes) -> bytes:
        return await self.reader.readuntil(end)

    async def rest(self) -> bytes:
        """Everything until the server closes the connection."""
        return await self.reader.read()


@contextlib.asynccontextmanager
async def calling(
    served: Gateway | None = None, connection: type[Connection] = Connection
) -> AsyncGenerator[Caller, None]:
    async with (
        serve(create_app(served or gateway()), connection) as url,
        httpx2.AsyncClient(trust_env=False, verify=False, timeout=20) as client,
    ):
        yield Caller(url, client)


def error(reply: httpx2.Response) -> dict[str, Any]:
    """The error of a reply, its shape checked."""
    body = reply.json()
    assert set(body) == {"error"}
    found: dict[str, Any] = body["error"]
    assert set(found) == {"message", "type", "param", "code"}
    assert isinstance(found["message"], str)
    assert found["message"]
    assert reply.headers["x-request-id"].startswith("req_")
    return found
