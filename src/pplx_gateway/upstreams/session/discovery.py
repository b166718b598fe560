"""Keeps the list of models alive: asks each base model, upgrades what has died, adds known families that are missing.

The site's own list is read first; it brings pairs and plans, and says which candidate to try before the others. Only
answers decide. A model is dead if the site will not have it, twice; another model's answer is no death. Nothing is ever
taken away: a dead model without a living successor stays until it has one.
"""

import asyncio
import logging
from collections.abc import Callable

import msgspec

from pplx_gateway.catalogue import Tier
from pplx_gateway.clock import Clock
from pplx_gateway.discovering import Change, Report, Step
from pplx_gateway.errors import GatewayError, StoreUnavailable
from pplx_gateway.families import family_of
from pplx_gateway.model_keeping import ModelKeeper
from pplx_gateway.store import Facts, Leases
from pplx_gateway.upstreams.session.itinerary import Itinerary
from pplx_gateway.upstreams.session.life import Life
from pplx_gateway.upstreams.session.models_page import read_picker
from pplx_gateway.upstreams.session.probing import Probe, Prober
from pplx_gateway.upstreams.session.progress import DAY_SECONDS, Progress
from pplx_gateway.upstreams.session.quota import Quota
from pplx_gateway.upstreams.session.quota_page import Pages
from pplx_gateway.upstreams.session.retelling import alert_of, told
from pplx_gateway.upstreams.session.telling import Alarm

logger = logging.getLogger("pplx_gateway.models")

FACT = "discovery"
TURN = "discovery"
KEPT_SEARCHES = 10  # the owner's last ones are not for probes
TURN_SECONDS = 900.0
RETRY_SECONDS = 3600.0


class Halt(Exception):
    """Ends a run early; the message says why."""


class DiscoveryRules(msgspec.Struct, frozen=True, kw_only=True):
    """`interval_seconds` 0 = only on demand. `version` is the web page's, by which its list is asked for."""

    interval_seconds: float = DAY_SECONDS
    probes_per_day: int = 12
    version: str = "2.18"
    turn_seconds: float = TURN_SECONDS


