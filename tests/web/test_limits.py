import asyncio
import json

import pytest

from tests.openai.fakes import FakeUpstream, gateway
from tests.web.calling import ASK, BEARER, calling, error


async def test_a_body_of_exactly_the_limit_passes_and_one_byte_more_does_not() -> None:
    body = json.dumps(ASK).encode()
    async with calling(gateway(max_body_bytes=len(body))) as caller:
        assert (await caller.ask(body)).status_code == 200
        reply = await caller.ask(body + b" ")
    assert reply.status_code == 413
    assert error(reply)["code"] == "request_too_large"
    assert reply.headers["connection"] == "close"


async def test_a_length_above_the_limit_is_refused_before_the_body_comes() -> None:
    upstream = FakeUpstream("api")
    async with calling(gateway(upstream)) as caller, caller.socket() as socket:
        await socket.head(length=40 << 20)
        status, headers, _ = await socket.response()
    assert (status, headers["connection"]) == (413, "close")
    assert not upstream.asked


async def test_a_client_that_sends_on_still_reads_the_refusal() -> None:
    async with calling(gateway(max_body_bytes=1000)) as caller, caller.socket() as socket:
        await socket.head(length=4 << 20)
        await socket.send(b"x" * (4 << 20))
        assert (await socket.response())[0] == 413


async def test_a_chunked_body_is_refused_once_it_passes_the_limit() -> None:
    async with calling(gateway(max_body_bytes=1000)) as caller, caller.socket() as socket:
        await socket.head("Transfer-Encoding: chunked")
        for _ in range(3):
            await socket.send(b"190\r\n" + b" " * 400 + b"\r\n")
        status, headers, _ = await socket.response()
        await socket.send(b"0\r\n\r\n")
        assert await socket.rest() == b""
    assert (status, headers["connection"]) == (413, "close")


async def test_a_chunked_body_within_the_limit_passes() -> None:
    body = json.dumps(ASK).encode()
    async with calling() as caller, caller.socket() as socket:
        await socket.head("Transfer-Encoding: chunked")
        for byte in body[:20]:
            await socket.send(b"1\r\n" + bytes([byte]) + b"\r\n")
        await socket.send(b"%x\r\n%b\r\n0\r\n\r\n" % (len(body) - 20, body[20:]))
        assert (await socket.response())[0] == 200


async def test_a_body_that_never_ends_is_given_up() -> None:
    async with calling(gateway(factor=300)) as caller, caller.socket() as socket:
        await socket.head(length=10)
        await socket.send(b'{"mod')
        status, headers, body = await socket.response()
        await socket.send(b'el":1}')
        assert await socket.rest() == b""
    assert (status, headers["connection"], headers["x-should-retry"]) == (408, "close", "false")
    assert json.loads(body)["error"]["code"] == "request_timeout"


async def test_a_caller_who_leaves_in_the_middle_of_a_body_leaves_nothing_behind() -> None:
    upstream = FakeUpstream("api")
    async with calling(gateway(upstream)) as caller:
        async with caller.socket() as socket:
            await socket.head(length=10)
            await socket.send(b'{"mod')
        assert (await caller.ask()).status_code == 200
    assert len(upstream.asked) == 1


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "GZIP", "x"])
async def test_a_compressed_body_is_a_415(encoding: str) -> None:
    async with calling() as caller:
        reply = await caller.ask(b"\x1f\x8b\x08", {**BEARER, "content-encoding": encoding})
    assert reply.status_code == 415
    assert error(reply)["code"] == "unsupported_content_encoding"


async def test_identity_is_no_encoding() -> None:
    async with calling() as caller:
        assert (await caller.ask(headers={**BEARER, "content-encoding": "identity"})).status_code == 200


async def test_a_client_that_waits_for_leave_is_told_to_go_on_only_if_it_may() -> None:
    body = json.dumps(ASK).encode()
    async with calling(gateway(max_body_bytes=1000)) as caller:
        async with caller.socket() as socket:
            await socket.head("Expect: 100-continue", length=len(body))
            assert await socket.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
            await socket.send(body)
            assert (await socket.response())[0] == 200
        async with caller.socket() as socket:
            await socket.head("Expect: 100-continue", length=2000)
            assert (await socket.response())[0] == 413


async def test_hundreds_of_requests_cut_in_the_middle_do_not_hold_anything() -> None:
    async with calling() as caller:
        for cut in range(0, 120, 3):
            async with caller.socket() as socket:
                head = (
                    f"POST /v1/chat/completions HTTP/1.1\r\nHost: {socket.host}\r\nContent-Length: 50\r\n\r\n".encode()
                )
                await socket.send((head + b"{" * 40)[:cut])
        async with asyncio.timeout(5):
            assert (await caller.ask()).status_code == 200
