"""Bodies, keys, secrets, origins, paths and models: what is wrong with a request before it is a question."""

import asyncio
import contextlib
import gzip
import io
import json
import logging
import os
import stat
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from pplx_gateway.catalogue import Catalogue
from tests.cases.asking import PATHS, answered, ask, asked, let_answer
from tests.cases.scripts import ASK, CLEANED, TEXT, Json
from tests.rig import AGENT, API_KEY, ASK_PATH, COOKIE, KEY, SECRETS, Reply, Rig, bearer, check_error, running
from tests.test_commands import program
from tests.web.calling import Socket

BOTH = pytest.mark.parametrize("upstream", ["api", "session"])
WAYS = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])

CHAT = "/v1/chat/completions"


def chat(fields: str) -> bytes:
    """A good body but for `fields`, which are written as they are."""
    return b'{"model":"sonar","messages":[{"role":"user","content":"Why?"}],' + fields.encode() + b"}"


def saying(content: bytes) -> bytes:
    """A body whose one message says what stands in `content`, as JSON."""
    return b'{"model":"sonar","messages":[{"role":"user","content":' + content + b"}]}"


async def wrong(rig: Rig, body: bytes) -> dict[str, Any]:
    """The error of a body for which nobody upstream is asked."""
    async with asyncio.timeout(20):
        reply = await rig.post(body)
    assert reply.status == 400, (body[:80], reply)
    assert not await asked(rig)
    return reply.error


