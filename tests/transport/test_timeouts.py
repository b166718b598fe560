"""The four limits. A gateway second lasts 20 ms here (`hasty`)."""

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.transport import Network, Outgoing, Timeouts, TransferTimeout, Transport
from tests.transport.conftest import limited
from tests.transport.servers import Authority, Connection, RawServer, chunk, ok, relay, replying, soon

LONG = 1000


def only(connect: float = LONG, first_byte: float = LONG, idle: float = LONG, total: float | None = None) -> Timeouts:
    """One short limit; the others are too long to matter."""
    return Timeouts(connect, first_byte, idle, total)


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class Silent:
    """A handler that sends `first` and then nothing. `gone` is set when the client has closed."""

    def __init__(self, first: bytes = b"") -> None:
        self.first = first
        self.gone = asyncio.Event()

    async def __call__(self, connection: Connection) -> None:
        await connection.receive()
        if self.first:
            await connection.send(self.first)
        await connection.until_gone()
        self.gone.set()


async def drain(transport: Transport, outgoing: Outgoing) -> None:
    async with transport.stream(outgoing) as streaming:
        async for _ in streaming:
            pass


async def test_no_answer_is_a_first_byte_time_out(hasty: Transport) -> None:
    silent = Silent()
    async with RawServer(silent) as upstream:
        with pytest.raises(TransferTimeout, match="within 7 seconds") as caught:
            await soon(hasty.request(limited(upstream.url, only(first_byte=7))))
        await soon(silent.gone)
    assert (caught.value.limit, caught.value.seconds, caught.value.status) == ("first_byte", 7, 504)
    assert hasty.active == 0


