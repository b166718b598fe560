"""Leaving a transfer in any state closes the upstream's connection at once; a lagging consumer stops the upstream."""

import asyncio
import gc
import warnings

import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.errors import InternalError, UpstreamError
from pplx_gateway.transport import Network, Outgoing, Transport
from tests.transport.conftest import get, post
from tests.transport.servers import Authority, Connection, H2Server, RawServer, Stream, chunk, ok, replying, soon

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class Upstream:
    """A handler that sends `first`, then waits for the client to go. `reached` and `gone` are events of the latest."""

    def __init__(self, first: bytes) -> None:
        self.first = first
        self.reached = asyncio.Event()
        self.gone = asyncio.Event()
        self.left = 0

    async def __call__(self, connection: Connection) -> None:
        await connection.receive()
        if self.first:
            await connection.send(self.first)
        self.reached.set()
        await connection.until_gone()
        self.left += 1
        self.gone.set()


@pytest.fixture(params=["clear", "tls"])
def tls(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "tls")


def serve(upstream: Upstream, authority: Authority, tls: bool) -> RawServer:
    return RawServer(upstream, tls=authority.context() if tls else None)


async def consume(transport: Transport, outgoing: Outgoing, got: asyncio.Event) -> None:
    async with transport.stream(outgoing) as streaming:
        async for _ in streaming:
            got.set()


@pytest.mark.parametrize("first", [b"", b"HTTP/1.1 200 OK\r\nA: b", CHUNKED, CHUNKED + chunk(b"abc")])
async def test_cancelling_a_request_closes_its_connection(
    transport: Transport, authority: Authority, tls: bool, first: bytes
) -> None:
    upstream = Upstream(first)
    async with serve(upstream, authority, tls) as server:
        task = asyncio.create_task(transport.request(post(server.url)))
        await soon(upstream.reached)
        task.cancel()
        await soon(upstream.gone)
        await asyncio.wait([task])
        assert task.cancelled()
    assert transport.active == 0


@pytest.mark.parametrize("first", [b"", CHUNKED, CHUNKED + chunk(b"abc")], ids=["before_headers", "headers", "body"])
async def test_cancelling_a_stream_closes_its_connection(
    transport: Transport, authority: Authority, tls: bool, first: bytes
) -> None:
    upstream = Upstream(first)
    async with serve(upstream, authority, tls) as server:
        got = asyncio.Event()
        task = asyncio.create_task(consume(transport, post(server.url), got))
        await soon(upstream.reached if b"abc" not in first else got)
        task.cancel()
        await soon(upstream.gone)
        await asyncio.wait([task])
        assert task.cancelled()
    assert transport.active == 0


async def test_leaving_the_block_in_mid_stream_closes_the_connection(
    transport: Transport, authority: Authority, tls: bool
) -> None:
    upstream = Upstream(CHUNKED + chunk(b"abc"))
    async with serve(upstream, authority, tls) as server:
        async with transport.stream(get(server.url)) as streaming:
            assert await soon(anext(streaming)) == b"abc"
        await soon(upstream.gone)
        with pytest.raises(ZeroDivisionError):
            async with transport.stream(get(server.url)) as streaming:
                raise ZeroDivisionError
        await soon(asyncio.create_task(until(upstream, 2)))
    assert transport.active == 0


async def until(upstream: Upstream, left: int) -> None:
    while upstream.left < left:
        upstream.gone.clear()
        await upstream.gone.wait()


async def test_leaving_at_once_after_the_headers_of_a_whole_answer_keeps_the_transport_sound(
    transport: Transport,
) -> None:
    async with RawServer(replying(ok(b"x" * 100_000))) as server:
        for _ in range(20):
            async with transport.stream(get(server.url)):
                pass
        assert (await transport.request(get(server.url))).body == b"x" * 100_000
    assert transport.active == 0