@contextlib.asynccontextmanager
async def socket(rig: Rig) -> AsyncGenerator[Socket, None]:
    parts = urlsplit(rig.url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        yield Socket(reader, writer, parts.netloc)
    finally:
        writer.transport.abort()


async def call(
    rig: Rig, method: str, path: str, *, headers: Mapping[str, str], body: Json | None = None, url: str = ""
) -> httpx2.Response:
    """Any request at all, to the gateway or to `url`; the key is not sent unless `headers` hold it."""
    async with httpx2.AsyncClient(trust_env=False, verify=False, timeout=30) as client:
        return await client.request(method, (url or rig.url) + path, headers=headers, json=body)


# what is no JSON

NO_JSON = [
    b"",
    b" ",
    b"{",
    b'{"a":NaN}',
    b'{"a":Infinity}',
    b'{"a":1,}',
    b"{'a':1}",
    b'{"a":01}',
    b'{"a":"\t"}',
    b"undefined",
    json.dumps(ASK).encode() + b"{}",
    json.dumps(ASK).encode()[:-1],
    gzip.compress(json.dumps(ASK).encode()),
    bytes(range(256)),
    b"\x00",
]


@BOTH
async def test_a_body_that_is_no_json_is_told_so(tmp_path: Path, upstream: str) -> None:
    async with running(tmp_path, order=(upstream,)) as rig:
        for body in NO_JSON:
            error = await wrong(rig, body)
            assert (error["code"], error["param"]) == ("invalid_json", None), body[:80]


async def test_a_body_of_another_type_is_told_so(api: Rig) -> None:
    for body in (b"[]", b"null", b'"x"', b"5", b"true", b'[{"model":"sonar"}]'):
        error = await wrong(api, body)
        assert error["type"] == "invalid_request_error"
        assert "object" in error["message"]


async def test_the_key_comes_before_the_body(api: Rig) -> None:
    for body in (*NO_JSON, b"[]", b"[" * 100_000):
        for key in ("wrong", None):
            reply = await api.post(body, key=key)
            assert (reply.status, reply.error["code"]) == (401, "invalid_api_key")


# letters


@pytest.mark.parametrize(
    "content",
    [b'"\xff\xfe"', b'"Z\xc3"', b'"\xe6\x9d"', b'"\xed\xa0\x80"', b'"\xc0\xaf"', b'"\xf8\x88\x80\x80\x80"'],
)
async def test_a_body_that_is_no_utf8_is_refused(api: Rig, content: bytes) -> None:
    assert (await wrong(api, saying(content)))["code"] == "invalid_json"
    assert (await wrong(api, b'{"model":' + content + b',"messages":[]}'))["code"] == "invalid_json"
    assert (await wrong(api, b"{" + content + b":1," + chat('"n":1')[1:]))["code"] == "invalid_json"


@BOTH
async def test_a_byte_order_mark_in_front_is_nothing(tmp_path: Path, upstream: str) -> None:
    async with running(tmp_path, order=(upstream,)) as rig:
        reply = await rig.post(b"\xef\xbb\xbf" + saying('"Zürich 🚲 東京?"'.encode()))
        assert reply.status == 200
        assert "Zürich 🚲 東京?" in json.dumps(await asked(rig), ensure_ascii=False)


HALF = r"\ud800"


@BOTH
async def test_half_a_letter_is_refused_before_anything_is_asked(tmp_path: Path, upstream: str) -> None:
    """Wherever it stands: it could be neither sent nor stored nor logged."""
    called = rf'{{"id":"c","type":"function","function":{{"name":"f","arguments":"{HALF}"}}}}'
    bodies = [
        saying(f'"Why{HALF}?"'.encode()),
        saying(rf'"{HALF}{HALF}"'.encode()),
        saying(rf'"\udc00{HALF}"'.encode()),
        saying(f'[{{"type":"text","text":"{HALF}"}}]'.encode()),
        chat(f'"user":"{HALF}"'),
        chat(f'"metadata":{{"a":"{HALF}"}}'),
        chat(f'"metadata":{{"{HALF}":"a"}}'),
        chat(f'"stop":"{HALF}"'),
        chat(f'"search_domain_filter":["{HALF}.example"]'),
        chat(f'"tools":[{{"type":"function","function":{{"name":"f","parameters":{{"description":"{HALF}"}}}}}}]'),
        b'{"model":"sonar","messages":[{"role":"assistant","content":null,"tool_calls":[' + called.encode() + b"]},"
        b'{"role":"tool","tool_call_id":"c","content":"1"}]}',
        f'{{"model":"{HALF}","messages":[{{"role":"user","content":"Why?"}}]}}'.encode(),
    ]
    async with running(tmp_path, order=(upstream,)) as rig:
        for body in bodies:
            await wrong(rig, body)
        reply = await rig.post(chat(f'"{HALF}":1'))  # the name of a field that nobody knows
        assert reply.status in (200, 400)
        await rig.check()


@BOTH
@WAYS
async def test_a_zero_cuts_nothing(tmp_path: Path, upstream: str, streamed: bool) -> None:
    """In the question, in the next turn that finds the first one's thread, and in the answer."""
    said = "The Leie.\0 And the Scheldt."
    messages: list[Json] = [{"role": "user", "content": "Which rivers\0 meet in Ghent?"}]
    async with running(tmp_path, order=(upstream,)) as rig:
        await let_answer(rig, upstream, said, times=2)
        first, sent = await answered(rig, {**ASK, "messages": messages}, streamed=streamed)
        assert "Which rivers\0 meet in Ghent?" in json.dumps(sent, ensure_ascii=False).replace("\\u0000", "\0")
        assert first.content == said
        more = [*messages, {"role": "assistant", "content": first.content}, {"role": "user", "content": "And\0 next?"}]
        second, sent = await answered(rig, {**ASK, "messages": more}, streamed=streamed)
        assert "And\0 next?" in json.dumps(sent, ensure_ascii=False).replace("\\u0000", "\0")
        assert second.content == said


# depth and size


async def test_depth_is_refused_and_not_walked(api: Rig) -> None:
    deep = b'{"a":' * 50_000
    cases: list[tuple[bytes, str | None]] = [
        (b"[" * 100_000, None),
        (b"[" * 100_000 + b"]" * 100_000, None),
        (deep, "a"),
        (deep + b"1" + b"}" * 50_000, "a"),
        (chat('"messages":' + "[" * 100_000), "messages[0]"),
        (saying(b"[" * 100_000), "messages[0].content[0]"),
        (chat('"metadata":' + '{"a":' * 100_000), "metadata[...]"),
        (chat('"foo":' + "[" * 100_000 + "]" * 100_000), "foo"),
    ]
    for body, param in cases:
        error = await wrong(api, body)
        assert error["param"] == param, body[:80]
        assert len(error["message"]) < 500


@pytest.mark.parametrize("depth", [110, 2_000, 20_000])
async def test_a_deep_schema_is_refused_by_name(api: Rig, depth: int) -> None:
    deep = '{"properties":' * depth + "{}" + "}" * depth
    tools = f'"tools":[{{"type":"function","function":{{"name":"f","parameters":{deep}}}}}]'
    assert (await wrong(api, chat(tools)))["param"] == "tools"
    form = f'"response_format":{{"type":"json_schema","json_schema":{{"name":"f","schema":{deep}}}}}'
    assert (await wrong(api, chat(form)))["param"] == "response_format"


async def test_a_schema_as_deep_as_real_ones_passes(api: Rig) -> None:
    deep = '{"type":"object","properties":{"a":' * 20 + "{}" + "}}" * 20
    reply = await api.post(chat(f'"tools":[{{"type":"function","function":{{"name":"f","parameters":{deep}}}}}]'))
    assert reply.status == 200


async def test_a_length_above_the_limit_is_refused_before_a_byte_is_read(api: Rig) -> None:
    async with socket(api) as line:
        await line.head(length=(32 << 20) + 1, key=KEY)
        status, headers, body = await line.response()
        assert (status, headers["connection"]) == (413, "close")
        check_error(json.loads(body))
    assert not await asked(api)


async def test_a_body_without_a_length_is_refused_once_it_passes_the_limit(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",), max_body_bytes=1000) as rig, socket(rig) as line:
        await line.head("Transfer-Encoding: chunked", key=KEY)
        for _ in range(3):
            await line.send(b"190\r\n" + b" " * 400 + b"\r\n")
        status, headers, body = await line.response()
        assert (status, headers["connection"]) == (413, "close")
        assert json.loads(body)["error"]["code"] == "request_too_large"
        await line.send(b"0\r\n\r\n")
        assert await line.rest() == b""


async def test_a_body_that_stops_coming_is_given_up_and_others_are_served(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",), factor=100) as rig, socket(rig) as line:
        await line.head(length=10, key=KEY)
        await line.send(b'{"mod')
        assert (await rig.chat(ASK)).status == 200
        status, headers, body = await line.response()
        assert (status, headers["connection"]) == (408, "close")
        check_error(json.loads(body))


async def test_a_compressed_body_is_not_unpacked(api: Rig) -> None:
    bomb = gzip.compress(bytes(8 << 20))
    for encoding in ("gzip", "deflate", "br", "zstd", "gzip, gzip"):
        reply = await api.post(bomb, headers={"content-encoding": encoding})
        assert (reply.status, reply.error["code"]) == (415, "unsupported_content_encoding")
    assert not await asked(api)


# the key


async def test_only_the_key_opens(api: Rig) -> None:
    lines: list[tuple[str, ...]] = [
        (),
        ("Authorization: Bearer",),
        ("Authorization: Bearer ",),
        (f"Authorization: {KEY}",),
        (f"Authorization: Basic {KEY}",),
        (f"Authorization: Bearer {KEY}x",),
        (f"Authorization: Bearer {KEY[:-1]}",),
        (f"Authorization: Bearer {KEY} {KEY}",),
        ("Authorization: Bearer schl\u00fcssel",),
        ("x-api-key: \u00ff\u00fe",),
        (f"Authorization: Bearer {KEY}", f"Authorization: Bearer {KEY}"),
        ("Authorization: Bearer wrong", f"Authorization: Bearer {KEY}"),
        ("Authorization: Bearer wrong", f"x-api-key: {KEY}"),
        (f"Cookie: key={KEY}",),
    ]
    body = json.dumps(ASK).encode()
    for sent in lines:
        async with socket(api) as line:
            await line.head(*sent, length=len(body), key=None)
            await line.send(body)
            status, headers, answer = await line.response()
        assert status == 401, sent
        assert headers["www-authenticate"] == "bearer"
        assert headers["x-request-id"].startswith("req_")
        check_error(json.loads(answer))
    assert not await asked(api)
    await api.check()


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
async def test_the_schemes_case_does_not_matter(api: Rig, scheme: str) -> None:
    assert (await call(api, "GET", "/v1/models", headers={"authorization": f"{scheme} {KEY}"})).status_code == 200


async def test_a_key_in_the_address_is_refused_and_not_logged(api: Rig) -> None:
    for name in ("api_key", "key", "token"):
        for path in ("/v1/models", CHAT):
            reply = await api.post(ASK, path=f"{path}?{name}={KEY}", key=None)
            assert reply.status == 401
            assert "address" in reply.error["message"]
    assert KEY not in api.log.getvalue()
    assert not await asked(api)


async def test_an_id_of_the_callers_own_is_not_repeated(api: Rig) -> None:
    reply = await api.post({**ASK, "stream": False}, headers={"x-request-id": KEY})
    assert reply.status == 200
    assert reply.headers["x-request-id"].startswith("req_")
    assert KEY not in str(reply.headers)


# secrets


@contextlib.contextmanager
def everything_logged() -> Any:
    """All that the gateway and its server log at DEBUG, with no mask over it."""
    seen = io.StringIO()
    handler = logging.StreamHandler(seen)
    handler.setFormatter(logging.Formatter("%(name)s %(message)s %(args)s %(exc_info)s"))
    handler.addFilter(lambda record: not record.name.startswith(("httpx", "httpcore")))  # the test's own client
    extra = logging.StreamHandler(seen)
    extra.setFormatter(_Extras())
    root, ours = logging.getLogger(), logging.getLogger("pplx_gateway")
    before = (root.level, ours.level)
    root.addHandler(handler)
    ours.addHandler(extra)
    root.setLevel(logging.DEBUG)
    ours.setLevel(logging.DEBUG)
    try:
        yield seen
    finally:
        root.removeHandler(handler)
        ours.removeHandler(extra)
        root.setLevel(before[0])
        ours.setLevel(before[1])


class _Extras(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return repr(vars(record))


PROMPT = "What does Ada keep in her safe at home?"


def echo(status: int, secret: str) -> Json:
    """An upstream that shows the credential in its error."""
    error = {
        "message": f"bad credential {secret} for: {PROMPT}",
        "type": "invalid_request",
        "code": status,
        "param": secret,
    }
    body = json.dumps({"error": error, "detail": secret})
    return {"status": status, "headers": {"content-type": "application/json"}, "steps": [{"bytes": body}]}


@BOTH
@WAYS
async def test_no_secret_comes_out_of_a_failure(tmp_path: Path, upstream: str, streamed: bool) -> None:
    secret = {"api": API_KEY, "session": COOKIE}[upstream]
    body = {**ASK, "messages": [{"role": "user", "content": PROMPT}]}
    page: Json = {
        "status": 403,
        "headers": {"content-type": "text/html"},
        "steps": [{"bytes": f"<html>{secret}</html>"}],
    }
    stream: Json = {"headers": {"content-type": "text/event-stream"}, "steps": [{"bytes": f"data: {secret}\n\n"}]}
    broken: Json = {
        "headers": {"content-type": "text/event-stream"},
        "steps": [{"bytes": f"event: {secret}\n"}, {"abort": True}],
    }
    with everything_logged() as seen:
        async with running(tmp_path, order=(upstream,)) as rig:
            answers: list[Json] = [echo(status, secret) for status in (400, 401, 402, 403, 404, 422, 500, 502)]
            for answer in (*answers, page, stream, broken):
                await rig.script(PATHS[upstream], *[{**answer, "strict": False}] * 4)
                before = len(await asked(rig))
                said = await ask(rig, body, streamed=streamed)
                assert said.error is not None, answer
                assert secret not in json.dumps(said.error) + str(said.headers)
                assert len(await asked(rig)) > before
                await call(rig, "DELETE", "/_emulator/script", headers={}, url=rig.emulator_url)
        for secret_text in (*SECRETS, PROMPT):
            assert secret_text not in seen.getvalue()
    assert "pplx_gateway.access" in seen.getvalue()


@BOTH
async def test_no_secret_and_no_prompt_comes_out_of_an_answer(tmp_path: Path, upstream: str) -> None:
    body = {**ASK, "messages": [{"role": "user", "content": PROMPT}]}
    with everything_logged() as seen:
        async with running(tmp_path, order=(upstream,)) as rig:
            await let_answer(rig, upstream, TEXT, times=2)
            for streamed in (False, True):
                said, _ = await answered(rig, body, streamed=streamed)
                assert not [s for s in SECRETS if s in said.content + json.dumps(said.beside) + str(said.headers)]
    for text in (*SECRETS, PROMPT, TEXT, CLEANED):
        assert text not in seen.getvalue()
    assert "pplx_gateway.access" in seen.getvalue()


async def test_a_proxys_password_comes_out_of_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://ada:PROXY-SECRET@127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with everything_logged() as seen:
        async with running(tmp_path, order=("api",), api_url="https://api.invalid") as rig:
            said = await ask(rig, ASK)
    assert said.status == 502
    assert said.error is not None
    assert "proxy" in said.error["message"]
    assert "PROXY-SECRET" not in json.dumps(said.error) + seen.getvalue()


async def test_what_is_stored_is_the_owners_alone(tmp_path: Path) -> None:
    """The cookie is among it, since a renewed one has to outlive a restart."""
    async with running(tmp_path, order=("session",)) as rig:
        await answered(rig, ASK)
        files = [Path(folder) / name for folder, _, names in os.walk(tmp_path) for name in names]
        assert files
        for path in files:
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
            content = path.read_bytes()
            assert KEY.encode() not in content
            assert API_KEY.encode() not in content


async def test_the_program_at_debug_tells_no_secret(tmp_path: Path) -> None:
    """The real process, with secrets where they do not belong: in an address, in a model's name, in an upstream's
    error."""
    async with (
        program("emulator", folder=tmp_path) as emulator,
        program(
            "serve",
            "--port",
            "0",
            folder=tmp_path,
            LOG_LEVEL="DEBUG",
            PPLX_PROXY_API_KEY=KEY,
            PERPLEXITY_API_KEY=API_KEY,
            PPLX_COOKIE=COOKIE,
            PPLX_API_URL=emulator.url,
            PPLX_SESSION_URL=emulator.url,
        ) as gateway,
        httpx2.AsyncClient(timeout=30, trust_env=False, verify=False, headers=bearer(KEY)) as client,
    ):
        for path, secret in ((AGENT, API_KEY), (ASK_PATH, COOKIE)):
            answers = [{**echo(401, secret), "strict": False, "repeat": "forever"}]
            await client.post(f"{emulator.url}/_emulator/script", json={"path": path, "answers": answers})
        texts = []
        for model in ("api/sonar", "session/sonar", f"{KEY}/{API_KEY}", COOKIE):
            body = {"model": model, "messages": [{"role": "user", "content": PROMPT}]}
            reply = await client.post(gateway.url + CHAT, json=body)
            assert reply.status_code in (404, 502, 503)
            texts.append(reply.text if model in ("api/sonar", "session/sonar") else "")
        for path in (
            f"/{KEY}/mcp",
            f"/%67{KEY[1:]}/mcp",
            f"//{KEY}//mcp",
            f"/v1/models/{KEY}",
            f"/v1/models?key={KEY}",
        ):
            assert (await client.get(gateway.url + path)).status_code in (200, 400, 404)
        _, log = await gateway.stop()
        await emulator.stop()
    assert '"path"' in log
    assert not [text for text in (*SECRETS, PROMPT) if text in log]
    assert not [secret for secret in SECRETS if secret in "".join(texts)]


# browser apps

OBSIDIAN = "app://obsidian.md"
PREFLIGHT = {"access-control-request-method": "POST", "access-control-request-headers": "authorization,content-type"}


async def test_a_configured_app_may_call_and_read_whatever_comes(tmp_path: Path) -> None:
    async with running(tmp_path, cors_origins=(OBSIDIAN,)) as rig:
        asking = {"origin": OBSIDIAN}
        before = await call(rig, "OPTIONS", CHAT, headers={**asking, **PREFLIGHT})
        assert before.status_code == 204
        assert "POST" in before.headers["access-control-allow-methods"]
        assert "authorization" in before.headers["access-control-allow-headers"]
        keyed = {**asking, **bearer(KEY)}
        replies = [
            before,
            await call(rig, "POST", CHAT, headers=keyed, body={**ASK, "stream": False}),
            await call(rig, "POST", CHAT, headers=keyed, body=ASK),
            await call(rig, "POST", CHAT, headers=keyed, body={**ASK, "messages": []}),
            await call(rig, "POST", CHAT, headers=asking, body=ASK),
            await call(rig, "GET", "/v1/models", headers=keyed),
            await call(rig, "GET", "/nowhere", headers=keyed),
        ]
        await rig.script(ASK_PATH, {"status": 500, "steps": []})
        replies.append(await call(rig, "POST", CHAT, headers=keyed, body=ASK))
    assert [reply.status_code for reply in replies] == [204, 200, 200, 400, 401, 200, 404, 502]
    for reply in replies:
        assert reply.headers["access-control-allow-origin"] == OBSIDIAN
        assert "access-control-allow-credentials" not in reply.headers


async def test_another_origin_gets_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, cors_origins=(OBSIDIAN,)) as rig:
        for origin in ("https://evil.example", "null", f"{OBSIDIAN}.evil.example", "app://obsidian", ""):
            for method, more in (("OPTIONS", PREFLIGHT), ("POST", bearer(KEY)), ("GET", bearer(KEY))):
                body = ASK if method == "POST" else None
                reply = await call(rig, method, CHAT, headers={"origin": origin, **more}, body=body)
                assert reply.status_code == 403, origin
                assert "access-control-allow-origin" not in reply.headers
        assert not await asked(rig)


async def test_without_a_setting_no_origin_is_let_in(api: Rig) -> None:
    reply = await call(api, "POST", CHAT, headers={"origin": OBSIDIAN, **bearer(KEY)}, body=ASK)
    assert reply.status_code == 403
    check_error(reply.json())
    assert not await asked(api)


async def test_a_star_never_goes_with_open_access(tmp_path: Path) -> None:
    origin = {"origin": "https://any.example"}
    async with running(tmp_path / "open", order=("api",), cors_origins=("*",), api_key=None) as rig:
        assert (await call(rig, "OPTIONS", CHAT, headers={**origin, **PREFLIGHT})).status_code == 403
        assert (await call(rig, "POST", CHAT, headers=origin, body=ASK)).status_code == 403
        assert not await asked(rig)
    async with running(tmp_path / "keyed", order=("api",), cors_origins=("*",)) as rig:
        reply = await call(rig, "POST", CHAT, headers={**origin, **bearer(KEY)}, body={**ASK, "stream": False})
        assert reply.headers["access-control-allow-origin"] == "https://any.example"


# paths


async def test_a_question_reaches_its_route_by_any_base_that_people_write(api: Rig) -> None:
    paths = [
        CHAT,
        f"{CHAT}/",
        "/chat/completions",
        "/chat/completions/",
        "//chat/completions",
        "/v1/v1/chat/completions",
        "//v1//chat//completions",
        "/v1//chat/completions//",
        "/v1/chat/completions/chat/completions",
        "/v1/%63hat/completions",
        f"{CHAT}?beta=true",
    ]
    for path in paths:
        reply = await api.post({**ASK, "stream": False}, path=path)
        assert (reply.status, reply.json["object"]) == (200, "chat.completion"), path
        before = len(await asked(api))
        reply = await api.post(ASK, path=path, key=None)
        assert reply.status == 401, path
        assert len(await asked(api)) == before
    for path in ("/v1/models", "/models", "/v1/models/", "//models", "/v1/v1/models"):
        assert (await api.get(path)).json["object"] == "list", path
        assert (await api.get(path, key=None)).status == 401, path


async def test_a_path_that_is_none_is_told_what_there_is(api: Rig) -> None:
    for path in ("/v1/nothing", "/v1", "/v2/chat/completions", "/v1/chat", "/v1/../etc/passwd", "/%2e%2e/etc/passwd"):
        reply = await api.post(ASK, path=path)
        assert (reply.status, reply.error["code"]) == (404, "not_found"), path
        assert CHAT in reply.error["message"]
    reply = await api.get(CHAT)
    assert (reply.status, reply.headers["allow"]) == (405, "POST")


# models


async def test_a_model_that_is_gone_is_told_with_the_one_to_use(both: Rig) -> None:
    cases = [
        ("llama-3.1-sonar-small-128k-online", "'sonar'"),
        ("llama-3.1-sonar-huge-128k-online", "'sonar-pro'"),
        ("sonar-reasoning", "'sonar-reasoning-pro'"),
        ("r1-1776", "'sonar-reasoning-pro'"),
        ("pplx-70b-online", "'sonar'"),
        ("mixtral-8x7b-instruct", "'sonar'"),
    ]
    for model, use in cases:
        for streamed in (False, True):
            error = gone(await ask(both, {**ASK, "model": model}, streamed=streamed))
            assert "retired" in error["message"]
            assert use in error["message"]
    assert not await asked(both)


async def test_a_model_that_never_was_is_told_with_its_nearest(both: Rig) -> None:
    for model, near in (("gpt-4o", "'gpt'"), ("sonar-por", "'sonar-pro'"), ("claude", None), ("x" * 100_000, None)):
        for streamed in (False, True):
            error = gone(await ask(both, {**ASK, "model": model}, streamed=streamed))
            assert "retired" not in error["message"]
            assert near is None or near in error["message"]
            assert len(error["message"]) < 500
    reply = await both.post({**ASK, "model": " "})
    assert (reply.status, reply.error["param"]) == (400, "model")
    assert not await asked(both)


def gone(said: Any) -> dict[str, Any]:
    assert said.status == 404
    error: dict[str, Any] = said.error
    assert (error["code"], error["param"]) == ("model_not_found", "model")
    return error


async def test_an_id_with_the_providers_name_is_the_same_model(api: Rig) -> None:
    _, sent = await answered(api, {**ASK, "model": "perplexity/sonar-pro"})
    assert sent["effort"] == "low"


async def test_a_request_that_names_no_model_gets_the_default(tmp_path: Path) -> None:
    unnamed = {"messages": ASK["messages"]}
    async with running(tmp_path / "session", order=("session",)) as rig:
        for body in (unnamed, {**unnamed, "model": None}):
            _, sent = await answered(rig, body)
            assert sent["params"]["model_preference"] == "gpt56_terra"
    async with running(tmp_path / "api", order=("api",)) as rig:
        said, sent = await answered(rig, unnamed)
        assert sent["model"] == "perplexity/sonar"
        assert said.beside["model"] == "sonar"


@pytest.mark.parametrize(
    ("order", "tier"),
    [
        (("session",), "free"),
        (("session",), "pro"),
        (("session",), "max"),
        (("api",), "free"),
        (("session", "api"), "free"),
        (("session", "api"), "pro"),
    ],
)
async def test_what_is_listed_is_what_is_accepted(tmp_path: Path, order: tuple[str, ...], tier: str) -> None:
    async with running(tmp_path, order=order, account_type=tier, factor=4) as rig:
        listed = await listing(rig)
        assert not await rig.requests("/v1/*")
        assert not await asked(rig)
        await call(rig, "POST", "/_emulator/session", headers={}, body={"research_seconds": 0}, url=rig.emulator_url)
        for model in sorted({model.id for model in Catalogue.built_in()} | set(listed)):
            said = await ask(rig, {**ASK, "model": model})
            assert said.status == 200 if listed.get(model) else said.status in (403, 404), model
            assert (await rig.get(f"/v1/models/{model}")).status == (200 if model in listed else 404), model


async def listing(rig: Rig) -> dict[str, bool]:
    """Ids, and whether they answer questions."""
    reply: Reply = await rig.get("/v1/models")
    assert (reply.status, reply.json["object"]) == (200, "list")
    for model in reply.json["data"]:
        assert model["object"] == "model"
        assert isinstance(model["created"], int)
        assert isinstance(model["owned_by"], str)
        assert model["name"]
    assert len({model["id"] for model in reply.json["data"]}) == len(reply.json["data"])
    return {model["id"]: model["capabilities"]["chat"] for model in reply.json["data"]}


async def test_the_list_does_not_wait_for_an_upstream(both: Rig) -> None:
    for path in PATHS.values():
        await both.script(path, {"status": 500, "steps": []})
    assert "gpt" in await listing(both)
    assert not await both.requests("/v1/*")
    assert not await asked(both)


@WAYS
async def test_a_model_that_the_upstream_does_not_know_is_the_same_404(api: Rig, streamed: bool) -> None:
    error = {"error": {"message": "model openai/gpt-0 is invalid", "type": "invalid_model", "code": 400}}
    await api.script(AGENT, {"status": 400, "steps": [{"bytes": json.dumps(error)}], "strict": False})
    gone(await ask(api, {**ASK, "model": "openai/gpt-0"}, streamed=streamed))
