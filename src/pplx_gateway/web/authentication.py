"""Who calls. Digests are compared, so neither a key's length nor its first wrong character shows in the time."""

import hashlib
import hmac
import ipaddress
from collections.abc import Awaitable
from contextlib import suppress
from functools import lru_cache
from urllib.parse import parse_qsl

from starlette.types import ASGIApp, Receive, Scope, Send

from pplx_gateway.caller_keeping import CallerKeys
from pplx_gateway.caller_keys import CallerKey, is_one
from pplx_gateway.errors import AuthenticationFailed, Forbidden, GatewayError, StoreUnavailable
from pplx_gateway.settings import Settings
from pplx_gateway.web import headers
from pplx_gateway.web.replies import send_error

PUBLIC_PATHS = frozenset({"/", "/admin", "/chat", "/docs", "/health", "/openapi.json", "/favicon.ico"})
PUBLIC_PREFIXES = ("/static/",)
ADMIN_PREFIX = "/admin/"
OWNER_PATHS = frozenset({"/metrics"})
"""Those of the owner's that stand elsewhere, where other programs look for them."""

OWNER = "owner"
"""The owner's identity, whatever the key is now or was before: what the owner keeps here outlives a change of keys."""
OPEN = "open"
"""All those whom a gateway without a key lets in from elsewhere: nothing tells them apart."""
_PROXY_HEADERS = frozenset({b"forwarded", b"x-forwarded-for", b"x-real-ip", b"via"})
_QUERY_NAMES = frozenset({"api_key", "apikey", "api-key", "key", "token", "access_token"})


class Authentication:
    """Sets `scope["state"]["caller"]` (OWNER, OPEN, or a caller's key's id), `caller_key`, and `owner`: who asks may
    also rule. Before the body is read.

    Without a key everybody who may ask is the owner, but only on this machine itself: an open gateway is not ruled from
    elsewhere, nor through a proxy. A caller's key never rules."""

    def __init__(self, app: ASGIApp, settings: Settings, keys: CallerKeys | None = None) -> None:
        self._app = app
        self._keys = keys
        key = settings.api_key.reveal() if settings.api_key else None
        self._digest = hashlib.sha256(key.encode()).digest() if key else None
        self._allow_open = settings.allow_open

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] != "http":
            return self._app(scope, receive, send)
        if self._keys is not None and self._keys.lacks(_given(scope)):
            return self._after_news(self._keys, scope, receive, send)
        return self._judged(scope, receive, send)

    async def _after_news(self, keys: CallerKeys, scope: Scope, receive: Receive, send: Send) -> None:
        """For a key that another worker may have made a moment ago."""
        with suppress(StoreUnavailable):
            await keys.refresh()
        await self._judged(scope, receive, send)

    def _judged(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        found = self._check(scope)
        failure = found if isinstance(found, GatewayError) else None
        owner = found is None and (self._digest is not None or _on_this_machine(scope))
        if failure is None and not owner and is_admin(scope["path"]):
            failure = _not_the_owner() if found is None else _never_the_owner()
        if not is_public(scope["path"]):
            if failure is not None:
                return send_error(send, failure)
            scope["state"]["caller"] = OWNER if owner else OPEN
            if isinstance(found, CallerKey):
                scope["state"].update(caller=found.id, caller_key=found)
        scope["state"]["owner"] = owner
        return self._app(scope, receive, send)

    def _check(self, scope: Scope) -> GatewayError | CallerKey | None:
        """None: with the owner's key, or with none where none is needed."""
        if self._digest is None and not (self._allow_open or _is_local(scope)):
            return _no_key_set()
        if self._digest is None and not is_one(_given(scope)):
            return None
        try:
            return self._known(_presented(scope), in_path="mcp_root" in scope["state"])
        except (AuthenticationFailed, Forbidden) as failure:
            return failure

    def _known(self, presented: bytes, *, in_path: bool) -> CallerKey | None:
        """None: it is the owner's. Raises AuthenticationFailed, Forbidden. `in_path`: it stood in MCP's address."""
        if self._digest is not None and hmac.compare_digest(hashlib.sha256(presented).digest(), self._digest):
            return None
        if self._keys is not None and is_one(presented):
            return self._keys.let_in(presented, "mcp-path" if in_path else "header")
        raise AuthenticationFailed("The API key is wrong. It must be the gateway's own (PPLX_PROXY_API_KEY).")


def is_public(path: str) -> bool:
    return path in PUBLIC_PATHS or path.startswith(PUBLIC_PREFIXES)


def is_admin(path: str) -> bool:
    return path.startswith(ADMIN_PREFIX) or path in OWNER_PATHS


def _given(scope: Scope) -> bytes:
    """What was presented, whether or not it may be so; b"" for nothing."""
    given = headers.first(scope, b"authorization")
    return (headers.first(scope, b"x-api-key") if given is None else _bearer(given)) or b""


def _presented(scope: Scope) -> bytes:
    """Raises AuthenticationFailed."""
    given = headers.every(scope, b"authorization")
    if len(given) > 1:
        raise AuthenticationFailed("Send one Authorization header, not several.")
    keys = headers.every(scope, b"x-api-key")
    if not given and len(set(keys)) > 1:
        raise AuthenticationFailed("Send one x-api-key header, not several that differ.")
    presented = _bearer(given[0]) if given else next(iter(keys), None)
    if presented is None:
        raise AuthenticationFailed(_hint(scope))
    return presented


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
    return near and _is_local(scope) and not headers.has_any(scope, _PROXY_HEADERS)


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


def _never_the_owner() -> Forbidden:
    return Forbidden("This is a caller's key. Only the owner's key (PPLX_PROXY_API_KEY) rules this gateway.")


def _no_key_set() -> Forbidden:
    return Forbidden(
        "This gateway has no key and answers on loopback only. Set PPLX_PROXY_API_KEY, or PPLX_ALLOW_OPEN=1."
    )
