"""What is kept of the session's models beside the list that a release brings, and what both together make.

A release's own list lies below; over it come the owner's entries and those that discovery found, and over all what the
site's picker says of thinking variants and plans.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from pplx_gateway.catalogue import Model, SessionRoute, Tier
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.families import family_of, spelt_thinking

Mode = Literal["concise", "copilot"]
Source = Literal["built-in", "admin", "discovery", "file"]

MODES: tuple[Mode, ...] = ("concise", "copilot")
MOST_MODELS = 500
RESEARCH_ID = "pplx_alpha"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class SavedModel(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`at` is epoch seconds. `pinned`: discovery leaves it alone. `instead_of`: the built-in entry's upstream id that
    this one took the place of; once a release brings another there, that one holds."""

    mode: Mode
    upstream_id: str
    source: Source
    at: float
    pinned: bool = False
    instead_of: str | None = None


class Picked(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A row of the site's picker, by its base id. `thinking_id` None = there is no such variant."""

    label: str
    thinking_id: str | None = None
    tier: Tier | None = None


class Saved(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`models`: None = removed by the owner. `replaced`: the built-in list counts for nothing. `took_file`: the list of
    an older installation was taken over, which happens once."""

    models: dict[str, SavedModel | None] = {}
    replaced: bool = False
    took_file: bool = False
    picker: dict[str, Picked] = {}
    picker_at: float = 0.0


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A model of the session and where it came from. `at` None = with the release."""

    model: Model
    source: Source
    pinned: bool = False
    at: float | None = None


def overlaid(built_in: Iterable[Model], saved: Saved) -> dict[str, Entry]:
    """Every model of the session by id, disabled ones included."""
    below = {model.id: model for model in built_in if model.session}
    found: dict[str, Entry] = {}
    if not saved.replaced:
        found = {model.id: Entry(model=model, source="built-in") for model in below.values()}
    for model_id, kept in saved.models.items():
        under = below.get(model_id)
        if kept is None:
            found.pop(model_id, None)
        elif not _outdated(kept, under):
            model = _model(model_id, kept, under, saved.picker)
            found[model_id] = Entry(model=model, source=kept.source, pinned=kept.pinned, at=kept.at)
    return {name: msgspec.structs.replace(e, model=_picked(e.model, saved.picker)) for name, e in found.items()}


def checked(models: Mapping[str, object], known: Iterable[str]) -> dict[str, tuple[Mode, str] | None]:
    """The owner's changes, validated as a whole. Raises InvalidRequest that names the entry."""
    if len(models) > MOST_MODELS:
        raise InvalidRequest(f"There are {len(models)} models; at most {MOST_MODELS} are taken.", param="models")
    return {name: _checked(name, value, frozenset(known)) for name, value in models.items()}


def _checked(name: str, value: object, known: frozenset[str]) -> tuple[Mode, str] | None:
    where = f"models.{name[:80]}"
    if not _ID.fullmatch(name):
        raise InvalidRequest(
            f"'{name[:80]}' cannot be a model's id: it takes 1 to 64 letters, digits, '.', '_' or '-'.", param=where
        )
    if value is None:
        if name not in known:
            raise InvalidRequest(f"There is no model '{name}' to remove.", param=where)
        return None
    if not isinstance(value, list | tuple) or len(value) != 2 or not all(isinstance(part, str) for part in value):
        raise InvalidRequest(f"'{where}' must be [mode, upstream id], or null to remove it.", param=where)
    mode, upstream_id = value
    found = next((each for each in MODES if each == mode), None)
    if found is None:
        raise InvalidRequest(f"'{where}[0]' must be 'concise' or 'copilot', not '{mode[:80]}'.", param=f"{where}[0]")
    if not _ID.fullmatch(upstream_id):
        raise InvalidRequest(
            f"'{where}[1]' must be an upstream id: 1 to 64 letters, digits, '.', '_' or '-'.", param=f"{where}[1]"
        )
    return found, upstream_id


def _outdated(kept: SavedModel, under: Model | None) -> bool:
    """A release has brought something else since discovery took this entry's place."""
    if kept.instead_of is None or under is None or under.session is None:
        return False
    return under.session.upstream_id != kept.instead_of


def _model(model_id: str, kept: SavedModel, under: Model | None, picker: Mapping[str, Picked]) -> Model:
    """Models of the owner need a pro plan at least; the built-in `auto` stays free however it is asked."""
    same = under is not None and under.session is not None and under.session.upstream_id == kept.upstream_id
    if same and under is not None and under.session is not None:
        tier: Tier = under.session.tier if kept.mode == under.session.mode else "pro"
        route = msgspec.structs.replace(under.session, mode=kept.mode, tier=tier)
        return msgspec.structs.replace(under, session=route, enabled=True)
    family = family_of(kept.upstream_id)
    version = family.version(kept.upstream_id) if family else None
    label = picker[kept.upstream_id].label if kept.upstream_id in picker else None
    title = family.title(version) if family and version is not None else None
    free = model_id == "auto" and kept.mode == "concise"
    return Model(
        id=model_id,
        name=title or label or model_id,
        owner=family.owner if family else under.owner if under else "perplexity",
        session=SessionRoute(
            mode=kept.mode,
            upstream_id=kept.upstream_id,
            thinking_id=spelt_thinking(kept.upstream_id),
            tier="free" if free else family.tier if family else "pro",
        ),
        research=kept.upstream_id == RESEARCH_ID,
        reasons=kept.upstream_id == RESEARCH_ID,
    )


def _picked(model: Model, picker: Mapping[str, Picked]) -> Model:
    """What the site says of variant and plan holds for every named model; the free way of asking stays free."""
    route = model.session
    row = picker.get(route.upstream_id) if route else None
    if route is None or row is None or route.mode != "copilot":
        return model
    tier = row.tier if row.tier in ("pro", "max") else route.tier
    return msgspec.structs.replace(
        model, session=msgspec.structs.replace(route, thinking_id=row.thinking_id, tier=tier)
    )
