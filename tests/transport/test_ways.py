"""Proxies, authorities and other obstacles on the way."""

import base64
from pathlib import Path

import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.errors import UpstreamUnreachable
from pplx_gateway.transport import Incoming, Network, Transport
from tests.transport.conftest import get, post
from tests.transport.servers import (
    Authority,
    Connection,
    H2Server,
    Proxy,
    RawServer,
    Received,
    Socks,
    Stream,
    closed_port,
    ok,
    replying,
    soon,
)

SECRET = "hush-hush"


@pytest.fixture
def trusted(authority: Authority) -> dict[str, str]:
    """An environment that trusts the test authority."""
    return {"SSL_CERT_FILE": str(authority.ca_file)}


async def fetch(environ: dict[str, str], url: str) -> Incoming:
    transport = Transport(Clock(), network=Network.from_environ(environ))
    try:
        reply: Incoming = await soon(transport.request(post(url, b"{}", authorization="Bearer key", cookie="sid=1")))
        return reply
    finally:
        await transport.close()


async def refused(environ: dict[str, str], url: str) -> str:
    """The message of the error, after a look for secrets in all of it."""
    with pytest.raises(UpstreamUnreachable) as caught:
        await fetch(environ, url)
    error = caught.value
    shown = f"{error} {error!r} {error.__cause__!r} {error.__context__!r} {error.message}"
    for secret in (SECRET, "token=", "Bearer", "sid="):
        assert secret not in shown
    assert "\n" not in error.message
    return error.message


# proxies


@pytest.mark.parametrize("http2", [False, True])
async def test_https_goes_through_the_proxy_in_a_tunnel(
    authority: Authority, trusted: dict[str, str], http2: bool
) -> None:
    async def answer(stream: Stream) -> None:
        await stream.respond(200)
        await stream.send(b"yes", end=True)

    context = authority.context("upstream.test", alpn=("h2",) if http2 else ("http/1.1",))
    server = H2Server(answer, tls=context) if http2 else RawServer(replying(ok(b"yes")), tls=context)
    async with server as upstream, Proxy(reaches=upstream.port) as proxy:
        reply = await fetch({**trusted, "HTTPS_PROXY": proxy.url}, "https://upstream.test/path")
    assert reply.body == b"yes"
    assert reply.headers.get("x-from-proxy") is None
    (asked,) = proxy.seen
    assert asked.request_line == "CONNECT upstream.test:443 HTTP/1.1"
    for private in ("authorization", "cookie", "content-type"):
        assert asked.get(private) is None


async def test_http_goes_through_the_proxy_as_it_is() -> None:
    async with Proxy() as proxy:
        reply = await fetch({"HTTP_PROXY": proxy.url}, "http://upstream.test/path?q=1")
    assert reply.body == b"proxied"
    assert proxy.seen[0].request_line == "POST http://upstream.test/path?q=1 HTTP/1.1"


async def test_credentials_go_to_the_proxy_alone(authority: Authority, trusted: dict[str, str]) -> None:
    credentials = base64.b64encode(f"us@er:{SECRET}".encode()).decode()
    seen: list[Received] = []
    server = RawServer(replying(ok(b"yes"), seen=seen), tls=authority.context("upstream.test"))
    async with server as upstream, Proxy(credentials=credentials, reaches=upstream.port) as proxy:
        address = proxy.url.replace("://", f"://us%40er:{SECRET}@")
        reply = await fetch({**trusted, "HTTPS_PROXY": address}, "https://upstream.test/")
    assert reply.body == b"yes"
    assert proxy.seen[0].get("proxy-authorization") == f"Basic {credentials}"
    assert seen[0].get("proxy-authorization") is None


@pytest.mark.parametrize("url", ["https://upstream.test/?token=1", "http://upstream.test/?token=1"])
@pytest.mark.parametrize("given", ["", f"user:{SECRET}@"], ids=["none", "wrong"])
async def test_a_proxy_that_asks_for_a_password_is_a_clear_error(url: str, given: str) -> None:
    async with Proxy(credentials="cmlnaHQ6cmlnaHQ=") as proxy:
        message = await refused({"ALL_PROXY": proxy.url.replace("://", f"://{given}")}, url)
        assert len(proxy.seen) == 1
    assert "ALL_PROXY" in message
    assert "password" in message


