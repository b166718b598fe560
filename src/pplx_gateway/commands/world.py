"""What an answer depends on beside the question: settings, credentials and models, of a gateway that runs or of this
folder."""

from typing import NamedTuple

import msgspec

from pplx_gateway import environment
from pplx_gateway.catalogue import Tier
from pplx_gateway.commands.door import Choice, Door, fetch, open_door
from pplx_gateway.commands.exits import CommandFailed, Exit
from pplx_gateway.commands.own_standing import Standing, standing
from pplx_gateway.overlay import Picked, Saved, SavedModel
from pplx_gateway.settings import Settings


class World(NamedTuple):
    """`notes`: what the reader should know of it. `hidden`: ids of models of which only their names can be seen."""

    settings: Settings
    stands: Standing
    notes: tuple[str, ...] = ()
    hidden: frozenset[str] = frozenset()


async def world_of(choice: Choice) -> World:
    """Of the gateway that runs at `choice`, else of this folder. Raises CommandFailed."""
    if choice.url is None:
        own = environment.load().settings
        return World(own, standing(own))
    async with open_door(choice) as door:
        listed = (await fetch(door, "GET", "/v1/models")).json["data"]
        session = (await fetch(door, "GET", "/health")).json.get("session") or {}
        settings = await _settings_there(door)
        models = await _models_there(door) if settings else None
        place = door.place
    told: tuple[str, ...] = ()
    if settings is None:
        settings = environment.load().settings
        told = (
            f"Only the owner may see the settings and the models of {place}: those of this folder and of this release "
            "were taken in their place.",
        )
    served = {model["upstream"] for model in listed}
    tier: Tier = settings.account_type or session.get("account_type") or "pro"
    stands = Standing("session" in served, "api" in served, tier, models)
    return World(settings, stands, told, frozenset(model["id"] for model in listed) if told else frozenset())


async def _settings_there(door: Door) -> Settings | None:
    """None for whoever may not see them. Raises CommandFailed."""
    try:
        rows = (await fetch(door, "GET", "/admin/settings")).json["settings"]
    except CommandFailed as failure:
        if failure.code is not Exit.CREDENTIAL:
            raise
        return None
    given = {row["name"]: row["value"] for row in rows if not row["secret"]}
    return environment.load(given, dotenv=None).settings


async def _models_there(door: Door) -> bytes | None:
    """What its owner and its discovery have made of the list, as a store keeps it; None where there is no session.
    Raises CommandFailed."""
    try:
        found = (await fetch(door, "GET", "/admin/models")).json
    except CommandFailed as failure:
        if failure.code is not Exit.NOT_FOUND:
            raise
        return None
    models = found["models"]
    changed = {
        name: SavedModel(
            mode=each["mode"], upstream_id=each["upstream_id"], source=each["source"], at=each["at"] or 0.0
        )
        for name, each in models.items()
        if each["source"] != "built-in"
    }
    picker = {
        each["upstream_id"]: Picked(label=each["name"], thinking_id=each["thinking_id"], tier=each["tier"])
        for each in models.values()
    }
    saved = Saved(models=changed | dict.fromkeys(found["removed"]), replaced=found["replaced"], picker=picker)
    return msgspec.json.encode(saved)
