"""Functions on the session with the OpenAI SDK: offered, called, answered."""

import json
from collections.abc import AsyncGenerator
from typing import Any

import pydantic
import pytest

from tests.clients.sdk import AsyncSdk, Sdk, ThreadSdk, async_client
from tests.clients.test_openai_functions import CHOICES, calls_of, named
from tests.functions.offering import WAYS, WEATHER, Json, let_say, offer, proposal, user
from tests.rig import ASK_PATH, Rig

MODELS = ("session/gpt", "session/sonar", "session/sonnet")


@pytest.fixture(params=[AsyncSdk, ThreadSdk], ids=["AsyncOpenAI", "OpenAI"])
async def sdk(both: Rig, request: pytest.FixtureRequest) -> AsyncGenerator[Sdk, None]:
    kind: type[Sdk] = request.param
    opened = kind(both.url)
    yield opened
    await opened.close()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("body", "expected"), CHOICES.values(), ids=CHOICES)
async def test_functions_are_called_as_tool_choice_says(
    sdk: Sdk, body: Json, expected: list[str], model: str, both: Rig
) -> None:
    asked = {**body, "model": model}
    reply = await sdk.plain(**asked)
    calls = calls_of(reply)
    assert [call.function.name for call in calls] == expected
    assert (reply.choices[0].message.content is None) == bool(calls)
    chunks = await sdk.streamed(**asked)
    parts = [part for chunk in chunks for choice in chunk.choices for part in choice.delta.tool_calls or []]
    assert [part.index for part in parts] == list(range(len(expected)))
    ids = {part.id for part in parts} | {call.id for call in calls}
    assert len(ids) == 2 * len(expected), "every call has an id of its own"
    final = (await sdk.helped(**asked)).final
    found = final.choices[0].message.tool_calls or []
    assert [(call.function.name, json.loads(call.function.arguments)) for call in found] == named(calls)
    assert not await both.requests("/v1/agent")


def run(name: str, arguments: Json) -> str:
    """The program that offers the functions."""
    return f"{name} says {sorted(arguments)}: 41."


async def loop(sdk: Sdk, body: Json, *, streamed: bool) -> tuple[str, list[str]]:
    """Asks, calls and asks again until there is text, as runTools does. Gives the text and the names of what was
    called."""
    names: list[str] = []
    for _ in range(4):
        reply = (await sdk.helped(**body)).final if streamed else await sdk.plain(**body)
        message = reply.choices[0].message
        if not message.tool_calls:
            return message.content or "", names
        body["messages"] = [*body["messages"], message.model_dump(exclude_unset=True, exclude={"parsed"})]
        for call in message.tool_calls:
            assert call.type == "function"
            names.append(call.function.name)
            content = run(call.function.name, json.loads(call.function.arguments))
            body["messages"].append({"role": "tool", "tool_call_id": call.id, "content": content})
    raise AssertionError("the loop does not end")


@WAYS
async def test_a_loop_of_calls_ends_with_text_that_holds_the_results(sdk: Sdk, streamed: bool) -> None:
    question = "Use tide_table for 'Ostend', then distance from 'Ghent' to 'Bruges'."
    body = {**CHOICES["two at once"][0], "model": "session/gpt", "messages": [user(question)]}
    text, names = await loop(sdk, body, streamed=streamed)
    assert names == ["tide_table", "distance"]
    assert "tide_table says ['port']: 41." in text
    assert "distance says ['end', 'start', 'unit']: 41." in text


@WAYS
async def test_a_model_may_go_on_calling_before_it_answers(session: Rig, streamed: bool) -> None:
    await let_say(session, proposal())
    await let_say(session, proposal({"name": "get_tides", "arguments": {"port": "Ostend", "day": 3}}))
    sdk = AsyncSdk(session.url)
    text, names = await loop(sdk, offer(), streamed=streamed)
    await sdk.close()
    assert names == ["get_weather", "get_tides"]
    assert "get_weather says" in text
    assert "get_tides says" in text
    assert len(await session.requests(ASK_PATH)) == 3


