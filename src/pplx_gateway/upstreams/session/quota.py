"""The quota of the owner's plan: read now and then, counted down with each answer, shared by all workers.

It is read once an hour, and behind an answer or a look at `/health` where the last reading is older than five minutes;
never while somebody waits. Of all workers one reads, and what it finds is a fact of the store.
"""

import asyncio
import logging
from collections.abc import Callable

import msgspec

from pplx_gateway.catalogue import Model
from pplx_gateway.clock import Clock
from pplx_gateway.errors import GatewayError, QuotaExhausted, StoreUnavailable
from pplx_gateway.standing import QuotaReading
from pplx_gateway.store import Fact, Facts, Leases
from pplx_gateway.store.quota_history import QuotaHistory, Reading
from pplx_gateway.supervisor import Supervisor
from pplx_gateway.upstreams.session.cookies import Credentials
from pplx_gateway.upstreams.session.counts import KNOWN_SECONDS, Counts, Kind, Told
from pplx_gateway.upstreams.session.life import Life
from pplx_gateway.upstreams.session.quota_page import Pages, read_quota

logger = logging.getLogger("pplx_gateway.quota")

FACT = "quota"
TURN = "quota"
INTERVAL_SECONDS = 3600.0
OLD_SECONDS = 300.0
# After an answer that was left early or failed nobody knows whether it was counted.
UNSURE_SECONDS = 60.0
# A refusal by the site holds this long, unless a reading says otherwise before.
REFUSED_SECONDS = 3600.0
TURN_SECONDS = 120.0
# Workers that start together are content with one reading.
TOGETHER_SECONDS = 10.0
_ROUNDS = 50

# Ids that are no named model: what they take from, None = a quota that is not followed.
_PRODUCTS: dict[str, Kind | None] = {"pplx_alpha": "research", "pplx_beta": None, "pplx_agentic_research": None}
_WORDS: dict[Kind, str] = {"pro": "Pro searches", "research": "research queries"}


def kind_of(model: Model) -> Kind | None:
    """What an answer of `model` takes from the plan; None = nothing that is counted."""
    route = model.session
    if route is None or route.mode != "copilot" or route.tier == "free":
        return None
    return "research" if model.research else _PRODUCTS.get(route.upstream_id, "pro")


