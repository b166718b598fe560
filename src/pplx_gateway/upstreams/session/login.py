"""Is the session signed in? Asked of the site at most once in an interval (docs/wire-session.md 3).

An expired cookie is not refused: the answer is anonymous and weaker. So signs in answers lead here, and here alone is
decided. Only a 200 with an empty object means expired; a challenge, a 5xx or a page means unknown, and unknown blames
nobody.
"""

import asyncio
from typing import Literal

from pplx_gateway.clock import Clock
from pplx_gateway.errors import SessionExpired, UpstreamError
from pplx_gateway.transport.exchange import Incoming, Outgoing
from pplx_gateway.upstreams.session.cookies import Credentials
from pplx_gateway.upstreams.session.frames import parse
from pplx_gateway.upstreams.session.headers import page_headers
from pplx_gateway.upstreams.session.options import LOOKUP_TIMEOUTS, SessionOptions
from pplx_gateway.upstreams.session.refusals import EXPIRED
from pplx_gateway.upstreams.session.way_out import WayOut

SESSION_PATH = "/api/auth/session"

LoginState = Literal["valid", "expired", "unknown"]


class Login:
    def __init__(self, way_out: WayOut, clock: Clock, credentials: Credentials, options: SessionOptions) -> None:
        self._way_out = way_out
        self._clock = clock
        self._credentials = credentials
        self._options = options
        self._lock = asyncio.Lock()
        self._state: LoginState = "unknown"
        self._asked_at: float | None = None
        self._version = credentials.version

    @property
    def known_expired(self) -> bool:
        """True while a check of this very cookie, not older than the interval, found nobody signed in."""
        return self._fresh and self._state == "expired"

    async def state(self) -> LoginState:
        """Asks the site if the last answer is older than the interval, or belongs to an older cookie."""
        async with self._lock:
            if not self._fresh:
                self._state = await self._ask()
                self._asked_at = self._clock.monotonic()
                self._version = self._credentials.version
            return self._state

    async def require(self) -> None:
        """Raises SessionExpired if nobody is signed in."""
        if await self.state() == "expired":
            raise SessionExpired(EXPIRED)

    @property
    def _fresh(self) -> bool:
        if self._asked_at is None or self._version != self._credentials.version:
            return False
        return self._clock.monotonic() - self._asked_at < self._options.login_interval_seconds

    async def _ask(self) -> LoginState:
        url = self._options.origin + SESSION_PATH
        headers = page_headers(self._options, url, "session", self._credentials.cookie(), accept="application/json")
        outgoing = Outgoing(method="GET", url=url, headers=headers, timeouts=LOOKUP_TIMEOUTS)
        try:
            incoming = await self._way_out.request(outgoing)
        except UpstreamError:
            return "unknown"
        state = _state(incoming)
        if state == "valid":
            await self._credentials.adopt(incoming.headers)
        return state


def _state(incoming: Incoming) -> LoginState:
    body = parse(incoming.body) if incoming.status == 200 else None
    if not isinstance(body, dict):
        return "unknown"
    return "valid" if body.get("user") else "expired"
