"""Who calls. Digests are compared, so neither a key's length nor its first wrong character shows in the time."""

import hashlib
import hmac
import ipaddress
from collections.abc import Awaitable
from functools import lru_cache
from urllib.parse import parse_qsl

from starlette.types import ASGIApp, Receive, Scope, Send

from pplx_gateway.errors import AuthenticationFailed, Forbidden, GatewayError
from pplx_gateway.settings import Settings
from pplx_gateway.web import headers
from pplx_gateway.web.replies import send_error

PUBLIC_PATHS = frozenset({"/", "/chat", "/docs", "/health", "/openapi.json", "/favicon.ico"})
PUBLIC_PREFIXES = ("/static/",)
ADMIN_PREFIX = "/admin/"

OPEN = "open"
_PROXY_HEADERS = (b"forwarded", b"x-forwarded-for", b"x-real-ip", b"via")
_QUERY_NAMES = frozenset({"api_key", "apikey", "api-key", "key", "token", "access_token"})


def caller_of(key: str) -> str:
    """An opaque id that is always the same for one key, and from which the key cannot be found."""
    return hashlib.sha256(b"pplx-gateway caller\0" + key.encode()).hexdigest()[:16]


class Authentication:
    """Sets `scope["state"]["caller"]`, and `owner`: who asks may also rule. Runs before the body is read.

    Without a key everybody who may ask is the owner, but only on this machine itself: an open gateway is not ruled from
    elsewhere, nor through a proxy."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        key = settings.api_key.reveal() if settings.api_key else None
        self._digest = hashlib.sha256(key.encode()).digest() if key else None
        self._caller = caller_of(key) if key else OPEN
        self._allow_open = settings.allow_open

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "http":
            failure = self._check(scope)
            owner = failure is None and (self._digest is not None or _on_this_machine(scope))
            if failure is None and not owner and is_admin(scope["path"]):
                failure = _not_the_owner()
            if not is_public(scope["path"]):
                if failure is not None:
                    return send_error(send, failure)
                scope["state"]["caller"] = self._caller
            scope["state"]["owner"] = owner
        return self._app(scope, receive, send)

    def _check(self, scope: Scope) -> GatewayError | None:
        if self._digest is None:
            return None if self._allow_open or _is_local(scope) else _no_key_set()
        return self._failure(scope, self._digest)

    def _failure(self, scope: Scope, digest: bytes) -> AuthenticationFailed | None:
        given = headers.every(scope, b"authorization")
        if len(given) > 1:
            return AuthenticationFailed("Send one Authorization header, not several.")
        presented = _bearer(given[0]) if given else headers.first(scope, b"x-api-key")
        if presented is None:
            return AuthenticationFailed(_hint(scope))
        if not hmac.compare_digest(hashlib.sha256(presented).digest(), digest):
            return AuthenticationFailed("The API key is wrong. It must be the gateway's own (PPLX_PROXY_API_KEY).")
        return None


def is_public(path: str) -> bool:
    return path in PUBLIC_PATHS or path.startswith(PUBLIC_PREFIXES)


def is_admin(path: str) -> bool:
    return path.startswith(ADMIN_PREFIX)


def _bearer(value: bytes) -> bytes | None:
    scheme, _, token = value.strip().partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" and token.strip() else None


def _hint(scope: Scope) -> str:
    query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True, max_num_fields=None)
    if any(name.lower() in _QUERY_NAMES for name, _ in query):
        return "A key in the address is not accepted, because addresses are logged. Send 'Authorization: Bearer KEY'."
    return "An API key is needed. Send 'Authorization: Bearer KEY' with the gateway's key (PPLX_PROXY_API_KEY)."


def _is_local(scope: Scope) -> bool:
    """True if the request came in on a loopback address, or on a socket file."""
    server = scope.get("server")
    return not server or server[1] is None or _loopback(server[0])


def _on_this_machine(scope: Scope) -> bool:
    """True if it also came from here, and not by way of a proxy."""
    client = scope.get("client")
    near = not client or _loopback(client[0])
    return near and _is_local(scope) and not any(headers.every(scope, name) for name in _PROXY_HEADERS)


@lru_cache(maxsize=256)
def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _not_the_owner() -> Forbidden:
    return Forbidden(
        "This gateway has no key, so it is ruled from its own machine only. Set PPLX_PROXY_API_KEY, and send it."
    )


def _no_key_set() -> Forbidden:
    return Forbidden(
        "This gateway has no key and answers on loopback only. Set PPLX_PROXY_API_KEY, or PPLX_ALLOW_OPEN=1."
    )
