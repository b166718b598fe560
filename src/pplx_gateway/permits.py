"""What the key of the request at work may ask: models and upstreams. caller_limits.py says whether it may at all."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Literal

import msgspec

from pplx_gateway.caller_keys import CallerKey, current_key
from pplx_gateway.catalogue import Model
from pplx_gateway.errors import ModelNotAllowed, ModelNotFound
from pplx_gateway.routing import Route

_MOST_NAMED = 10
_OPERATIONS = frozenset({"batches", "browser", "files", "search", "skills"})
"""What names no model, so that no field of the request is to blame."""

Ways = Callable[[str], str | None]
"""The id by which an upstream can be asked the same; None where it does not know it, or is not set up."""


def _none(_: str) -> None:
    """For a name that stands for others."""


def permitted(route: Route, ways: Ways = _none) -> Route:
    """The route as far as the key may take it. Raises ModelNotAllowed."""
    key = current_key.get()
    if key is None:
        return route
    _check_model(key, route.requested)
    allowed = route.within(lambda model: key.allows_upstream(model.upstream))
    if not allowed.targets:
        raise _led_elsewhere(key, route.requested, ways)
    if allowed.tiers is not None and not key.allows_upstream("api"):  # the decider is the api's
        allowed = allowed._replace(tiers=allowed.tiers._replace(spending=False))
    return allowed


def permit(model_id: str, upstream: str) -> None:
    """For what is no question. What has no model goes by its own name: search, batches, skills. Raises
    ModelNotAllowed."""
    key = current_key.get()
    if key is not None:
        _check_model(key, model_id)
        if not key.allows_upstream(upstream):
            raise _upstream_refused(key, model_id)


def may_ask(model_id: str, upstream: str) -> bool:
    """As `permit` says, for lists of what there is."""
    key = current_key.get()
    return key is None or (key.allows_model(model_id) and key.allows_upstream(upstream))


def permitted_order(order: Sequence[str]) -> Sequence[str]:
    """Those upstreams that the key may ask."""
    key = current_key.get()
    return order if key is None else [upstream for upstream in order if key.allows_upstream(upstream)]


def permitted_models(models: Iterable[Model], route_of: Callable[[str], Route]) -> list[Model]:
    """Those that the key may ask, each as whoever would answer it."""
    key = current_key.get()
    return list(models) if key is None else [found for model in models if (found := _as_asked(key, model, route_of))]


def unsupported(default: Literal["reject", "drop"]) -> Literal["reject", "drop"]:
    """What becomes of fields that an upstream cannot honour: as the key says, else as the settings do."""
    key = current_key.get()
    return (key.limits.unsupported if key else None) or default


def _as_asked(key: CallerKey, model: Model, route_of: Callable[[str], Route]) -> Model | None:
    if not key.allows_model(model.id):
        return None
    if key.allows_upstream(model.upstream):
        return model
    for name in (model.id, *(f"{upstream}/{model.id}" for upstream in key.limits.upstreams)):
        with suppress(ModelNotFound):
            if targets := route_of(name).within(lambda target: key.allows_upstream(target.upstream)).targets:
                return msgspec.structs.replace(targets[0], id=name, name=model.name, owner=model.owner)
    return None


def _check_model(key: CallerKey, model_id: str) -> None:
    if not key.allows_model(model_id):
        some = ", ".join(key.limits.models[:_MOST_NAMED]) + (", ..." if len(key.limits.models) > _MOST_NAMED else "")
        raise ModelNotAllowed(f"This key may not ask '{model_id}'. It may ask: {some}.", param=_field(model_id))


def _led_elsewhere(key: CallerKey, model_id: str, ways: Ways) -> ModelNotAllowed:
    """A plain name leads to the session where both know it, unless the owner allows spending; a prefix chooses."""
    found = next((name for upstream in key.limits.upstreams if (name := ways(upstream))), None)
    if found is None:
        return _upstream_refused(key, model_id)
    where = " and ".join(key.limits.upstreams)
    return ModelNotAllowed(
        f"This key may ask the {where} upstream only, and '{model_id}' leads to another one: ask '{found}'.",
        param="model",
    )


def _upstream_refused(key: CallerKey, model_id: str) -> ModelNotAllowed:
    where = " and ".join(key.limits.upstreams)
    return ModelNotAllowed(
        f"This key may ask the {where} upstream only, which does not answer '{model_id}'.", param=_field(model_id)
    )


def _field(name: str) -> str | None:
    return None if name in _OPERATIONS else "model"