class Discovery:
    def __init__(
        self,
        keeper: ModelKeeper,
        prober: Prober,
        pages: Pages,
        *,
        life: Life,
        quota: Quota,
        facts: Facts,
        leases: Leases,
        clock: Clock,
        tier: Callable[[], Tier],
        rules: DiscoveryRules,
        alarm: Alarm,
    ) -> None:
        self._keeper = keeper
        self._prober = prober
        self._pages = pages
        self._life = life
        self._quota = quota
        self._facts = facts
        self._leases = leases
        self._clock = clock
        self._rules = rules
        self._alarm = alarm
        self._itinerary = Itinerary(keeper, tier)
        self._progress = Progress()
        self._running: asyncio.Task[Report | None] | None = None

    # what others see

    @property
    def report(self) -> Report | None:
        return self._progress.report

    @property
    def under_way(self) -> Report | None:
        progress = self._progress
        heard = 0 <= self._clock.since(progress.current_at) < self._rules.turn_seconds  # else its worker has died
        return progress.current if self._runs or heard else None

    @property
    def due_at(self) -> float | None:
        return (self._progress.due_at or None) if self._rules.interval_seconds else None

    @property
    def _runs(self) -> bool:
        return self._running is not None and not self._running.done()

    def searches_left(self) -> int:
        """How many a run may use up now."""
        today = self._progress.left(self._rules.probes_per_day, self._clock.now(), self._day)
        left = self._quota.left("pro")
        return today if left is None else min(today, max(0, left - KEPT_SEARCHES))

    def plan(self) -> list[Step]:
        """What a run would ask, in its order, before successors of what has died."""
        return [step for step in self._itinerary.steps(self._progress) if self._itinerary.affordable(step)]

    async def sync(self) -> None:
        """What other workers have learned. While a run is ours so is the last word: no older read may undo it."""
        if not self._runs:
            await self._learn()

    async def _learn(self) -> None:
        try:
            fact = await self._facts.get(FACT)
        except StoreUnavailable:
            return
        if fact is not None:
            self._progress = _decoded(fact.value)

    # running

    def start(self) -> asyncio.Task[Report | None]:
        """A run now; the one that is under way is the one. Its result is None where another worker is at it."""
        return self._start(only_due=False)

    def _start(self, *, only_due: bool) -> asyncio.Task[Report | None]:
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run(only_due=only_due))
            self._running.add_done_callback(_tell_failure)
        return self._running

    async def keep_discovering(self) -> None:
        """Goes on for ever. A fresh installation waits for one interval: the list that it brings is fresh as well."""
        interval = self._rules.interval_seconds
        while interval > 0:
            await self.sync()
            if not self._progress.due_at:
                first = Progress(due_at=self._clock.now() + self._clock.real(interval))
                self._progress = _decoded((await self._facts.add(FACT, msgspec.json.encode(first))).value)
            elif self._clock.now() >= self._progress.due_at:
                await asyncio.wait((self._start(only_due=True),))
            wait = -self._clock.since(self._progress.due_at)
            await self._clock.sleep(min(max(wait, interval / 1000), RETRY_SECONDS))

    async def close(self) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _run(self, *, only_due: bool) -> Report | None:
        if not await self._leases.take(TURN, self._rules.turn_seconds):
            return None
        try:
            await self._learn()
            if only_due and self._clock.now() < self._progress.due_at:
                return None
            return await self._discover()
        finally:
            if self._progress.current is not None:  # a failure has ended it
                await self._show(None)
            await self._leases.drop(TURN)

    async def _discover(self) -> Report:
        report = Report(at=self._clock.now())
        await self._show(report)
        try:
            await self._read_picker(report)
            await self._be_signed_in()
            for step in self._itinerary.steps(self._progress):
                await self._take(step, report)
                await self._show(report)
        except Halt as reason:
            report.stopped = str(reason)
        await self._finish(report)
        return report

    async def _read_picker(self, report: Report) -> None:
        await self._keeper.sync()
        try:
            picker = await read_picker(self._pages, self._rules.version)
        except GatewayError as error:
            logger.warning("the site's list of models cannot be read", extra={"code": error.code, "why": error.message})
            return
        report.picker_read = True
        await self._keeper.learn(picker)

    async def _be_signed_in(self) -> None:
        if self._life.present:
            await self._life.check(self._clock.now())
        if self._life.standing().state != "valid":
            raise Halt(f"the session is {self._life.standing().state}, so nothing was probed")

    async def _take(self, step: Step, report: Report) -> None:
        if not self._itinerary.affordable(step):
            report.skipped[step.id] = f"needs a {self._itinerary.tier_of(step)} account"
        elif step.missing:
            await self._try_missing(step, report)
        else:
            await self._look_after(step, report)

    async def _look_after(self, step: Step, report: Report) -> None:
        probe = await self._ask(step.upstream_id, report)
        if probe.verdict == "dead":
            probe = await self._ask(step.upstream_id, report)  # a passing fault looks the same
        await self._note(step.id, dead=probe.verdict == "dead")
        if probe.verdict == "alive":
            report.alive.append(step.id)
        elif probe.verdict == "dead":
            report.dead.append(step.id)
            await self._replace(step, report)
        else:
            report.unclear[step.id] = probe.why

    async def _replace(self, step: Step, report: Report) -> None:
        for candidate in self._itinerary.candidates(step.upstream_id):
            if (await self._ask(candidate, report)).verdict != "alive":
                continue
            if await self._keeper.upgrade(step.id, step.upstream_id, candidate):
                report.upgraded[step.id] = Change(old=step.upstream_id, new=candidate)
                await self._note(step.id, dead=False)
                logger.info("model upgraded", extra={"model": step.id, "old": step.upstream_id, "new": candidate})
            return
        logger.warning("a model is dead and has no successor yet", extra={"model": step.id, "old": step.upstream_id})

    async def _try_missing(self, step: Step, report: Report) -> None:
        probe = await self._ask(step.upstream_id, report)
        if probe.verdict != "alive":
            report.skipped[step.id] = probe.why or "it does not answer"
        elif await self._keeper.add(step.id, step.upstream_id):
            report.added[step.id] = step.upstream_id
            logger.info("model added", extra={"model": step.id, "new": step.upstream_id})
        await self._note(step.id, dead=False)

    async def _ask(self, upstream_id: str, report: Report) -> Probe:
        """Raises Halt where no more may be asked."""
        if not self.searches_left():
            raise Halt(self._why_none())
        if not await self._leases.take(TURN, self._rules.turn_seconds):
            raise Halt("another worker has taken over")
        family = family_of(upstream_id)
        probe = await self._prober.ask(upstream_id, family.tier if family else "pro")
        report.probes += 1
        if probe.answered:
            report.searches += 1
            await self._save(self._progress.spending(self._clock.now(), self._day))
        logger.info("model probed", extra={"new": upstream_id, "verdict": probe.verdict, "why": probe.why})
        if probe.halt:
            raise Halt(probe.why)
        return probe

    def _why_none(self) -> str:
        left = self._quota.left("pro")
        if left is not None and left <= KEPT_SEARCHES:
            return f"{left} Pro searches are left, and the last {KEPT_SEARCHES} are not for probes"
        return f"the {self._rules.probes_per_day} searches that probes may use up in a day are used up"

    async def _finish(self, report: Report) -> None:
        interval = self._rules.interval_seconds or DAY_SECONDS
        early = report.stopped is not None and report.probes == 0
        wait = min(interval, RETRY_SECONDS) if early else interval
        due_at = self._clock.now() + self._clock.real(wait)
        await self._save(msgspec.structs.replace(self._progress, due_at=due_at, report=report, current=None))
        logger.info("discovery ended", extra=told(report))
        if message := alert_of(report):
            self._alarm("models_changed", "Perplexity models changed", message)

    # what is kept

    @property
    def _day(self) -> float:
        return self._clock.real(DAY_SECONDS)

    async def _note(self, model_id: str, *, dead: bool) -> None:
        known = tuple(name for name in self._progress.dead if name != model_id)
        probed = {**self._progress.probed, model_id: self._clock.now()}
        await self._save(
            msgspec.structs.replace(self._progress, probed=probed, dead=(*known, model_id) if dead else known)
        )

    async def _show(self, report: Report | None) -> None:
        """What was found so far, for those who watch, in whichever worker; None = no run goes on."""
        await self._save(msgspec.structs.replace(self._progress, current=report, current_at=self._clock.now()))

    async def _save(self, progress: Progress) -> None:
        """Only the worker that has the turn writes, so the last word is the right one."""
        self._progress = progress
        try:
            await self._facts.put(FACT, msgspec.json.encode(progress))
        except StoreUnavailable as error:
            logger.warning("discovery's progress could not be kept", extra={"why": error.message})


def _tell_failure(run: asyncio.Task[Report | None]) -> None:
    if not run.cancelled() and (error := run.exception()) is not None:
        logger.warning("discovery failed", extra={"why": str(error)})


def _decoded(value: bytes) -> Progress:
    try:
        return msgspec.json.decode(value, type=Progress)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Progress()  # kept by another version
