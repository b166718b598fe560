"""What goes out and what comes back, in HTTP/1.1."""

import asyncio
import gzip

import msgspec
import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.errors import InternalError, UpstreamError, UpstreamTruncated
from pplx_gateway.transport import Method, Network, Outgoing, Transport
from tests.transport.conftest import get, post
from tests.transport.servers import Authority, Connection, RawServer, Received, chunk, ok, replying, soon


async def test_a_request_is_sent_as_it_is_given(transport: Transport) -> None:
    seen: list[Received] = []
    async with RawServer(replying(ok(b"yes"), seen=seen)) as upstream:
        outgoing = post(upstream.url + "/a/../b?q=1&k=%20", b'{"q":1}', Authorization="Bearer one")
        answer = await transport.request(outgoing)
    assert (answer.status, answer.body) == (200, b"yes")
    (received,) = seen
    assert received.request_line.startswith("POST ")
    assert received.request_line.endswith("?q=1&k=%20 HTTP/1.1")
    assert received.body == b'{"q":1}'
    assert received.all("authorization") == ["Bearer one"]
    assert received.all("content-type") == ["application/json"]
    assert received.all("content-length") == ["7"]
    for absent in ("expect", "upgrade", "cookie", "transfer-encoding"):
        assert received.get(absent) is None


@pytest.mark.parametrize(
    ("method", "body", "length"),
    [
        ("GET", None, None),
        ("POST", None, "0"),
        ("POST", b"", "0"),
        ("POST", b"a\0b", "3"),
        ("PUT", b"abc", "3"),
        ("PUT", None, "0"),
        ("DELETE", None, None),
        ("DELETE", b"abc", "3"),
    ],
)
async def test_every_method_goes_with_and_without_a_body(
    transport: Transport, method: Method, body: bytes | None, length: str | None
) -> None:
    seen: list[Received] = []
    async with RawServer(replying(ok(b"yes"), seen=seen)) as upstream:
        await transport.request(Outgoing(method=method, url=upstream.url, body=body))
        await transport.request(Outgoing(method=method, url=upstream.url, body=body))
        assert upstream.connections == 1
    for received in seen:
        assert received.request_line.partition(" ")[0] == method
        assert received.get("content-length") == length
        assert received.get("content-type") is None
        assert received.body == (body or b"")


async def test_a_large_body_arrives_whole_and_without_a_pause(transport: Transport) -> None:
    seen: list[Received] = []
    body = bytes(range(256)) * 12_000
    async with RawServer(replying(ok(b"yes"), seen=seen)) as upstream:
        await soon(transport.request(post(upstream.url, body)))
    assert seen[0].body == body
    assert seen[0].get("expect") is None


async def test_an_answer_that_comes_before_the_body_has_left_counts(transport: Transport) -> None:
    gone = asyncio.Event()

    async def handle(connection: Connection) -> None:
        await connection.reader.readuntil(b"\r\n\r\n")
        await connection.send(b"HTTP/1.1 413 Too large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig")
        await connection.until_gone()
        gone.set()

    async with RawServer(handle) as upstream:
        answer = await soon(transport.request(post(upstream.url, b"x" * 20_000_000)))
        await soon(gone)
    assert (answer.status, answer.body) == (413, b"big")


async def test_empty_headers_are_left_out(transport: Transport) -> None:
    seen: list[Received] = []
    async with RawServer(replying(ok(b""), seen=seen)) as upstream:
        await transport.request(get(upstream.url, accept="", x_empty="", x_full="1"))
    assert seen[0].get("accept") is None
    assert seen[0].get("x_empty") is None
    assert seen[0].get("x_full") == "1"


async def test_nothing_leaks_from_one_request_into_the_next(transport: Transport) -> None:
    seen: list[Received] = []
    reply = ok(b"", "Set-Cookie: sid=secret; Path=/")
    async with RawServer(replying(reply, seen=seen)) as upstream:
        await transport.request(post(upstream.url, b"first", authorization="Bearer one", x_extra="1"))
        await transport.request(get(upstream.url, authorization="Bearer two"))
        await transport.request(get(upstream.url))
        assert upstream.connections == 1
    assert [received.all("authorization") for received in seen] == [["Bearer one"], ["Bearer two"], []]
    assert seen[1].request_line == "GET / HTTP/1.1"
    assert seen[1].body == b""
    for name in ("x_extra", "content-type", "content-length", "cookie"):
        assert seen[1].get(name) is None


