"""The request side over HTTP, on the whole gateway above both emulators."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from tests.cases.asking import asked
from tests.responses_request.asking import CALL, FUNCTION, PNG, RESULT, TEXT, Json, said, text, user
from tests.responses_request.test_items import BAD
from tests.rig import Rig, running

PATH = "/v1/responses"


@pytest.fixture(params=["session", "api"])
async def rig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Rig, None]:
    async with running(tmp_path, order=(request.param,)) as found:
        yield found


async def refused(rig: Rig, **fields: Any) -> Json:
    """The error, which is the same streamed and not; nothing was asked upstream."""
    before = await asked(rig)
    replies = [await rig.post({"model": "sonar", **fields, "stream": way}, path=PATH) for way in (False, True)]
    for reply in replies:
        assert reply.status == 400, reply
        assert set(reply.error) == {"message", "type", "param", "code"}
    assert replies[0].error == replies[1].error
    assert await asked(rig) == before
    return replies[0].error


async def answered(rig: Rig, **fields: Any) -> tuple[Json, list[str]]:
    """The response, and what it says was dropped."""
    reply = await rig.post({"model": "sonar", **fields}, path=PATH)
    assert reply.status == 200, reply
    assert reply.json["status"] == "completed"
    dropped = reply.headers.get("x-pplx-dropped", "")
    return reply.json, dropped.split(", ") if dropped else []


async def input_items(rig: Rig, response: Json) -> list[Json]:
    reply = await rig.get(f"{PATH}/{response['id']}/input_items?order=asc")
    items: list[Json] = reply.json["data"]
    return items


async def test_every_bad_input_is_a_400_that_names_its_path(rig: Rig) -> None:
    there = [(given, param) for given, param in BAD if "file-1" not in str(given)]  # which is a 404: no such file
    for given, param in there:
        assert (await refused(rig, input=given, tools=[FUNCTION]))["param"] == param, given


async def test_bad_tools_and_choices_are_a_400_that_names_them(rig: Rig) -> None:
    fields: list[tuple[Json, str]] = [
        ({"tools": [{"type": "custom", "name": "apply_patch"}]}, "tools[0].type"),
        ({"tools": [FUNCTION, {"type": "image_generation"}]}, "tools[1].type"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tools": [FUNCTION], "tool_choice": {"type": "function"}}, "tool_choice"),
        ({"tools": [FUNCTION], "tool_choice": {"type": "function", "name": "sun"}}, "tool_choice"),
        ({"conversation": "conv_1"}, "conversation"),
        ({"background": True, "store": False}, "background"),
        ({"include": ["everything"]}, "include[0]"),
    ]
    for given, param in fields:
        assert (await refused(rig, input=TEXT, **given))["param"] == param


async def test_a_chain_asks_with_what_was_said_before(rig: Rig) -> None:
    first, _ = await answered(rig, input=[{"role": "developer", "content": "Be brief."}, user(text(TEXT))])
    items = await input_items(rig, first)
    assert [item["role"] for item in items] == ["developer", "user"]
    assert all(item["id"].startswith("msg_") for item in items)
    second, _ = await answered(rig, input="And why?", previous_response_id=first["id"], instructions="In Dutch.")
    assert second["previous_response_id"] == first["id"]
    assert [item["content"][0]["text"] for item in await input_items(rig, second)] == ["And why?"]


async def test_output_and_references_go_back_as_input(rig: Rig) -> None:
    first, _ = await answered(rig, input=TEXT, tools=[{"type": "web_search"}], reasoning={"summary": "auto"})
    _, dropped = await answered(rig, input=[user(TEXT), *first["output"], user("And why?")], store=False)
    kinds = {item["type"] for item in first["output"]} - {"message"}
    assert dropped == sorted({f"input[] ({kind})" for kind in kinds}, key=dropped.index)
    message = next(item for item in first["output"] if item["type"] == "message")
    reference = {"type": "item_reference", "id": message["id"]}
    third, _ = await answered(rig, input=[user(TEXT), reference, user("And why?")])
    assert (await input_items(rig, third))[1]["id"] == message["id"]


async def test_a_continuation_without_tools_keeps_the_calls_and_makes_none(rig: Rig) -> None:
    found, _ = await answered(rig, input=[user("Tide?"), CALL, RESULT, said("High."), user("Thanks. And why?")])
    assert found["tool_choice"] == "none"
    assert [item["type"] for item in await input_items(rig, found)] == [
        *("message", "function_call", "function_call_output", "message", "message")
    ]


async def test_what_has_no_effect_is_told_by_its_path(rig: Rig) -> None:
    image = {"type": "input_image", "image_url": PNG, "detail": "low"}
    _, dropped = await answered(
        rig,
        input=[user(text("What is this?"), image)],
        tools=[{"type": "web_search", "external_web_access": False}],
        reasoning={"context": "auto"},
        include=["reasoning.encrypted_content"],
        odd=1,
    )
    assert dropped == [
        "include[0]",
        "tools[0].external_web_access",
        "input[0].content[1].detail",
        "reasoning.context",
        "odd",
    ]
