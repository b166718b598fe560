"""Holds the parts and asks the questions.

`Gateway.ask` gives an Exchange: refined batches of one answer, with failover before the first thing a caller can see.
The room `opening` puts a Gateway together.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from types import TracebackType
from typing import Protocol, Self

from pplx_gateway.answer import Batch, Finished, ReasoningDelta, SearchStep, TextDelta, ToolCall
from pplx_gateway.capabilities import Feature, Support, used_features
from pplx_gateway.catalogue import Catalogue, Model
from pplx_gateway.citations import Marks
from pplx_gateway.clock import Clock
from pplx_gateway.discovering import Discovery
from pplx_gateway.errors import GatewayError, InsufficientQuota, QuotaExhausted, SessionExpired, StoreUnavailable
from pplx_gateway.model_keeping import ModelKeeper
from pplx_gateway.notices import cleaned, with_notices, without_notices
from pplx_gateway.question import Question
from pplx_gateway.refine import Refinery
from pplx_gateway.routing import Route, Router
from pplx_gateway.settings import Settings
from pplx_gateway.standing import Quota, Session
from pplx_gateway.store import Files
from pplx_gateway.supervisor import Supervisor
from pplx_gateway.upstreams import Upstream

logger = logging.getLogger("pplx_gateway")

# Failing over to another upstream is for what a repeat cannot mend: exhaustion and logout.
_FAILS_OVER = (QuotaExhausted, InsufficientQuota, SessionExpired)
_VISIBLE = (TextDelta, ReasoningDelta, SearchStep, ToolCall)


class Part(Protocol):
    """Whatever was opened for the gateway and must be closed after it."""

    async def close(self) -> None: ...


class Gateway:
    """`upstreams` by name, in the order in which they are tried; the session only takes part while it has a cookie."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        catalogue: Catalogue,
        upstreams: Mapping[str, Upstream],
        parts: tuple[Part, ...] = (),
        *,
        files: Files | None = None,
        session: Session | None = None,
        quota: Quota | None = None,
        keeper: ModelKeeper | None = None,
        discovery: Discovery | None = None,
        supervisor: Supervisor | None = None,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.catalogue = catalogue
        self.session = session
        self.quota = quota
        self.keeper = keeper
        self.discovery = discovery
        self._upstreams = dict(upstreams)
        self._parts = parts
        self._files = files
        self._supervisor = supervisor
        self._routers: dict[tuple[str, ...], Router] = {}
        self._closing: asyncio.Task[None] | None = None

    @property
    def files(self) -> Files:
        """The files that callers uploaded. Raises StoreUnavailable."""
        if self._files is None:
            raise StoreUnavailable("This gateway keeps no files.")
        return self._files

    def resolve(self, model_id: str | None) -> Route:
        """Raises ModelNotFound, ModelNotAllowed, UpstreamAuth (nothing is set up)."""
        return self._router.resolve(model_id)

    def models(self) -> list[Model]:
        """What is served now, one entry an id."""
        return self._router.models()

    def support(self, route: Route) -> Mapping[Feature, Support]:
        """What the route's first target honours."""
        return self._support(route.targets[0])

    def ask(self, question: Question, route: Route, *, caller: str) -> "Exchange":
        return Exchange(self, without_notices(question), route, caller)

    def upstream(self, model: Model) -> Upstream:
        return self._upstreams[model.upstream]

    async def close(self) -> None:
        """Background work first; then the upstreams, so that every answer under way ends with an error; then what they
        stood on. May be called again, also while it runs: a late cut and the server's end can meet."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        if self._supervisor is not None:
            await self._supervisor.close()
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
        """Another one once a first cookie was given, or the site has told the plan. ACCOUNT_TYPE wins if it is set."""
        absent = self.session is not None and not self.session.present
        order = tuple(name for name in self._upstreams if name != "session" or not absent)
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


class Exchange:
    """One question under way: an async context manager to iterate over once. Leaving it ends the upstream's work.

    `served_by` and `failover` (the code of the error that made another target answer) hold from the first batch on.
    """

    def __init__(self, gateway: Gateway, question: Question, route: Route, caller: str) -> None:
        self.served_by = route.targets[0]
        self.failover: str | None = None
        self._gateway = gateway
        self._question = question
        self._route = route
        self._caller = caller
        self._batches = self._answers()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._batches.aclose()

    def __aiter__(self) -> AsyncIterator[Batch]:
        return self._batches

    async def _answers(self) -> AsyncGenerator[Batch, None]:
        targets = [self.served_by, *(m for m in self._route.targets[1:] if self._gateway.can_answer(self._question, m))]
        for target, spare in zip(targets, [*targets[1:], None], strict=True):
            self.served_by = target
            upstream = self._gateway.upstream(target)
            refinery = self._gateway.refinery(self._question, target)
            visible = False
            try:
                async with aclosing(upstream.ask(self._question, target, self._caller)) as batches:
                    async for batch in batches:
                        refined = refinery.feed(batch)
                        if refined and isinstance(last := refined[-1], Finished):
                            await self._remember(upstream, target, cleaned(refinery.text), last)
                            refined = self._noticed(refined, refinery.text, target)
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

    def _noticed(self, batch: Batch, text: str, model: Model) -> Batch:
        """After `_remember`, which must not know of notices: they are not there when the turn comes back."""
        wanted = self._gateway.settings.notices and model.upstream == "session"
        return with_notices(batch, self._question, text) if wanted else batch

    async def _remember(self, upstream: Upstream, model: Model, text: str, finished: Finished) -> None:
        """So that the next turn can go on where this one ended. The answer is whole without it."""
        if finished.continuation is None:
            return
        try:
            await upstream.remember(self._question, model, self._caller, text, finished.continuation)
        except StoreUnavailable as error:
            logger.warning("thread not kept", extra={"why": error.message})
