"""`pplx-gateway explain`: what a question would send, where, at what class of price, and what it would drop.

The question is really asked, of the built-in emulator in this process; what arrived there is shown. Nothing is sent to
Perplexity, and nothing is spent. The emulator gets credentials of its own, never yours.
"""

import argparse
import json
import sqlite3
import sys
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from pplx_gateway import logs
from pplx_gateway.catalogue import Model, Tier
from pplx_gateway.clock import Clock
from pplx_gateway.commands import running
from pplx_gateway.commands.door import KEY, Door, Json, chosen, fetch
from pplx_gateway.commands.exits import CommandFailed, Exit, failed
from pplx_gateway.commands.own_door import OwnDoor, own_settings
from pplx_gateway.commands.own_standing import Standing
from pplx_gateway.commands.question_input import question_of, request_of, turn_of
from pplx_gateway.commands.running_door import running_door
from pplx_gateway.commands.screen import document, line, on_terminal, safe
from pplx_gateway.commands.world import World, world_of
from pplx_gateway.emulator.server import EmulatorServer
from pplx_gateway.errors import GatewayError
from pplx_gateway.gateway import Gateway
from pplx_gateway.model_keeping import FACT as MODELS
from pplx_gateway.model_keeping import ModelKeeper
from pplx_gateway.opening import open_gateway
from pplx_gateway.opening.gateway import STORE_FILE
from pplx_gateway.prices import prices
from pplx_gateway.settings import Secret, Settings
from pplx_gateway.upstreams.session.quota import kind_of
from pplx_gateway.web.app import create_app

_PLAN = {"pro": "one Pro search of the plan", "research": "one research of the plan"}
HURRY = 200.0
LONGEST_TEXT = 400
_PATHS = {"messages": "/v1/chat/completions", "input": "/v1/responses"}


def run(options: argparse.Namespace) -> Exit:
    """Raises CommandFailed: for a request that the gateway refuses, with what it says."""
    path, request = _request(options)
    return running.run(_explain(options, path, request))


def _request(options: argparse.Namespace) -> tuple[str, Json]:
    if options.request is None:
        turn = turn_of(question_of(options.question), options.file)
        return "/v1/responses", {**request_of(options, [turn]), "stream": False}
    try:
        content = sys.stdin.read() if options.request == "-" else Path(options.request).read_text(encoding="utf-8")
        request = json.loads(content)
    except (OSError, ValueError) as error:
        raise CommandFailed(f"{options.request}: no JSON can be read there ({error}).", Exit.USAGE) from None
    path = next((path for field, path in _PATHS.items() if isinstance(request, dict) and field in request), None)
    if path is None:
        raise CommandFailed(f"{options.request} holds neither 'messages' nor 'input'.", Exit.USAGE)
    return path, {name: value for name, value in request.items() if name != "background"} | {"stream": False}


async def _explain(options: argparse.Namespace, path: str, request: Json) -> Exit:
    world = await world_of(chosen(options.url, options.in_process))
    settings, stands = world.settings, world.stands
    logs.set_up("CRITICAL")
    with tempfile.TemporaryDirectory(prefix="pplx-gateway-explain-") as folder:
        async with EmulatorServer(Clock(HURRY)) as emulator, running_door(emulator.url, None) as control:
            gateway = await open_gateway(_rehearsal(settings, stands, emulator.url, Path(folder)), Clock(HURRY))
            try:
                if stands.models is not None and gateway.keeper is not None:
                    await _bring_models(gateway.keeper, folder, stands.models)
                    await fetch(control, "POST", "/_emulator/session", {"added_models": _added(gateway.keeper)})
                told = await _rehearsed(gateway, control, path, request, world)
            finally:
                await gateway.close()
    told["warnings"] += world.notes
    if options.json:
        document(told)
    else:
        _show(told)
    return Exit.OK


async def _bring_models(keeper: ModelKeeper, folder: str, models: bytes) -> None:
    """The owner's own changes of the list."""
    with closing(sqlite3.connect(Path(folder) / STORE_FILE)) as store, store:
        store.execute("insert or replace into facts (name, value) values (?, ?)", (MODELS, models))
    await keeper.sync()


def _added(keeper: ModelKeeper) -> Mapping[str, Tier]:
    """What the emulator may not know: ids upstream that came with no release, by the plan that they take."""
    added = [entry.model.session for entry in keeper.entries.values() if entry.source != "built-in"]
    return {name: way.tier for way in added if way for name in (way.upstream_id, way.thinking_id) if name}


