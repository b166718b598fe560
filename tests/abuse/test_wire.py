"""Requests that mean one thing to a proxy and another to a server, and tricks with paths and headers: over bare
sockets, because no client would send them."""

import asyncio
import re
from collections.abc import AsyncGenerator
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest
import pytest_asyncio

from tests.rig import AGENT, ASK_PATH, KEY, SECRETS, Rig, running

OWNER = f"Authorization: Bearer {KEY}\r\n"
SMUGGLED = f"GET /admin/keys HTTP/1.1\r\nHost: localhost\r\n{OWNER}\r\n"
"""Behind a proxy this would be somebody else's request, with their key."""
POST = f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n{OWNER}"
CHUNKED = "Transfer-Encoding: chunked\r\n"

AMBIGUOUS: dict[str, str] = {
    "a length and chunks": f"{POST}Content-Length: 5\r\n{CHUNKED}\r\n0\r\n\r\n",
    "chunks and a length": f"{POST}{CHUNKED}Content-Length: 5\r\n\r\n0\r\n\r\n",
    "two lengths": f"{POST}Content-Length: 0\r\nContent-Length: 5\r\n\r\n",
    "one length twice": f"{POST}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{{}}",
    "a list of lengths": f"{POST}Content-Length: 0, 5\r\n\r\n",
    "a length with a sign": f"{POST}Content-Length: +0\r\n\r\n",
    "a length in hexadecimal": f"{POST}Content-Length: 0x0\r\n\r\n",
    "a negative length": f"{POST}Content-Length: -1\r\n\r\n",
    "a length beyond all numbers": f"{POST}Content-Length: {'9' * 30}\r\n\r\n",
    "a blank before the colon": f"{POST}Content-Length : 0\r\n\r\n",
    "a coding that is none": f"{POST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "identity": f"{POST}Transfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "chunked, but not last": f"{POST}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "chunked twice": f"{POST}{CHUNKED}{CHUNKED}\r\n0\r\n\r\n",
    "chunked with a blank before the colon": f"{POST}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "chunked with a vertical tab": f"{POST}Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    "chunked on a folded line": f"{POST}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "a folded line": f"{POST}X: a\r\n b\r\nContent-Length: 0\r\n\r\n",
    "chunks in HTTP/1.0": f"{POST.replace('HTTP/1.1', 'HTTP/1.0')}{CHUNKED}\r\n0\r\n\r\n",
    "a chunk that is no number": f"{POST}{CHUNKED}\r\nzz\r\n{{}}\r\n0\r\n\r\n",
    "a chunk beyond all numbers": f"{POST}{CHUNKED}\r\nffffffffffffffffff\r\n{{}}\r\n0\r\n\r\n",
    "a negative chunk": f"{POST}{CHUNKED}\r\n-1\r\n{{}}\r\n0\r\n\r\n",
    "a chunk with a prefix": f"{POST}{CHUNKED}\r\n0x2\r\n{{}}\r\n0\r\n\r\n",
    "a chunk without its end": f"{POST}{CHUNKED}\r\n2\r\n{{}}0\r\n\r\n",
    "chunks with bare line feeds": f"{POST}{CHUNKED}\r\n2\n{{}}\n0\n\n",
    "a line feed in an extension": f"{POST}{CHUNKED}\r\n2;a=\nb\r\n{{}}\r\n0\r\n\r\n",
    "bare line feeds": POST.replace("\r\n", "\n") + "Content-Length: 0\n\n",
    "a bare carriage return": f"{POST}X: a\rContent-Length: 5\r\nContent-Length: 0\r\n\r\n",
    "a zero in a value": f"{POST}X: a\0b\r\nContent-Length: 0\r\n\r\n",
    "a zero in a name": f"{POST}Content-Length\0: 5\r\n\r\n",
    "no colon": f"{POST}Content-Length 5\r\n\r\n",
    "no name": f"{POST}: x\r\nContent-Length: 0\r\n\r\n",
    "a length among the trailers": f"{POST}{CHUNKED}\r\n2\r\n{{}}\r\n0\r\nContent-Length: 999\r\n\r\n",
    "the preface of HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a tunnel": "CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
}
"""What is sent before the smuggled request, on one connection."""


class Told(NamedTuple):
    statuses: list[int]
    raw: bytes


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rig(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Rig, None]:
    async with running(tmp_path_factory.mktemp("wire")) as opened:
        yield opened
        assert await opened.requests(f"{AGENT}*") == []
        assert await opened.requests(ASK_PATH) == []
        await opened.check()


