"""May an answer be shown? An anonymous one must not look like the plan's (docs/wire-session.md 3)."""

import asyncio
import logging

from pplx_gateway.clock import Clock
from pplx_gateway.settings import Secret
from pplx_gateway.transport.exchange import Headers
from pplx_gateway.upstreams.session.cookies import Credentials
from pplx_gateway.upstreams.session.failures import AnsweredStranger, CookieOutdated
from pplx_gateway.upstreams.session.life import TOGETHER_SECONDS, Life
from pplx_gateway.upstreams.session.substitution import Sign

logger = logging.getLogger("pplx_gateway.session")

# By whether the site says that the session is good.
_AS_A_STRANGER = {
    True: "Perplexity answered as it answers people who are not signed in, although it says that the session is signed "
    "in. This is not an answer of your plan. Ask again later.",
    False: "Perplexity answered as it answers people who are not signed in, and did not say whether the session still "
    "is. This may not be an answer of your plan. Ask again later.",
}


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
        self._began = self._sent = clock.now()
        self._version = credentials.version
        self._own: list[Secret] = []
        self._beside: asyncio.Task[None] | None = None
        self._sign_seen = False

    @classmethod
    async def begin(cls, life: Life, credentials: Credentials, clock: Clock, hold_seconds: float) -> "Admission":
        admission = cls(life, credentials, clock, hold_seconds)
        if await life.doubtful():
            admission._beside = life.start(admission._began - clock.real(TOGETHER_SECONDS))
        admission._note()  # attachments go out with it
        return admission

    def sending(self) -> None:
        """Just before the question goes out, with the cookie that holds now."""
        self._version = self._credentials.version
        self._sent = self._clock.now()
        self._note()

    async def answered(self, headers: Headers) -> None:
        """A good response has begun: the cookie that it may bring is taken over."""
        if await self._credentials.adopt(headers, self._version):
            self._note()

    async def clear(self, *, sign: Sign | None) -> None:
        """Before a batch is passed on, or a refusal. A sign has the site asked, whatever it said before this question
        was sent; the signs of questions that were under way together share a check. Raises SessionExpired,
        CookieOutdated, AnsweredStranger."""
        if self._beside is not None:
            await self._wait(self._beside)
            self._beside = None
            self._life.refuse()
        if sign and not self._sign_seen:
            self._sign_seen = True
            self._life.refuse()
            await self._life.check(self._sent)
            self._life.refuse()
            if not any(self._credentials.holds(token) for token in self._own):
                raise CookieOutdated("The cookie was renewed while Perplexity answered a stranger. Ask again.")
        if sign not in ("doubt", "proof"):
            return
        state = self._life.standing().state
        if sign == "proof" or state != "valid":
            logger.warning("an answer for strangers was held back", extra={"state": state})
            raise AnsweredStranger(_AS_A_STRANGER[state == "valid"])

    def _note(self) -> None:
        if (held := self._credentials.held) is not None:
            self._own.append(held.token)

    async def _wait(self, check: asyncio.Task[None]) -> None:
        try:
            async with self._clock.deadline(self._hold_seconds):
                await asyncio.shield(check)
        except TimeoutError:
            return