async def test_a_stream_without_an_answer_is_a_first_byte_time_out(hasty: Transport) -> None:
    silent = Silent(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n")
    async with RawServer(silent) as upstream:
        with pytest.raises(TransferTimeout) as caught:
            async with hasty.stream(limited(upstream.url, only(first_byte=7))):
                pytest.fail("no headers have come")
        await soon(silent.gone)
    assert caught.value.limit == "first_byte"


async def test_silence_after_the_headers_is_an_idle_time_out(hasty: Transport) -> None:
    silent = Silent(CHUNKED)
    async with RawServer(silent) as upstream:
        with pytest.raises(TransferTimeout) as caught:
            await soon(hasty.request(limited(upstream.url, only(idle=7))))
        await soon(silent.gone)
    assert (caught.value.limit, caught.value.seconds) == ("idle", 7)


async def test_what_came_before_the_silence_is_handed_over_first(hasty: Transport) -> None:
    silent = Silent(CHUNKED + chunk(b"abc"))
    async with (
        RawServer(silent) as upstream,
        hasty.stream(limited(upstream.url, only(idle=7))) as streaming,
    ):
        await soon(silent.gone)
        assert await anext(streaming) == b"abc"
        with pytest.raises(TransferTimeout) as caught:
            await anext(streaming)
    assert caught.value.limit == "idle"


async def test_each_byte_starts_the_idle_limit_anew(hasty: Transport) -> None:
    async def handle(connection: Connection) -> None:
        await connection.receive()
        await connection.send(CHUNKED)
        for _ in range(20):
            await connection.send(chunk(b"x"))
            await asyncio.sleep(0.05)
        await connection.send(b"0\r\n\r\n")
        await connection.until_gone()

    async with RawServer(handle) as upstream:
        answer = await soon(hasty.request(limited(upstream.url, only(idle=40))))
    assert answer.body == b"x" * 20


async def test_the_wait_for_headers_is_not_idleness(hasty: Transport) -> None:
    async def handle(connection: Connection) -> None:
        await connection.receive()
        await asyncio.sleep(1.0)
        await connection.send(CHUNKED)
        await asyncio.sleep(0.1)
        await connection.send(chunk(b"late") + b"0\r\n\r\n")
        await connection.until_gone()

    async with RawServer(handle) as upstream:
        answer = await soon(hasty.request(limited(upstream.url, only(idle=40))))
    assert answer.body == b"late"


async def test_a_consumer_that_lags_is_not_an_idle_upstream(hasty: Transport) -> None:
    body = b"x" * (32 << 20)
    async with (
        RawServer(replying(ok(body))) as upstream,
        hasty.stream(limited(upstream.url, only(idle=20))) as streaming,
    ):
        await asyncio.sleep(1.0)
        assert len(await soon(streaming.read(len(body) + 1))) == len(body)


@pytest.mark.parametrize("first", [b"", CHUNKED, CHUNKED + chunk(b"abc")], ids=["nothing", "headers", "body"])
async def test_the_total_limit_counts_over_all(hasty: Transport, first: bytes) -> None:
    silent = Silent(first)
    async with RawServer(silent) as upstream:
        with pytest.raises(TransferTimeout, match="did not finish") as caught:
            await soon(hasty.request(limited(upstream.url, only(total=7))))
        await soon(silent.gone)
    assert (caught.value.limit, caught.value.seconds) == ("total", 7)


async def test_the_total_limit_ends_a_stream_that_never_stops(hasty: Transport) -> None:
    gone = asyncio.Event()

    async def handle(connection: Connection) -> None:
        await connection.receive()
        await connection.send(CHUNKED)
        try:
            while True:
                await connection.send(chunk(b"x"))
                await asyncio.sleep(0.01)
        finally:
            gone.set()

    async with RawServer(handle) as upstream:
        with pytest.raises(TransferTimeout) as caught:
            await soon(drain(hasty, limited(upstream.url, only(total=10))))
        await soon(gone)
    assert caught.value.limit == "total"


@pytest.fixture
async def deaf_port() -> AsyncIterator[int]:
    """A port whose queue of connections is full, so that no handshake is answered."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        fillers = []
        for _ in range(3):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
            fillers.append(filler)
        yield listener.getsockname()[1]
        for filler in fillers:
            filler.close()


async def test_no_connection_is_a_connect_time_out(hasty: Transport, deaf_port: int) -> None:
    with pytest.raises(TransferTimeout, match=r"No connection to 127\.0\.0\.1 within 7 seconds") as caught:
        await soon(hasty.request(limited(f"http://127.0.0.1:{deaf_port}/", only(connect=7, first_byte=2))))
    assert (caught.value.limit, caught.value.seconds) == ("connect", 7)


async def test_a_tls_handshake_that_never_ends_is_a_connect_time_out(hasty: Transport) -> None:
    async def handle(connection: Connection) -> None:
        await connection.until_gone()

    async with RawServer(handle) as upstream:
        address = upstream.url.replace("http:", "https:")
        with pytest.raises(TransferTimeout) as caught:
            await soon(hasty.request(limited(address, only(connect=7, first_byte=2))))
    assert caught.value.limit == "connect"


async def test_waiting_for_a_place_counts_as_connecting(trusting: Network) -> None:
    transport = Transport(Clock(factor=50), network=trusting, max_connections=1)
    silent = Silent(CHUNKED)
    async with RawServer(silent) as upstream:
        async with transport.stream(limited(upstream.url, only())):
            with pytest.raises(TransferTimeout, match="connections were in use for 7 seconds") as caught:
                await soon(transport.request(limited(upstream.url, only(connect=7))))
            assert caught.value.limit == "connect"
            assert (transport.active, transport.waiting) == (1, 0)
        assert upstream.connections == 1
    await transport.close()


async def test_a_slow_connection_does_not_shorten_the_first_byte_limit(hasty: Transport, authority: Authority) -> None:
    """first_byte runs from the send: the handshake alone takes longer than it here."""
    release = asyncio.Event()

    async def handle(connection: Connection) -> None:
        await release.wait()
        await relay(connection.reader, connection.writer, behind.port)

    async with RawServer(replying(ok(b"yes")), tls=authority.context()) as behind, RawServer(handle) as slow:
        asyncio.get_running_loop().call_later(0.8, release.set)
        address = slow.url.replace("http:", "https:")
        answer = await soon(hasty.request(limited(address, only(first_byte=25))))
    assert answer.body == b"yes"