SHAPES = (
    Outgoing(method="GET", url="/a?q=1", headers={"authorization": "Bearer one", "cookie": "a=1"}),
    Outgoing(method="GET", url="/b"),
    Outgoing(method="POST", url="/c", headers={"content-type": "text/plain", "x-extra": "1"}, body=b"long" * 9_000),
    Outgoing(method="POST", url="/d", headers={"accept": ""}, body=b"short"),
    Outgoing(method="POST", url="/e"),
    Outgoing(method="PUT", url="/f", body=b"put"),
    Outgoing(method="DELETE", url="/g"),
)


@pytest.mark.parametrize("browser", [None, "chrome"])
async def test_a_used_handle_sends_what_a_new_one_does(trusting: Network, browser: str | None) -> None:
    """Whatever came before it on the handle: an answer, an answer that was left, or a failure."""
    seen: list[Received] = []
    used = Transport(Clock(), impersonate=browser, network=trusting)
    async with RawServer(replying(ok(b"x" * 50_000, "Set-Cookie: sid=1"), seen=seen)) as upstream:
        shapes = [msgspec.structs.replace(shape, url=upstream.url + shape.url) for shape in SHAPES]
        expected = []
        for shape in shapes:
            new = Transport(Clock(), impersonate=browser, network=trusting)
            await soon(new.request(shape))
            expected.append(seen[-1])
            await new.close()
        for before in shapes:
            for shape, received in zip(shapes, expected, strict=True):
                await soon(used.request(before))
                async with used.stream(before):
                    pass
                with pytest.raises(UpstreamError):
                    await soon(used.request(msgspec.structs.replace(before, url="http://127.0.0.1:9/")))
                await soon(used.request(shape))
                assert seen[-1] == received
    await used.close()


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\0b"])
async def test_a_line_break_in_a_header_is_refused(transport: Transport, value: str) -> None:
    async with RawServer(replying(ok(b""))) as upstream:
        with pytest.raises(InternalError, match="line break") as caught:
            await transport.request(get(upstream.url, cookie=value))
        assert upstream.connections == 0
    assert "Evil" not in str(caught.value)
    assert transport.active == 0


@pytest.mark.parametrize("path", ["/\x01?token=hush", "/a b?token=hush"])
async def test_an_address_that_curl_refuses_is_an_error_without_its_query(transport: Transport, path: str) -> None:
    with pytest.raises((InternalError, UpstreamError)) as caught:
        await transport.request(get("http://127.0.0.1:9" + path))
    assert "hush" not in str(caught.value)
    assert transport.active == 0


async def test_cookies_can_be_read_and_are_not_kept(transport: Transport) -> None:
    seen: list[Received] = []
    reply = ok(b"", "Set-Cookie: a=1; HttpOnly", "Set-Cookie: b=2")
    async with RawServer(replying(reply, seen=seen)) as upstream:
        answer = await transport.request(get(upstream.url, cookie="own=1; more=2"))
        async with transport.stream(get(upstream.url)) as streaming:
            assert streaming.headers.all("set-cookie") == ["a=1; HttpOnly", "b=2"]
    assert answer.headers.all("set-cookie") == ["a=1; HttpOnly", "b=2"]
    assert [received.all("cookie") for received in seen] == [["own=1; more=2"], []]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_handed_over_and_not_followed(transport: Transport, status: int) -> None:
    seen: list[Received] = []
    async with RawServer(replying(b"", seen=seen)) as upstream:
        reply = f"HTTP/1.1 {status} Away\r\nLocation: {upstream.url}/login\r\nContent-Length: 0\r\n\r\n".encode()
        async with RawServer(replying(reply)) as first:
            answer = await transport.request(get(first.url, authorization="Bearer one"))
        assert upstream.connections == 0
        assert (answer.status, answer.headers.get("location")) == (status, f"{upstream.url}/login")


