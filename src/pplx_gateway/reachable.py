"""Who can answer now: the upstreams that have a credential, and the models that lead to them."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol

from pplx_gateway.capabilities import Feature, Support, used_features
from pplx_gateway.catalogue import Catalogue, Model
from pplx_gateway.errors import ModelNotAllowed, ModelNotFound
from pplx_gateway.operations import Runs
from pplx_gateway.permits import permitted, permitted_models, permitted_order
from pplx_gateway.question import Question
from pplx_gateway.routing import STAND_IN, Route, Router
from pplx_gateway.settings import Settings
from pplx_gateway.standing import Session
from pplx_gateway.tier_router import TierRouter, is_router, router_model
from pplx_gateway.upstreams import Upstream


class Credential(Protocol):
    """What an upstream answers with: one may be given, or taken away, while the gateway runs."""

    @property
    def present(self) -> bool: ...


class Reachable:
    """`upstreams` by name, in the order in which they are tried. One whose credential is None always takes part."""

    def __init__(
        self,
        settings: Settings,
        catalogue: Catalogue,
        upstreams: Mapping[str, Upstream],
        session: Session | None,
        keys: Credential | None,
    ) -> None:
        self._settings = settings
        self._catalogue = catalogue
        self._upstreams = dict(upstreams)
        self._session = session
        self._credentials: dict[str, Credential | None] = {"session": session, "api": keys}
        self._routers: dict[tuple[str, ...], Router] = {}

    @property
    def order(self) -> Sequence[str]:
        """The upstreams that can answer now, as the owner orders them."""
        return self._router.order

    def resolve(self, model_id: str | None) -> Route:
        """As far as the caller's key goes. Raises ModelNotFound, ModelNotAllowed, UpstreamAuth (nothing is set up)."""
        route = self._default() if model_id is None else self._route(model_id)
        return permitted(route, partial(self._way, route.requested))

    def resolve_as(self, requested: str, target: str) -> Route:
        """What `target` leads to, for a caller who knows it as `requested`. Raises as `resolve` does."""
        return permitted(self._router.resolve(target)._replace(requested=requested))

    def models(self) -> list[Model]:
        """What is served now to the caller, one entry an id."""
        router = self._router
        routing = router_model(self._tier_router(router))
        return permitted_models([*router.models(), *([routing] if routing else [])], self._route)

    def upstream(self, model: Model) -> Upstream:
        return self._upstreams[model.upstream]

    def runs(self, upstream: str) -> Runs | None:
        """Those of an upstream that has runs which outlive their connection."""
        found = self._upstreams.get(upstream)
        return found if isinstance(found, Runs) else None

    def support(self, model: Model) -> Mapping[Feature, Support]:
        """What is honoured when `model` answers."""
        return self.upstream(model).support(model)

    def can_answer(self, question: Question, model: Model) -> bool:
        """True if `model` honours everything that the question asks."""
        support = self.support(model)
        honoured = (Support.HONOURED, Support.EMULATED)
        return all(support.get(feature) in honoured for feature in used_features(question))

    async def close(self) -> None:
        for upstream in self._upstreams.values():
            await upstream.close()

    def _default(self) -> Route:
        """For a key that may not ask the upstream of the default there is no such upstream, so sonar stands in, as it
        does where nobody has that upstream. It may cost: who limited a key to the api gave leave for that, since there
        is nothing else that the key can do."""
        route, mine = self._route(None), permitted_order(self.order)
        if not mine or any(model.upstream in mine for model in route.targets):
            return route
        return self._route(f"{mine[0]}/{STAND_IN}")

    def _route(self, model_id: str | None) -> Route:
        router = self._router
        if model_id is not None and is_router(model_id):
            return self._tier_router(router).route(model_id)
        return router.resolve(model_id)

    def _way(self, model_id: str, upstream: str) -> str | None:
        name = f"{upstream}/{model_id}"
        with suppress(ModelNotFound, ModelNotAllowed):
            return self._route(name).requested
        return None

    def _tier_router(self, router: Router) -> TierRouter:
        return TierRouter(self._settings, router.order, router.resolve)

    @property
    def _router(self) -> Router:
        """Another one once a first cookie or key was given, or the site has told the plan. ACCOUNT_TYPE wins if it is
        set."""
        absent = {name for name, held in self._credentials.items() if held is not None and not held.present}
        order = tuple(name for name in self._upstreams if name not in absent)
        tier = self._settings.account_type or (self._session.tier if self._session else None) or "pro"
        if (tier, *order) not in self._routers:
            self._routers[tier, *order] = Router(
                self._catalogue,
                order,
                tier=tier,
                spending=self._settings.allow_spending,
                default_model=self._settings.default_model,
            )
        return self._routers[tier, *order]
