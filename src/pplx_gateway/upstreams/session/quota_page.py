"""Reads the quota's two pages, and says what they told (docs/wire-session.md 4)."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol
from urllib.parse import urlencode

from pplx_gateway.clock import Clock
from pplx_gateway.errors import UpstreamError
from pplx_gateway.transport.exchange import Outgoing
from pplx_gateway.upstreams.session.cookies import Credentials
from pplx_gateway.upstreams.session.counts import Kind, Told
from pplx_gateway.upstreams.session.frames import parse
from pplx_gateway.upstreams.session.headers import page_headers
from pplx_gateway.upstreams.session.options import SessionOptions
from pplx_gateway.upstreams.session.refusals import Page, refusal
from pplx_gateway.upstreams.session.way_out import WayOut

QUOTA_PATH = "/rest/rate-limit/all"
STATUS_PATH = "/rest/rate-limit/status"

KINDS: tuple[Kind, ...] = ("pro", "research")
_MODES: dict[Kind, str] = {"pro": "pro_search", "research": "research"}


class Pages(Protocol):
    """A way to the site's JSON pages as the signed-in user."""

    async def fetch(self, path: str) -> dict[str, Any]:
        """The object at `path`. Raises GatewayError for everything else."""
        ...


class DirectPages:
    """By the session's own transport, with the page's headers."""

    def __init__(
        self,
        way_out: WayOut,
        credentials: Credentials,
        clock: Clock,
        options: SessionOptions,
        clean: Callable[[str], str],
    ) -> None:
        self._way_out = way_out
        self._credentials = credentials
        self._clock = clock
        self._options = options
        self._clean = clean

    async def fetch(self, path: str) -> dict[str, Any]:
        """A cookie that the page renews is taken over."""
        version = self._credentials.version
        incoming = await self._way_out.request(self._outgoing(path))
        page = Page(incoming.status, incoming.headers, incoming.body)
        document = parse(incoming.body) if page.status == 200 and not page.html and not page.challenge else None
        if not isinstance(document, dict):
            raise refusal(page, self._clock.now(), self._clean)
        await self._credentials.adopt(incoming.headers, version)
        return document

    def _outgoing(self, path: str) -> Outgoing:
        query = "" if "?" in path else "?" + urlencode({"version": self._options.api_version, "source": "default"})
        url = f"{self._options.origin}{path}{query}"
        headers = page_headers(self._options, url, "rate-limit", self._credentials.cookie(), accept="application/json")
        return Outgoing(method="GET", url=url, headers=headers, timeouts=self._options.lookup_timeouts)


async def read_quota(pages: Pages) -> dict[Kind, Told]:
    """Raises GatewayError where nothing could be read. The second page is only asked about zeros."""
    document = await pages.fetch(QUOTA_PATH)
    left = {kind: _count(document.get(f"remaining_{kind}")) for kind in KINDS}
    available: Mapping[Kind, bool] = {}
    if 0 in left.values():
        available = await _availability(pages)
    return {kind: Told(left=left[kind], available=available.get(kind)) for kind in KINDS}


async def _availability(pages: Pages) -> dict[Kind, bool]:
    """The site's word on each kind; nothing of a kind on which it gives none."""
    try:
        document = await pages.fetch(STATUS_PATH)
    except UpstreamError:
        return {}
    modes = document.get("modes")
    found: dict[Kind, bool] = {}
    for kind, name in _MODES.items():
        mode = modes.get(name) if isinstance(modes, dict) else None
        word = _word(mode) if isinstance(mode, dict) else None
        if word is not None:
            found[kind] = word
    return found


def _word(mode: Mapping[str, Any]) -> bool | None:
    """`available: false` beside `not_provided` is what strangers are shown."""
    available, detail = mode.get("available"), mode.get("remaining_detail")
    told = isinstance(detail, dict) and detail.get("kind") not in (None, "not_provided")
    if available is True:
        return True
    return False if available is False and told else None


def _count(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None