async def test_informational_answers_repeats_and_folds(transport: Transport) -> None:
    reply = (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
        b"HTTP/1.1 201 Made\r\nX-A: 1\r\nx-a: 2\r\nX-Fold: one\r\n  two\r\nContent-Length: 2\r\n\r\nok"
    )
    async with RawServer(replying(reply)) as upstream:
        answer = await transport.request(get(upstream.url))
    assert (answer.status, answer.body) == (201, b"ok")
    assert answer.headers.all("x-a") == ["1", "2"]
    assert answer.headers.get("x-fold") == "one two"
    assert answer.headers.get("link") is None


async def test_large_headers_below_the_limit_arrive(transport: Transport) -> None:
    value = "a" * 60_000
    async with RawServer(replying(ok(b"", f"X-Large: {value}"))) as upstream:
        answer = await transport.request(get(upstream.url))
    assert answer.headers.get("x-large") == value


async def test_gzip_is_unpacked_whole_and_in_pieces(transport: Transport) -> None:
    text = b"event: message\r\ndata: {}\r\n\r\n" * 5_000
    packed = gzip.compress(text)
    seen: list[Received] = []

    async def handle(connection: Connection) -> None:
        while received := await connection.receive():
            seen.append(received)
            await connection.send(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n")
            for start in range(0, len(packed), 100):
                await connection.send(chunk(packed[start : start + 100]))
            await connection.send(b"0\r\n\r\n")

    async with RawServer(handle) as upstream:
        assert (await transport.request(get(upstream.url))).body == text
        async with transport.stream(get(upstream.url)) as streaming:
            assert b"".join([data async for data in streaming]) == text
    for encoding in ("gzip", "br", "zstd"):
        assert encoding in (seen[0].get("accept-encoding") or "")


async def test_a_body_above_the_limit_is_an_error(trusting: Network) -> None:
    transport = Transport(Clock(), network=trusting, max_body_bytes=100_000)
    bomb = ok(gzip.compress(b"x" * 9_000_000), "Content-Encoding: gzip")
    async with RawServer(replying(ok(b"x" * 100_000), ok(b"x" * 100_001), bomb)) as upstream:
        assert len((await transport.request(get(upstream.url))).body) == 100_000
        for _ in range(2):
            with pytest.raises(UpstreamError, match="larger than 100000 bytes"):
                await transport.request(get(upstream.url))
    await transport.close()


async def test_headers_come_before_the_body(transport: Transport) -> None:
    go = asyncio.Event()

    async def handle(connection: Connection) -> None:
        await connection.receive()
        await connection.send(b"HTTP/1.1 418 Tea\r\nX-A: 1\r\nContent-Length: 3\r\n\r\n")
        await go.wait()
        await connection.send(b"abc")
        await connection.until_gone()

    async with RawServer(handle) as upstream, transport.stream(get(upstream.url)) as streaming:
        assert (streaming.status, streaming.headers.get("x-a")) == (418, "1")
        go.set()
        assert [data async for data in streaming] == [b"abc"]


async def test_what_came_between_two_reads_is_one_piece(transport: Transport) -> None:
    sent = asyncio.Event()

    async def handle(connection: Connection) -> None:
        await connection.receive()
        await connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for number in range(10):
            await connection.send(chunk(b"%d" % number))
        await connection.send(b"0\r\n\r\n")
        sent.set()
        await connection.until_gone()

    async with RawServer(handle) as upstream, transport.stream(get(upstream.url)) as streaming:
        await sent.wait()
        pieces = [data async for data in streaming]
    assert b"".join(pieces) == b"0123456789"
    assert all(pieces)
    assert len(pieces) < 10


async def test_read_gives_at_most_its_limit(transport: Transport) -> None:
    async with RawServer(replying(ok(b"x" * 5_000))) as upstream:
        async with transport.stream(get(upstream.url)) as streaming:
            assert await streaming.read(100) == b"x" * 100
        async with transport.stream(get(upstream.url)) as streaming:
            assert await streaming.read() == b"x" * 5_000
            assert await streaming.read() == b""
        async with transport.stream(get(upstream.url)) as streaming:
            assert await streaming.read(0) == b""


async def test_the_end_of_a_message_is_waited_for(transport: Transport) -> None:
    async def handle(connection: Connection) -> None:
        while await connection.receive():
            await connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(b"all"))
            await connection.send(chunk(b"more") + b"0\r\n\r\n")

    async with RawServer(handle) as upstream:
        for _ in range(3):
            async with transport.stream(post(upstream.url)) as streaming:
                await soon(streaming.finish(60))
        assert upstream.connections == 1