async def test_a_stream_does_not_begin_with_the_proxys_own_answer() -> None:
    async with Proxy(credentials="cmlnaHQ6cmlnaHQ=") as proxy:
        transport = Transport(Clock(), network=Network.from_environ({"HTTP_PROXY": proxy.url}))
        with pytest.raises(UpstreamUnreachable, match="password"):
            async with transport.stream(get("http://upstream.test/")):
                pytest.fail("not the upstream's")
        await transport.close()


async def test_407_from_the_upstream_itself_is_a_plain_status(authority: Authority, trusted: dict[str, str]) -> None:
    reply = b"HTTP/1.1 407 Odd\r\nContent-Length: 0\r\n\r\n"
    async with (
        RawServer(replying(reply), tls=authority.context("upstream.test")) as upstream,
        Proxy(reaches=upstream.port) as proxy,
    ):
        assert (await fetch({**trusted, "HTTPS_PROXY": proxy.url}, "https://upstream.test/")).status == 407
    async with RawServer(replying(reply)) as upstream:
        assert (await fetch({}, upstream.url)).status == 407


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n", "forbids"),
        (b"HTTP/1.1 502 Bad\r\nContent-Length: 0\r\n\r\n", "answered 502"),
        (b"", "broke before the request was sent"),
    ],
    ids=["403", "502", "hang_up"],
)
async def test_a_proxy_that_makes_no_tunnel_is_named(answer: bytes, words: str) -> None:
    async def handle(connection: Connection) -> None:
        await connection.receive()
        if answer:
            await connection.send(answer)
        await connection.end()

    async with RawServer(handle) as proxy:
        message = await refused({"https_proxy": proxy.url}, "https://upstream.test/?token=1")
    assert words in message
    assert "https_proxy" in message
    assert "upstream.test" in message


async def test_a_proxy_that_is_not_there_is_named() -> None:
    async with closed_port() as port:
        message = await refused({"HTTPS_PROXY": f"http://u:{SECRET}@127.0.0.1:{port}"}, "https://upstream.test/")
    assert "through the proxy in HTTPS_PROXY" in message


async def test_a_proxy_whose_name_does_not_resolve_is_named() -> None:
    message = await refused({"HTTPS_PROXY": f"http://u:{SECRET}@proxy.invalid:3128"}, "https://upstream.test/")
    assert "the proxy in HTTPS_PROXY does not resolve" in message


async def test_no_proxy_and_loopback_go_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    async with closed_port() as port:
        dead = f"http://127.0.0.1:{port}"
        for name in ("http_proxy", "HTTPS_PROXY", "https_proxy", "all_proxy"):  # curl reads these by itself
            monkeypatch.setenv(name, dead)
        async with RawServer(replying(ok(b"yes"))) as upstream:
            assert (await fetch({"ALL_PROXY": dead}, upstream.url)).body == b"yes"
            assert (await fetch({"ALL_PROXY": dead}, f"http://localhost:{upstream.port}")).body == b"yes"
            assert (await fetch({}, upstream.url)).body == b"yes"


async def test_no_proxy_of_the_process_does_not_overrule_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    async with Proxy() as proxy:
        assert (await fetch({"HTTP_PROXY": proxy.url}, "http://upstream.test/")).body == b"proxied"


async def test_socks_proxies_work(authority: Authority, trusted: dict[str, str]) -> None:
    async with (
        RawServer(replying(ok(b"yes")), tls=authority.context("upstream.test")) as upstream,
        Socks(upstream.port) as proxy,
    ):
        environ = {**trusted, "ALL_PROXY": f"socks5h://127.0.0.1:{proxy.port}"}
        assert (await fetch(environ, "https://upstream.test/")).body == b"yes"
    assert proxy.asked == ["upstream.test"]


