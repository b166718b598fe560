"""What curl is told for each request: a browser's shape or none, buffers, proxy, authorities, headers, body."""

import re
from collections.abc import Callable, Mapping

from curl_cffi import Curl, CurlHttpVersion, CurlOpt
from curl_cffi.requests.impersonate import REAL_TARGET_MAP, resolve_latest_browser_type

from pplx_gateway.errors import InternalError
from pplx_gateway.transport.exchange import Outgoing
from pplx_gateway.transport.network import Network, Proxy, Route
from pplx_gateway.transport.upload import Upload

BUFFER_BYTES = 16 * 1024  # curl's own 64 KB for each direction would be most of a stream's memory
_LINE_BREAK = re.compile(r"[\r\n\0]")
_resolve: Callable[[str], str] = resolve_latest_browser_type


def resolve_browser(name: str) -> str:
    """The exact target of `name` ("chrome" is chrome152 or so). Raises ValueError that names `name` if curl has none
    such: curl itself would go on without a browser's shape."""
    target = _resolve(name)
    curl = Curl()
    code = curl.impersonate(target)  # raises nothing
    curl.close()
    if code != 0:
        known = ", ".join(sorted(REAL_TARGET_MAP))
        raise ValueError(f"cannot impersonate {name!r}: choose {known}, or an exact one like {_resolve('chrome')}")
    return target


class Options:
    """Sets everything on a clean handle. One for each transport."""

    def __init__(self, *, browser: str | None, network: Network) -> None:
        self._browser = browser
        self._network = network

    def apply(self, curl: Curl, outgoing: Outgoing, route: Route, connect_ms: int) -> Upload | None:
        """Returns the body's reader, which must live as long as the transfer."""
        if self._browser is not None and curl.impersonate(self._browser) != 0:
            raise InternalError(f"curl no longer knows the browser {self._browser}.")
        curl.setopt(CurlOpt.URL, outgoing.url)
        curl.setopt(CurlOpt.HTTPHEADER, header_lines(outgoing.headers))
        curl.setopt(CurlOpt.ACCEPT_ENCODING, b"")  # all that are built in; the browser's own line stays as it is
        curl.setopt(CurlOpt.BUFFERSIZE, BUFFER_BYTES)
        curl.setopt(CurlOpt.NOSIGNAL, 1)
        curl.setopt(CurlOpt.TCP_KEEPALIVE, 1)  # answers may be silent for minutes, and routers forget
        curl.setopt(CurlOpt.CONNECTTIMEOUT_MS, connect_ms)
        self._set_security(curl, route)
        _set_proxy(curl, route.proxy)
        return _set_body(curl, outgoing)

    def _set_security(self, curl: Curl, route: Route) -> None:
        # No PIPEWAIT: where the server has no HTTP/2, it lets every request wait until the first answer is over.
        if route.clear:
            # a browser's shape asks for an upgrade to HTTP/2 in clear, which no browser does
            curl.setopt(CurlOpt.HTTP_VERSION, CurlHttpVersion.V1_1)
        if self._network.ca_file is not None:
            curl.setopt(CurlOpt.CAINFO, self._network.ca_file)
            curl.setopt(CurlOpt.PROXY_CAINFO, self._network.ca_file)


def _set_proxy(curl: Curl, proxy: Proxy | None) -> None:
    """Always said, because curl would read the environment by itself otherwise."""
    if proxy is None:
        curl.setopt(CurlOpt.PROXY, b"")
        return
    curl.setopt(CurlOpt.PROXY, proxy.url)
    curl.setopt(CurlOpt.NOPROXY, b"")
    curl.setopt(CurlOpt.SUPPRESS_CONNECT_HEADERS, 1)
    if proxy.username is not None:
        curl.setopt(CurlOpt.PROXYUSERNAME, proxy.username)
        curl.setopt(CurlOpt.PROXYPASSWORD, proxy.password or "")


def _set_body(curl: Curl, outgoing: Outgoing) -> Upload | None:
    body = outgoing.body
    if body is None and outgoing.method == "GET":
        return None
    if outgoing.method != "POST":
        curl.setopt(CurlOpt.CUSTOMREQUEST, outgoing.method)
    if body is None and outgoing.method == "DELETE":
        return None
    curl.setopt(CurlOpt.POST, 1)
    curl.setopt(CurlOpt.POSTFIELDSIZE_LARGE, len(body or b""))
    if not body:
        curl.setopt(CurlOpt.POSTFIELDS, b"")
        return None
    upload = Upload(curl, body)
    curl.setopt(CurlOpt.UPLOAD_BUFFERSIZE, BUFFER_BYTES)
    curl.setopt(CurlOpt.READDATA, upload)
    return upload


def header_lines(headers: Mapping[str, str]) -> list[bytes]:
    """curl's form: `name: value`, or `name:` which leaves a header out.

    Expect is always left out (a large body would wait a second for leave), and so is the form type that curl would make
    up. Raises InternalError for a line break in a value.
    """
    lines = [b"expect:"]
    typed = False
    for name, value in headers.items():
        if _LINE_BREAK.search(value) or _LINE_BREAK.search(name):
            raise InternalError("A header for the upstream holds a line break.")
        typed = typed or name.lower() == "content-type"
        lines.append(f"{name}: {value}".encode() if value else f"{name}:".encode())
    if not typed:
        lines.append(b"content-type:")
    return lines
