"""Functions on offer, proposals of calls, and what reached the site."""

import json
from typing import Any

import pytest

from tests.cases.asking import let_answer
from tests.rig import ASK_PATH, Rig

Json = dict[str, Any]
WAYS = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


def function(name: str, required: list[str] | None = None, **properties: object) -> Json:
    schema: Json = {"type": "object", "properties": properties, "additionalProperties": False}
    schema["required"] = list(properties) if required is None else required
    return {"type": "function", "function": {"name": name, "description": f"Gives a {name}", "parameters": schema}}


WEATHER = function("get_weather", city={"type": "string"})
TIDES = function("get_tides", ["port"], port={"type": "string"}, day={"type": "integer"})
QUESTION = "How is it in Lyon?"


def user(text: str) -> Json:
    return {"role": "user", "content": text}


def called(call_id: str = "call_7", name: str = "get_weather", arguments: str = '{"city":"Lyon"}') -> Json:
    call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def result(content: str = '{"t":21}', call_id: str = "call_7") -> Json:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def offer(*messages: Json, tools: list[Json] | None = None, **more: object) -> Json:
    """A chat request that offers both functions."""
    offered = [WEATHER, TIDES] if tools is None else tools
    return {"model": "gpt", "messages": list(messages) or [user(QUESTION)], "tools": offered, **more}


def named(name: str) -> Json:
    return {"type": "function", "function": {"name": name}}


def call(name: str = "get_weather", /, **arguments: object) -> Json:
    return {"name": name, "arguments": arguments or {"city": "Lyon"}}


def proposal(*calls: Json) -> str:
    return json.dumps({"tool_calls": list(calls or [call()])})


async def let_say(rig: Rig, *chunks: str, times: int = 1) -> None:
    """The next questions to the session are answered with exactly this text."""
    await let_answer(rig, "session", *chunks, times=times, model="gpt56_terra")


async def queries(rig: Rig) -> list[Any]:
    """What was really asked, in order: text, or the envelope."""
    sent = [request["json"]["query_str"] for request in await rig.requests(ASK_PATH)]
    return [json.loads(text) if text.startswith("{") else text for text in sent]
