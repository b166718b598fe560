"""Every way in which an HTTP/1.1 answer can end, asked whole and streamed, in clear and over TLS."""

from collections.abc import Awaitable, Callable

import pytest

from pplx_gateway.errors import UpstreamError, UpstreamTruncated
from pplx_gateway.transport import Transport
from tests.transport.conftest import get
from tests.transport.servers import Authority, Connection, RawServer, chunk, soon

Ask = Callable[[Transport, str], Awaitable[bytes]]

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


async def whole(transport: Transport, url: str) -> bytes:
    return (await transport.request(get(url))).body


async def streamed(transport: Transport, url: str) -> bytes:
    async with transport.stream(get(url)) as streaming:
        return b"".join([data async for data in streaming])


@pytest.fixture(params=[whole, streamed], ids=["whole", "streamed"])
def ask(request: pytest.FixtureRequest) -> Ask:
    chosen: Ask = request.param
    return chosen


@pytest.fixture(params=["clear", "tls"])
def server(request: pytest.FixtureRequest, authority: Authority) -> Callable[[bytes, str], RawServer]:
    """A server that answers with the bytes given and ends as named: end (clean), cut (FIN without TLS notice), reset,
    stay."""
    tls = authority.context() if request.param == "tls" else None

    def make(answer: bytes, ending: str) -> RawServer:
        async def handle(connection: Connection) -> None:
            await connection.receive()
            if answer:
                await connection.send(answer)
            if ending == "end":
                await connection.end()
            elif ending == "stay":
                await connection.until_gone()
            else:
                getattr(connection, ending)()

        return RawServer(handle, tls=tls)

    return make


@pytest.mark.parametrize(
    "case",
    [
        (OK + b"Content-Length: 3\r\n\r\nabc", "stay", b"abc"),
        (OK + b"Content-Length: 3\r\n\r\nabc", "end", b"abc"),
        (OK + b"Content-Length: 3\r\n\r\nabcdef", "end", b"abc"),
        (OK + b"Content-Length: 0\r\n\r\n", "stay", b""),
        (CHUNKED + chunk(b"ab") + chunk(b"c") + b"0\r\n\r\n", "stay", b"abc"),
        (CHUNKED + b"3;note=x\r\nabc\r\n0\r\nTrailer: t\r\n\r\n", "stay", b"abc"),
        (OK + b"\r\nabc", "end", b"abc"),
        (OK + b"\r\n", "end", b""),
        (b"HTTP/1.1 204 No Content\r\n\r\n", "stay", b""),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "stay", b""),
        (b"HTTP/1.0 200 OK\r\n\r\nabc", "end", b"abc"),
    ],
    ids=[
        "length",
        "length_then_end",
        "more_than_length",
        "empty",
        "chunked",
        "chunked_with_trailer",
        "until_close",
        "until_close_empty",
        "204",
        "304",
        "http_1_0",
    ],
)
async def test_a_whole_message_ends_normally(
    transport: Transport, ask: Ask, server: Callable[[bytes, str], RawServer], case: tuple[bytes, str, bytes]
) -> None:
    answer, ending, body = case
    async with server(answer, ending) as upstream:
        assert await soon(ask(transport, upstream.url)) == body


@pytest.mark.parametrize("ending", ["end", "cut", "reset"])
@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTT",
        OK,
        OK + b"Content-Le",
        OK + b"Content-Length: 10\r\n\r\n",
        OK + b"Content-Length: 10\r\n\r\nabc",
        CHUNKED,
        CHUNKED + chunk(b"abc"),
        CHUNKED + b"5\r\nab",
        CHUNKED + chunk(b"abc") + b"0\r\n",
        CHUNKED + b"zz\r\nabc\r\n",
    ],
    ids=[
        "nothing",
        "in_status_line",
        "in_headers",
        "in_a_header",
        "before_body",
        "in_body",
        "before_chunks",
        "between_chunks",
        "in_a_chunk",
        "in_last_chunk",
        "bad_chunk",
    ],
)
async def test_a_cut_message_raises_truncated(
    transport: Transport, ask: Ask, server: Callable[[bytes, str], RawServer], answer: bytes, ending: str
) -> None:
    async with server(answer, ending) as upstream:
        with pytest.raises(UpstreamTruncated, match=r"127\.0\.0\.1"):
            await soon(ask(transport, upstream.url))
    assert transport.active == 0


@pytest.mark.parametrize("ending", ["cut", "reset"])
async def test_an_answer_without_length_that_is_cut_over_tls_is_truncated(
    transport: Transport, ask: Ask, authority: Authority, ending: str
) -> None:
    async def handle(connection: Connection) -> None:
        await connection.receive()
        await connection.send(OK + b"\r\nabc")
        getattr(connection, ending)()

    async with RawServer(handle, tls=authority.context()) as upstream:
        with pytest.raises(UpstreamTruncated):
            await soon(ask(transport, upstream.url))


async def test_what_came_before_a_cut_is_handed_over_first(
    transport: Transport, server: Callable[[bytes, str], RawServer]
) -> None:
    async with (
        server(CHUNKED + chunk(b"abc"), "end") as upstream,
        transport.stream(get(upstream.url)) as streaming,
    ):
        assert await soon(anext(streaming)) == b"abc"
        with pytest.raises(UpstreamTruncated):
            await soon(anext(streaming))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 abc OK\r\n\r\n", "not HTTP"),
        (OK + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc", "malformed"),
        (OK + b"Content-Length: -3\r\n\r\nabc", "malformed"),
        (OK + b"X: " + b"a" * 200_000 + b"\r\n\r\n", "more HTTP headers"),
        (OK + b"X: abc\r\n" * 6_000 + b"\r\n", "more HTTP headers"),
        (OK + b"Content-Encoding: gzip\r\nContent-Length: 8\r\n\r\nnot gzip", "decompressed"),
    ],
    ids=["ssh", "bad_status", "two_lengths", "negative_length", "huge_header", "many_headers", "not_gzip"],
)
async def test_an_answer_that_makes_no_sense_is_an_error_and_not_a_cut(
    transport: Transport, ask: Ask, server: Callable[[bytes, str], RawServer], answer: bytes, words: str
) -> None:
    async with server(answer, "end") as upstream:
        with pytest.raises(UpstreamError, match=words) as caught:
            await soon(ask(transport, upstream.url))
    assert type(caught.value) is UpstreamError
