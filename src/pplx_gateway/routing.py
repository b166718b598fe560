"""Model id to targets: who answers, in which order, and what may fail over to whom."""

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import NamedTuple

from pplx_gateway.catalogue import Catalogue, Model
from pplx_gateway.errors import InvalidRequest, ModelNotAllowed, ModelNotFound, UpstreamAuth
from pplx_gateway.tiers import Tiers

MAX_ID_LENGTH = 200
STAND_IN = "sonar"
"""In the place of a default model that cannot be asked: every upstream has it."""
_TIERS = ("free", "pro", "max")
_VARIABLES = {"session": "PPLX_COOKIE", "api": "PERPLEXITY_API_KEY"}


class Route(NamedTuple):
    """`requested` as the caller wrote it; `targets` in the order in which they are tried, never empty. `tiers`: which
    of them it will be depends on how hard the question is (complexity.py)."""

    requested: str
    targets: tuple[Model, ...]
    tiers: Tiers | None = None

    def within(self, allowed: Callable[[Model], bool]) -> "Route":
        """Those targets alone that are allowed, which may be none."""
        tiers = None if self.tiers is None else self.tiers.within(allowed)
        return Route(self.requested, tuple(filter(allowed, self.targets)), tiers)


class Router:
    """`order`: upstreams that have a credential, in the owner's order. `spending`: a paid call may start although the
    session knows the model too (decisions of the owner, PPLX_ALLOW_SPENDING)."""

    def __init__(
        self, catalogue: Catalogue, order: Sequence[str], *, tier: str, spending: bool, default_model: str
    ) -> None:
        self._catalogue = catalogue
        self._order = tuple(order)
        self._rank = _TIERS.index(tier)
        self._spending = spending
        # The default is a session model; where there is no session, another one stands in for it.
        self._resolved = lru_cache(maxsize=256)(self._resolve)
        self._default = default_model if "session" in order or self._known_to_api(default_model) else STAND_IN

    @property
    def order(self) -> Sequence[str]:
        return self._order

    def resolve(self, model_id: str | None) -> Route:
        """Raises ModelNotFound, ModelNotAllowed (tier too low) or UpstreamAuth (no upstream is set up)."""
        return self._resolved(model_id, self._catalogue.revision)

    def _resolve(self, model_id: str | None, _revision: int) -> Route:
        requested = self._default if model_id is None else model_id
        if not requested.strip():
            raise InvalidRequest("The model's name is empty.", param="model")
        if len(requested) > MAX_ID_LENGTH:
            raise ModelNotFound(f"No model's name is longer than {MAX_ID_LENGTH} characters.", param="model")
        if not self._order:
            raise UpstreamAuth("No upstream is set up. Set PPLX_COOKIE or PERPLEXITY_API_KEY and start again.")
        upstreams, name = self._forced(requested)
        found = [model for upstream in upstreams if (model := self._catalogue.find(upstream, name))]
        if not found:
            raise self._missing(requested, name)
        allowed = [model for model in found if self._tier_allows(model)]
        if not allowed:
            raise self._tier_too_low(found[0])
        return Route(requested, tuple(self._affordable(allowed)))

    def models(self) -> list[Model]:
        """Every fixed id that `resolve` takes now, once, as its first target."""
        ids = dict.fromkeys(model.id for model in self._catalogue if model.upstream in self._order)
        return [route.targets[0] for model_id in ids if (route := self._try(model_id))]

    def _try(self, model_id: str) -> Route | None:
        try:
            return self.resolve(model_id)
        except (ModelNotFound, ModelNotAllowed):
            return None

    def _known_to_api(self, model_id: str) -> bool:
        return self._catalogue.find("api", model_id.removeprefix("api/")) is not None

    def _forced(self, requested: str) -> tuple[Collection[str], str]:
        """`session/NAME` and `api/NAME` force an upstream. `perplexity/NAME` is the api's own id where it has one, else
        `api/NAME` for names of ours."""
        prefix, _, name = requested.partition("/")
        ours = prefix == "perplexity" and self._catalogue.fixed("api", name)
        if ours and not self._catalogue.fixed("api", requested):
            prefix = "api"
        if name and prefix in ("session", "api"):
            return [upstream for upstream in self._order if upstream == prefix], name
        return self._order, requested

    def _missing(self, requested: str, name: str) -> ModelNotFound:
        others = [u for u in _VARIABLES if u not in self._order and self._catalogue.find(u, name)]
        if others:
            where, variable = others[0], _VARIABLES[others[0]]
            return ModelNotFound(
                f"The model '{requested}' belongs to the {where} upstream, which is not set up: set {variable}.",
                param="model",
            )
        return self._catalogue.not_found(requested)

    def _tier_allows(self, model: Model) -> bool:
        return model.session is None or _TIERS.index(model.session.tier) <= self._rank

    def _tier_too_low(self, model: Model) -> ModelNotAllowed:
        tier = model.session.tier if model.session else "pro"
        return ModelNotAllowed(
            f"The model '{model.id}' needs a {tier} account; this one is {_TIERS[self._rank]} (ACCOUNT_TYPE).",
            param="model",
        )

    def _affordable(self, models: Sequence[Model]) -> Sequence[Model]:
        """Where the session could answer, the api does only if the owner allows spending."""
        free = [model for model in models if model.upstream == "session"]
        return models if self._spending or not free else free


NO_MODEL = "perplexity/preset"
"""The id that stands for none: the level rules, and with it the effort that the question names."""
_LEVELS = {"none": "fast", "minimal": "fast"}


def levelled(route: Route, effort: str | None, catalogue: Catalogue) -> Route:
    """The route with a level in the place of NO_MODEL."""
    if effort is None or all(model.id != NO_MODEL for model in route.targets):
        return route
    level = catalogue.find("api", _LEVELS.get(effort, effort))
    return route._replace(targets=tuple(level if level and m.id == NO_MODEL else m for m in route.targets))
