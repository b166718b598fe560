"""`pplx-gateway research`: a run in the background, followed to its end; whoever leaves early may come back to it."""

import argparse
import asyncio

from pplx_gateway.commands import running
from pplx_gateway.commands.answering import Reading, conclude, shown_as_json
from pplx_gateway.commands.door import Door, Json, chosen, fetch, follow, open_door
from pplx_gateway.commands.drawing import Drawing, drawing
from pplx_gateway.commands.exits import CommandFailed, Exit
from pplx_gateway.commands.job_list import JobList
from pplx_gateway.commands.question_input import choices, question_of, turn_of
from pplx_gateway.commands.screen import tell, warm

MODELS = ("deep-research", "high")
"""The first that is served."""
MOST_PICKUPS = 5
BEGINNING_SECONDS = 10.0
"""How long a gateway may take to say that research has begun, once its asker has left."""
LIVE = frozenset({"queued", "in_progress"})


def run(options: argparse.Namespace) -> Exit:
    """Raises CommandFailed."""
    if options.resume is not None:
        return running.run(_resume(options))
    turn = turn_of(question_of(options.question), options.file)
    return running.run(_research(options, turn))


async def _research(options: argparse.Namespace, turn: Json) -> Exit:
    choice = chosen(options.url, options.in_process)
    async with open_door(choice) as door:
        options.model = options.model or await _model(door)
        lasting = not door.own or await _upstream(door, options.model) == "api"
        if options.detach and not lasting:
            raise CommandFailed(
                "Nothing would be left running: the session's runs end with the gateway, and this one ends with the "
                "command.",
                Exit.USAGE,
                cure="Ask a running gateway (PPLX_GATEWAY_URL), or a model of the api (-m high).",
            )
        body = {"input": [turn], "background": True, "tools": [{"type": "web_search"}], **choices(options)}
        begun = await _begun(door, body, lasting=lasting)
        if options.detach:
            await _settled_upstream(door, begun["id"])
            print(begun["id"])
            tell(f"Collect it: pplx-gateway research --resume {begun['id']}")
            return Exit.OK
        return await _followed(door, begun["id"], options, lasting=lasting)


async def _begun(door: Door, body: Json, *, lasting: bool) -> Json:
    """Whoever leaves while it begins is told its id all the same, for it goes on. Raises CommandFailed."""
    asking = asyncio.create_task(fetch(door, "POST", "/v1/responses", body))
    try:
        begun = (await asyncio.shield(asking)).json
    except asyncio.CancelledError:
        await asyncio.wait([asking], timeout=BEGINNING_SECONDS)
        if asking.done() and not asking.cancelled() and asking.exception() is None:
            _kept(door, asking.result().json["id"])
            _tell_how_to_go_on(asking.result().json["id"], lasting=lasting)
        else:
            asking.cancel()
        raise
    _kept(door, begun["id"])
    return begun


def _kept(door: Door, response_id: str) -> None:
    JobList().add(response_id, "" if door.own else door.place)
    tell(f"Research {response_id} has begun.")


async def _resume(options: argparse.Namespace) -> Exit:
    async with open_door(chosen(options.url, options.in_process)) as door:
        found = (await fetch(door, "GET", f"/v1/responses/{options.resume}")).json
        if found["status"] == "cancelled":
            raise CommandFailed("That research was cancelled.", Exit.FAILED)
        if not found["background"]:
            raise CommandFailed("That response did not run in the background.", Exit.USAGE)
        return await _followed(door, options.resume, options, lasting=True)


async def _followed(door: Door, response_id: str, options: argparse.Namespace, *, lasting: bool) -> Exit:
    drawn = drawing(notes=True, mute=options.json)
    try:
        await asyncio.to_thread(warm)
        response = await _read(door, response_id, drawn)
    except asyncio.CancelledError:
        drawn.close()
        _tell_how_to_go_on(response_id, lasting=lasting)
        raise
    finally:
        drawn.close()
    return shown_as_json(response) if options.json else conclude(response, options)


async def _read(door: Door, response_id: str, drawn: Drawing) -> Json:
    """A stream that breaks off is taken up where it ended."""
    reading = Reading(door, drawn)
    for left in reversed(range(MOST_PICKUPS)):
        path = f"/v1/responses/{response_id}?stream=true&starting_after={reading.number}"
        path = path if reading.number >= 0 else f"/v1/responses/{response_id}?stream=true"
        try:
            async with follow(door, "GET", path) as events:
                return await reading.read(events)
        except CommandFailed as failure:
            if failure.code is not Exit.CUT or not left:
                raise
        found = (await fetch(door, "GET", f"/v1/responses/{response_id}")).json
        if found["status"] not in LIVE:
            return found
        await asyncio.sleep(1)
    raise CommandFailed("The answer breaks off again and again.", Exit.CUT)


def _tell_how_to_go_on(response_id: str, *, lasting: bool) -> None:
    if lasting:
        tell(f"It goes on without you. Collect it: pplx-gateway research --resume {response_id}")
        tell(f"Or stop it: pplx-gateway jobs cancel {response_id}")
    else:
        tell(f"Research {response_id} ran in this process, and is stopped. With a running gateway (pplx-gateway serve,")
        tell("PPLX_GATEWAY_URL) research goes on when you leave.")


async def _model(door: Door) -> str:
    """Raises CommandFailed."""
    listed = {model["id"] for model in (await fetch(door, "GET", "/v1/models")).json["data"]}
    for name in MODELS:
        if name in listed:
            return name
    raise CommandFailed("No model here does research.", Exit.NOT_FOUND, cure="Name one by -m; 'models' lists them.")


async def _upstream(door: Door, model: str) -> str:
    return str((await fetch(door, "GET", f"/v1/models/{model}")).json["upstream"])


async def _settled_upstream(door: Door, response_id: str) -> None:
    """Until a gateway of our own may go: the upstream has taken the question, and its answer can be found again."""
    if not door.own:
        return
    async with follow(door, "GET", f"/v1/responses/{response_id}?stream=true") as events:
        async for event in events:
            if event.get("type") not in ("response.created", "response.queued", "response.in_progress"):
                return
