"""Bodies that are too large, too deep, too clever or wrong in any way, on every route that takes one: refused, never a
defect, and at once."""

import gzip
import json
import zlib
from collections.abc import AsyncGenerator

import httpx2
import pytest
import pytest_asyncio

from tests.abuse.routes import Routes
from tests.rig import AGENT, ASK_PATH, KEY, SECRETS, Rig, bearer, running

MOST_BYTES = 1 << 20
JSON = {"content-type": "application/json"}

BODIES: dict[str, bytes] = {
    "nothing": b"",
    "half of an object": b"{",
    "a list": b"[]",
    "null": b"null",
    "text": b'"x"',
    "a number": b"1e999",
    "not a number": b'{"model":NaN,"messages":NaN,"input":NaN}',
    "bytes that are no text": b"\xff\xfe\x00{",
    "a letter cut in two": b'{"model":"\xc3',
    "half a surrogate pair": b'{"model":"\\ud800","input":"\\udfff"}',
    "gzip that does not say so": gzip.compress(b"{}"),
    "deep lists": b"[" * 100_000,
    "deep objects": b'{"a":' * 50_000,
    "deep lists in a field": b'{"tools":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "a number of many digits": b'{"max_tokens":' + b"9" * 100_000 + b',"n":' + b"9" * 5_000 + b"}",
    "a key of many letters": b'{"' + b"k" * 500_000 + b'":1}',
    "very many keys": json.dumps({f"k{n}": n for n in range(20_000)}).encode(),
    "one key very often": b"{" + b",".join(b'"model":"m"' for _ in range(20_000)) + b"}",
    "zeros": b'{"model":"\\u0000","input":"\\u0000","messages":[{"role":"user","content":"\\u0000"}]}',
    "wrong types": b'{"model":[],"messages":{},"input":{},"query":[],"stream":"yes","tools":1}',
    "a prototype": b'{"__proto__":{"owner":true},"constructor":{"prototype":{}}}',
}
BODILESS = frozenset({"/admin/discover-models", "/admin/wire/capture"})
"""What these are told is in their address."""
PASTED = "/admin/refresh-cookie"
"""Takes a cookie in any form, and asks the site whether it is one."""
OPTIONAL = "/browser/sessions"
Program = tuple[Rig, Routes]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def program(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Program, None]:
    routes = Routes()
    folder = tmp_path_factory.mktemp("bodies")
    async with running(folder, around=routes.around, max_body_bytes=MOST_BYTES) as rig:
        yield rig, routes
        assert await rig.requests(f"{AGENT}*") == []
        assert await rig.requests(ASK_PATH) == []
        assert "Traceback" not in rig.log.getvalue()
        await rig.check()


def taking(routes: Routes) -> list[str]:
    """Every path that takes a body of a certain form."""
    return [path for path in routes.posts() if path not in BODILESS and path != PASTED]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
async def test_a_body_that_is_none_is_refused_on_every_route(program: Program, body: bytes) -> None:
    rig, routes = program
    for path in taking(routes):
        if body or not path.endswith(OPTIONAL):
            reply = await rig.client.post(rig.url + path, content=body, headers={**JSON, **bearer(KEY)})
            refused(path, reply, range(400, 500))


@pytest.mark.asyncio(loop_scope="module")
async def test_nothing_is_ever_unpacked(program: Program) -> None:
    """A bomb of forty megabytes weighs forty kilobytes, so the limit alone would let it in."""
    rig, routes = program
    bombs = {"gzip": gzip.compress(bytes(40 << 20)), "deflate": zlib.compress(bytes(1 << 20)), "br": b"\x5b\xff\xff"}
    for path in taking(routes):
        for encoding, bomb in bombs.items():
            headers = {**JSON, **bearer(KEY), "content-encoding": encoding}
            refused(path, await rig.client.post(rig.url + path, content=bomb, headers=headers), range(413, 416))


@pytest.mark.asyncio(loop_scope="module")
async def test_a_body_above_the_limit_is_refused_on_every_route(program: Program) -> None:
    rig, routes = program
    body = b'{"model":"sonar","input":"' + b"x" * MOST_BYTES + b'"}'
    for path in taking(routes):
        if "files" not in path:  # whose limit is another
            reply = await rig.client.post(rig.url + path, content=body, headers={**JSON, **bearer(KEY)})
            refused(path, reply, range(413, 414))


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "form",
    [
        b"--b\r\n" * 20_000,
        b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n' * 2_000 + b"--b--\r\n",
        b'--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\n' + b"x" * 500_000 + b"\r\n--b--\r\n",
        b"--b\r\n" + b"X: y\r\n" * 50_000 + b"\r\n\r\n--b--\r\n",
        b"--b\r\nContent-Disposition: " + b"x" * 500_000,
        b'--b\r\nContent-Disposition: form-data; name="file"; filename="../../x"\r\n\r\n',
        b"--" * 200_000,
        b"",
    ],
)
async def test_a_form_that_is_none_is_refused(program: Program, form: bytes) -> None:
    rig, routes = program
    headers = {"content-type": "multipart/form-data; boundary=b", **bearer(KEY)}
    for path in [path for path in routes.posts() if path.endswith("/files")]:
        refused(path, await rig.client.post(rig.url + path, content=form, headers=headers), range(400, 500))


def refused(path: str, reply: httpx2.Response, statuses: range) -> None:
    told = (path, reply.status_code, reply.text[:300])
    assert reply.status_code in statuses, told
    if path != "/sse":  # where MCP's own library answers, in plain words
        assert reply.json()["error"]["message"], told
    assert len(reply.content) < 4_000, told
    assert not any(secret in reply.text for secret in SECRETS), told
