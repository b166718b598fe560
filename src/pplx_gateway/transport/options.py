"""What curl is told for all requests of one form: a browser's shape or none, buffers, proxy, authorities, method."""

from collections.abc import Callable
from typing import NamedTuple

from curl_cffi import Curl, CurlHttpVersion, CurlOpt
from curl_cffi.requests.impersonate import REAL_TARGET_MAP, resolve_latest_browser_type

from pplx_gateway.errors import InternalError
from pplx_gateway.transport.exchange import Method, Outgoing
from pplx_gateway.transport.network import Network, Proxy, Route

BUFFER_BYTES = 16 * 1024  # curl's own 64 KB for each direction would be most of a stream's memory
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


class Form(NamedTuple):
    """What decides which options a request needs. Requests of one form set the same ones, so each may follow another on
    one handle: nothing of the first is left."""

    method: Method
    posts: bool
    uploads: bool
    clear: bool
    proxy: Proxy | None


def form_of(outgoing: Outgoing, route: Route) -> Form:
    posts = outgoing.body is not None or outgoing.method in ("POST", "PUT")
    return Form(outgoing.method, posts, bool(outgoing.body), route.clear, route.proxy)


class Options:
    """One for each transport: sets on a new handle what a form's requests share (handle.py sets the rest)."""

    def __init__(self, *, browser: str | None, network: Network) -> None:
        self._browser = browser
        self._network = network

    def prepare(self, curl: Curl, form: Form) -> None:
        if self._browser is not None and curl.impersonate(self._browser) != 0:
            raise InternalError(f"curl no longer knows the browser {self._browser}.")
        curl.setopt(CurlOpt.ACCEPT_ENCODING, b"")  # all that are built in; the browser's own line stays as it is
        curl.setopt(CurlOpt.BUFFERSIZE, BUFFER_BYTES)
        curl.setopt(CurlOpt.NOSIGNAL, 1)
        curl.setopt(CurlOpt.TCP_KEEPALIVE, 1)  # answers may be silent for minutes, and routers forget
        self._set_security(curl, form)
        _set_proxy(curl, form.proxy)
        _set_method(curl, form)

    def _set_security(self, curl: Curl, form: Form) -> None:
        # No PIPEWAIT: where the server has no HTTP/2, it lets every request wait until the first answer is over.
        if form.clear:
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


def _set_method(curl: Curl, form: Form) -> None:
    if form.method != ("POST" if form.posts else "GET"):
        curl.setopt(CurlOpt.CUSTOMREQUEST, form.method)
    if form.posts:
        curl.setopt(CurlOpt.POST, 1)
        curl.setopt(CurlOpt.UPLOAD_BUFFERSIZE, BUFFER_BYTES)
    if form.posts and not form.uploads:
        curl.setopt(CurlOpt.POSTFIELDSIZE_LARGE, 0)
        curl.setopt(CurlOpt.COPYPOSTFIELDS, b"")
