"""Holds the parts and asks the questions.

`Gateway.ask` gives an Exchange: refined batches of one answer, with failover before the first thing a caller can see.
The room `opening` puts a Gateway together.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import Literal, NamedTuple, Protocol, Self

import msgspec

from pplx_gateway.answer import Batch, Finished, ReasoningDelta, SearchStep, TextDelta, ToolCall
from pplx_gateway.caller_keeping import CallerKeys
from pplx_gateway.caller_limits import CallerLimits
from pplx_gateway.capabilities import Feature, Support, used_features
from pplx_gateway.catalogue import Catalogue, Model
from pplx_gateway.citations import Marks
from pplx_gateway.clock import Clock
from pplx_gateway.complexity import Complexity, Rating, Thresholds
from pplx_gateway.conformity import form_of
from pplx_gateway.discovering import Discovery
from pplx_gateway.errors import (
    GatewayError,
    InsufficientQuota,
    QuotaExhausted,
    RequestError,
    SessionExpired,
    StoreUnavailable,
    UpstreamAuth,
    UpstreamError,
)
from pplx_gateway.ledger import Ledger
from pplx_gateway.model_keeping import ModelKeeper
from pplx_gateway.notices import cleaned, with_notices, without_notices
from pplx_gateway.operations import Checker, Decider, Runs
from pplx_gateway.permits import permit, permitted, permitted_models, unsupported
from pplx_gateway.question import Question
from pplx_gateway.receipts import Note
from pplx_gateway.refine import Refinery
from pplx_gateway.routing import Route, Router, levelled
from pplx_gateway.settings import Settings
from pplx_gateway.standing import Quota, Session
from pplx_gateway.store import Files, Ownership, Responses
from pplx_gateway.supervisor import Supervisor
from pplx_gateway.tab import Tab
from pplx_gateway.tier_router import TierRouter, is_router, router_model
from pplx_gateway.tiers import Aim
from pplx_gateway.upstreams import Upstream
from pplx_gateway.upstreams.api.keys import KeyKeeper
from pplx_gateway.upstreams.api.operations import Operations

logger = logging.getLogger("pplx_gateway")

# Failing over to another upstream is for what a repeat cannot mend: exhaustion and logout.
_FAILS_OVER = (QuotaExhausted, InsufficientQuota, SessionExpired)
_VISIBLE = (TextDelta, ReasoningDelta, SearchStep, ToolCall)


class Part(Protocol):
    """Whatever was opened for the gateway and must be closed after it."""

    async def close(self) -> None: ...


class Gateway:
    """`upstreams` by name, in the order in which they are tried; each only takes part while it has a credential."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        catalogue: Catalogue,
        upstreams: Mapping[str, Upstream],
        parts: tuple[Part, ...] = (),
        *,
        files: Files | None = None,
        responses: Responses | None = None,
        session: Session | None = None,
        keys: KeyKeeper | None = None,
        quota: Quota | None = None,
        keeper: ModelKeeper | None = None,
        discovery: Discovery | None = None,
        supervisor: Supervisor | None = None,
        ledger: Ledger | None = None,
        caller_keys: CallerKeys | None = None,
        decider: Decider | None = None,
        operations: Operations | None = None,
        ownership: Ownership | None = None,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.catalogue = catalogue
        self.session = session
        self.keys = keys
        self.quota = quota
        self.keeper = keeper
        self.discovery = discovery
        self._upstreams = dict(upstreams)
        self._parts = parts
        self._files = files
        self._responses = responses
        self.supervisor = supervisor
        self.ledger = ledger or Ledger(None, clock)
        self.caller_keys = caller_keys
        self.caller_limits = CallerLimits(caller_keys.rows, self.ledger, clock) if caller_keys else None
        self._decider = decider
        self._operations = operations
        self._ownership = ownership
        self.complexity = _complexity(self)
        self._routers: dict[tuple[str, ...], Router] = {}
        self._closing: asyncio.Task[None] | None = None

    @property
    def files(self) -> Files:
        """The files that callers uploaded. Raises StoreUnavailable."""
        if self._files is None:
            raise StoreUnavailable("This gateway keeps no files.")
        return self._files

    @property
    def keeps_responses(self) -> bool:
        """False if the owner wants none to be kept."""
        return self._responses is not None and self.settings.store_days > 0

    @property
    def responses(self) -> Responses:
        """What was answered before. Raises StoreUnavailable."""
        if self._responses is None:
            raise StoreUnavailable("This gateway keeps no responses.")
        return self._responses

    @property
    def operations(self) -> Operations:
        """What is no question: only the API does any of it. Raises UpstreamAuth where none of its keys is set up."""
        if self._operations is None or (self.keys is not None and not self.keys.present):
            raise UpstreamAuth("This takes a key for the Perplexity API: set PERPLEXITY_API_KEY.")
        return self._operations

    @property
    def ownership(self) -> Ownership:
        """Whose is what upstreams keep. Raises StoreUnavailable."""
        if self._ownership is None:
            raise StoreUnavailable("This gateway does not keep whose things are.")
        return self._ownership

    def resolve(self, model_id: str | None) -> Route:
        """As far as the caller's key goes. Raises ModelNotFound, ModelNotAllowed, UpstreamAuth (nothing is set up)."""
        router = self._router
        if model_id is not None and is_router(model_id):
            return permitted(TierRouter(self.settings, router.order, router.resolve).route(model_id))
        return permitted(router.resolve(model_id))

    def resolve_as(self, requested: str, target: str) -> Route:
        """What `target` leads to, for a caller who knows it as `requested`. Raises as `resolve` does."""
        return permitted(self._router.resolve(target)._replace(requested=requested))

    @property
    def order(self) -> Sequence[str]:
        """The upstreams that can answer now, as the owner orders them."""
        return self._router.order

    def models(self) -> list[Model]:
        """What is served now to the caller, one entry an id."""
        router = self._router
        routing = router_model(TierRouter(self.settings, router.order, router.resolve))
        return permitted_models([*router.models(), *([routing] if routing else [])])

    @property
    def unsupported(self) -> Literal["reject", "drop"]:
        """What becomes of a field that an upstream cannot honour, for the caller at work."""
        return unsupported(self.settings.unsupported)

    def paying(self, model_id: str | None, *, caller: str) -> Note:
        """Before the api is paid for what is no question (operations.py): where its receipts go. Raises
        ModelNotAllowed if the caller's key may not."""
        if model_id is not None:
            permit(model_id, "api")
        return self.ledger.notes(caller, model_id)

    def decider(self) -> Decider | None:
        """Whoever can rate questions now."""
        return self._decider if self.keys is None or self.keys.present else None

    def support(self, route: Route) -> Mapping[Feature, Support]:
        """What the route's first target honours."""
        return self._support(route.targets[0])

    def ask(self, question: Question, route: Route, *, caller: str) -> "Exchange":
        return Exchange(self, without_notices(question), levelled(route, question.effort, self.catalogue), caller)

    async def check(self, question: Question, route: Route, *, caller: str) -> None:
        """Before a question that nobody waits for. Raises a RequestError that whoever answers would raise unasked."""
        targets = levelled(route, question.effort, self.catalogue).targets
        refusals: list[RequestError] = []
        for target in targets if route.tiers else targets[:1]:  # which tier it will be is not known yet
            upstream = self.upstream(target)
            if not isinstance(upstream, Checker):
                return
            try:
                await upstream.check(without_notices(question), target, caller)
            except RequestError as error:
                refusals.append(error)
            else:
                return
        raise refusals[0]

    def attach(self, run_id: str, question: Question, model: Model, *, caller: str) -> "Exchange":
        """The answer of a run that was begun before, from its first batch. Raises UpstreamError if its upstream is not
        there any more, or has no runs."""
        runs = self.runs(model.upstream)
        if runs is None:
            raise UpstreamError(f"The {model.upstream} upstream, where this was asked, cannot go on with it.")
        return Exchange(self, question, Route(question.model, (model,)), caller, run=Attached(runs, run_id))

    def runs(self, upstream: str) -> Runs | None:
        """Those of an upstream that has runs which outlive their connection."""
        found = self._upstreams.get(upstream)
        return found if isinstance(found, Runs) else None

    def upstream(self, model: Model) -> Upstream:
        return self._upstreams[model.upstream]

    async def close(self) -> None:
        """Background work first; then the upstreams, so that every answer under way ends with an error; then what they
        stood on. May be called again, also while it runs: a late cut and the server's end can meet."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        if self.supervisor is not None:
            await self.supervisor.close()
        for upstream in self._upstreams.values():
            await upstream.close()
        for part in self._parts:
            await part.close()

    def can_answer(self, question: Question, model: Model) -> bool:
        """True if `model` honours everything that the question asks."""
        support = self._support(model)
        honoured = (Support.HONOURED, Support.EMULATED)
        return all(support.get(feature) in honoured for feature in used_features(question))

    def refinery(self, question: Question, model: Model) -> Refinery:
        default: Marks = "strip" if model.upstream == "session" else "keep"
        return Refinery(
            marks=question.citation_marks or self.settings.citation_marks or default,
            source_list=question.source_list or self.settings.source_list,
            stop=question.sampling.stop,
            json=question.format is not None,
            expect_sources=question.search.enabled is not False,
        )

    def _support(self, model: Model) -> Mapping[Feature, Support]:
        return self.upstream(model).support(model)

    @property
    def _router(self) -> Router:
        """Another one once a first cookie or key was given, or the site has told the plan. ACCOUNT_TYPE wins if it is
        set."""
        credentials = {"session": self.session, "api": self.keys}
        absent = {name for name, held in credentials.items() if held is not None and not held.present}
        order = tuple(name for name in self._upstreams if name not in absent)
        tier = self.settings.account_type or (self.session.tier if self.session else None) or "pro"
        if (tier, *order) not in self._routers:
            self._routers[tier, *order] = Router(
                self.catalogue,
                order,
                tier=tier,
                spending=self.settings.allow_spending,
                default_model=self.settings.default_model,
            )
        return self._routers[tier, *order]


def _complexity(gateway: Gateway) -> Complexity:
    settings = gateway.settings
    return Complexity(
        gateway.clock,
        gateway.decider,
        model=settings.router_decider,
        thresholds=Thresholds(settings.router_medium_from, settings.router_complex_from),
        seconds=settings.router_timeout_seconds,
    )


class Attached(NamedTuple):
    """A run that is under way already, and who knows of it."""

    runs: Runs
    run_id: str


class Exchange:
    """One question under way: an async context manager to iterate over once. Leaving it ends the upstream's work.

    `served_by`, `failover` (the code of the error that made another target answer) and `rating` (of a question to the
    model `router`) hold from the first batch on.
    """

    def __init__(
        self, gateway: Gateway, question: Question, route: Route, caller: str, *, run: Attached | None = None
    ) -> None:
        self.served_by = route.targets[0]
        self.failover: str | None = None
        self.rating: Rating | None = None
        self._gateway = gateway
        self._question = question
        self._route = route
        self._caller = caller
        self._run = run
        self._batches = self._answers()
        # A request in the background is over before its work begins; what it uses is its own all the same.
        self._tab: Tab | None = self._claimed() if question.background else None

    async def __aenter__(self) -> Self:
        self._tab = self._tab or self._claimed()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._batches.aclose()
        if self._tab is not None:
            self._tab.settle(error)

    def __aiter__(self) -> AsyncIterator[Batch]:
        return self._batches

    async def _answers(self) -> AsyncGenerator[Batch, None]:
        form = form_of(self._question.format)
        tab = self._tab = self._tab or self._claimed()
        targets = await self._targets(tab)
        for target, spare in zip(targets, [*targets[1:], None], strict=True):
            self.served_by = target
            tab.asking(target)
            upstream = self._gateway.upstream(target)
            refinery = self._gateway.refinery(self._question, target)
            visible = False
            try:
                async with aclosing(self._asked(upstream, target)) as batches:
                    async for batch in batches:
                        refined = refinery.feed(batch)
                        if refined and isinstance(last := refined[-1], Finished):
                            if form is not None and not refinery.stopped:
                                refined = form.held_to(refined, refinery.text)
                            await self._remember(upstream, target, cleaned(refinery.text), last)
                            refined = self._noticed(refined, refinery.text, target)
                            tab.answered(self._gateway.catalogue.answered(target, last.served_model), last)
                        if not tab.heard_text:
                            tab.heard(refined)
                        visible = visible or any(isinstance(event, _VISIBLE) for event in refined)
                        yield refined
            except GatewayError as error:
                if refinery.text and (tail := refinery.close()):  # what stood in doubt at the failure was said, too
                    yield tail
                if visible or spare is None or not isinstance(error, _FAILS_OVER):
                    raise
                self.failover = error.code
                logger.info("failover", extra={"from": target.upstream, "to": spare.upstream, "why": error.code})
            else:
                break

    async def _targets(self, tab: Tab) -> list[Model]:
        """Those that can answer, in their order. The first was settled with the caller beforehand."""
        tiers = self._route.tiers
        if tiers is None:
            return [self.served_by, *filter(self._can_answer, self._route.targets[1:])]
        notes = self._gateway.ledger.apart(self._caller, "decisions", self._route.requested)
        self.rating = await self._gateway.complexity.rate(self._question, notes, spending=tiers.spending)
        tab.routed(self.rating)
        aims = [aim for aim in tiers.from_tier(self.rating.tier) if self._can_answer(aim.model)]
        if aims and aims[0].effort is not None:
            self._question = self._with_effort(aims[0])
        return list(dict.fromkeys(aim.model for aim in aims)) or [self.served_by]

    def _can_answer(self, model: Model) -> bool:
        return self._gateway.can_answer(self._question, model)

    def _with_effort(self, aim: Aim) -> Question:
        """As the tier says, where the caller says nothing."""
        question = self._question
        if question.effort is not None:
            return question
        harder = msgspec.structs.replace(question, effort=aim.effort)
        return harder if self._gateway.can_answer(harder, aim.model) else question

    def _claimed(self) -> Tab:
        return self._gateway.ledger.claimed(self._caller, self._route.requested)

    def _asked(self, upstream: Upstream, target: Model) -> AsyncGenerator[Batch, None]:
        if self._run is None:
            return upstream.ask(self._question, target, self._caller)
        return self._run.runs.attach(self._run.run_id, self._question, target, self._caller)

    def _noticed(self, batch: Batch, text: str, model: Model) -> Batch:
        """After `_remember`, which must not know of notices: they are not there when the turn comes back."""
        wanted = self._gateway.settings.notices and model.upstream == "session"
        return with_notices(batch, self._question, text) if wanted else batch

    async def _remember(self, upstream: Upstream, model: Model, text: str, finished: Finished) -> None:
        """So that the next turn can go on where this one ended. The answer is whole without it."""
        if finished.continuation is None or not self._question.remembered:
            return
        try:
            await upstream.remember(self._question, model, self._caller, text, finished.continuation)
        except StoreUnavailable as error:
            logger.warning("thread not kept", extra={"why": error.message})
