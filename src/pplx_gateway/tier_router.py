"""The model `router`: its id to the tiers of targets that the owner's settings name."""

from collections.abc import Callable, Iterable, Sequence
from typing import get_args

import msgspec

from pplx_gateway.catalogue import Catalogue, Model
from pplx_gateway.complexity import Tier
from pplx_gateway.errors import GatewayError, ModelNotFound
from pplx_gateway.question import Effort
from pplx_gateway.routing import Route
from pplx_gateway.settings import Settings
from pplx_gateway.tiers import Aim, Tiers

ROUTER = "router"
_FORCED = {f"{upstream}/{ROUTER}": upstream for upstream in ("session", "api")} | {f"perplexity/{ROUTER}": "api"}
_PREFIXES = ("session/", "api/")
_SETTINGS = "PPLX_ROUTER_SIMPLE, PPLX_ROUTER_MEDIUM, PPLX_ROUTER_COMPLEX"

Resolve = Callable[[str], Route]


def is_router(model_id: str) -> bool:
    return model_id == ROUTER or model_id in _FORCED


class TierRouter:
    """`order`: upstreams that have a credential. Where the session could answer, a paid target is aimed at only if
    that is allowed (PPLX_ALLOW_SPENDING), or if owner or caller wrote `api/`."""

    def __init__(self, settings: Settings, order: Sequence[str], resolve: Resolve) -> None:
        self._named: dict[Tier, tuple[str, ...]] = {
            "simple": settings.router_simple,
            "medium": settings.router_medium,
            "complex": settings.router_complex,
        }
        self._paid = settings.allow_spending or "session" not in order
        self._resolve = resolve

    def route(self, requested: str) -> Route:
        """The targets of the medium tier come first: by them a request is judged before it is rated. Raises
        ModelNotFound where no tier has a target."""
        forced = _FORCED.get(requested)
        spending = self._paid or forced == "api"
        aims: dict[Tier, tuple[Aim, ...]] = {
            tier: tuple(self._aims(names, forced, spending=spending)) for tier, names in self._named.items()
        }
        tiers = Tiers(aims, spending)
        return routed(requested, tiers)

    def _aims(self, names: Iterable[str], forced: str | None, *, spending: bool) -> Iterable[Aim]:
        for name in names:
            model_id, effort = _read(name)
            whole = model_id if forced is None or model_id.startswith(_PREFIXES) else f"{forced}/{model_id}"
            try:
                found = self._resolve(whole)
            except GatewayError:
                continue
            paid = spending or model_id.startswith("api/")
            yield from (
                Aim(model, effort)
                for model in found.targets
                if (forced is None or model.upstream == forced) and (paid or model.upstream == "session")
            )


def unknown_targets(settings: Settings, catalogue: Catalogue) -> list[str]:
    """Lines for the owner: what the settings name, and no upstream knows."""
    named = {
        "PPLX_ROUTER_SIMPLE": settings.router_simple,
        "PPLX_ROUTER_MEDIUM": settings.router_medium,
        "PPLX_ROUTER_COMPLEX": settings.router_complex,
    }
    return [
        f"{variable} names '{name}', which no upstream knows; the router passes it over."
        for variable, names in named.items()
        for name in names
        if not any(catalogue.find(upstream, _bare(name)) for upstream in ("session", "api"))
    ]


def _bare(name: str) -> str:
    model_id, _ = _read(name)
    return next((model_id.removeprefix(prefix) for prefix in _PREFIXES if model_id.startswith(prefix)), model_id)


def routed(requested: str, tiers: Tiers) -> Route:
    """Raises ModelNotFound."""
    targets = tuple(dict.fromkeys(aim.model for aim in tiers.from_tier("medium")))
    if not targets:
        raise ModelNotFound(f"The router has no target that may be asked now ({_SETTINGS}).", param="model")
    return Route(requested, targets, tiers)


def _read(name: str) -> tuple[str, Effort | None]:
    """`gpt:high` is gpt with high effort."""
    model_id, colon, effort = name.rpartition(":")
    for known in get_args(Effort):
        if colon and effort == known:
            return model_id, known
    return name, None


def router_model(router: TierRouter) -> Model | None:
    """The router as an entry of the list: what its first target of the medium tier can. None where it has none."""
    try:
        route = router.route(ROUTER)
    except ModelNotFound:
        return None
    name = "Router (a simple, medium or complex question to one model each)"
    return msgspec.structs.replace(route.targets[0], id=ROUTER, name=name, owner="pplx-gateway")
