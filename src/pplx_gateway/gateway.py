"""Holds the parts and begins the exchanges (exchange.py). The room `opening` puts a Gateway together."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from pplx_gateway.caller_limits import CallerLimits
from pplx_gateway.capabilities import Feature, Support
from pplx_gateway.catalogue import Catalogue, Model
from pplx_gateway.clock import Clock
from pplx_gateway.complexity import Complexity, Thresholds
from pplx_gateway.errors import RequestError, StoreUnavailable, UpstreamAuth, UpstreamError
from pplx_gateway.exchange import Attached, Exchange, Means
from pplx_gateway.held import NOTHING, Held
from pplx_gateway.ledger import Ledger
from pplx_gateway.notices import without_notices
from pplx_gateway.operations import Checker, Decider, Runs
from pplx_gateway.permits import permit, unsupported
from pplx_gateway.question import Question
from pplx_gateway.reachable import Reachable
from pplx_gateway.receipts import Note
from pplx_gateway.routing import Route, levelled
from pplx_gateway.settings import Settings
from pplx_gateway.store import Files, Ownership, Responses
from pplx_gateway.upstreams import Upstream
from pplx_gateway.upstreams.api.operations import Operations


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
        held: Held = NOTHING,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.catalogue = catalogue
        self.session = held.session
        self.keys = held.keys
        self.quota = held.quota
        self.keeper = held.keeper
        self.discovery = held.discovery
        self.supervisor = held.supervisor
        self.observer = held.observer
        self.ledger = held.ledger or Ledger(None, clock)
        self.caller_keys = held.caller_keys
        self.caller_limits = CallerLimits(self.caller_keys.rows, self.ledger, clock) if self.caller_keys else None
        self.complexity = _complexity(self)
        self._held = held
        self._parts = parts
        self._reachable = Reachable(settings, catalogue, upstreams, held.session, held.keys)
        self._means = Means(settings, catalogue, self._reachable, self.ledger, self.complexity)
        self._closing: asyncio.Task[None] | None = None

    @property
    def files(self) -> Files:
        """The files that callers uploaded. Raises StoreUnavailable."""
        if self._held.files is None:
            raise StoreUnavailable("This gateway keeps no files.")
        return self._held.files

    @property
    def keeps_responses(self) -> bool:
        """False if the owner wants none to be kept."""
        return self._held.responses is not None and self.settings.store_days > 0

    @property
    def responses(self) -> Responses:
        """What was answered before. Raises StoreUnavailable."""
        if self._held.responses is None:
            raise StoreUnavailable("This gateway keeps no responses.")
        return self._held.responses

    @property
    def operations(self) -> Operations:
        """What is no question: only the API does any of it. Raises UpstreamAuth where none of its keys is set up."""
        if self._held.operations is None or (self.keys is not None and not self.keys.present):
            raise UpstreamAuth("This takes a key for the Perplexity API: set PERPLEXITY_API_KEY.")
        return self._held.operations

    @property
    def ownership(self) -> Ownership:
        """Whose is what upstreams keep. Raises StoreUnavailable."""
        if self._held.ownership is None:
            raise StoreUnavailable("This gateway does not keep whose things are.")
        return self._held.ownership

    def resolve(self, model_id: str | None) -> Route:
        """As far as the caller's key goes. Raises ModelNotFound, ModelNotAllowed, UpstreamAuth (nothing is set up)."""
        return self._reachable.resolve(model_id)

    def resolve_as(self, requested: str, target: str) -> Route:
        """What `target` leads to, for a caller who knows it as `requested`. Raises as `resolve` does."""
        return self._reachable.resolve_as(requested, target)

    @property
    def order(self) -> Sequence[str]:
        """The upstreams that can answer now, as the owner orders them."""
        return self._reachable.order

    def models(self) -> list[Model]:
        """What is served now to the caller, one entry an id."""
        return self._reachable.models()

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
        return self._held.decider if self.keys is None or self.keys.present else None

    def support(self, route: Route) -> Mapping[Feature, Support]:
        """What the route's first target honours."""
        return self._reachable.support(route.targets[0])

    def ask(self, question: Question, route: Route, *, caller: str) -> Exchange:
        return Exchange(
            self._means, without_notices(question), levelled(route, question.effort, self.catalogue), caller
        )

    async def check(self, question: Question, route: Route, *, caller: str) -> None:
        """Before a question that nobody waits for. Raises a RequestError that whoever answers would raise unasked."""
        targets = levelled(route, question.effort, self.catalogue).targets
        refusals: list[RequestError] = []
        for target in targets if route.tiers else targets[:1]:  # which tier it will be is not known yet
            upstream = self._reachable.upstream(target)
            if not isinstance(upstream, Checker):
                return
            try:
                await upstream.check(without_notices(question), target, caller)
            except RequestError as error:
                refusals.append(error)
            else:
                return
        raise refusals[0]

    def attach(self, run_id: str, question: Question, model: Model, *, caller: str) -> Exchange:
        """The answer of a run that was begun before, from its first batch. Raises UpstreamError if its upstream is not
        there any more, or has no runs."""
        runs = self._reachable.runs(model.upstream)
        if runs is None:
            raise UpstreamError(f"The {model.upstream} upstream, where this was asked, cannot go on with it.")
        return Exchange(self._means, question, Route(question.model, (model,)), caller, run=Attached(runs, run_id))

    def runs(self, upstream: str) -> Runs | None:
        """Those of an upstream that has runs which outlive their connection."""
        return self._reachable.runs(upstream)

    async def close(self) -> None:
        """Background work first; then the upstreams, so that every answer under way ends with an error; then what they
        stood on. May be called again, also while it runs: a late cut and the server's end can meet."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        if self.supervisor is not None:
            await self.supervisor.close()
        await self._reachable.close()
        for part in self._parts:
            await part.close()


def _complexity(gateway: Gateway) -> Complexity:
    settings = gateway.settings
    return Complexity(
        gateway.clock,
        gateway.decider,
        model=settings.router_decider,
        thresholds=Thresholds(settings.router_medium_from, settings.router_complex_from),
        seconds=settings.router_timeout_seconds,
    )
