"""What uvicorn alone would let through: requests that are no HTTP, and headers without an end."""

import asyncio
import json

import pytest

from pplx_gateway.answer import TextDelta
from pplx_gateway.web.connection import Connection, HeadHolder
from tests.openai.fakes import FakeUpstream, gateway
from tests.web.calling import ASK, Socket, calling


async def too_long(socket: Socket) -> None:
    """A header that passes the limit with its last few bytes, so that none is left unread when the server closes."""
    for piece in (b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: ", b"x" * (Connection.head_bytes - 100), b"x" * 200):
        await socket.send(piece)
        await asyncio.sleep(0.05)  # the server, in the same loop, reads it


class Impatient(Connection):
    head_seconds = 0.05


def read(raw: bytes) -> tuple[int, dict[str, str], dict[str, str]]:
    head, _, body = raw.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines[1:])
    assert int(headers["content-length"]) == len(body)
    return int(lines[0].split()[1]), headers, json.loads(body)["error"]


@pytest.mark.parametrize(
    "raw",
    [
        b"NONSENSE\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET / HTTP/1.1\r\nBad Header: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: a\x00b\r\n\r\n",
    ],
)
async def test_what_is_no_http_gets_an_error_of_our_shape(raw: bytes) -> None:
    async with calling() as caller, caller.socket() as socket:
        await socket.send(raw)
        status, headers, error = read(await socket.rest())
    assert status == 400
    assert set(error) == {"message", "type", "param", "code"}
    assert headers["connection"] == "close"
    assert headers["x-request-id"].startswith("req_")


async def test_headers_that_are_too_long_are_refused() -> None:
    async with calling() as caller, caller.socket() as socket:
        await too_long(socket)
        status, _, error = read(await socket.rest())
    assert (status, error["code"]) == (413, "request_too_large")


async def test_headers_of_a_second_request_are_limited_too() -> None:
    async with calling() as caller, caller.socket() as socket:
        await socket.head(method="GET", path="/health")
        assert (await socket.response())[0] == 200
        await too_long(socket)
        status, _, _ = read(await socket.rest())
    assert status == 413


async def test_a_long_body_in_the_first_packet_is_no_long_header() -> None:
    async with calling() as caller, caller.socket() as socket:
        body = b" " * (Connection.head_bytes * 2) + b"{}"
        await socket.head(length=len(body))
        await socket.send(body)
        assert (await socket.response())[0] == 400  # no messages in it, but read


async def test_headers_without_an_end_are_given_up() -> None:
    async with calling(connection=Impatient) as caller, caller.socket() as socket:
        await socket.send(b"GET /health HTTP/1.1\r\nHost: loc")
        status, headers, error = read(await socket.rest())
    assert (status, error["code"], headers["x-should-retry"]) == (408, "request_timeout", "false")


async def test_a_connection_that_is_never_used_is_closed_without_a_word() -> None:
    async with calling(connection=Impatient) as caller, caller.socket() as socket:
        assert await socket.rest() == b""


async def test_a_slow_body_is_not_a_slow_header() -> None:
    async with calling(connection=Impatient) as caller, caller.socket() as socket:
        await socket.head(length=2)
        await asyncio.sleep(0.2)  # longer than the patience for headers
        await socket.send(b"{}")
        assert (await socket.response())[0] == 400


async def test_nonsense_behind_a_stream_under_way_ends_the_connection_without_an_answer_inside_the_answer() -> None:
    upstream = FakeUpstream("api", [[TextDelta("The ")], asyncio.Event()])
    async with calling(gateway(upstream)) as caller, caller.socket() as socket:
        await socket.ask({**ASK, "stream": True})
        await socket.until(b"The ")
        await socket.send(b"NONSENSE\r\n\r\n")
        rest = await socket.rest()
        async with asyncio.timeout(1):
            await upstream.closed.wait()
    assert b"HTTP/1.1 400" not in rest


class Written(asyncio.Transport):
    """A transport that notes its writes."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.closed = False

    def write(self, data: object) -> None:
        self.writes.append(bytes(data))  # type: ignore[call-overload]

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed


def holder() -> tuple[HeadHolder, Written]:
    transport = Written()
    return HeadHolder(asyncio.get_running_loop(), transport), transport


async def test_the_head_leaves_together_with_the_first_bytes() -> None:
    holds, transport = holder()
    holds.write(b"HTTP/1.1 200 OK\r\n\r\n")
    holds.write(b"a")
    holds.write(b"b")
    await asyncio.sleep(0)
    assert transport.writes == [b"HTTP/1.1 200 OK\r\n\r\na", b"b"]


async def test_a_head_waits_for_no_body_longer_than_a_turn() -> None:
    holds, transport = holder()
    holds.write(b"HTTP/1.1 200 OK\r\n\r\n")
    assert transport.writes == []
    await asyncio.sleep(0)
    assert transport.writes == [b"HTTP/1.1 200 OK\r\n\r\n"]
    holds.write(b"a")
    assert transport.writes[1:] == [b"a"]


async def test_a_head_alone_is_not_lost_when_the_connection_closes() -> None:
    holds, transport = holder()
    holds.write(b"HTTP/1.1 204 No Content\r\n\r\n")
    holds.close()
    assert (transport.writes, holds.is_closing()) == ([b"HTTP/1.1 204 No Content\r\n\r\n"], True)


async def test_leave_to_send_a_body_is_given_at_once() -> None:
    holds, transport = holder()
    holds.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    assert transport.writes == [b"HTTP/1.1 100 Continue\r\n\r\n"]
    holds.write(b"HTTP/1.1 200 OK\r\n\r\n")
    holds.write(b"a")
    assert transport.writes[1:] == [b"HTTP/1.1 200 OK\r\n\r\na"]
