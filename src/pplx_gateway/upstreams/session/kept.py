"""The session's life in the store: two facts that all workers share, `session_token` and `session_state`.

The token is written before the next request can use it, in one transaction, so that a process that is killed leaves
either the old one or the new one. A rotation only replaces a token of the same version: a late answer to a question of
yesterday's cookie must not push out the one that the owner gave meanwhile.
"""

import hashlib
import logging
from collections.abc import Callable

import msgspec

from pplx_gateway.clock import Clock
from pplx_gateway.errors import StoreUnavailable
from pplx_gateway.settings import Secret
from pplx_gateway.store import Fact, Facts, Leases
from pplx_gateway.upstreams.session.keeping import Held, Record, Shared

logger = logging.getLogger("pplx_gateway.session")

TOKEN, STATE = "session_token", "session_state"
TURN = "session_check"


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """`version` and `at` as in Held. `variable`: digest of the last PPLX_COOKIE that was seen. `took_old_file`: the
    cookie of another program's cache was taken over, which happens once. `site`: the host that the token is for; it is
    never sent to another."""

    token: str = ""
    site: str = ""
    version: int = 0
    at: float = 0.0
    variable: str = ""
    took_old_file: bool = False


class StoreKeeper:
    """`turn_seconds`: longer than all requests of one check take."""

    def __init__(
        self, facts: Facts, leases: Leases, clock: Clock, turn_seconds: float = 120.0, *, site: str = ""
    ) -> None:
        self._site = site
        self._facts = facts
        self._leases = leases
        self._clock = clock
        self._turn_seconds = turn_seconds
        self._unsaved: Held | None = None

    @property
    def saved(self) -> bool:
        return self._unsaved is None

    async def open(self, variable: Secret | None, old_file: Callable[[], Secret | None]) -> Held | None:
        """The token to begin with. The kept one wins over `variable`, unless that changed since it was last seen;
        `old_file` is only read where none was ever kept. Raises StoreUnavailable."""
        while True:
            fact = await self._facts.get(TOKEN)
            kept = _kept(fact)
            here = self._of_this_site(kept)
            began = self._begin(here, variable, old_file)
            if began == here:
                return self._held(fact)
            if (written := await self._swap(began, fact)) is not None:
                return written

    def _begin(self, kept: Kept, variable: Secret | None, old_file: Callable[[], Secret | None]) -> Kept:
        seen = msgspec.structs.replace(kept, variable=_digest(variable)) if variable else kept
        if not kept.token and not kept.took_old_file and (old := old_file()) is not None:
            logger.info("the cookie of the old cache file was taken over")
            return self._given(msgspec.structs.replace(seen, took_old_file=True), old)
        if variable is not None and (seen.variable != kept.variable or not kept.token):
            logger.info("PPLX_COOKIE is new, so it is used")
            return self._given(seen, variable)
        if variable is not None and kept.token != variable.reveal():
            logger.info("the kept cookie is used; PPLX_COOKIE has not changed since it was read")
        elif variable is None and kept.token:
            logger.info("the kept cookie is used")
        return seen

    def _held(self, fact: Fact | None) -> Held | None:
        kept = _kept(fact)
        if fact is None or not kept.token or kept.site != self._site:
            return None
        return Held(Secret(kept.token), kept.version, fact.version, kept.at)

    def _of_this_site(self, kept: Kept) -> Kept:
        """Without the token of another site (PPLX_SESSION_URL was changed), and without what was known of it."""
        if not kept.token or kept.site == self._site:
            return kept
        logger.warning("the kept cookie is another site's and is not used", extra={"site": self._site})
        return msgspec.structs.replace(kept, token="", variable="")

    def _given(self, kept: Kept, token: Secret) -> Kept:
        now = self._clock.now()
        return msgspec.structs.replace(kept, token=token.reveal(), site=self._site, version=kept.version + 1, at=now)

    async def renew(self, token: Secret, old: Held) -> Held:
        held = old._replace(token=token, at=self._clock.now())
        try:
            return await self._replace(held)
        except StoreUnavailable as error:
            logger.warning("a renewed cookie could not be kept yet", extra={"why": error.message})
            self._unsaved = held
            return held

    async def _replace(self, held: Held) -> Held:
        while True:
            fact = await self._facts.get(TOKEN)
            kept = _kept(fact)
            if kept.version != held.version and (given := self._held(fact)) is not None:
                return given
            new = msgspec.structs.replace(kept, token=held.token.reveal(), version=held.version, at=held.at)
            if (written := await self._swap(new, fact)) is not None:
                self._unsaved = None
                return written

    async def give(self, token: Secret) -> Held:
        while True:
            fact = await self._facts.get(TOKEN)
            if (written := await self._swap(self._given(_kept(fact), token), fact)) is not None:
                self._unsaved = None
                return written

    async def _swap(self, kept: Kept, fact: Fact | None) -> Held | None:
        """None where another worker was first."""
        return self._held(await self._facts.swap(TOKEN, msgspec.json.encode(kept), fact.version if fact else 0))

    async def flush(self) -> None:
        """What could not be kept is of no use any more once another worker has kept a newer one."""
        if (unsaved := self._unsaved) is not None:
            fact = await self._facts.get(TOKEN)
            if fact is None or fact.version == unsaved.serial:
                await self._replace(unsaved)
            self._unsaved = None

    async def conclude(self, record: Record) -> None:
        try:
            await self._facts.put(STATE, msgspec.json.encode(record))
        except StoreUnavailable as error:
            logger.warning("the session's state could not be kept", extra={"why": error.message})

    async def read(self) -> Shared:
        found = await self._facts.among(TOKEN, STATE)
        return Shared(self._held(found.get(TOKEN)), _record(found.get(STATE)))

    async def take_turn(self) -> bool:
        try:
            return await self._leases.take(TURN, self._turn_seconds)
        except StoreUnavailable:
            return True

    async def end_turn(self) -> None:
        try:
            await self._leases.drop(TURN)
        except StoreUnavailable as error:
            logger.warning("a lease was not given back", extra={"why": error.message})


def _kept(fact: Fact | None) -> Kept:
    try:
        return Kept() if fact is None else msgspec.json.decode(fact.value, type=Kept)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise StoreUnavailable("The kept cookie cannot be read: the store was written by another program.") from None


def _record(fact: Fact | None) -> Record | None:
    try:
        return None if fact is None else msgspec.json.decode(fact.value, type=Record)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None  # the next check writes it anew


def _digest(token: Secret) -> str:
    return hashlib.sha256(b"pplx-gateway cookie\0" + token.reveal().encode()).hexdigest()
