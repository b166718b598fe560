"""`pplx-gateway ask`: one question, and the answer as it comes."""

import argparse
import asyncio

from pplx_gateway.commands import running
from pplx_gateway.commands.answering import Reading, conclude, shown_as_json
from pplx_gateway.commands.door import Json, chosen, follow, open_door
from pplx_gateway.commands.drawing import drawing
from pplx_gateway.commands.exits import Exit
from pplx_gateway.commands.question_input import question_of, request_of, turn_of
from pplx_gateway.commands.screen import warm


def run(options: argparse.Namespace) -> Exit:
    """Raises CommandFailed."""
    turn = turn_of(question_of(options.question), options.file)
    return running.run(_ask(options, request_of(options, [turn])))


async def _ask(options: argparse.Namespace, request: Json) -> Exit:
    drawn = drawing(thoughts=options.thinking and not options.json, mute=options.json)
    warming = asyncio.create_task(asyncio.to_thread(warm))
    try:
        async with open_door(chosen(options.url, options.in_process)) as door:
            await warming
            drawn.progress("Asking")
            async with follow(door, "POST", "/v1/responses", request) as events:
                response = await Reading(door, drawn).read(events)
    finally:
        drawn.close()
    return shown_as_json(response) if options.json else conclude(response, options)