async def send(rig: Rig, raw: str) -> Told:
    """What comes back until the server closes the connection."""
    parts = urlsplit(rig.url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(raw.encode("latin-1"))
    async with asyncio.timeout(20):
        raw_reply = await reader.read()
    writer.transport.abort()
    return Told([int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3})", raw_reply)], raw_reply)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("shape", AMBIGUOUS.values(), ids=AMBIGUOUS)
async def test_what_can_be_read_in_two_ways_is_refused_and_ends_the_connection(rig: Rig, shape: str) -> None:
    told = await send(rig, shape + SMUGGLED)
    assert len(told.statuses) == 1, told.raw
    assert told.statuses[0] in (400, 403)
    assert b"close" in told.raw.lower().partition(b"\r\n\r\n")[0]


ADMIN = [
    "/admin/keys",
    "/admin/keys/",
    "//admin/keys",
    "/./admin/keys",
    "/static/../admin/keys",
    "/static/%2e%2e/admin/keys",
    "/static/..%2fadmin%2fkeys",
    "/health/../admin/keys",
    "/chat/..;/admin/keys",
    "/%61dmin/keys",
    "/%2561dmin/keys",
    "/admin%2fkeys",
    "/admin/./keys",
    "/admin/keys%00",
    "/admin/keys%0d%0aX: y",
    "/admin/keys;x=/static/",
    "/admin/keys?x=/static/",
    "/ADMIN/keys",
    "/admin\\keys",
    "/v1/v1/admin/keys",
    "/v1/admin/keys",
    "/perplexity/../admin/keys",
    "/x/mcp/../../admin/keys",
    "http://localhost/admin/keys",
    "http://evil.example/admin/keys",
    "*",
]
TRICKS = [
    "X-Original-URL: /health",
    "X-Rewrite-URL: /health",
    "X-Forwarded-For: 127.0.0.1",
    "X-Forwarded-Host: localhost",
    "Forwarded: for=127.0.0.1;host=localhost",
    "X-HTTP-Method-Override: GET",
    "X-Real-IP: 127.0.0.1",
    "Connection: close, authorization",
    "X-Forwarded-User: owner",
    "Cookie: owner=1",
]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("path", ADMIN)
async def test_no_form_of_a_path_leads_to_the_owners_rooms(rig: Rig, path: str) -> None:
    guest = (await rig.post({"name": f"guest {ADMIN.index(path)}"}, path="/admin/caller-keys")).json["secret"]
    for line in ("", f"Authorization: Bearer {guest}\r\n"):
        told = await send(rig, f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{line}Connection: close\r\n\r\n")
        assert told.statuses[0] in (400, 401, 403, 404), told.raw
        assert not any(secret.encode() in told.raw for secret in SECRETS)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("trick", TRICKS)
async def test_no_header_stands_in_for_the_key(rig: Rig, trick: str) -> None:
    for path in ("/admin/keys", "/v1/models"):
        told = await send(rig, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{trick}\r\n\r\n")
        assert told.statuses == [401], told.raw


FILES = [
    "/static/../../settings.py",
    "/static/..%2f..%2fsettings.py",
    "/static/%2e%2e%2f%2e%2e%2fsettings.py",
    "/static//etc/passwd",
    "/static/%2fetc%2fpasswd",
    "/static/chat.js%00.css",
    "/v1/files/..%2f..%2fgateway.sqlite/content",
    "/v1/files/../gateway.sqlite/content",
    "/v1/responses/..%2f..%2fx",
    "/v1/responses/' or 1=1 --",
    "/v1/responses/" + "x" * 5000,
    "/v1/models/..%2f..%2fgateway.sqlite",
    "/admin/caller-keys/..%2f1",
    "/admin/keys/%27%20or%201=1",
]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("path", FILES)
async def test_no_id_reaches_a_file_or_the_store(rig: Rig, path: str) -> None:
    told = await send(rig, f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{OWNER}Connection: close\r\n\r\n")
    assert told.statuses[0] in (400, 404, 405), told.raw
    for leak in (b"SQLite format", b"root:", b"class Settings", b"Traceback"):
        assert leak not in told.raw


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "lines",
    [
        "Host: evil.example\r\n",
        "Host: localhost.evil.example\r\n",
        "Host: localhost@evil.example\r\n",
        "Host: evil.example:8892\r\n",
        "Host: \r\n",
        "Host: localhost, evil.example\r\n",
        "Host: localhost\r\nHost: evil.example\r\n",
        "Host: localhost\r\nOrigin: https://evil.example\r\n",
        "Host: localhost\r\nOrigin: null\r\n",
        "Host: localhost\r\nOrigin: http://localhost.evil.example\r\n",
        "Host: localhost\r\nOrigin: http://localhost\r\nOrigin: https://evil.example\r\n",
    ],
)
async def test_pages_of_others_are_kept_out_whatever_they_name(rig: Rig, lines: str) -> None:
    for path in ("/health", "/v1/models", "/admin/keys", "/mcp", "/perplexity/search", "/openapi.json"):
        told = await send(rig, f"GET {path} HTTP/1.1\r\n{lines}{OWNER}Connection: close\r\n\r\n")
        assert told.statuses in ([403], [400]), (path, told.raw)
        assert b"access-control-allow-origin" not in told.raw.lower()
