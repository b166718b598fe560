"""`pplx-gateway keys`: the keys that the owner gives to others."""

import argparse

from pplx_gateway.commands import running
from pplx_gateway.commands.door import Door, Json, chosen, fetch, open_door
from pplx_gateway.commands.exits import CommandFailed, Exit
from pplx_gateway.commands.screen import document, table, tell

PATH = "/admin/caller-keys"
_FIELDS = {
    "requests_per_minute": "per_minute",
    "requests_per_day": "per_day",
    "cost_per_day": "dollars_per_day",
    "cost_per_month": "dollars_per_month",
    "models": "model",
    "upstreams": "upstream",
    "origins": "origin",
    "expires_at": "expires",
}
_LIMITS = {
    "requests_per_minute": "{}/min",
    "requests_per_day": "{}/day",
    "cost_per_day": "${}/day",
    "cost_per_month": "${}/month",
}


def run(options: argparse.Namespace) -> Exit:
    """Raises CommandFailed."""
    return running.run(_keys(options))


async def _keys(options: argparse.Namespace) -> Exit:
    async with open_door(chosen(options.url, options.in_process)) as door:
        return await _ACTS[options.act or "list"](door, options)


async def _list(door: Door, options: argparse.Namespace) -> Exit:
    keys = (await fetch(door, "GET", PATH)).json["keys"]
    if options.json:
        document(keys)
    elif not keys:
        tell("There are none. Make one: pplx-gateway keys add NAME")
    else:
        table(("id", "name", "status", "ends with", "limits"), [_row(key) for key in keys])
    return Exit.OK


async def _add(door: Door, options: argparse.Namespace) -> Exit:
    asked = {"name": options.name, **{field: getattr(options, given) for field, given in _FIELDS.items()}}
    made = (await fetch(door, "POST", PATH, {name: value for name, value in asked.items() if value is not None})).json
    if options.json:
        document(made)
    else:
        tell(f"The key of {made['key']['name']}, which is shown this once:")
        print(made["secret"])
    return Exit.OK


async def _revoke(door: Door, options: argparse.Namespace) -> Exit:
    """By its id, or by its name where only one active key has it."""
    keys = (await fetch(door, "GET", PATH)).json["keys"]
    found = [key for key in keys if key["id"] == options.id] or [
        key for key in keys if key["name"] == options.id and key["status"] != "revoked"
    ]
    if not found:
        raise CommandFailed(f"There is no key '{options.id}'.", Exit.NOT_FOUND, cure="See them: pplx-gateway keys")
    if len(found) > 1:
        raise CommandFailed(f"Several keys are called '{options.id}'.", Exit.USAGE, cure="Give the id of one.")
    gone = (await fetch(door, "DELETE", f"{PATH}/{found[0]['id']}")).json
    if options.json:
        document(gone)
    else:
        print(f"The key of {gone['key']['name']} ({gone['key']['id']}) is revoked.")
    return Exit.OK


def _row(key: Json) -> list[object]:
    limits = [form.format(key[name]) for name, form in _LIMITS.items() if key.get(name) is not None]
    limits += [f"only {', '.join(key[name])}" for name in ("models", "upstreams", "origins") if key.get(name)]
    return [key["id"], key["name"], key["status"], key["hint"], "; ".join(limits) or "none"]


_ACTS = {"list": _list, "add": _add, "revoke": _revoke}
