"""Responses that are no answer stream: pages, redirects, errors of HTTP (docs/wire-session.md 2.7, 7.1).

What is told apart: blocked at the edge, logged out, out of quota, throttled, a request that is out of date, and the
rest. A challenge page says nothing about the cookie.
"""

import re
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import urlsplit

from pplx_gateway.errors import (
    GatewayError,
    InsufficientQuota,
    QuotaExhausted,
    RateLimited,
    SessionBlocked,
    SessionExpired,
    UpstreamAuth,
    UpstreamError,
)
from pplx_gateway.transport.exchange import Headers
from pplx_gateway.upstreams.faults import read_detail, wait_seconds
from pplx_gateway.upstreams.session.failures import AnswerFailed, RequestRefused

BLOCKED = (
    "Perplexity's edge stopped the request with a challenge page. This is about the network address or the browser "
    "fingerprint, not about the cookie: try another PPLX_IMPERSONATE or another network."
)
EXPIRED = (
    "The Perplexity session is not signed in any more. Sign in at perplexity.ai in a browser, copy the cookie "
    "__Secure-next-auth.session-token, and give it to the gateway: scripts/inject-cookie or POST /admin/refresh-cookie "
    "while it runs, or PPLX_COOKIE before it starts."
)

PAGE_BYTES = 64 << 10
_CHALLENGE = (b"just a moment", b"_cf_chl_opt", b"/cdn-cgi/challenge-platform/", b"attention required! | cloudflare")
_LOGIN = re.compile(r"log-?in|sign-?in|/auth\b|account", re.IGNORECASE)
_GONE = ("ENTRY_DELETED", "ENTRY_EXPIRED")


class Page(NamedTuple):
    """A response and the beginning of its body."""

    status: int
    headers: Headers
    body: bytes

    @property
    def html(self) -> bool:
        kind = (self.headers.get("content-type") or "").lower()
        return "html" in kind or looks_like_page(self.body)

    @property
    def challenge(self) -> bool:
        if (self.headers.get("cf-mitigated") or "").lower() == "challenge":
            return True
        return self.html and any(sign in self.body[:PAGE_BYTES].lower() for sign in _CHALLENGE)


def looks_like_page(data: bytes) -> bool:
    return data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")


def refusal(page: Page, now: float, clean: Callable[[str], str]) -> GatewayError:
    """The error for `page`. `now` is epoch seconds; `clean` makes words safe to show."""
    if page.challenge or (page.status == 403 and page.html):
        return SessionBlocked(BLOCKED)
    words = "" if page.html else clean(_words(page.body))
    refused = _Refused(page, words, now)
    if 300 <= page.status < 400:
        return _redirected(refused)
    return _BY_STATUS.get(page.status, _failed)(refused)


class _Refused(NamedTuple):
    page: Page
    words: str
    now: float

    def sentence(self, lead: str) -> str:
        return f"{lead}: {self.words}" if self.words else f"{lead}."


def _words(body: bytes) -> str:
    detail = read_detail(body)
    return "" if detail is None else detail.message or str(detail.code or "")


def _redirected(refused: _Refused) -> GatewayError:
    """Never followed: a redirect could carry the cookie elsewhere."""
    if _LOGIN.search(urlsplit(refused.page.headers.get("location") or "").path):
        return SessionExpired(EXPIRED)
    return UpstreamError(
        "Perplexity answered with a redirect, which is never followed. Check PPLX_SESSION_URL.",
        upstream_status=refused.page.status,
    )


def _logged_out(_refused: _Refused) -> GatewayError:
    return SessionExpired(EXPIRED)


def _forbidden(refused: _Refused) -> GatewayError:
    return UpstreamAuth(refused.sentence("Perplexity does not allow this session to ask that"), upstream_status=403)


def _out_of_date(refused: _Refused) -> GatewayError:
    if any(sign.encode() in refused.page.body for sign in _GONE):
        return AnswerFailed("The Perplexity thread of this conversation is gone.", upstream_status=400)
    lead = "Perplexity did not take the request (HTTP 400). PPLX_API_VERSION may be out of date"
    return RequestRefused(refused.sentence(lead), upstream_status=400)


def _payment(refused: _Refused) -> GatewayError:
    return InsufficientQuota(refused.sentence("Perplexity asks for payment (HTTP 402)"))


def _throttled(refused: _Refused) -> GatewayError:
    if b"QUOTA" in refused.page.body.upper():
        return QuotaExhausted(refused.sentence("The quota of this Perplexity plan is used up"))
    wait = wait_seconds(refused.page.headers, refused.now)
    return RateLimited(refused.sentence("Perplexity limits how fast this session may ask"), retry_after=wait)


def _failed(refused: _Refused) -> GatewayError:
    page = refused.page
    what = "a web page" if page.html else "no answer stream"
    lead = f"Perplexity answered HTTP {page.status} with {what}"
    wait = wait_seconds(page.headers, refused.now)
    return UpstreamError(refused.sentence(lead), upstream_status=page.status, retry_after=wait)


_BY_STATUS: dict[int, Callable[[_Refused], GatewayError]] = {
    400: _out_of_date,
    401: _logged_out,
    402: _payment,
    403: _forbidden,
    429: _throttled,
}
