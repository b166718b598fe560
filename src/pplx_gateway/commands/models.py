"""`pplx-gateway models`: what can be asked now."""

import argparse

from pplx_gateway.commands import running
from pplx_gateway.commands.door import Door, Json, chosen, fetch, open_door
from pplx_gateway.commands.exits import CURES, CommandFailed, Exit
from pplx_gateway.commands.screen import document, table

_ABILITIES = ("embeddings", "decisions", "thinking", "tools", "json_schema", "images", "files", "research")


def run(options: argparse.Namespace) -> Exit:
    """Raises CommandFailed."""
    return running.run(_models(options))


async def _models(options: argparse.Namespace) -> Exit:
    async with open_door(chosen(options.url, options.in_process)) as door:
        found: list[Json] = (await fetch(door, "GET", "/v1/models")).json["data"]
    if not found:
        raise _nothing(door)
    wanted = (options.pattern or "").lower()
    models = [model for model in found if wanted in f"{model['id']} {model['name']}".lower()]
    if wanted and not models:
        raise CommandFailed(f"No model's id or name holds '{options.pattern}'.", Exit.NOT_FOUND)
    if options.json:
        document(models)
    else:
        table(
            ("model", "name", "upstream", "paid by", "can"),
            [
                (model["id"], model["name"], model["upstream"], _paid_by(model), ", ".join(_abilities(model)))
                for model in models
            ],
        )
    return Exit.OK


def _nothing(door: Door) -> CommandFailed:
    if door.own:
        message = "Nothing can be asked: there is neither a session's cookie nor an API key that can be used."
        return CommandFailed(message, Exit.CREDENTIAL, cure=CURES["upstream_auth"])
    return CommandFailed(
        f"{door.place} lists no model: it has neither a cookie nor an API key, or your key may ask none.",
        Exit.CREDENTIAL,
        cure=f"Its owner gives it one: pplx-gateway login --url {door.place}. What a key may ask: pplx-gateway keys",
    )


def _paid_by(model: Json) -> str:
    return "use" if model["upstream"] == "api" else "plan"


def _abilities(model: Json) -> list[str]:
    return [name for name in _ABILITIES if model["capabilities"].get(name)]
