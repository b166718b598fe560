"""The quota's pages through the owner's own FlareSolverr, for networks where they are challenged (docs/wire-session.md
7.2).

It opens the page in a real browser that carries the session's cookie. Nothing else goes this way: no question ever
does. Its `solution.status` is always 200, so only the body counts.
"""

import html
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from pplx_gateway.clock import Clock
from pplx_gateway.errors import UpstreamError
from pplx_gateway.settings import Secret
from pplx_gateway.transport.exchange import Outgoing, Timeouts
from pplx_gateway.upstreams.session.cookies import NAME, Credentials, cut, joined, readable
from pplx_gateway.upstreams.session.frames import parse
from pplx_gateway.upstreams.session.options import SessionOptions
from pplx_gateway.upstreams.session.refusals import looks_like_page
from pplx_gateway.upstreams.session.way_out import WayOut

SOLVE_SECONDS = 20.0
SPARE_SECONDS = 5.0  # our own patience is this much longer, so that its word comes before our time-out

_PRE = re.compile(r"<pre(?:\s[^>]*)?>(.*?)</pre>", re.DOTALL | re.IGNORECASE)
_DOMAIN = ".perplexity.ai"
_LONGEST_REASON = 200


class SolverFailed(UpstreamError):
    """FlareSolverr, or the page that it brought, is of no use."""


class SolverPages:
    """`way_out` is a transport without a browser's shape."""

    def __init__(
        self,
        way_out: WayOut,
        address: str,
        credentials: Credentials,
        options: SessionOptions,
        clock: Clock,
    ) -> None:
        self._way_out = way_out
        self._url = address.rstrip("/").removesuffix("/v1") + "/v1"
        self._credentials = credentials
        self._options = options
        self._limit = (SOLVE_SECONDS + SPARE_SECONDS) * clock.factor  # a browser does not run faster in tests

    async def fetch(self, path: str) -> dict[str, Any]:
        """Raises SolverFailed, or what the transport raises."""
        held = self._credentials.held
        if held is None:
            raise SolverFailed("There is no cookie to read the quota with.")
        incoming = await self._way_out.request(self._outgoing(path, held.token))
        solution = self._solution(incoming.status, parse(incoming.body))
        document = _document(solution.get("response"))
        await self._adopt(solution.get("cookies"), held.version)
        return document

    def _outgoing(self, path: str, token: Secret) -> Outgoing:
        pieces = cut(token.reveal())
        names = [NAME] if len(pieces) == 1 else [f"{NAME}.{number}" for number in range(len(pieces))]
        cookies = [
            {"name": name, "value": piece, "domain": _DOMAIN, "path": "/", "secure": True, "httpOnly": True}
            for name, piece in zip(names, pieces, strict=True)
        ]
        body = {
            "cmd": "request.get",
            "url": self._options.origin + path,
            "maxTimeout": int(SOLVE_SECONDS * 1000),
            "cookies": cookies,
        }
        timeouts = Timeouts(*(self._limit,) * 4)
        headers = {"content-type": "application/json", "accept": "application/json"}
        return Outgoing(
            method="POST", url=self._url, headers=headers, body=msgspec.json.encode(body), timeouts=timeouts
        )

    def _solution(self, status: int, document: object) -> dict[str, Any]:
        if not isinstance(document, dict):
            raise SolverFailed(f"FlareSolverr answered HTTP {status} without JSON. Check FLARESOLVERR_URL.")
        solution = document.get("solution")
        if status != 200 or document.get("status") != "ok" or not isinstance(solution, dict):
            raise SolverFailed(f"FlareSolverr failed (HTTP {status}): {self._reason(document.get('message'))}")
        return solution

    def _reason(self, message: object) -> str:
        """Its own words, without what it may have repeated of the request."""
        text = " ".join(str(message or "no reason given").split())
        for secret in self._credentials.secrets():
            text = text.replace(secret, "***")
        return text[:_LONGEST_REASON]

    async def _adopt(self, cookies: object, version: int) -> None:
        """Of all cookies that the browser has by now, only the session's, if it is a new one."""
        pairs: dict[str, str] = {}
        for cookie in cookies if isinstance(cookies, list) else []:
            if isinstance(cookie, dict) and _ours(cookie):
                pairs[str(cookie.get("name"))] = str(cookie.get("value") or "")
        value = joined(pairs)
        if value and readable(value):
            await self._credentials.renew(Secret(value), version)


def _ours(cookie: Mapping[str, Any]) -> bool:
    return f".{str(cookie.get('domain') or '').lstrip('.')}".endswith(_DOMAIN) or not cookie.get("domain")


def _document(response: object) -> dict[str, Any]:
    """The JSON that the browser shows, in its viewer's page or bare. Raises SolverFailed."""
    if not isinstance(response, str):
        raise SolverFailed("FlareSolverr brought no page.")
    text = response
    if looks_like_page(response.encode("utf-8", "replace")):
        shown = _PRE.search(response)
        if shown is None:
            raise SolverFailed("FlareSolverr brought a web page where the quota should be.")
        text = html.unescape(shown[1])
    document = parse(text.encode("utf-8", "replace"))
    if not isinstance(document, dict):
        raise SolverFailed("FlareSolverr brought something that is not the quota.")
    return document
