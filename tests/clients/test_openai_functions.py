"""Function tools over the api upstream with the OpenAI SDK: offered, called, answered, and read with a schema."""

import json
from typing import Any

import openai
import pydantic
import pytest
from openai.types.chat import ChatCompletion, ChatCompletionMessageFunctionToolCall

from tests.clients.sdk import Sdk, async_client
from tests.rig import AGENT, Rig

GOOGLE = "api/google/gemini-3.1-pro-preview"
SONAR = "api/sonar"


def function(name: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": f"Gives a {name}", "parameters": schema}}


TIDES = function("tide_table", port={"type": "string"})
DISTANCE = function("distance", start={"type": "string"}, end={"type": "string"}, unit={"enum": ["km", "miles"]})
BOTH = [TIDES, DISTANCE]


def asked(question: str, **more: Any) -> dict[str, Any]:
    return {"model": SONAR, "messages": [{"role": "user", "content": question}], "tools": BOTH, **more}


def calls_of(reply: ChatCompletion) -> list[ChatCompletionMessageFunctionToolCall]:
    (choice,) = reply.choices
    found = choice.message.tool_calls or []
    assert choice.finish_reason == ("tool_calls" if found else "stop")
    assert len({call.id for call in found}) == len(found)
    assert all(isinstance(call, ChatCompletionMessageFunctionToolCall) for call in found)
    return [call for call in found if isinstance(call, ChatCompletionMessageFunctionToolCall)]


def named(calls: list[ChatCompletionMessageFunctionToolCall]) -> list[tuple[str, dict[str, Any]]]:
    return [(call.function.name, json.loads(call.function.arguments)) for call in calls]


CHOICES = {
    "auto, and one is meant": (asked("Use tide_table for 'Ostend'.", tool_choice="auto"), ["tide_table"]),
    "auto, and none is meant": (asked("Which rivers meet in Ghent?", tool_choice="auto"), []),
    "none": (asked("Use tide_table for 'Ostend'.", tool_choice="none"), []),
    "required": (asked("When is it high water in 'Ostend'?", tool_choice="required"), ["tide_table"]),
    "named": (
        asked("From 'Ghent' to 'Ostend', please.", tool_choice={"type": "function", "function": {"name": "distance"}}),
        ["distance"],
    ),
    "two at once": (
        asked("Use tide_table for 'Ostend', then distance from 'Ghent' to 'Bruges'."),
        ["tide_table", "distance"],
    ),
    "two at once, and only one may be": (
        asked("Use tide_table for 'Ostend', then distance from 'Ghent'.", parallel_tool_calls=False),
        ["tide_table"],
    ),
}


@pytest.mark.parametrize(("body", "expected"), CHOICES.values(), ids=CHOICES)
async def test_functions_are_called_as_tool_choice_says(sdk: Sdk, body: dict[str, Any], expected: list[str]) -> None:
    reply = await sdk.plain(**body)
    calls = calls_of(reply)
    assert [call.function.name for call in calls] == expected
    assert reply.choices[0].message.content or calls
    for name, arguments in named(calls):
        assert set(arguments) == ({"port"} if name == "tide_table" else {"start", "end", "unit"})


@pytest.mark.parametrize(("body", "expected"), CHOICES.values(), ids=CHOICES)
async def test_a_stream_brings_the_same_calls(sdk: Sdk, body: dict[str, Any], expected: list[str]) -> None:
    plain = named(calls_of(await sdk.plain(**body)))
    chunks = await sdk.streamed(**body)
    parts = [part for chunk in chunks for choice in chunk.choices for part in choice.delta.tool_calls or []]
    assert [part.index for part in parts] == list(range(len(expected)))
    assert all(part.id and part.type == "function" and part.function for part in parts)
    assert len({part.id for part in parts}) == len(parts)
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == (
        "tool_calls" if expected else "stop"
    )
    kinds, _, final = await sdk.helped(**body)
    found = final.choices[0].message.tool_calls or []
    assert [(call.function.name, json.loads(call.function.arguments)) for call in found] == plain
    assert kinds.count("tool_calls.function.arguments.done") == len(expected)
    assert final.choices[0].message.role == "assistant"


@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
async def test_a_result_goes_back_and_the_answer_uses_it(sdk: Sdk, both: Rig, streamed: bool) -> None:
    body = asked("Use tide_table for 'Ostend', then distance from 'Ghent' to 'Bruges'.")
    final = (await sdk.helped(**body)).final if streamed else await sdk.plain(**body)
    message = final.choices[0].message
    calls = message.tool_calls or []
    results = [
        {"role": "tool", "tool_call_id": call.id, "content": f"The result is {number} exactly."}
        for number, call in enumerate(calls, start=41)
    ]
    said = message.model_dump(exclude_unset=True, exclude_none=True, exclude={"parsed"})
    body["messages"] = [*body["messages"], said, *results]
    answer = (await sdk.helped(**body)).final if streamed else await sdk.plain(**body)
    text = answer.choices[0].message.content or ""
    assert answer.choices[0].finish_reason == "stop"
    assert "The result is 41 exactly." in text
    assert "The result is 42 exactly." in text
    sent = (await both.requests(AGENT))[-1]["json"]["input"]
    kinds = [item["type"] for item in sent if item["type"] != "message"]
    assert kinds == ["function_call"] * 2 + ["function_call_output"] * 2
    assert {item["call_id"] for item in sent if "call_id" in item} == {call.id for call in calls}


@pytest.mark.parametrize("sends_it_back", [True, False], ids=["a client that keeps it", "a client that loses it"])
async def test_a_thought_signature_finds_its_way_back(sdk: Sdk, both: Rig, sends_it_back: bool) -> None:
    body = asked("Use tide_table for 'Ostend'.", model=GOOGLE)
    message = (await sdk.plain(**body)).choices[0].message
    said = message.model_dump(exclude_unset=True)
    signature = said["tool_calls"][0]["thought_signature"]
    assert signature
    if not sends_it_back:
        del said["tool_calls"][0]["thought_signature"]
    result = {"role": "tool", "tool_call_id": said["tool_calls"][0]["id"], "content": "06:12 and 18:40"}
    answer = await sdk.plain(**{**body, "messages": [*body["messages"], said, result]})
    assert "06:12 and 18:40" in (answer.choices[0].message.content or "")
    sent = (await both.requests(AGENT))[-1]["json"]["input"]
    assert [item["thought_signature"] for item in sent if item["type"] == "function_call"] == [signature]


class Tide(pydantic.BaseModel):
    port: str
    metres: float
    rising: bool


@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
async def test_an_answer_is_parsed_into_a_model_of_the_callers(both: Rig, streamed: bool) -> None:
    messages: list[Any] = [{"role": "user", "content": "How high is the tide in 'Ostend', 4.5 or less?"}]
    async with async_client(both.url) as client:
        if streamed:
            async with client.chat.completions.stream(
                model=SONAR, messages=messages, response_format=Tide, stream_options={"include_usage": True}
            ) as stream:
                final = await stream.get_final_completion()
        else:
            final = await client.chat.completions.parse(model=SONAR, messages=messages, response_format=Tide)
    parsed = final.choices[0].message.parsed
    assert parsed is not None
    assert (parsed.port, parsed.metres) == ("Ostend", 4.5)


async def read_into(chunks: list[Any], asking: Any) -> None:
    async for chunk in await asking:
        chunks.append(chunk)  # noqa: PERF401 - those before the failure count


async def test_a_proposal_that_breaks_the_rules_is_an_error_that_no_client_repeats(both: Rig) -> None:
    body = asked("fault:tool_bad_arguments Use tide_table for 'Ostend'.", model="session/gpt")
    chunks: list[Any] = []
    async with async_client(both.url, retries=2) as client:
        with pytest.raises(openai.InternalServerError) as broken:
            await client.chat.completions.create(**body)
        assert (broken.value.status_code, broken.value.code) == (502, "tool_protocol_error")
        with pytest.raises(openai.APIError):
            await read_into(chunks, client.chat.completions.create(**body, stream=True))
    assert not any(choice.delta.tool_calls or choice.delta.content for chunk in chunks for choice in chunk.choices)
    assert len(await both.requests("/rest/sse/perplexity_ask")) == 2