async def test_a_proxy_may_itself_speak_tls(authority: Authority, trusted: dict[str, str]) -> None:
    async with (
        RawServer(replying(ok(b"yes")), tls=authority.context("upstream.test")) as upstream,
        Proxy(tls=authority.context(), reaches=upstream.port) as proxy,
    ):
        environ = {**trusted, "ALL_PROXY": proxy.url}
        assert (await fetch(environ, "http://upstream.test/")).body == b"proxied"
        assert (await fetch(environ, "https://upstream.test/")).body == b"yes"


# authorities


async def test_a_test_authority_is_accepted(authority: Authority, trusted: dict[str, str]) -> None:
    async with RawServer(replying(ok(b"yes")), tls=authority.context()) as upstream:
        assert (await fetch(trusted, upstream.url)).body == b"yes"


@pytest.mark.parametrize("kind", ["none", "other"])
async def test_an_unknown_authority_is_refused_and_the_variable_named(
    authority: Authority, tmp_path: Path, kind: str
) -> None:
    environ = {} if kind == "none" else {"SSL_CERT_FILE": str(Authority(tmp_path).ca_file)}
    async with RawServer(replying(ok(b"yes")), tls=authority.context()) as upstream:
        message = await refused(environ, upstream.url + "/?token=1")
    assert "certificate of 127.0.0.1" in message
    assert "SSL_CERT_FILE" in message


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_certificate_for_another_name_is_refused(
    authority: Authority, trusted: dict[str, str], host: str
) -> None:
    async with RawServer(replying(ok(b"yes")), tls=authority.context("other.test")) as upstream:
        message = await refused(trusted, f"https://{host}:{upstream.port}/?token=1")
    assert f"certificate of {host} was not accepted: it is for another host name" in message


async def test_the_proxy_does_not_weaken_the_check(authority: Authority, trusted: dict[str, str]) -> None:
    async with (
        RawServer(replying(ok(b"yes")), tls=authority.context("other.test")) as upstream,
        Proxy(reaches=upstream.port) as proxy,
    ):
        message = await refused({**trusted, "HTTPS_PROXY": proxy.url}, "https://upstream.test/")
    assert "it is for another host name" in message


async def test_impersonation_does_not_weaken_the_check(authority: Authority) -> None:
    transport = Transport(Clock(), impersonate="chrome")
    async with RawServer(replying(ok(b"yes")), tls=authority.context()) as upstream:
        with pytest.raises(UpstreamUnreachable, match="SSL_CERT_FILE"):
            await soon(transport.request(get(upstream.url)))
    await transport.close()


# no way at all


async def test_nobody_listening_is_unreachable(transport: Transport) -> None:
    async with closed_port() as port:
        with pytest.raises(UpstreamUnreachable, match=r"No connection to 127\.0\.0\.1\. Check the network"):
            await soon(transport.request(get(f"http://127.0.0.1:{port}/")))


async def test_a_name_that_does_not_resolve_is_unreachable(transport: Transport) -> None:
    with pytest.raises(UpstreamUnreachable, match=r"The name upstream\.invalid does not resolve"):
        await soon(transport.request(get("http://upstream.invalid/?token=1")))


async def test_no_tls_on_the_other_side_is_unreachable(transport: Transport) -> None:
    async def handle(connection: Connection) -> None:
        await connection.reader.read(1000)
        await connection.send(b"HTTP/1.1 400 Bad\r\n\r\n")
        await connection.until_gone()

    async with RawServer(handle) as upstream:
        with pytest.raises(UpstreamUnreachable, match="TLS"):
            await soon(transport.request(get(f"https://127.0.0.1:{upstream.port}/")))


async def test_a_handshake_that_breaks_off_is_unreachable(transport: Transport) -> None:
    async def handle(connection: Connection) -> None:
        connection.reset()

    async with RawServer(handle) as upstream:
        with pytest.raises(UpstreamUnreachable):
            await soon(transport.request(post(f"https://127.0.0.1:{upstream.port}/")))
