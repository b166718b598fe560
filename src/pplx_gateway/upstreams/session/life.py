"""The session's life: four states told apart, one check an interval, one cookie for all workers.

**valid**, **expired**, **blocked** (a challenge page) and **unknown** (an outage) are words of the last check. Only
`expired` closes the door: while it holds, questions are refused at once, because the site would answer them
anonymously. A challenge or an outage never unsays a clear word that came before, and never raises an alarm.
"""

import asyncio
import logging

from pplx_gateway.catalogue import Tier
from pplx_gateway.clock import Clock
from pplx_gateway.errors import (
    CookieRefused,
    GatewayError,
    InvalidRequest,
    SessionBlocked,
    SessionExpired,
    StoreUnavailable,
    UpstreamError,
)
from pplx_gateway.settings import Secret
from pplx_gateway.standing import Standing, State
from pplx_gateway.upstreams.session.cookies import Credentials
from pplx_gateway.upstreams.session.keeping import Held, Keeper, Memory, Record
from pplx_gateway.upstreams.session.login import Login, Verdict
from pplx_gateway.upstreams.session.options import SessionOptions
from pplx_gateway.upstreams.session.pasted import read_token
from pplx_gateway.upstreams.session.refusals import BLOCKED, EXPIRED
from pplx_gateway.upstreams.session.telling import Teller

logger = logging.getLogger("pplx_gateway.session")

# Questions that come together, and workers that start together, are content with one check.
TOGETHER_SECONDS = 10.0
# While another worker checks: how often to look whether it has done, and when to stop waiting for one that has died.
POLL_SECONDS = 0.1
PATIENCE_SECONDS = 5.0
# A wall clock that is set back must not make checks without end.
MOST_ROUNDS = 3


