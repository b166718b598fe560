"""Who may rule: the owner's key, or this machine itself where there is none."""

from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from pplx_gateway.settings import Secret, Settings
from pplx_gateway.web.authentication import Authentication

HERE, THERE = ("127.0.0.1", 5000), ("192.168.1.5", 5000)
KEY = [(b"authorization", b"Bearer k")]
OTHER = [(b"x-api-key", b"other")]
PROXIED = [(b"x-forwarded-for", b"192.0.2.1")]


async def asked(path: str, key: str | None, headers: Any, server: Any, client: Any) -> tuple[int, bool | None]:
    """The status, and whether the app below was told that the owner asks; None = it was not reached."""
    sent: list[Message] = []
    owner: list[bool] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        owner.append(scope["state"]["owner"])
        await send({"type": "http.response.start", "status": 200})

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        raise AssertionError("the body must not be read")

    settings = Settings(allow_open=True, api_key=Secret(key) if key else None)
    scope: Scope = {"type": "http", "path": path, "headers": headers, "query_string": b"", "state": {}}
    await Authentication(app, settings)({**scope, "server": server, "client": client}, receive, send)
    return sent[0]["status"], owner[0] if owner else None


@pytest.mark.parametrize(
    ("path", "key", "headers", "ends", "found"),
    [
        ("/admin/x", "k", KEY, (THERE, THERE), (200, True)),
        ("/admin/x", "k", [], (HERE, HERE), (401, None)),
        ("/admin/x", "k", OTHER, (HERE, HERE), (401, None)),
        ("/admin/x", None, [], (HERE, HERE), (200, True)),
        ("/admin/x", None, [], (("/run/x.sock", None), None), (200, True)),
        ("/admin/x", None, KEY, (HERE, HERE), (200, True)),
        ("/admin/x", None, [], (THERE, THERE), (403, None)),
        ("/admin/x", None, [], (HERE, THERE), (403, None)),
        ("/admin/x", None, [], (THERE, HERE), (403, None)),
        ("/admin/x", None, PROXIED, (HERE, HERE), (403, None)),
        ("/v1/models", None, [], (THERE, THERE), (200, False)),
        ("/v1/models", None, PROXIED, (HERE, HERE), (200, False)),
        ("/v1/models", "k", KEY, (THERE, THERE), (200, True)),
        ("/health", "k", [], (THERE, THERE), (200, False)),
        ("/health", "k", OTHER, (THERE, THERE), (200, False)),
        ("/health", "k", [*KEY, *KEY], (THERE, THERE), (200, False)),
        ("/health", "k", KEY, (THERE, THERE), (200, True)),
        ("/health", None, [], (HERE, HERE), (200, True)),
        ("/health", None, [], (THERE, THERE), (200, False)),
    ],
)
async def test_who_rules(
    path: str, key: str | None, headers: Any, ends: tuple[Any, Any], found: tuple[int, bool | None]
) -> None:
    """`ends`: the address that was called, and whence."""
    assert await asked(path, key, headers, *ends) == found
