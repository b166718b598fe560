"""The way to the network: proxies and certificate authorities, from the environment's usual names.

What is read here is passed on explicitly: curl's own reading of the environment stays off, so that one place decides.
Secrets (a proxy's password) never show in `repr` or in an error.
"""

import ipaddress
import ssl
from collections.abc import Mapping
from typing import NamedTuple, Self
from urllib.parse import SplitResult, unquote, urlsplit

import msgspec

from pplx_gateway.errors import InternalError

PROXY_SCHEMES = ("http", "https", "socks4", "socks4a", "socks5", "socks5h")
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Proxy(msgspec.Struct, frozen=True, kw_only=True):
    """`url` carries no credentials. `variable` is what to look at when the proxy gives trouble."""

    url: str
    username: str | None = None
    password: str | None = None
    variable: str = "HTTPS_PROXY"

    def __repr__(self) -> str:
        return f"Proxy(variable={self.variable!r})"


class Bypass(msgspec.Struct, frozen=True):
    """One entry of NO_PROXY: a domain with what is below it, an address range, or (neither) everything. `port` None =
    every port."""

    domain: str | None = None
    port: int | None = None
    network: ipaddress.IPv4Network | ipaddress.IPv6Network | None = None

    def covers(self, host: str, port: int) -> bool:
        if self.port is not None and self.port != port:
            return False
        if self.network is not None:
            address = _address(host)
            return address is not None and address in self.network
        return self.domain is None or host == self.domain or host.endswith("." + self.domain)


class Route(NamedTuple):
    """How one address is reached. `clear` = no TLS to the target itself."""

    host: str
    clear: bool
    proxy: Proxy | None


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """Which proxy for which scheme, what goes past it, and whom to trust.

    `ca_file`: PEM, instead of the system's authorities; None = these, as curl_cffi finds them.
    """

    https_proxy: Proxy | None = None
    http_proxy: Proxy | None = None
    bypasses: tuple[Bypass, ...] = ()
    ca_file: str | None = None

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        """Reads HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY (small letters win, as in curl; blank = unset) and
        SSL_CERT_FILE. Raises ValueError that names the variable and not its value."""
        ca_file = environ.get("SSL_CERT_FILE", "").strip() or None
        if ca_file is not None:
            check_ca_file(ca_file, "SSL_CERT_FILE")
        shared = _proxy(environ, "ALL_PROXY")
        return cls(
            https_proxy=_proxy(environ, "HTTPS_PROXY") or shared,
            http_proxy=_proxy(environ, "HTTP_PROXY") or shared,
            bypasses=_bypasses(_variable(environ, "NO_PROXY")[1]),
            ca_file=ca_file,
        )

    def route(self, url: str) -> Route:
        """Raises InternalError for an address that is not http: or https: with a host. Loopback never takes a proxy."""
        scheme, host, port = _parts(url)
        clear = scheme == "http"
        proxy = self.http_proxy if clear else self.https_proxy
        if proxy is not None and (is_loopback(host) or any(entry.covers(host, port) for entry in self.bypasses)):
            proxy = None
        return Route(host, clear, proxy)


def is_loopback(host: str) -> bool:
    """`host` without brackets, in small letters."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def check_ca_file(path: str, variable: str) -> None:
    """Raises ValueError where `path` cannot be read as PEM certificates: curl would go on without it."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except ssl.SSLError:
        raise ValueError(f"{variable} names {path}, which holds no PEM certificate") from None
    except OSError as reason:
        raise ValueError(f"{variable} names {path}, which cannot be read: {reason.strerror}") from None


def _parts(url: str) -> tuple[str, str, int]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise InternalError("An upstream address is malformed.") from None
    if parts.scheme not in _DEFAULT_PORTS or not host:
        raise InternalError("An upstream address must begin with https:// or http:// and name a host.")
    return parts.scheme, host.rstrip("."), port or _DEFAULT_PORTS[parts.scheme]


def _variable(environ: Mapping[str, str], name: str) -> tuple[str, str]:
    """The spelling that is set, and its value (empty if neither is)."""
    for spelling in (name.lower(), name):
        if value := environ.get(spelling, "").strip():
            return spelling, value
    return name, ""


def _proxy(environ: Mapping[str, str], name: str) -> Proxy | None:
    variable, value = _variable(environ, name)
    if not value:
        return None
    if variable == "HTTP_PROXY" and "REQUEST_METHOD" in environ:
        return None  # a CGI server puts a client's `Proxy:` header there (CVE-2016-5385)
    parts = _proxy_parts(value if "://" in value else f"http://{value}", variable)
    return Proxy(
        url=f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}",
        username=None if parts.username is None else unquote(parts.username),
        password=None if parts.username is None else unquote(parts.password or ""),
        variable=variable,
    )


def _proxy_parts(value: str, variable: str) -> SplitResult:
    try:
        parts = urlsplit(value)
        sound = parts.scheme in PROXY_SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound:
        kinds = ", ".join(f"{scheme}://" for scheme in PROXY_SCHEMES)
        raise ValueError(f"{variable} is not a proxy's address: give scheme://host:port, the scheme one of {kinds}")
    return parts


def _bypasses(value: str) -> tuple[Bypass, ...]:
    return tuple(
        _bypass(entry) for entry in value.replace(",", " ").lower().split() if entry.strip(".*:") or entry == "*"
    )


def _bypass(entry: str) -> Bypass:
    if entry == "*":
        return Bypass()
    host, port = _split_port(entry)
    try:
        return Bypass(network=ipaddress.ip_network(host.strip("[]"), strict=False), port=port)
    except ValueError:
        return Bypass(domain=host.removeprefix("*").strip("."), port=port)


def _split_port(entry: str) -> tuple[str, int | None]:
    host, colon, port = entry.rpartition(":")
    if colon and port.isdigit() and (":" not in host or host.endswith("]")):
        return host, int(port)
    return entry, None


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    mapped = getattr(address, "ipv4_mapped", None)
    return mapped or address