@pytest.mark.parametrize("cut", [False, True])
async def test_a_message_that_does_not_end_is_waited_for_only_so_long(hasty: Transport, cut: bool) -> None:
    async def handle(connection: Connection) -> None:
        await connection.receive()
        await connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(b"all"))
        if cut:
            connection.cut()
        await connection.until_gone()

    async with RawServer(handle) as upstream, hasty.stream(post(upstream.url)) as streaming:
        assert await anext(aiter(streaming)) == b"all"
        await soon(streaming.finish(1))


@pytest.mark.parametrize("tls", [False, True])
async def test_connections_are_used_again(transport: Transport, authority: Authority, tls: bool) -> None:
    async with RawServer(replying(ok(b"yes")), tls=authority.context() if tls else None) as upstream:
        for _ in range(5):
            await transport.request(post(upstream.url))
        async with transport.stream(get(upstream.url)) as streaming:
            await streaming.read()
        assert upstream.connections == 1


async def test_a_post_on_a_kept_connection_that_dies_is_not_asked_twice(transport: Transport) -> None:
    """curl repeats it by itself where it can: the upstream may have begun, and billed, the first."""
    asked: list[bytes] = []

    async def handle(connection: Connection) -> None:
        while received := await connection.receive():
            asked.append(received.body)
            if received.body == b"die":
                connection.reset()
                return
            await connection.send(ok(b"yes"))

    async with RawServer(handle) as upstream:
        await transport.request(post(upstream.url, b"one"))
        with pytest.raises(UpstreamTruncated, match="not repeated"):
            await soon(transport.request(post(upstream.url, b"die")))
        await transport.request(post(upstream.url, b"two"))
    assert asked == [b"one", b"die", b"two"]


@pytest.mark.parametrize("ending", ["end", "reset"])
async def test_a_kept_connection_that_the_upstream_has_closed_is_replaced(transport: Transport, ending: str) -> None:
    asked: list[bytes] = []
    closed = asyncio.Event()

    async def handle(connection: Connection) -> None:
        received = await connection.receive()
        assert received is not None
        asked.append(received.body)
        await connection.send(ok(b"yes"))
        if ending == "end":
            await connection.end()
        else:
            connection.reset()
        closed.set()

    async with RawServer(handle) as upstream:
        for body in (b"one", b"two", b"three"):
            answer = await soon(transport.request(post(upstream.url, body)))
            assert answer.body == b"yes"
            await closed.wait()
            closed.clear()
        async with transport.stream(post(upstream.url, b"four")) as streaming:
            assert await streaming.read() == b"yes"
        assert upstream.connections == 4
    assert asked == [b"one", b"two", b"three", b"four"]


async def test_a_cap_makes_the_rest_wait_their_turn(trusting: Network) -> None:
    transport = Transport(Clock(), network=trusting, max_connections=10)
    at_once = most = 0

    async def handle(connection: Connection) -> None:
        nonlocal at_once, most
        while await connection.receive():
            at_once += 1
            most = max(most, at_once)
            await asyncio.sleep(0)
            at_once -= 1
            await connection.send(ok(b"yes"))

    async with RawServer(handle) as upstream:
        requests = [asyncio.create_task(transport.request(get(upstream.url))) for _ in range(100)]
        await asyncio.sleep(0)
        assert (transport.active, transport.waiting) == (10, 90)
        answers = await soon(asyncio.gather(*requests))
        assert upstream.connections <= 10
    assert [answer.body for answer in answers] == [b"yes"] * 100
    assert most <= 10
    assert (transport.active, transport.waiting) == (0, 0)
    await transport.close()
