"""The way from the one-file server to the emulator: a proxy that ends the server's TLS and passes on what is inside."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator
from pathlib import Path

from tests.transport.servers import Authority

HOST = "api.perplexity.ai"
FILE = Path(__file__).resolve().parents[2] / "packages" / "pplx-agent-mcp" / "pplx_agent_mcp.py"


@contextlib.asynccontextmanager
async def way_to(port: int, folder: Path) -> AsyncGenerator[dict[str, str], None]:
    """Gives the variables that lead HOST to `port` of loopback."""
    authority = Authority(folder)
    context = authority.context(HOST)
    tasks: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        tasks.add(task)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await _tunnel(reader, writer, context, port)
        tasks.discard(task)

    async with await asyncio.start_server(accept, "127.0.0.1", 0) as server:
        own = server.sockets[0].getsockname()[1]
        yield {"HTTPS_PROXY": f"http://127.0.0.1:{own}", "SSL_CERT_FILE": str(authority.ca_file)}
        for task in tasks:
            task.cancel()


async def _tunnel(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, context: ssl.SSLContext, port: int
) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(f"CONNECT {HOST}:443 ".encode())
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    await writer.drain()
    await writer.start_tls(context)
    inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
    await asyncio.gather(_pass_on(reader, inner_writer), _pass_on(inner_reader, writer))


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until the end of one direction, which ends both: the server asks one thing a connection."""
    try:
        while content := await reader.read(65536):
            writer.write(content)
            await writer.drain()
    finally:
        writer.close()