class Quota:
    def __init__(
        self,
        pages: Pages,
        life: Life,
        credentials: Credentials,
        *,
        facts: Facts,
        leases: Leases,
        clock: Clock,
        supervisor: Supervisor,
        history: QuotaHistory,
    ) -> None:
        self._pages = pages
        self._life = life
        self._credentials = credentials
        self._facts = facts
        self._leases = leases
        self._clock = clock
        self._supervisor = supervisor
        self._history = history
        self._counts = Counts()
        self._seen = 0  # the fact's version in memory
        self._reading = False
        self._turn = asyncio.Lock()  # the lease is this worker's, whoever of it holds it
        self._failed: str | None = None

    # at once, from memory

    def reading(self) -> QuotaReading:
        """As in standing.Quota."""
        self.refresh()
        read_at = self._now_holding().read_at
        age = max(0.0, self._clock.since(read_at)) if read_at else None
        return QuotaReading(self.left("pro"), self.left("research"), age)

    async def history(self, since: float) -> list[Reading]:
        """As in standing.Quota."""
        return await self._history.since(since)

    def left(self, kind: Kind) -> int | None:
        counts = self._now_holding()
        return counts.of(kind).left if self._age(counts.read_at) < KNOWN_SECONDS else None

    def refuse(self, model: Model) -> None:
        """Raises QuotaExhausted if nothing is left of what `model` takes; then the site is soon asked again."""
        kind = kind_of(model)
        if kind is None or not self._gone(kind):
            return
        self.refresh(UNSURE_SECONDS)
        raise QuotaExhausted(
            f"No {_WORDS[kind]} are left on this Perplexity plan, so '{model.id}' cannot answer. Ask 'auto', which "
            "takes none, or wait until Perplexity refills them.",
            param="model",
        )

    def refresh(self, older_than: float = OLD_SECONDS) -> None:
        """Has the site asked behind the caller's back, where the last try is older."""
        if self._credentials.present and not self._reading and self._age(self._tried_at()) > older_than:
            self._reading = True
            newer_than = self._clock.now() - self._clock.real(older_than)
            self._supervisor.once("quota", lambda: self._read_behind(newer_than))

    # what answers say

    async def took(self, kind: Kind) -> int | None:
        """Counts one answer. Gives what is left after it, None = not known."""
        counts = await self._change(lambda held: held.having(kind, held.of(kind).took()))
        return counts.of(kind).left if self._age(counts.read_at) < KNOWN_SECONDS else None

    async def refused(self, kind: Kind) -> None:
        """The site answered that nothing is left. It says something alike of models above the plan, so it is asked."""
        at = self._clock.now()
        await self._change(lambda held: held.having(kind, held.of(kind).refused(at)))
        self.refresh(0.0)

    # beside the questions

    async def keep_reading(self) -> None:
        """Goes on for ever."""
        while True:
            await self.sync()
            if self._age(self._tried_at()) >= INTERVAL_SECONDS:
                await self.read(self._clock.now() - self._clock.real(TOGETHER_SECONDS))
            age = min(self._age(self._tried_at()), INTERVAL_SECONDS)
            await self._clock.sleep(max(INTERVAL_SECONDS - age, OLD_SECONDS))

    async def sync(self) -> None:
        """What other workers have learned since."""
        try:
            self._take(await self._facts.get(FACT))
        except StoreUnavailable:
            return  # the counts in memory still hold

    async def read(self, newer_than: float) -> None:
        """One reading, unless another worker is at it, or has done it since `newer_than` (epoch seconds)."""
        if not self._credentials.present or self._life.standing().state == "expired":
            return
        async with self._turn:
            if not await self._leases.take(TURN, TURN_SECONDS):
                return
            try:
                await self.sync()
                if self._tried_at() < newer_than:
                    await self._read()
            finally:
                await self._leases.drop(TURN)

    async def _read_behind(self, newer_than: float) -> None:
        try:
            await self.read(newer_than)
        finally:
            self._reading = False

    async def _read(self) -> None:
        version, before = self._credentials.version, self._now_holding()
        told = await self._told()
        now = self._clock.now()

        def learn(counts: Counts) -> Counts:
            if counts.version != version:
                return counts
            for kind, one in told.items():
                counts = counts.having(kind, counts.of(kind).read(one, before.of(kind).used))
            read_at = now if any(one.left is not None for one in told.values()) else counts.read_at
            return msgspec.structs.replace(counts, tried_at=now, read_at=read_at)

        counts = await self._change(learn)
        if counts.read_at == now:
            await self._note(counts)

    async def _note(self, counts: Counts) -> None:
        try:
            await self._history.add(pro=counts.pro.left, research=counts.research.left)
        except StoreUnavailable as error:
            logger.warning("a reading of the quota is not in its history", extra={"why": error.message})

    async def _told(self) -> dict[Kind, Told]:
        """Empty where nothing could be read. Zeros only count where somebody is signed in: strangers see them, too."""
        try:
            told = await read_quota(self._pages)
        except GatewayError as error:
            self._tell(error.code, error.message)
            return {}
        self._tell(None)
        if not any(one.left == 0 for one in told.values()):
            return told
        await self._life.check(self._clock.now())
        state = self._life.standing().state
        return {kind: one for kind, one in told.items() if one.left != 0 or _believed(state, one)}

    def _tell(self, code: str | None, why: str = "") -> None:
        if code is not None and code != self._failed:
            logger.warning("the quota cannot be read", extra={"code": code, "why": why})
        elif code is None and self._failed is not None:
            logger.info("the quota can be read again")
        self._failed = code

    # what is held

    def _gone(self, kind: Kind) -> bool:
        return self.left(kind) == 0 or self._age(self._now_holding().of(kind).gone_at) < REFUSED_SECONDS

    def _now_holding(self) -> Counts:
        """The counts of the cookie that holds; those of another one's plan say nothing."""
        version = self._credentials.version
        return self._counts if self._counts.version == version else Counts(version=version)

    def _tried_at(self) -> float:
        counts = self._now_holding()
        return max(counts.tried_at, counts.read_at)

    def _age(self, moment: float) -> float:
        """A moment that never was, or that lies ahead since the clock was set back, is long ago."""
        age = self._clock.since(moment) if moment else -1.0
        return age if age >= 0 else float("inf")

    async def _change(self, change: Callable[[Counts], Counts]) -> Counts:
        """Changes the shared counts in one step, whatever other workers do. Without a store, those in memory."""
        try:
            for _ in range(_ROUNDS):
                fact = await self._facts.get(FACT)
                before = self._taking_over(_decoded(fact))
                after = change(before)
                written = await self._facts.swap(FACT, msgspec.json.encode(after), fact.version if fact else 0)
                if written is not None:
                    self._take(written)
                    return after
        except StoreUnavailable as error:
            logger.warning("the quota is counted in memory only", extra={"why": error.message})
        self._counts = change(self._now_holding())
        return self._counts

    def _taking_over(self, counts: Counts) -> Counts:
        """A newer cookie begins anew; one that another worker has already is for it to count."""
        version = self._credentials.version
        return Counts(version=version) if counts.version < version else counts

    def _take(self, fact: Fact | None) -> None:
        if fact is not None and fact.version > self._seen:
            self._seen = fact.version
            self._counts = _decoded(fact)


def _believed(state: str, told: Told) -> bool:
    return state == "valid" or (state != "expired" and told.available is False)


def _decoded(fact: Fact | None) -> Counts:
    try:
        return Counts() if fact is None else msgspec.json.decode(fact.value, type=Counts)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Counts()  # kept by another version; the next reading writes it anew
