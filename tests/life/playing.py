"""A session's life on a scripted site: a clock that is moved by hand, alarms that are noted."""

import asyncio
from typing import Any

from pplx_gateway.settings import Secret
from pplx_gateway.transport.exchange import Incoming, Outgoing
from pplx_gateway.upstreams.session.cookies import NAME, Credentials
from pplx_gateway.upstreams.session.keeping import Keeper, Memory
from pplx_gateway.upstreams.session.life import Life
from pplx_gateway.upstreams.session.login import SESSION_PATH, Login
from pplx_gateway.upstreams.session.options import SessionOptions
from pplx_gateway.upstreams.session.telling import Teller
from tests.session.fakes import HTML, JSON, SIGNED_OUT, FakeTransport, HandClock, Played

HOUR = 3600.0
USER = (
    b'{"user":{"id":"u-1","subscription_status":"active","subscription_tier":"pro","payment_tier":"paid"},'
    b'"expires":"2026-12-01T00:00:00.000Z"}'
)


def signed_in(renewed: str | None = None, user: bytes = USER) -> Played:
    cookie = (("set-cookie", f"{NAME}={renewed}; Path=/"),) if renewed else ()
    return Played([user], headers=(*JSON, *cookie))


EXPIRED = Played([SIGNED_OUT], headers=JSON)
CHALLENGE = Played([b"<!DOCTYPE html><title>Just a moment...</title>"], status=403, headers=HTML)
OUTAGE = Played([b"<html><h1>Bad gateway"], status=502, headers=HTML)


class Site(FakeTransport):
    """`by_token` answers checks of these tokens, `pages` all others. `reached` is set by each request."""

    def __init__(self, clock: HandClock, page: Played) -> None:
        super().__init__(clock, pages={SESSION_PATH: page})
        self.by_token: dict[str, Played] = {}
        self.reached = asyncio.Event()

    async def request(self, outgoing: Outgoing) -> Incoming:
        self.reached.set()
        return await super().request(outgoing)

    def _page(self, outgoing: Outgoing) -> Played:
        found = self.by_token.get(outgoing.headers["cookie"].removeprefix(f"{NAME}="))
        return found or super()._page(outgoing)


class SleepingClock(HandClock):
    """Sleep takes no time, but moves the clock: `short_of` seconds less, if that is set. The `most`th sleep never ends
    and sets `enough`."""

    def __init__(self, most: int, short_of: float = 0.0) -> None:
        super().__init__()
        self.slept: list[float] = []
        self.enough = asyncio.Event()
        self._most = most
        self._short_of = short_of

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds - self._short_of
        if len(self.slept) == self._most:
            self.enough.set()
            await asyncio.Event().wait()


class Living:
    """One worker's session. `site` answers the next checks; `alarms` are the kinds of what was told."""

    def __init__(
        self,
        site: Played | None = None,
        *,
        cookie: str | None = "T",
        keeper: Keeper | None = None,
        clock: HandClock | None = None,
        spare: str | None = None,
        account_type: Any = None,
        **options: Any,
    ) -> None:
        self.clock = clock or HandClock()
        self.way_out = Site(self.clock, site or signed_in())
        self.keeper = keeper or Memory()
        self.credentials = Credentials(Secret(cookie) if cookie else None, self.keeper)
        self.alarms: list[str] = []
        self.said: list[str] = []
        self.options = SessionOptions(**options)
        self.life = Life(
            Login(self.way_out, self.options),
            self.credentials,
            self.clock,
            self.options,
            keeper=self.keeper,
            teller=Teller(self._alarm, account_type),
            spare=Secret(spare) if spare else None,
        )

    def _alarm(self, kind: str, title: str, message: str) -> None:
        self.alarms.append(kind)
        self.said.append(f"{title} {message}")

    def answers(self, site: Played | None) -> None:
        if site is None:
            self.way_out.pages.clear()
        else:
            self.way_out.pages[SESSION_PATH] = site

    async def check(self, site: Played | None = None) -> str:
        """Checks now, and gives the state as others see it."""
        if site is not None:
            self.answers(site)
        self.clock.seconds += 1
        await self.life.check(self.clock.now())
        return self.life.standing().state

    @property
    def checks(self) -> int:
        return len(self.way_out.looked_up)

    @property
    def sent(self) -> list[str]:
        """The tokens that were checked, in order."""
        return [outgoing.headers["cookie"].removeprefix(f"{NAME}=") for outgoing in self.way_out.looked_up]

    @property
    def token(self) -> str:
        return self.credentials.cookie().removeprefix(f"{NAME}=")
