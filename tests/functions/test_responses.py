"""Functions over the Responses API with the OpenAI SDK, on both upstreams."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.clients.sdk import async_client
from tests.functions.offering import WAYS, Json, call, let_say, proposal, queries
from tests.functions.test_breaches import BREACHES
from tests.rig import ASK_PATH, KEY, Rig, running

MODELS = pytest.mark.parametrize("model", ["session/gpt", "api/sonar"])
INVENTORY: Json = {
    "type": "function",
    "name": "lookup_inventory",
    "description": "The stock of a SKU",
    "parameters": {
        "type": "object",
        "properties": {"sku": {"type": "string"}},
        "required": ["sku"],
        "additionalProperties": False,
    },
    "strict": True,
}
QUESTION = "Use lookup_inventory to check the current stock count for DEMO."


@pytest.fixture
async def client(both: Rig) -> AsyncGenerator[openai.AsyncOpenAI, None]:
    async with async_client(both.url) as opened:
        yield opened


async def events_of(client: openai.AsyncOpenAI, **body: Any) -> list[Any]:
    return [event async for event in await client.responses.create(**body, stream=True)]


async def respond(client: openai.AsyncOpenAI, *, streamed: bool, **body: Any) -> Any:
    """The response, whichever way it came."""
    if not streamed:
        return await client.responses.create(**body)
    *_, last = await events_of(client, **body)
    assert last.type == "response.completed", last
    return last.response


def results_of(response: Any, output: str) -> list[Json]:
    calls = [item for item in response.output if item.type == "function_call"]
    return [{"type": "function_call_output", "call_id": made.call_id, "output": output} for made in calls]


def calls_of(response: Any) -> list[tuple[str, Json]]:
    return [(item.name, json.loads(item.arguments)) for item in response.output if item.type == "function_call"]


@MODELS
async def test_a_call_its_result_and_the_answer_in_a_stream(client: openai.AsyncOpenAI, model: str) -> None:
    first = await respond(client, streamed=False, model=model, tools=[INVENTORY], tool_choice="auto", input=QUESTION)
    assert calls_of(first) == [("lookup_inventory", {"sku": "DEMO"})]
    results: Any = results_of(first, json.dumps({"sku": "DEMO", "quantity": 7}))
    text = ""
    again: Any = {"model": model, "previous_response_id": first.id, "input": results}
    async for event in await client.responses.create(**again, stream=True):
        assert event.type != "response.failed"
        if event.type == "response.output_text.delta":
            text += event.delta
        if event.type == "response.completed":
            assert event.response.tool_choice == "none"
            assert event.response.tools == []
            assert event.response.output_text == text
    assert '{"sku": "DEMO", "quantity": 7}' in text


@MODELS
@WAYS
async def test_a_loop_that_keeps_nothing_here(client: openai.AsyncOpenAI, model: str, streamed: bool) -> None:
    said: list[Any] = [{"role": "user", "content": QUESTION}]
    first = await respond(client, streamed=streamed, model=model, tools=[INVENTORY], input=said, store=False)
    said += [item.model_dump(exclude_none=True) for item in first.output]
    said += results_of(first, "seven")
    second = await respond(client, streamed=streamed, model=model, tools=[INVENTORY], input=said, store=False)
    assert calls_of(second) == []
    assert "seven" in second.output_text


@MODELS
@WAYS
@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"tool_choice": "none"}, []),
        ({"tool_choice": "required"}, ["lookup_inventory"]),
        ({"tool_choice": {"type": "function", "name": "order"}}, ["order"]),
        ({"input": "Use lookup_inventory for 'A', then order 'B'."}, ["lookup_inventory", "order"]),
        ({"input": "Use lookup_inventory, then order.", "parallel_tool_calls": False}, ["lookup_inventory"]),
        ({"input": "Which rivers meet in Ghent?"}, []),
    ],
)
async def test_functions_are_called_as_the_choice_says(
    client: openai.AsyncOpenAI, model: str, streamed: bool, more: Json, expected: list[str]
) -> None:
    tools = [INVENTORY, {**INVENTORY, "name": "order"}]
    body = {"model": model, "input": "lookup_inventory for 'DEMO'?", "tools": tools, **more}
    response = await respond(client, streamed=streamed, **body)
    assert [name for name, _ in calls_of(response)] == expected
    assert bool(response.output_text) is not bool(expected) or model.startswith("api/")


async def test_the_events_of_a_call_come_whole_and_after_all_else(client: openai.AsyncOpenAI) -> None:
    events = await events_of(
        client, model="session/gpt", tools=[INVENTORY], input=QUESTION, reasoning={"effort": "high", "summary": "auto"}
    )
    assert [event.sequence_number for event in events] == list(range(len(events)))
    added = [event.item.type for event in events if event.type == "response.output_item.added"]
    assert added == ["reasoning", "function_call"]
    (done,) = [event for event in events if event.type == "response.function_call_arguments.done"]
    deltas = [event.delta for event in events if event.type == "response.function_call_arguments.delta"]
    assert "".join(deltas) == done.arguments == '{"sku":"DEMO"}'


WEATHER: Json = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TIDES: Json = {
    "type": "object",
    "properties": {"port": {"type": "string"}, "day": {"type": "integer"}},
    "required": ["port"],
    "additionalProperties": False,
}
FLAT: list[Json] = [
    {"type": "function", "name": "get_weather", "parameters": {**WEATHER, "additionalProperties": False}},
    {"type": "function", "name": "get_tides", "parameters": TIDES},
]


def flat(more: Json) -> Json:
    """A choice as Responses writes it."""
    choice = more.get("tool_choice")
    named = {"tool_choice": {"type": "function", **choice["function"]}} if isinstance(choice, dict) else {}
    return {key: value for key, value in {**more, **named}.items() if key != "tools"}


SHOWN: Json = {"reasoning": {"effort": "high", "summary": "auto"}}
"""So that a stream begins before the answer is there."""


@pytest.mark.parametrize(("text", "more"), BREACHES.values(), ids=BREACHES)
async def test_a_breach_is_a_failed_response_and_no_call_before_it(session: Rig, text: str, more: Json) -> None:
    await let_say(session, *(text[:9], text[9:]), times=3)
    body: Any = {"model": "gpt", "input": "How is it?", "tools": FLAT, **flat(more)}
    async with async_client(session.url) as client:
        for way in (client.responses.create(**body), events_of(client, **body)):
            with pytest.raises(openai.InternalServerError) as raised:
                await way
            assert (raised.value.status_code, raised.value.code) == (502, "tool_protocol_error")
            assert raised.value.response.headers["x-should-retry"] == "false"
        *before, failed = await events_of(client, **body, **SHOWN)
    assert failed.type == "response.failed"
    assert failed.response.status == "failed"
    assert failed.response.error.code == "server_error"
    assert "tool_protocol_error" in json.dumps(failed.to_dict())
    assert [event.sequence_number for event in before] == list(range(len(before)))
    items = [event.item.type for event in before if event.type.startswith("response.output_item")]
    assert set(items) == {"reasoning"}
    assert [item.type for item in failed.response.output] in ([], ["reasoning"])
    assert len(await session.requests(ASK_PATH)) == 3


async def test_a_failed_call_leaves_nothing_to_go_on_from(session: Rig) -> None:
    await let_say(session, "Words.")
    async with async_client(session.url) as client:
        *_, failed = await events_of(client, model="gpt", input=QUESTION, tools=[INVENTORY], **SHOWN)
        assert failed.type == "response.failed"
        with pytest.raises(openai.BadRequestError) as raised:
            await client.responses.create(model="gpt", input="Go on.", previous_response_id=failed.response.id)
    assert raised.value.code == "previous_response_not_found"


@WAYS
async def test_a_continuation_without_tools_keeps_the_calls_and_makes_none(session: Rig, streamed: bool) -> None:
    async with async_client(session.url) as client:
        first = await respond(client, streamed=False, model="gpt", tools=[INVENTORY], input=QUESTION)
        body: Any = {"model": "gpt", "previous_response_id": first.id, "input": results_of(first, "seven")}
        second = await respond(client, streamed=streamed, **body)
        assert second.tool_choice == "none"
        sent = (await queries(session))[-1]
        assert sent["history"] == [
            {
                "role": "function",
                "name": "lookup_inventory",
                "arguments": {"sku": "DEMO"},
                "content": "seven",
                "for": "query",
            }
        ]
        await let_say(session, proposal(call("lookup_inventory", sku="DEMO")))
        with pytest.raises(openai.InternalServerError) as raised:
            await respond(client, streamed=streamed, **body)
        assert raised.value.code == "tool_protocol_error"


@pytest.mark.parametrize("model", ["session/gpt", "api/sonar"])
async def test_a_schema_that_is_none_is_refused_by_its_place(both: Rig, model: str) -> None:
    bad = {**INVENTORY, "parameters": {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/x"}}}}
    form = {"format": {"type": "json_schema", "name": "n", "schema": {"type": "nothing"}}}
    cases: list[tuple[Json, str]] = [
        ({"tools": [{"type": "web_search"}, bad]}, "tools[1].parameters"),
        ({"text": form}, "text.format.schema"),
    ]
    for more, param in cases:
        reply = await both.client.post(
            f"{both.url}/v1/responses",
            json={"model": model, "input": QUESTION, **more},
            headers={"authorization": f"Bearer {KEY}"},
        )
        assert (reply.status_code, reply.json()["error"]["param"]) == (400, param)


async def test_refusing_functions_in_chat_says_nothing_about_responses(tmp_path: Path) -> None:
    async with running(tmp_path, order=("session",), chat_tools="refuse") as rig, async_client(rig.url) as client:
        response = await respond(client, streamed=False, model="gpt", tools=[INVENTORY], input=QUESTION)
        assert calls_of(response) == [("lookup_inventory", {"sku": "DEMO"})]