class Life:
    """`spare` is a token to try once where the kept one has died."""

    def __init__(
        self,
        login: Login,
        credentials: Credentials,
        clock: Clock,
        options: SessionOptions,
        *,
        keeper: Keeper | None = None,
        teller: Teller | None = None,
        spare: Secret | None = None,
    ) -> None:
        self._login = login
        self._credentials = credentials
        self._clock = clock
        self._options = options
        self._keeper = keeper or Memory()
        self._teller = teller or Teller()
        self._spare = spare
        self._record: Record | None = None
        self._checking: asyncio.Task[None] | None = None
        self._renewing = asyncio.Lock()

    # what others see

    @property
    def present(self) -> bool:
        return self._credentials.present

    @property
    def tier(self) -> Tier | None:
        """What the site said of the account, maybe of an earlier cookie's."""
        return self._record.tier if self._record else None

    @property
    def record(self) -> Record | None:
        """The last check of the cookie that holds now."""
        return self._record if self._record and self._record.version == self._credentials.version else None

    def standing(self) -> Standing:
        record, age = self.record, self._cookie_age()
        return Standing(
            state=_state(record),
            checked_seconds_ago=None if record is None else max(0.0, self._clock.since(record.at)),
            cookie_age_hours=None if age is None else age / 3600,
            cookie_old=age is not None and age > self._options.cookie_max_age_seconds,
            tier=self.tier,
            kept=self._keeper.saved,
        )

    def refresh(self) -> None:
        """Has the site asked behind the caller's back, where the last word is old."""
        if self.present and self._stale(self.record):
            self.start(self._clock.now())

    # before and while a question is asked

    def refuse(self) -> None:
        """Raises SessionExpired if there is no cookie, or the last clear word on it was that it is dead."""
        record = self.record
        if not self.present or (record is not None and record.login == "expired"):
            raise SessionExpired(EXPIRED)

    async def doubtful(self) -> bool:
        """True if a check should run beside the next question. A dead session is asked about once more before the
        question goes out: at once for the first question after the word, since the site errs at times, then once in an
        interval. Raises SessionExpired."""
        if self.record is None or self._look_again():
            await self.sync()
        if self._look_again():
            await asyncio.shield(self.start(self._clock.now()))
        self.refuse()
        return self._stale(self.record)

    async def check(self, newer_than: float) -> None:
        """Returns once there is a check that began at `newer_than` (epoch seconds) or later, by whichever worker."""
        for _ in range(MOST_ROUNDS):
            if self._checked(newer_than):
                return
            await asyncio.shield(self.start(newer_than))

    def start(self, newer_than: float) -> asyncio.Task[None]:
        """The same without waiting; a check that is under way already is the one."""
        if self._checking is None or self._checking.done():
            self._checking = asyncio.create_task(self._check(newer_than))
        return self._checking

    # the owner's doing

    async def renew(self, pasted: str) -> Standing:
        """As in standing.Session."""
        try:
            token = read_token(pasted)
        except ValueError as error:
            raise InvalidRequest(str(error), param="session_token") from None
        async with self._renewing:
            at, verdict = self._clock.now(), await self._login.ask(token)
            if verdict.state != "valid":
                raise _not_taken(verdict.state)
            await self.sync()
            if not self._credentials.holds(token):
                await self._credentials.replace(token)
                logger.info("a new cookie was given")
            await self._conclude(at, verdict, self._credentials.version)
        return self.standing()

    # beside the questions

    async def keep_alive(self, together_seconds: float = 0.0) -> None:
        """Checks now, and whenever the last check is `keepalive_seconds` old. Goes on for ever. One of several workers
        is content with a check that another one made `together_seconds` ago."""
        interval = self._options.keepalive_seconds
        newer_than = self._clock.now() - self._clock.real(together_seconds)
        while True:
            if self.present:
                await self.check(newer_than)
            age = self._age(self.record) if self.record else 0.0
            await self._clock.sleep(max(interval - age, interval / 100))
            newer_than = self._clock.now() - self._clock.real(interval * 0.99)  # timers are a little early at times

    async def sync(self) -> None:
        """What other workers have learned since; and what could not be kept before is kept."""
        try:
            await self._keeper.flush()
            held, record = await self._keeper.read()
        except StoreUnavailable:
            return  # whoever needs the store will say so; the session goes on from memory
        if held is not None:
            self._credentials.take(held)
        if record is not None:
            self._record = record

    async def close(self) -> None:
        if self._checking is not None:
            self._checking.cancel()
            await asyncio.gather(self._checking, return_exceptions=True)

    # checking

    async def _check(self, newer_than: float) -> None:
        """By this worker, unless another one is at it."""
        waited = 0.0
        poll = max(POLL_SECONDS, self._clock.factor * 0.01)
        while not await self._keeper.take_turn() and waited < PATIENCE_SECONDS:
            await self._clock.sleep(poll)
            waited += poll
            await self.sync()
            if self._checked(newer_than):
                return
        try:
            await self.sync()
            if not self._checked(newer_than):
                await self._ask()
        finally:
            await self._keeper.end_turn()

    async def _ask(self) -> None:
        held = self._credentials.held
        if held is None:
            return
        at, verdict = self._clock.now(), await self._login.ask(held.token)
        if verdict.state == "expired":
            await self.sync()
            if not self._credentials.holds(held.token):  # another worker had a newer one
                held = self._credentials.held or held
                at, verdict = self._clock.now(), await self._login.ask(held.token)
        if verdict.state != "expired" or not await self._try_spare(held):
            await self._conclude(at, verdict, held.version)

    async def _try_spare(self, dead: Held) -> bool:
        spare, self._spare = self._spare, None
        if spare is None or spare.reveal() == dead.token.reveal():
            return False
        at, verdict = self._clock.now(), await self._login.ask(spare)
        if verdict.state != "valid" or dead.version != self._credentials.version:
            return False
        logger.info("the kept cookie has expired; that of PPLX_COOKIE is used")
        await self._credentials.replace(spare)
        await self._conclude(at, verdict, self._credentials.version)
        return True

    async def _conclude(self, at: float, verdict: Verdict, version: int) -> None:
        if verdict.renewed is not None:
            await self._credentials.renew(verdict.renewed, version)
        if version != self._credentials.version:
            return  # the owner gave another cookie meanwhile
        before = self.record
        record = _record(before, at, verdict, version, self._tell_age(before))
        self._record = record
        await self._keeper.conclude(record)
        self._teller.checked(before, record)

    def _tell_age(self, before: Record | None) -> float:
        """`Held.at` of the cookie whose age was told last."""
        told = before.old_told_of if before else 0.0
        held, age = self._credentials.held, self._cookie_age()
        if held is None or age is None or age <= self._options.cookie_max_age_seconds or told == held.at:
            return told
        self._teller.old(age / 3600)
        return held.at

    # times

    def _checked(self, newer_than: float) -> bool:
        record = self.record
        return record is not None and record.at >= newer_than

    def _look_again(self) -> bool:
        record = self.record
        if record is None or record.login != "expired":
            return False
        return not record.repeated or self._stale(record)

    def _stale(self, record: Record | None) -> bool:
        """A good word is trusted until the next check is due, and a moment longer, which that may take."""
        if record is None:
            return True
        trusted = self._options.login_interval_seconds
        if record.state == "valid":
            trusted += self._options.keepalive_seconds
        return self._age(record) >= trusted

    def _age(self, record: Record) -> float:
        """A wall clock that was set back makes a record old, not young."""
        age = self._clock.since(record.at)
        return age if age >= 0 else float("inf")

    def _cookie_age(self) -> float | None:
        held = self._credentials.held
        return max(0.0, self._clock.since(held.at)) if held is not None and held.at else None


def _state(record: Record | None) -> State:
    if record is None:
        return "unknown"
    return "expired" if record.login == "expired" else record.state


def _record(before: Record | None, at: float, verdict: Verdict, version: int, old_told_of: float) -> Record:
    login, tier = (before.login, before.tier) if before else (None, None)
    if verdict.state in ("valid", "expired"):
        login = verdict.state
    return Record(
        version=version,
        state=verdict.state,
        at=at,
        login=login,
        repeated=before is not None and before.login == "expired",
        tier=verdict.tier or tier,
        old_told_of=old_told_of,
    )


def _not_taken(state: State) -> GatewayError:
    if state == "expired":
        return CookieRefused("Nobody is signed in with this cookie. The old one was kept.", param="session_token")
    if state == "blocked":
        return SessionBlocked(f"The new cookie could not be checked, so the old one was kept. {BLOCKED}")
    return UpstreamError("Perplexity could not say whether the new cookie is good, so the old one was kept. Try again.")
