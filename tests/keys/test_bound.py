"""What was made with a key stays with it, over restarts of the running program."""

from pathlib import Path
from typing import Any

import pytest

from tests.keys.calling import gateway, states, used
from tests.keys.files import entry
from tests.rig import AGENT, Rig

WEATHER = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}
TURN = {"role": "user", "content": "Call get_weather for Ghent"}
KEYS = entry("a"), entry("b")


async def chat(rig: Rig, *turns: dict[str, Any]) -> dict[str, Any]:
    reply = await rig.chat({"model": "google/gemini-3.8-flash", "messages": [TURN, *turns], "tools": [WEATHER]})
    assert reply.status == 200, reply.json
    message: dict[str, Any] = reply.json["choices"][0]["message"]
    return message


async def called(rig: Rig) -> list[dict[str, Any]]:
    """The turns after a first answer: the call, and what the function returned. Of the call comes back what a client
    keeps that knows OpenAI's fields alone."""
    message = await chat(rig)
    (whole,) = message["tool_calls"]
    call = {name: whole[name] for name in ("id", "type", "function")}
    return [
        {"role": "assistant", "content": message["content"], "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": "Sunny, 21 degrees."},
    ]


async def signatures(rig: Rig) -> list[str | None]:
    requests = await rig.requests(AGENT)
    calls = [item for request in requests for item in request["json"]["input"] if item["type"] == "function_call"]
    return [call.get("thought_signature") for call in calls]


async def test_a_thought_signature_comes_back_after_a_restart_with_its_key(tmp_path: Path) -> None:
    async with gateway(tmp_path, *KEYS) as rig:
        turns = await called(rig)
        assert await used(rig) == ["a"]
    async with gateway(tmp_path, *reversed(KEYS)) as rig:
        for _ in range(2):
            assert "Sunny" in (await chat(rig, *turns))["content"]
        (signature, again) = await signatures(rig)
        assert signature
        assert again == signature
        assert await used(rig) == ["a", "a"]
        await states(rig, a="broke")
        assert "Sunny" in (await chat(rig, *turns))["content"]
        assert await used(rig) == ["a", "a", "a", "b"]
        assert (await signatures(rig))[2:] == [signature, None]


@pytest.mark.parametrize(("days", "kept"), [(30, True), (0, False)])
async def test_an_owner_who_wants_nothing_kept_keeps_no_signatures_either(
    tmp_path: Path, days: int, kept: bool
) -> None:
    async with gateway(tmp_path, *KEYS, store_days=days) as rig:
        turns = await called(rig)
        await chat(rig, *turns)
        assert (await signatures(rig))[0], "in memory it is there all the same"
    async with gateway(tmp_path, *KEYS, store_days=days) as rig:
        await chat(rig, *turns)
        assert bool((await signatures(rig))[0]) is kept
