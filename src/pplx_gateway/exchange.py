"""One question under way: refined batches of one answer, with failover before the first thing a caller can see."""

import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from types import TracebackType
from typing import NamedTuple, Self

import msgspec

from pplx_gateway.answer import Batch, Finished, ReasoningDelta, SearchStep, TextDelta, ToolCall
from pplx_gateway.catalogue import Catalogue, Model
from pplx_gateway.citations import Marks
from pplx_gateway.complexity import Complexity, Rating
from pplx_gateway.conformity import form_of
from pplx_gateway.errors import GatewayError, InsufficientQuota, QuotaExhausted, SessionExpired, StoreUnavailable
from pplx_gateway.ledger import Ledger
from pplx_gateway.notices import cleaned, with_notices
from pplx_gateway.operations import Runs
from pplx_gateway.question import Question
from pplx_gateway.reachable import Reachable
from pplx_gateway.refine import Refinery
from pplx_gateway.routing import Route
from pplx_gateway.settings import Settings
from pplx_gateway.tab import Tab
from pplx_gateway.tiers import Aim

logger = logging.getLogger("pplx_gateway")

# Failing over to another upstream is for what a repeat cannot mend: exhaustion and logout.
_FAILS_OVER = (QuotaExhausted, InsufficientQuota, SessionExpired)
_VISIBLE = (TextDelta, ReasoningDelta, SearchStep, ToolCall)


class Attached(NamedTuple):
    """A run that is under way already, and who knows of it."""

    runs: Runs
    run_id: str


class Means(NamedTuple):
    """What an exchange works with."""

    settings: Settings
    catalogue: Catalogue
    reachable: Reachable
    ledger: Ledger
    complexity: Complexity


class Exchange:
    """One question under way: an async context manager to iterate over once. Leaving it ends the upstream's work.

    `served_by`, `failover` (the code of the error that made another target answer) and `rating` (of a question to the
    model `router`) hold from the first batch on.
    """

    def __init__(
        self, means: Means, question: Question, route: Route, caller: str, *, run: Attached | None = None
    ) -> None:
        self.served_by = route.targets[0]
        self.failover: str | None = None
        self.rating: Rating | None = None
        self._means = means
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
            refinery = self._refinery(target)
            visible = False
            try:
                async with aclosing(self._asked(target)) as batches:
                    async for batch in batches:
                        refined = refinery.feed(batch)
                        if refined and isinstance(last := refined[-1], Finished):
                            if form is not None and not refinery.stopped:
                                refined = form.held_to(refined, refinery.text)
                            refined = await self._ended(refined, last, refinery.text, target)
                            tab.answered(self._means.catalogue.answered(target, last.served_model), last)
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
                tab.failed_over(target, spare, error.code)
                logger.info("failover", extra={"from": target.upstream, "to": spare.upstream, "why": error.code})
            else:
                break

    async def _targets(self, tab: Tab) -> list[Model]:
        """Those that can answer, in their order. The first was settled with the caller beforehand."""
        tiers = self._route.tiers
        if tiers is None:
            return [self.served_by, *filter(self._can_answer, self._route.targets[1:])]
        notes = self._means.ledger.apart(self._caller, "decisions", self._route.requested)
        self.rating = await self._means.complexity.rate(self._question, notes, spending=tiers.spending)
        tab.routed(self.rating)
        aims = [aim for aim in tiers.from_tier(self.rating.tier) if self._can_answer(aim.model)]
        if aims and aims[0].effort is not None:
            self._question = self._with_effort(aims[0])
        return list(dict.fromkeys(aim.model for aim in aims)) or [self.served_by]

    def _can_answer(self, model: Model) -> bool:
        return self._means.reachable.can_answer(self._question, model)

    def _with_effort(self, aim: Aim) -> Question:
        """As the tier says, where the caller says nothing."""
        question = self._question
        if question.effort is not None:
            return question
        harder = msgspec.structs.replace(question, effort=aim.effort)
        return harder if self._means.reachable.can_answer(harder, aim.model) else question

    def _claimed(self) -> Tab:
        return self._means.ledger.claimed(self._caller, self._route.requested)

    def _asked(self, target: Model) -> AsyncGenerator[Batch, None]:
        if self._run is None:
            return self._means.reachable.upstream(target).ask(self._question, target, self._caller)
        return self._run.runs.attach(self._run.run_id, self._question, target, self._caller)

    def _refinery(self, model: Model) -> Refinery:
        question, settings = self._question, self._means.settings
        default: Marks = "strip" if model.upstream == "session" else "keep"
        return Refinery(
            marks=question.citation_marks or settings.citation_marks or default,
            source_list=question.source_list or settings.source_list,
            stop=question.sampling.stop,
            json=question.format is not None,
            expect_sources=question.search.enabled is not False,
            joins=not question.background,
        )

    async def _ended(self, batch: Batch, finished: Finished, text: str, model: Model) -> Batch:
        """Remembers the answer before it gets its notices: they are not there when the turn comes back."""
        await self._remember(model, cleaned(text), finished)
        wanted = self._means.settings.notices and model.upstream == "session"
        return with_notices(batch, self._question, text) if wanted else batch

    async def _remember(self, model: Model, text: str, finished: Finished) -> None:
        """So that the next turn can go on where this one ended. The answer is whole without it."""
        if finished.continuation is None or not self._question.remembered:
            return
        try:
            upstream = self._means.reachable.upstream(model)
            await upstream.remember(self._question, model, self._caller, text, finished.continuation)
        except StoreUnavailable as error:
            logger.warning("thread not kept", extra={"why": error.message})
