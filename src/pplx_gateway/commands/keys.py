"""`pplx-gateway keys`: the keys that the owner gives to others."""

import argparse

from pplx_gateway.commands import running
from pplx_gateway.commands.door import Door, Json, chosen, fetch, open_door
from pplx_gateway.commands.exits import CommandFailed, Exit
from pplx_gateway.commands.parser import NONE
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
    "unsupported": "unsupported",
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
        table(("id", "name", "status", "use", "ends with", "limits"), [_row(key) for key in keys])
    return Exit.OK


async def _add(door: Door, options: argparse.Namespace) -> Exit:
    given = {field: value for field, value in _given(options).items() if value is not None}
    made = (await fetch(door, "POST", PATH, {"name": options.name, "use": options.use or "header", **given})).json
    if options.json:
        document(made)
    else:
        tell(f"The key of {made['key']['name']}, which is shown this once:")
        print(made["secret"])
    return Exit.OK


async def _set(door: Door, options: argparse.Namespace) -> Exit:
    changes = {**({"name": options.name} if options.name is not None else {}), **_given(options)}
    if not changes:
        raise CommandFailed("There is nothing to change.", Exit.USAGE, cure="See: pplx-gateway keys set --help")
    key = await _found(door, options.id)
    changed = (await fetch(door, "PATCH", f"{PATH}/{key['id']}", changes)).json
    if options.json:
        document(changed)
    else:
        print(f"The key of {changed['key']['name']} ({key['id']}): {_limits(changed['key'])}.")
    return Exit.OK


def _given(options: argparse.Namespace) -> Json:
    """What was named, as the interface takes it: null takes a limit away. Raises CommandFailed."""
    found = {field: getattr(options, given) for field, given in _FIELDS.items()}
    for field, value in found.items():
        if isinstance(value, list) and NONE in value and len(value) > 1:
            raise CommandFailed(
                f"--{_FIELDS[field]} {NONE} stands for no limit, and cannot go with others.", Exit.USAGE
            )
    return {field: None if value in (NONE, [NONE]) else value for field, value in found.items() if value is not None}


async def _revoke(door: Door, options: argparse.Namespace) -> Exit:
    key = await _found(door, options.id)
    gone = (await fetch(door, "DELETE", f"{PATH}/{key['id']}")).json
    if options.json:
        document(gone)
    else:
        print(f"The key of {gone['key']['name']} ({gone['key']['id']}) is revoked.")
    return Exit.OK


async def _found(door: Door, name: str) -> Json:
    """By its id, or by its name where only one active key has it. Raises CommandFailed."""
    keys: list[Json] = (await fetch(door, "GET", PATH)).json["keys"]
    found = [key for key in keys if key["id"] == name] or [
        key for key in keys if key["name"] == name and key["status"] != "revoked"
    ]
    if not found:
        raise CommandFailed(f"There is no key '{name}'.", Exit.NOT_FOUND, cure="See them: pplx-gateway keys")
    if len(found) > 1:
        raise CommandFailed(f"Several keys are called '{name}'.", Exit.USAGE, cure="Give the id of one.")
    return found[0]


def _row(key: Json) -> list[object]:
    return [key["id"], key["name"], key["status"], key["use"], key["hint"], _limits(key)]


def _limits(key: Json) -> str:
    limits = [form.format(key[name]) for name, form in _LIMITS.items() if key.get(name) is not None]
    limits += [f"only {', '.join(key[name])}" for name in ("models", "upstreams", "origins") if key.get(name)]
    return "; ".join(limits) or "none"


_ACTS = {"list": _list, "add": _add, "set": _set, "revoke": _revoke}