@WAYS
async def test_an_answer_in_words_is_plain_text(session: Rig, streamed: bool) -> None:
    await let_say(session, '```json\n{"content": "It is *warm*[1] in\\n', 'Lyon."}\n```')
    if streamed:
        stream = await session.stream(offer())
        assert stream.content == "It is *warm* in\nLyon."
        assert stream.finish["choices"][0]["finish_reason"] == "stop"
        return
    reply = await session.chat(offer())
    assert reply.content == "It is *warm* in\nLyon."
    (annotation,) = reply.json["choices"][0]["message"]["annotations"]
    assert annotation["url_citation"]["url"] == "https://a.example/leie"


async def test_what_looks_like_the_pages_artefacts_stays_in_arguments_and_goes_around_them(session: Rig) -> None:
    page = "<script>let a = 1</script><?xml version='1.0'?>\n[1] 🚲 \\ \"quoted\""
    await let_say(session, "<response>", proposal({"name": "get_weather", "arguments": {"city": page}}), "</response>")
    (call,) = (await session.chat(offer())).json["choices"][0]["message"]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"city": page}


async def test_search_steps_and_thoughts_are_told_before_the_call(session: Rig) -> None:
    stream = await session.stream(offer(user("Use get_weather for 'Lyon'."), reasoning_effort="high"))
    kinds = [key for delta in stream.deltas for key in ("reasoning_content", "tool_calls") if delta.get(key)]
    assert kinds[0] == "reasoning_content"
    assert kinds[-1] == "tool_calls"
    assert stream.done


class Place(pydantic.BaseModel):
    city: str
    population: int


@WAYS
async def test_a_named_function_is_how_clients_get_structured_answers(session: Rig, streamed: bool) -> None:
    parameters = Place.model_json_schema()
    tool: Any = {"type": "function", "function": {"name": "Place", "parameters": parameters}}
    body = offer(user("How many live in 'Lyon', 500000?"), tools=[tool])
    body["tool_choice"] = {"type": "function", "function": {"name": "Place"}}
    async with async_client(session.url) as client:
        if streamed:
            async with client.chat.completions.stream(**body) as stream:
                reply: Any = await stream.get_final_completion()
        else:
            reply = await client.chat.completions.create(**body)
    (call,) = reply.choices[0].message.tool_calls
    assert Place.model_validate_json(call.function.arguments) == Place(city="Lyon", population=500000)


async def test_parameters_with_a_draft_of_their_own_and_references_are_understood(session: Rig) -> None:
    parameters = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"where": {"$ref": "#/definitions/place"}},
        "required": ["where"],
        "definitions": {"place": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}},
    }
    tool = {"type": "function", "function": {"name": "locate", "parameters": parameters}}
    body = offer(user("Use locate for 'Lyon'."), tools=[tool])
    (call,) = (await session.chat(body)).json["choices"][0]["message"]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"where": {"city": "Lyon"}}
    await let_say(session, proposal({"name": "locate", "arguments": {"where": {"city": 5}}}))
    assert (await session.chat(body)).status == 502


async def test_a_function_without_parameters_is_called_without_arguments(session: Rig) -> None:
    tool = {"type": "function", "function": {"name": "now"}}
    body = offer(user("Use now."), tools=[tool], tool_choice="required")
    (call,) = (await session.chat(body)).json["choices"][0]["message"]["tool_calls"]
    assert call["function"] == {"name": "now", "arguments": "{}"}
    await let_say(session, proposal({"name": "now", "arguments": {"zone": "UTC"}}))
    assert (await session.chat(body)).status == 502


@pytest.mark.parametrize("name", ["web_search", "search_web", "fetch_url", "sandbox"])
async def test_a_function_called_as_the_models_own_tools_goes_by_another_name(session: Rig, name: str) -> None:
    tool = {"type": "function", "function": {**WEATHER["function"], "name": name}}
    body = offer(user(f"Use {name} for 'Lyon'."), tools=[tool])
    reply = (await session.chat(body)).json["choices"][0]["message"]
    (call,) = reply["tool_calls"]
    assert call["function"] == {"name": name, "arguments": '{"city":"Lyon"}'}
    result = {"role": "tool", "tool_call_id": call["id"], "content": "warm and dry"}
    answer = await session.chat({**body, "messages": [*body["messages"], reply, result]})
    assert "warm and dry" in answer.content
    first, second = [json.loads(r["json"]["query_str"]) for r in await session.requests(ASK_PATH)]
    assert f'"name":"fn_{name}"' in first["instructions"][-1]
    assert f'"name":"{name}"' not in first["instructions"][-1]
    assert second["history"][0]["name"] == f"fn_{name}"
