import asyncio
from collections.abc import Awaitable, Callable

import h2.errors
import pytest

from pplx_gateway.errors import UpstreamTruncated
from pplx_gateway.transport import Transport
from tests.transport.conftest import get, post
from tests.transport.servers import Authority, H2Server, Stream, soon

Make = Callable[[Callable[[Stream], Awaitable[None]]], H2Server]


@pytest.fixture
def server(authority: Authority) -> Make:
    return lambda handler: H2Server(handler, tls=authority.context(alpn=("h2", "http/1.1")))


async def answer(stream: Stream) -> None:
    await stream.complete.wait()
    await stream.respond(200, ("x-a", "1"), ("set-cookie", "a=1"), ("set-cookie", "b=2"))
    await stream.send(bytes(stream.body), end=True)


async def test_http2_is_agreed_on_and_headers_come_through(transport: Transport, server: Make) -> None:
    async with server(answer) as upstream:
        reply = await transport.request(post(upstream.url + "/path?q=1", b"abc", authorization="Bearer one"))
        empty = await transport.request(get(upstream.url))
    assert (reply.status, reply.body, empty.body) == (200, b"abc", b"")
    assert reply.headers.get("x-a") == "1"
    assert reply.headers.all("set-cookie") == ["a=1", "b=2"]
    first, second = upstream.opened
    assert first.all(":path") == ["/path?q=1"]
    assert first.all("authorization") == ["Bearer one"]
    assert second.all("authorization") == []
    assert second.all(":method") == ["GET"]


async def test_a_large_body_arrives_whole(transport: Transport, server: Make) -> None:
    body = bytes(range(256)) * 4_000
    async with server(answer) as upstream:
        assert (await soon(transport.request(post(upstream.url, body)))).body == body


async def test_many_streams_share_one_connection(transport: Transport, server: Make) -> None:
    together = asyncio.Event()

    async def handle(stream: Stream) -> None:
        if len(upstream.opened) == 51:
            together.set()
        if len(upstream.opened) > 1:
            await together.wait()
        await answer(stream)

    async with server(handle) as upstream:
        await transport.request(get(upstream.url))
        bodies = [b"%d" % number for number in range(50)]
        replies = await soon(asyncio.gather(*(transport.request(post(upstream.url, body)) for body in bodies)))
        assert upstream.connections == 1
    assert [reply.body for reply in replies] == bodies


async def test_leaving_one_stream_leaves_the_others_alone(transport: Transport, server: Make) -> None:
    go = asyncio.Event()

    async def handle(stream: Stream) -> None:
        await stream.respond(200)
        await stream.send(b"begin ")
        await go.wait()
        await stream.send(b"end", end=True)

    async with server(handle) as upstream:
        async with transport.stream(get(upstream.url + "/stays")) as stays:
            assert await soon(anext(stays)) == b"begin "
            async with transport.stream(get(upstream.url + "/leaves")) as leaves:
                assert await soon(anext(leaves)) == b"begin "
            await soon(upstream.opened[1].gone)
            assert not upstream.opened[0].gone.is_set()
            go.set()
            assert await soon(stays.read()) == b"end"
        assert (await soon(transport.request(get(upstream.url)))).body == b"begin end"
        assert upstream.connections == 1


async def test_cancelling_before_the_headers_resets_the_stream(transport: Transport, server: Make) -> None:
    reached = asyncio.Event()

    async def handle(stream: Stream) -> None:
        reached.set()
        await stream.gone.wait()

    async with server(handle) as upstream:
        task = asyncio.create_task(transport.request(post(upstream.url)))
        await soon(reached)
        task.cancel()
        await soon(upstream.opened[0].gone)
        assert task.cancelled() or await asyncio.wait([task])
        assert upstream.connections == 1


@pytest.mark.parametrize("after", ["request", "headers", "body"])
@pytest.mark.parametrize("how", ["reset", "cancel_code", "go_away", "cut"])
async def test_a_cut_stream_raises_truncated(transport: Transport, server: Make, after: str, how: str) -> None:
    async def handle(stream: Stream) -> None:
        await stream.complete.wait()
        if after != "request":
            await stream.respond(200)
        if after == "body":
            await stream.send(b"abc")
        await endings[how](stream)

    async with server(handle) as upstream:
        with pytest.raises(UpstreamTruncated):
            await soon(transport.request(post(upstream.url)))
    assert len(upstream.opened) == 1


async def _go_away(stream: Stream) -> None:
    await stream.connection.go_away(stream.number)
    stream.connection.cut()


async def _cut(stream: Stream) -> None:
    stream.connection.cut()


endings: dict[str, Callable[[Stream], Awaitable[None]]] = {
    "reset": lambda stream: stream.reset(h2.errors.ErrorCodes.INTERNAL_ERROR),
    "cancel_code": lambda stream: stream.reset(h2.errors.ErrorCodes.CANCEL),
    "go_away": _go_away,
    "cut": _cut,
}


async def test_a_body_shorter_than_its_content_length_is_truncated(transport: Transport, server: Make) -> None:
    async def handle(stream: Stream) -> None:
        await stream.respond(200, ("content-length", "10"))
        await stream.send(b"abc", end=True)

    async with server(handle) as upstream:
        with pytest.raises(UpstreamTruncated):
            await soon(transport.request(get(upstream.url)))


async def test_a_kept_connection_that_was_closed_is_replaced(transport: Transport, server: Make) -> None:
    async with server(answer) as upstream:
        assert (await transport.request(post(upstream.url, b"one"))).body == b"one"
        upstream.opened[0].connection.cut()
        await soon(upstream.opened[0].gone)
        assert (await soon(transport.request(post(upstream.url, b"two")))).body == b"two"
        assert upstream.connections == 2
    assert [bytes(stream.body) for stream in upstream.opened] == [b"one", b"two"]


async def test_a_post_on_a_kept_connection_that_dies_is_not_asked_twice(transport: Transport, server: Make) -> None:
    async def handle(stream: Stream) -> None:
        await stream.complete.wait()
        if stream.body == b"die":
            stream.connection.cut()
        else:
            await answer(stream)

    async with server(handle) as upstream:
        await transport.request(post(upstream.url, b"one"))
        with pytest.raises(UpstreamTruncated):
            await soon(transport.request(post(upstream.url, b"die")))
    assert [bytes(stream.body) for stream in upstream.opened] == [b"one", b"die"]
