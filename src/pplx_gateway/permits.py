"""What the key of the request at work may ask: models and upstreams. caller_limits.py says whether it may at all."""

from collections.abc import Iterable
from typing import Literal

from pplx_gateway.caller_keys import CallerKey, current_key
from pplx_gateway.catalogue import Model
from pplx_gateway.errors import ModelNotAllowed
from pplx_gateway.routing import Route

_MOST_NAMED = 10


def permitted(route: Route) -> Route:
    """The route as far as the key may take it. Raises ModelNotAllowed."""
    key = current_key.get()
    if key is None:
        return route
    _check_model(key, route.requested)
    allowed = route.within(lambda model: key.allows_upstream(model.upstream))
    if not allowed.targets:
        raise _upstream_refused(key, route.requested)
    return allowed


def permit(model_id: str, upstream: str) -> None:
    """For what is no question. What has no model goes by its own name: search, batches, skills. Raises
    ModelNotAllowed."""
    key = current_key.get()
    if key is not None:
        _check_model(key, model_id)
        if not key.allows_upstream(upstream):
            raise _upstream_refused(key, model_id)


def permitted_models(models: Iterable[Model]) -> list[Model]:
    """Those that the key may ask."""
    key = current_key.get()
    if key is None:
        return list(models)
    return [model for model in models if key.allows_model(model.id) and key.allows_upstream(model.upstream)]


def unsupported(default: Literal["reject", "drop"]) -> Literal["reject", "drop"]:
    """What becomes of fields that an upstream cannot honour: as the key says, else as the settings do."""
    key = current_key.get()
    return (key.limits.unsupported if key else None) or default


def _check_model(key: CallerKey, model_id: str) -> None:
    if not key.allows_model(model_id):
        some = ", ".join(key.limits.models[:_MOST_NAMED]) + (", ..." if len(key.limits.models) > _MOST_NAMED else "")
        raise ModelNotAllowed(f"This key may not ask '{model_id}'. It may ask: {some}.", param="model")


def _upstream_refused(key: CallerKey, model_id: str) -> ModelNotAllowed:
    where = " and ".join(key.limits.upstreams)
    return ModelNotAllowed(
        f"This key may ask the {where} upstream only, which does not answer '{model_id}'.", param="model"
    )