async def test_reading_after_leaving_is_an_error_and_no_hang(transport: Transport) -> None:
    upstream = Upstream(CHUNKED + chunk(b"abc"))
    async with RawServer(upstream) as server:
        async with transport.stream(get(server.url)) as streaming:
            assert await soon(anext(streaming)) == b"abc"
        with pytest.raises(InternalError, match="left before its end"):
            await soon(anext(streaming))


async def test_leaving_while_the_transfer_fails_is_quiet(
    transport: Transport, caplog: pytest.LogCaptureFixture
) -> None:
    """The failure is there, and nobody has come to read it."""
    cut = asyncio.Event()

    async def handle(connection: Connection) -> None:
        await connection.receive()
        await connection.send(CHUNKED + chunk(b"abc"))
        await cut.wait()
        connection.reset()

    async with RawServer(handle) as server:
        for _ in range(20):
            cut.clear()
            async with transport.stream(get(server.url)) as streaming:
                await soon(anext(streaming))
                cut.set()
                for _ in range(5):
                    await asyncio.sleep(0)
    gc.collect()
    await asyncio.sleep(0)
    assert caplog.records == []


async def test_fifty_that_leave_at_once_are_all_closed(transport: Transport, authority: Authority, tls: bool) -> None:
    upstream = Upstream(CHUNKED + chunk(b"abc"))
    async with serve(upstream, authority, tls) as server:
        events = [asyncio.Event() for _ in range(50)]
        tasks = [asyncio.create_task(consume(transport, post(server.url), event)) for event in events]
        await soon(asyncio.gather(*(event.wait() for event in events)))
        for task in tasks:
            task.cancel()
        await soon(asyncio.create_task(until(upstream, 50)))
        await asyncio.wait(tasks)
    assert transport.active == 0


async def test_cancelling_who_waits_for_a_place_leaves_cleanly(trusting: Network) -> None:
    transport = Transport(Clock(), network=trusting, max_connections=1)
    upstream = Upstream(CHUNKED)
    async with RawServer(upstream) as server:
        async with transport.stream(get(server.url)):
            task = asyncio.create_task(transport.request(get(server.url)))
            await asyncio.sleep(0)
            assert transport.waiting == 1
            task.cancel()
            await asyncio.wait([task])
            assert (transport.active, transport.waiting) == (1, 0)
        assert server.connections == 1
    assert transport.active == 0
    await transport.close()


# back-pressure

ENDLESS = 128 << 20
BOUND = 24 << 20
"""What may be under way: 256 KB here, the sockets' buffers (6 MB a side on loopback), an HTTP/2 window (6 MB for
chrome)."""


class Flood:
    """A handler that sends ENDLESS bytes as fast as the client takes them."""

    def __init__(self) -> None:
        self.sent = 0
        self.gone = asyncio.Event()

    async def __call__(self, connection: Connection) -> None:
        await connection.receive()
        await connection.send(CHUNKED)
        watch = asyncio.create_task(connection.until_gone())
        piece = chunk(b"x" * 65_536)
        try:
            while self.sent < ENDLESS:
                await connection.send(piece)
                self.sent += 65_536
            await connection.send(b"0\r\n\r\n")
            await watch
        finally:
            watch.cancel()
            self.gone.set()

    async def stalled(self) -> None:
        """Returns when the client has taken nothing for 100 ms."""
        before = -1
        while before != self.sent:
            before = self.sent
            await asyncio.sleep(0.1)


async def test_a_consumer_that_stops_reading_stops_the_upstream(
    transport: Transport, authority: Authority, tls: bool
) -> None:
    flood = Flood()
    async with RawServer(flood, tls=authority.context() if tls else None) as server:
        async with transport.stream(get(server.url)) as streaming:
            await soon(flood.stalled())
            assert flood.sent < BOUND
            first = await anext(streaming)
            assert len(first) <= (256 + 16) * 1024
        await soon(flood.gone)
        assert flood.sent < BOUND


