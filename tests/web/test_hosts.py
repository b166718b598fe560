import pytest

from pplx_gateway.settings import Settings
from pplx_gateway.web.hosts import AllowedHosts, hostname
from tests.openai.fakes import gateway
from tests.web.calling import BEARER, calling, error


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST:8892",
        "127.0.0.1",
        "127.0.0.1:8892",
        "127.8.8.8",
        "[::1]:8892",
        "gateway.localhost",
        "pplx.example.org",
        "pplx.example.org:443",
        "pplx.example.org.",
    ],
)
def test_loopback_names_and_the_public_host_are_allowed(host: str) -> None:
    assert AllowedHosts(Settings(public_url="https://PPLX.example.org/gw")).allows(host.encode())


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "evil-localhost",
        "127.0.0.1.evil.example",
        "192.168.1.5",
        "",
        ":80",
        "[::2]",
        "[::1",
        "a@localhost.evil",
        "\u00fc",
        "2130706433",
    ],
)
def test_everyone_else_is_not(host: str) -> None:
    assert not AllowedHosts(Settings(public_url="https://pplx.example.org")).allows(host.encode())


def test_a_bound_address_is_allowed_and_a_wildcard_allows_bare_addresses_only() -> None:
    assert AllowedHosts(Settings(host="192.168.1.5")).allows(b"192.168.1.5:8892")
    assert not AllowedHosts(Settings(host="192.168.1.5")).allows(b"192.168.1.6:8892")
    anywhere = AllowedHosts(Settings(host="0.0.0.0"))
    assert anywhere.allows(b"10.0.0.7:8892")
    assert anywhere.allows(b"[fe80::1]:8892")
    assert not anywhere.allows(b"rebound.example:8892")


@pytest.mark.parametrize(("text", "name"), [(b"[::1]:8892", "::1"), (b"Name.:80", "name"), (b"\xff", "")])
def test_a_hosts_name_is_found(text: bytes, name: str) -> None:
    assert hostname(text) == name


@pytest.mark.parametrize("path", ["/health", "/v1/models", "/chat", "/nowhere"])
async def test_a_foreign_host_is_refused_on_every_path(path: str) -> None:
    async with calling() as caller:
        reply = await caller.get(path, headers={**BEARER, "host": "evil.example"})
    assert reply.status_code == 403
    assert error(reply)["code"] == "forbidden"


async def test_the_public_host_is_let_in() -> None:
    async with calling(gateway(public_url="https://pplx.example.org")) as caller:
        assert (await caller.get("/health", headers={"host": "pplx.example.org"})).status_code == 200


async def test_no_host_and_two_hosts_are_refused() -> None:
    async with calling() as caller:
        for lines in (b"", b"Host: localhost\r\nHost: evil.example\r\n"):
            async with caller.socket() as socket:
                await socket.send(b"GET /health HTTP/1.1\r\n" + lines + b"\r\n")
                status, _, _ = await socket.response()
            assert status in (400, 403)
