"""Browser apps: which pages may call, and what their browsers are told (CORS)."""

import logging
from collections.abc import Awaitable
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pplx_gateway.errors import Forbidden
from pplx_gateway.settings import Settings
from pplx_gateway.web import headers
from pplx_gateway.web.headers import RawHeaders
from pplx_gateway.web.replies import send_error
from pplx_gateway.web.reply_headers import EXPOSED

logger = logging.getLogger("pplx_gateway")

_METHODS = b"GET, POST, DELETE, OPTIONS"
_PREFLIGHT_SECONDS = b"600"


class Origins:
    """A request with an Origin comes from a page. The gateway's own pages pass, configured origins pass with CORS
    headers (on errors and streams too), everyone else is refused. `*` counts only where a key is asked for."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._configured = {_normal(origin) for origin in settings.cors_origins}
        self._own = _netloc(settings.public_url.encode())
        self._anyone = "*" in self._configured and settings.api_key is not None
        if "*" in self._configured and not self._anyone:
            logger.warning("PPLX_CORS_ORIGINS=* has no effect while PPLX_PROXY_API_KEY is not set")

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        origins = headers.every(scope, b"origin") if scope["type"] == "http" else []
        if not origins:
            return self._app(scope, receive, send)
        if len(origins) == 1 and self._configured_for(origins[0]):
            return self._cross(scope, receive, send, origins[0])
        if len(origins) == 1 and self._same(scope, origins[0]):
            return self._app(scope, receive, send)
        return send_error(send, Forbidden("This origin is not allowed. Add it to PPLX_CORS_ORIGINS."))

    def _configured_for(self, origin: bytes) -> bool:
        return self._anyone or _normal(origin.decode("latin-1")) in self._configured

    def _same(self, scope: Scope, origin: bytes) -> bool:
        """The Host was checked before, so a page that shares it is ours."""
        host = (headers.first(scope, b"host") or b"").lower()
        return _netloc(origin) in (host, self._own)

    async def _cross(self, scope: Scope, receive: Receive, send: Send, origin: bytes) -> None:
        allowed: RawHeaders = [(b"access-control-allow-origin", origin), (b"vary", b"Origin")]
        if scope["method"] == "OPTIONS" and headers.first(scope, b"access-control-request-method"):
            await _preflight(scope, send, allowed)
            return
        allowed.append((b"access-control-expose-headers", EXPOSED))

        async def begin(message: Message) -> None:
            await send({**message, "headers": [*message.get("headers", ()), *allowed]})

        def permitted(message: Message) -> Awaitable[None]:
            return begin(message) if message["type"] == "http.response.start" else send(message)

        await self._app(scope, receive, permitted)


async def _preflight(scope: Scope, send: Send, allowed: RawHeaders) -> None:
    wanted = headers.first(scope, b"access-control-request-headers") or b"authorization, content-type"
    answer = [
        *allowed,
        (b"access-control-allow-methods", _METHODS),
        (b"access-control-allow-headers", headers.safe(wanted.decode("latin-1"))),
        (b"access-control-max-age", _PREFLIGHT_SECONDS),
    ]
    if headers.first(scope, b"access-control-request-private-network") == b"true":
        answer.append((b"access-control-allow-private-network", b"true"))
    await send({"type": "http.response.start", "status": 204, "headers": answer})
    await send({"type": "http.response.body", "body": b""})


def _normal(origin: str) -> str:
    return origin.strip().rstrip("/").lower()


def _netloc(url: bytes) -> bytes:
    """Host and port as they stand in an address; b"" where there are none."""
    try:
        return urlsplit(url).netloc.lower()
    except ValueError:
        return b""