async def test_a_slow_consumer_gets_every_byte(transport: Transport, authority: Authority, tls: bool) -> None:
    body = b"".join(b"%07d\n" % number for number in range(400_000))
    tls_context = authority.context() if tls else None
    async with (
        RawServer(replying(ok(body)), tls=tls_context) as server,
        transport.stream(get(server.url)) as streaming,
    ):
        parts = []
        async with asyncio.timeout(30):
            async for data in streaming:
                parts.append(data)
                await asyncio.sleep(0)
        assert b"".join(parts) == body


async def test_cancelling_while_paused_closes_the_connection(transport: Transport) -> None:
    flood = Flood()
    async with RawServer(flood) as server:
        entered = asyncio.Event()

        async def lag() -> None:
            async with transport.stream(get(server.url)):
                entered.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(lag())
        await soon(entered)
        await soon(flood.stalled())
        task.cancel()
        await soon(flood.gone)
        await asyncio.wait([task])
    assert transport.active == 0


async def test_a_lagging_http2_stream_stops_alone(transport: Transport, authority: Authority) -> None:
    async def handle(stream: Stream) -> None:
        await stream.respond(200)
        if stream.all(":path") == ["/flood"]:
            while stream.sent < ENDLESS:
                await stream.send(b"x" * 65_536)
        await stream.send(b"quick", end=True)

    async with (
        H2Server(handle, tls=authority.context(alpn=("h2",))) as server,
        transport.stream(get(server.url + "/flood")) as streaming,
    ):
        await soon(anext(streaming))
        for _ in range(20):
            assert (await soon(transport.request(get(server.url + "/quick")))).body == b"quick"
        assert server.opened[0].sent < BOUND
        assert server.connections == 1


# closing


async def test_closing_fails_what_is_under_way(trusting: Network) -> None:
    transport = Transport(Clock(), network=trusting, max_connections=3)
    silent, talking = Upstream(b""), Upstream(CHUNKED + chunk(b"abc"))
    async with RawServer(silent) as first, RawServer(talking) as second:
        got = asyncio.Event()
        tasks = [
            asyncio.create_task(transport.request(post(first.url))),
            asyncio.create_task(consume(transport, post(first.url), asyncio.Event())),
            asyncio.create_task(consume(transport, post(second.url), got)),
        ]
        await soon(got)
        await soon(silent.reached)
        tasks.append(asyncio.create_task(transport.request(post(first.url))))
        await asyncio.sleep(0)
        assert transport.waiting == 1
        await soon(transport.close())
        await soon(silent.gone)
        await soon(talking.gone)
        for task in tasks:
            with pytest.raises(UpstreamError, match="shutting down"):
                await soon(task)
    assert (transport.active, transport.waiting) == (0, 0)


async def test_closing_twice_and_asking_afterwards(transport: Transport) -> None:
    async with RawServer(replying(ok(b"yes"))) as server:
        await transport.request(get(server.url))
        await transport.close()
        await transport.close()
        with pytest.raises(UpstreamError, match="shutting down"):
            await transport.request(get(server.url))
        with pytest.raises(UpstreamError, match="shutting down"):
            async with transport.stream(get(server.url)):
                pytest.fail("closed")


async def test_closing_before_the_first_request_is_fine(trusting: Network) -> None:
    await Transport(Clock(), network=trusting).close()


async def test_a_stream_may_be_left_after_its_transport_was_closed(trusting: Network) -> None:
    transport = Transport(Clock(), network=trusting)
    upstream = Upstream(CHUNKED + chunk(b"abc"))
    async with RawServer(upstream) as server, transport.stream(get(server.url)) as streaming:
        await soon(upstream.reached)
        await transport.close()
        await soon(upstream.gone)
        with pytest.raises(UpstreamError, match="shutting down"):
            await streaming.read()
    assert transport.active == 0


async def test_closing_leaves_no_task_and_no_warning(trusting: Network) -> None:
    before = asyncio.all_tasks()
    transport = Transport(Clock(), network=trusting)
    async with RawServer(replying(ok(b"yes"))) as server:
        await asyncio.gather(*(transport.request(get(server.url)) for _ in range(5)))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            await transport.close()
            del transport
            gc.collect()
    assert asyncio.all_tasks() == before
