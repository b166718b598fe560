"""The models that the site's own page offers (docs/wire-session.md 6.1): which ids go together, and who may use them.

Labels lag behind and may be translated, so nothing is decided by them.
"""

from collections.abc import Mapping
from typing import Any

from pplx_gateway.catalogue import Tier
from pplx_gateway.errors import UpstreamError
from pplx_gateway.overlay import Picked
from pplx_gateway.upstreams.session.quota_page import Pages

MODELS_PATH = "/rest/models/config?config_schema=v1&version={version}&source=default"

_TIERS: dict[str, Tier] = {"free": "free", "pro": "pro", "max": "max"}


async def read_picker(pages: Pages, version: str) -> dict[str, Picked]:
    """The picker's rows by base id; a row without one always thinks. Raises GatewayError."""
    document = await pages.fetch(MODELS_PATH.format(version=version))
    rows, models = document.get("config"), document.get("models")
    if not isinstance(rows, list):
        raise UpstreamError("Perplexity's list of models has a shape that is not known.")
    modes = {name: model.get("mode") for name, model in _objects(models)}
    picker: dict[str, Picked] = {}
    for row in rows:
        if isinstance(row, dict) and (found := _row(row)) is not None and modes.get(found[0], "search") == "search":
            picker[found[0]] = found[1]
    return picker


def _row(row: Mapping[str, Any]) -> tuple[str, Picked] | None:
    base, thinking = _id(row.get("non_reasoning_model")), _id(row.get("reasoning_model"))
    name = base or thinking
    if name is None:
        return None
    tier = _TIERS.get(str(row.get("subscription_tier") or "").lower())
    return name, Picked(label=str(row.get("label") or name)[:100], thinking_id=thinking, tier=tier)


def _objects(models: object) -> list[tuple[str, Mapping[str, Any]]]:
    if not isinstance(models, dict):
        return []
    return [(str(name), model) for name, model in models.items() if isinstance(model, dict)]


def _id(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
