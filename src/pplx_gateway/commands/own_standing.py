"""What the owner has to ask with, in this environment and data folder: read without opening or changing anything."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from pplx_gateway.catalogue import Tier
from pplx_gateway.model_keeping import FACT as MODELS
from pplx_gateway.opening.api import config_path
from pplx_gateway.opening.gateway import STORE_FILE
from pplx_gateway.settings import Settings
from pplx_gateway.upstreams.api.keys.edits import FACT as KEYS
from pplx_gateway.upstreams.session.keeping import Record
from pplx_gateway.upstreams.session.kept import STATE, TOKEN, Kept


class Standing(NamedTuple):
    """What of the owner's own the answer depends on. `facts`: the store's, by name."""

    session: bool
    api: bool
    tier: Tier
    models: bytes | None


def standing(settings: Settings) -> Standing:
    facts = _facts(settings.folder / STORE_FILE, (TOKEN, STATE, MODELS, KEYS))
    kept, record = _decoded(facts.get(TOKEN), Kept), _decoded(facts.get(STATE), Record)
    return Standing(
        session=settings.cookie is not None or bool(kept and kept.token),
        api=settings.perplexity_api_key is not None or config_path(settings).exists() or KEYS in facts,
        tier=settings.account_type or (record.tier if record else None) or "pro",
        models=facts.get(MODELS),
    )


def _facts(path: Path, names: tuple[str, ...]) -> Mapping[str, bytes]:
    """Read without changing anything; none where there is no store yet."""
    if not path.exists():
        return {}
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as store:
        marks = ", ".join("?" * len(names))
        return dict(store.execute(f"select name, value from facts where name in ({marks})", names))  # noqa: S608
    return {}


def _decoded(value: bytes | None, kind: type[Any]) -> Any:
    with suppress(msgspec.DecodeError):
        return None if value is None else msgspec.json.decode(value, type=kind)
    return None
