"""The Host allow-list: a name that an attacker points at this address must not reach the gateway (DNS rebinding)."""

import ipaddress
from collections.abc import Awaitable
from functools import lru_cache
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from pplx_gateway.errors import Forbidden
from pplx_gateway.settings import Settings
from pplx_gateway.web import headers
from pplx_gateway.web.replies import send_error


class AllowedHosts:
    """Loopback names, the host of PUBLIC_URL, and the address listened on. Where that is every address of the machine,
    any bare IP address: a rebinding attack needs a name."""

    def __init__(self, settings: Settings) -> None:
        bound = _ip(settings.host)
        self._any_ip = bound is not None and bound.is_unspecified
        self._names = {"localhost", settings.host.lower(), (urlsplit(settings.public_url).hostname or "").lower()}
        self.allows = lru_cache(maxsize=64)(self._allows)

    def _allows(self, host: bytes) -> bool:
        name = hostname(host)
        address = _ip(name)
        if address is not None:
            return address.is_loopback or self._any_ip or name in self._names
        return bool(name) and (name in self._names or name.endswith(".localhost"))


class Hosts:
    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._allowed = AllowedHosts(settings)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] != "http" or self._passes(scope):
            return self._app(scope, receive, send)
        return send_error(send, Forbidden("This Host is not allowed. Set PUBLIC_URL to the callers' address."))

    def _passes(self, scope: Scope) -> bool:
        found = headers.every(scope, b"host")
        return len(found) == 1 and self._allowed.allows(found[0])


def hostname(host: bytes) -> str:
    """`[::1]:8892` gives `::1`, `Name.:80` gives `name`; "" for what is no host."""
    try:
        return (urlsplit("//" + host.decode("ascii")).hostname or "").rstrip(".").lower()
    except (UnicodeDecodeError, ValueError):
        return ""


def _ip(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None
