"""Is the session signed in? The site's own word on one token (docs/wire-session.md 3).

An expired cookie is not refused anywhere: the answer is anonymous and weaker. So signs in answers lead here, and here
alone is decided. Only an empty session means expired; a challenge, an outage or a page blames nobody.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from pplx_gateway.catalogue import Tier
from pplx_gateway.errors import UpstreamError
from pplx_gateway.settings import Secret
from pplx_gateway.standing import State
from pplx_gateway.transport.exchange import Incoming, Outgoing
from pplx_gateway.upstreams.session.cookies import cookie_of, renewed_token
from pplx_gateway.upstreams.session.frames import parse
from pplx_gateway.upstreams.session.headers import page_headers
from pplx_gateway.upstreams.session.options import SessionOptions
from pplx_gateway.upstreams.session.refusals import Page
from pplx_gateway.upstreams.session.way_out import WayOut

SESSION_PATH = "/api/auth/session"

_TIER_FIELDS = ("subscription_tier", "payment_tier", "subscription_status")
_NO_PLAN = frozenset({"", "none", "free"})


class Verdict(NamedTuple):
    """`renewed` is the token by which the site replaced the one that was asked about."""

    state: State
    tier: Tier | None = None
    renewed: Secret | None = None


class Login:
    def __init__(self, way_out: WayOut, options: SessionOptions) -> None:
        self._way_out = way_out
        self._options = options

    async def ask(self, token: Secret) -> Verdict:
        """Never raises an UpstreamError: that is a verdict, too."""
        url = self._options.origin + SESSION_PATH
        headers = page_headers(self._options, url, "session", cookie_of(token), accept="application/json")
        outgoing = Outgoing(method="GET", url=url, headers=headers, timeouts=self._options.lookup_timeouts)
        try:
            incoming = await self._way_out.request(outgoing)
        except UpstreamError:
            return Verdict("unknown")
        return _verdict(incoming)


def _verdict(incoming: Incoming) -> Verdict:
    page = Page(incoming.status, incoming.headers, incoming.body)
    if page.challenge or (page.status == 403 and page.html):
        return Verdict("blocked")
    if page.status != 200 or page.html:
        return Verdict("unknown")
    body = parse(incoming.body)
    if incoming.body.strip() == b"null":  # newer releases of NextAuth say so
        return Verdict("expired")
    if not isinstance(body, dict):
        return Verdict("unknown")
    user = body.get("user")
    if not user:
        return Verdict("expired")
    return Verdict("valid", tier_of(user) if isinstance(user, dict) else None, renewed_token(incoming.headers))


def tier_of(user: Mapping[str, Any]) -> Tier | None:
    """The plan of the session's user; None where the site says nothing that is understood. Compound names count by
    their words (`enterprise_pro`)."""
    tier, payment, status = (str(user.get(name) or "").lower() for name in _TIER_FIELDS)
    words = set(re.split(r"[^a-z]+", f"{tier} {payment}"))
    if "max" in words:
        return "max"
    if "pro" in words or (status in ("active", "trialing") and payment == "paid"):
        return "pro"
    told = any(name in user for name in _TIER_FIELDS[:2])
    return "free" if told and words <= _NO_PLAN else None
