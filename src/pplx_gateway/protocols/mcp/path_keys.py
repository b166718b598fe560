"""Keys in the address, for clients that can be given nothing but an address: `/KEY/mcp` and `/KEY/sse`.

A wrong key's address is like any that is not there. Without a gateway's key it is `/mcp/mcp` and `/sse/sse`.
"""

import re
from collections.abc import Awaitable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pplx_gateway.caller_keys import is_one
from pplx_gateway.settings import Settings
from pplx_gateway.web import headers

_KEYED = re.compile(r"/([^/]+)(/(?:mcp|sse))")
_LOGGED = re.compile(r"[^/]+(?=/+(?:mcp|sse)(?:/|$))|pplxgw-[^/]*")
_NOWHERE = "/-/-"
_CREDENTIALS = (b"authorization", b"x-api-key")


def redacted(path: str) -> str:
    """`path` as it may be logged."""
    return _LOGGED.sub("***", path) if "mcp" in path or "sse" in path or "pplxgw-" in path else path


class PathKeys:
    """Runs before `app`, which authenticates, and gives it the key as a bearer token. `rest` knows all paths; it
    answers for those who have no key."""

    def __init__(self, app: ASGIApp, rest: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._rest = rest
        self._open = settings.api_key is None

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        found = _KEYED.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if found is None:
            return self._app(scope, receive, send)
        key, path = found.groups()
        if self._open and f"/{key}" == path:
            return self._app(_moved(scope, key, path), receive, send)
        if self._open and not is_one(key.encode()):  # nothing would be asked of whoever has none
            return self._rest({**scope, "path": _NOWHERE}, receive, send)
        return self._tried(_with_key(_moved(scope, key, path), key), receive, send)

    async def _tried(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = False

        async def unless_refused(message: Message) -> None:
            nonlocal refused
            refused = refused or (message["type"] == "http.response.start" and message["status"] == 401)
            if not refused:
                await send(message)

        await self._app(scope, receive, unless_refused)
        if refused:
            await self._rest({**scope, "path": _NOWHERE}, receive, send)


def _moved(scope: Scope, key: str, path: str) -> Scope:
    """`mcp_root` is what stands before the address to which an SSE stream's client sends its messages."""
    scope["state"]["mcp_root"] = f"/{key}"
    return {**scope, "path": path, "raw_path": path.encode()}


def _with_key(scope: Scope, key: str) -> Scope:
    others = [(name, value) for name, value in scope["headers"] if name not in _CREDENTIALS]
    return headers.replaced(scope, [*others, (b"authorization", b"Bearer " + key.encode("utf-8", "surrogateescape"))])