async def _rehearsed(gateway: Gateway, control: Door, path: str, request: Json, world: World) -> Json:
    door = OwnDoor(gateway, create_app(gateway))
    try:
        route = gateway.resolve(request.get("model"))
    except GatewayError as error:
        if request.get("model") in world.hidden:
            raise CommandFailed(world.notes[0], Exit.CREDENTIAL, cure=f"Ask with its owner's key in {KEY}.") from None
        raise failed(error) from None
    reply = await fetch(door, "POST", path, request)
    seen = (await fetch(control, "GET", "/_emulator/requests?path=*")).json["requests"]
    upstream = reply.headers.get("x-pplx-upstream", route.targets[0].upstream)
    served = next((target for target in route.targets if target.upstream == upstream), route.targets[0])
    return {
        "asked": request.get("model") or route.requested,
        "model": served.id,
        "upstream": upstream,
        "price": _price(served),
        "dropped": _listed(reply.headers.get("x-pplx-dropped")),
        "warnings": _warnings(reply.json),
        "otherwise": [f"{target.upstream}/{target.id}" for target in route.targets if target is not served],
        "requests": [_sent(record, world.settings) for record in seen if record["method"] == "POST"],
    }


def _rehearsal(settings: Settings, stands: Standing, url: str, folder: Path) -> Settings:
    """The owner's settings with another world around them."""
    return msgspec.structs.replace(
        own_settings(settings),
        session_url=url,
        api_url=url,
        cookie=Secret(f"emulator-{stands.tier}-explain") if stands.session else None,
        account_type=stands.tier,
        perplexity_api_key=Secret("pplx-explain") if stands.api else None,
        config="",
        data_dir=folder,
        ntfy_topic=None,
        flaresolverr_url="",
        clock_factor=HURRY,
    )


def _price(model: Model) -> str:
    if model.session is not None:
        kind = kind_of(model)
        return _PLAN[kind] if kind else "nothing that the plan counts"
    name = model.agent.model if model.agent else None
    price = prices().models.get(name or "")
    search = prices().tools["search_web"]
    if price is None:
        return f"paid by use: as the level's own models cost, and ${search:f} a search"
    return f"paid by use: ${price.input:f} in and ${price.output:f} out for a million tokens, and ${search:f} a search"


def _warnings(reply: Json) -> list[str]:
    return list((reply.get("pplx") or {}).get("warnings", ()))


def _listed(header: str | None) -> list[str]:
    return [name.strip() for name in (header or "").split(",") if name.strip()]


def _sent(record: Json, settings: Settings) -> Json:
    """At the address where it would have gone."""
    home = settings.api_url if "authorization" in record["headers"] else settings.session_url
    query = f"?{record['query']}" if record["query"] else ""
    return {
        "method": record["method"],
        "url": f"{home.rstrip('/')}{record['path']}{query}",
        "body": _short(record["json"]),
    }


def _short(value: Any) -> Any:
    """Files are told by their size."""
    if isinstance(value, dict):
        return {name: _short(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_short(inner) for inner in value]
    if isinstance(value, str) and value.startswith("data:") and len(value) > LONGEST_TEXT:
        return f"{value.partition(',')[0]},... ({len(value)} characters)"
    return value


def _show(told: Json) -> None:
    line(f"Model:     {told['asked']} → {told['model']}", "bold")
    line(f"Upstream:  {told['upstream']}")
    line(f"Price:     {told['price']}")
    line(f"Left out:  {', '.join(told['dropped']) or 'nothing'}")
    if told["otherwise"]:
        line(f"If that one cannot: {', '.join(told['otherwise'])}")
    for warning in told["warnings"]:
        line(f"Warning:   {warning}")
    for request in told["requests"]:
        line(f"\n{request['method']} {request['url']}", "bold")
        body = json.dumps(request["body"], ensure_ascii=False, indent=2)
        _show_json(body)


def _show_json(text: str) -> None:
    if not on_terminal():
        print(text)
        return
    from rich.syntax import Syntax  # noqa: PLC0415 - only on a terminal

    from pplx_gateway.commands.screen import console  # noqa: PLC0415

    console().print(Syntax(safe(text), "json", word_wrap=True, background_color="default"))
