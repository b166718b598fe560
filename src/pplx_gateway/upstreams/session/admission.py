"""May an answer be shown? An anonymous one must not look like the plan's (docs/wire-session.md 3)."""

import asyncio

from pplx_gateway.clock import Clock
from pplx_gateway.settings import Secret
from pplx_gateway.transport.exchange import Headers
from pplx_gateway.upstreams.session.cookies import Credentials
from pplx_gateway.upstreams.session.failures import CookieOutdated
from pplx_gateway.upstreams.session.life import TOGETHER_SECONDS, Life


class Admission:
    """Of one question. `await Admission.begin(...)` before it is sent; raises SessionExpired.

    Where no check is fresh enough, one runs beside the question, and the first batch waits for it, though not for
    longer than `hold_seconds`: a site that cannot tell must not stop an answer that it gives.
    """

    def __init__(self, life: Life, credentials: Credentials, clock: Clock, hold_seconds: float) -> None:
        self._life = life
        self._credentials = credentials
        self._clock = clock
        self._hold_seconds = hold_seconds
        self._began = clock.now()
        self._version = credentials.version
        self._own: list[Secret] = []
        self._beside: asyncio.Task[None] | None = None
        self._sign_seen = False

    @classmethod
    async def begin(cls, life: Life, credentials: Credentials, clock: Clock, hold_seconds: float) -> "Admission":
        admission = cls(life, credentials, clock, hold_seconds)
        if await life.doubtful():
            admission._beside = life.start(admission._began - clock.real(TOGETHER_SECONDS))
        return admission

    def sending(self) -> None:
        """Just before the question goes out, with the cookie that holds now."""
        self._version = self._credentials.version
        self._note()

    async def answered(self, headers: Headers) -> None:
        """A good response has begun: the cookie that it may bring is taken over."""
        if await self._credentials.adopt(headers, self._version):
            self._note()

    async def clear(self, *, sign: bool) -> None:
        """Before a batch is passed on. `sign` = the site answers, or refuses, as it does strangers. Raises
        SessionExpired, CookieOutdated."""
        if self._beside is not None:
            await self._wait(self._beside)
            self._beside = None
            self._life.refuse()
        if sign and not self._sign_seen:
            self._sign_seen = True
            self._life.refuse()
            asked = await self._life.confirm(self._began)
            self._life.refuse()
            if asked and not any(self._credentials.holds(token) for token in self._own):
                raise CookieOutdated("The cookie was renewed while Perplexity answered a stranger. Ask again.")

    def _note(self) -> None:
        if (held := self._credentials.held) is not None:
            self._own.append(held.token)

    async def _wait(self, check: asyncio.Task[None]) -> None:
        try:
            async with self._clock.deadline(self._hold_seconds):
                await asyncio.shield(check)
        except TimeoutError:
            return
