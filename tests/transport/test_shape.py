"""The browser's shape: its TLS, its HTTP/2, its headers, and ours among them."""

import gzip

import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.transport import Network, Outgoing, Transport
from tests.transport.servers import Authority, H2Server, RawServer, Received, Stream, ok, replying, soon

XHR = {
    "accept": "text/event-stream",
    "content-type": "application/json",
    "sec-fetch-dest": "empty",
    "sec-fetch-mode": "cors",
    "sec-fetch-site": "same-origin",
    "sec-fetch-user": "",
    "upgrade-insecure-requests": "",
    "cache-control": "",
    "priority": "u=1, i",
    "origin": "https://upstream.test",
    "cookie": "a=1; b=2",
}


async def answer(stream: Stream) -> None:
    await stream.complete.wait()
    await stream.respond(200, ("content-encoding", "gzip"))
    await stream.send(gzip.compress(bytes(stream.body)), end=True)


@pytest.mark.parametrize("browser", ["chrome", "firefox", "safari", "chrome152"])
async def test_our_headers_replace_the_browsers_own(authority: Authority, trusting: Network, browser: str) -> None:
    transport = Transport(Clock(), impersonate=browser, network=trusting)
    async with H2Server(answer, tls=authority.context(alpn=("h2",))) as upstream:
        for _ in range(2):  # the second goes out on a handle that was used before
            outgoing = Outgoing(method="POST", url=upstream.url, headers=XHR, body=b'{"q":1}')
            assert (await soon(transport.request(outgoing))).body == b'{"q":1}'
        assert upstream.connections == 1
    first, second = upstream.opened
    assert first.headers == second.headers
    for name, value in XHR.items():
        assert "; ".join(first.all(name)) == value  # HTTP/2 may split a cookie
    assert len(first.all("accept-encoding")) == 1
    assert browser.removesuffix("152") in first.all("user-agent")[0].lower()
    for absent in ("expect", "upgrade"):
        assert first.all(absent) == []
    await transport.close()


async def test_chrome_sends_what_belongs_together(authority: Authority, trusting: Network) -> None:
    transport = Transport(Clock(), impersonate="chrome", network=trusting)
    async with H2Server(answer, tls=authority.context(alpn=("h2",))) as upstream:
        await soon(transport.request(Outgoing(method="GET", url=upstream.url)))
    (stream,) = upstream.opened
    assert [name for name, _ in stream.headers[:4]] == [":method", ":authority", ":scheme", ":path"]
    version = stream.all("user-agent")[0].partition("Chrome/")[2].partition(".")[0]
    assert f'v="{version}"' in stream.all("sec-ch-ua")[0]
    assert stream.all("accept-language") != []
    await transport.close()


async def test_the_shape_differs_from_plain_curl(authority: Authority, trusting: Network) -> None:
    settings = {}
    for browser in (None, "chrome", "firefox"):
        transport = Transport(Clock(), impersonate=browser, network=trusting)
        async with H2Server(answer, tls=authority.context(alpn=("h2",))) as upstream:
            await soon(transport.request(Outgoing(method="GET", url=upstream.url)))
            settings[browser] = dict(upstream.opened[0].connection.state.remote_settings)
            user_agent = upstream.opened[0].all("user-agent")
        await transport.close()
        assert bool(user_agent) is (browser is not None)
    assert settings[None] != settings["chrome"] != settings["firefox"]


async def test_in_clear_there_is_no_upgrade_and_one_set_of_headers(trusting: Network) -> None:
    transport = Transport(Clock(), impersonate="chrome", network=trusting)
    seen: list[Received] = []
    async with RawServer(replying(ok(b"yes"), seen=seen)) as upstream:
        for _ in range(2):
            await soon(transport.request(Outgoing(method="POST", url=upstream.url, headers=XHR, body=b"{}")))
        assert upstream.connections == 1
    for received in seen:
        assert received.request_line == "POST / HTTP/1.1"
        assert received.get("upgrade") is None
        assert received.get("http2-settings") is None
        assert received.all("accept") == ["text/event-stream"]
        assert len(received.all("user-agent")) == 1
    await transport.close()


@pytest.mark.parametrize("name", ["netscape", "chrome1", "Chrome", " chrome"])
def test_an_unknown_browser_is_refused_at_once(name: str) -> None:
    with pytest.raises(ValueError, match="cannot impersonate") as caught:
        Transport(Clock(), impersonate=name)
    assert repr(name) in str(caught.value)
    assert "firefox" in str(caught.value)
