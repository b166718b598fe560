"""The Responses API with OpenAI's SDK for Python, as strict as it can be made; every byte of it under all readings."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any, NamedTuple

import openai
import pydantic
import pytest

from tests.clients.recording import Recorder
from tests.clients.sdk import async_client, checked, thread_client
from tests.responses.calling import script_run
from tests.rig import AGENT, ASK_PATH, Rig, running

MODELS = pytest.mark.parametrize("model", ["session/gpt", "api/sonar"])
WAYS = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
QUESTION = "Which two rivers meet in Ghent?"
TIDE = "How high is the tide in 'Ostend', 4.5 or less?"
INVENTORY: Any = {
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
STOCK = {"DEMO": 7}


class Recorded(NamedTuple):
    rig: Rig
    recorder: Recorder


@pytest.fixture
async def recorded(tmp_path: Path) -> AsyncGenerator[Recorded, None]:
    recorder = Recorder()
    async with running(tmp_path, around=recorder.around) as rig:
        yield Recorded(rig, recorder)
        await rig.check()
    assert sum(recorder.check().values()) > 0


async def in_thread(recorded: Recorded, program: Callable[[openai.OpenAI], Any]) -> Any:
    """What `program` returns, which is written with the client that blocks."""

    def run() -> Any:
        with thread_client(recorded.rig.url) as client:
            return program(client)

    return await asyncio.to_thread(run)


def results_of(response: Any) -> list[Any]:
    """What the caller's own program makes of the calls."""
    calls = [item for item in response.output if item.type == "function_call"]
    assert calls
    outputs = []
    for call in calls:
        assert call.name == "lookup_inventory"
        sku = json.loads(call.arguments)["sku"]
        told = json.dumps({"sku": sku, "quantity": STOCK[sku]})
        outputs.append({"type": "function_call_output", "call_id": call.call_id, "output": told})
    return outputs


@MODELS
async def test_a_loop_of_functions_whose_answer_streams(recorded: Recorded, model: str) -> None:
    def program(client: openai.OpenAI) -> str:
        question = "Use lookup_inventory to check the current stock count for DEMO."
        first = client.responses.create(model=model, tools=[INVENTORY], tool_choice="auto", input=question)
        said = ""
        for event in client.responses.create(
            model=model, previous_response_id=first.id, input=results_of(first), stream=True
        ):
            if event.type == "response.output_text.delta":
                said += event.delta
            assert event.type != "response.failed"
        return said

    assert '"quantity": 7' in await in_thread(recorded, program)
    path = ASK_PATH if model.startswith("session/") else AGENT
    assert len(await recorded.rig.requests(path)) == 2


@MODELS
@WAYS
async def test_a_loop_goes_on_with_its_tools_as_long_as_they_are_sent(
    recorded: Recorded, model: str, streamed: bool
) -> None:
    def ask(client: openai.OpenAI, **body: Any) -> Any:
        if not streamed:
            return checked(client.responses.create(model=model, tools=[INVENTORY], **body))
        with client.responses.stream(model=model, tools=[INVENTORY], **body) as stream:
            return stream.until_done().get_final_response()

    def program(client: openai.OpenAI) -> list[Any]:
        first = ask(client, input="Use lookup_inventory for 'DEMO'.")
        second = ask(client, input=results_of(first), previous_response_id=first.id)
        question = [{"role": "user", "content": "Use lookup_inventory for 'DEMO' once more."}]
        third = ask(client, input=question, previous_response_id=second.id)
        fourth = ask(client, input=results_of(third), previous_response_id=third.id)
        return [first, second, third, fourth]

    kinds = [[item.type for item in response.output] for response in await in_thread(recorded, program)]
    assert kinds == [["function_call"], ["message"]] * 2


@MODELS
async def test_from_create_to_delete_with_the_client_that_blocks(recorded: Recorded, model: str) -> None:
    def program(client: openai.OpenAI) -> None:
        said: list[Any] = [{"role": "user", "content": f"Part {number}"} for number in range(5)]
        first = checked(client.responses.create(model=model, input=said, metadata={"chat": "c-1"}, user="ann"))
        assert (first.metadata, first.user) == ({"chat": "c-1"}, "ann")
        items: list[Any] = list(client.responses.input_items.list(first.id, limit=2))
        assert [item.content[0].text for item in items] == [part["content"] for part in reversed(said)]
        assert checked(client.responses.retrieve(first.id)) == first
        second = checked(client.responses.create(model=model, input=QUESTION, previous_response_id=first.id))
        assert second.output_text
        client.responses.delete(first.id)
        with pytest.raises(openai.NotFoundError):
            client.responses.input_items.list(first.id)
        with pytest.raises(openai.BadRequestError) as gone:
            client.responses.create(model=model, input=QUESTION, previous_response_id=second.id)
        assert gone.value.code == "previous_response_not_found"

    await in_thread(recorded, program)


@MODELS
async def test_a_job_is_polled_followed_and_stopped(recorded: Recorded, model: str) -> None:
    def program(client: openai.OpenAI) -> None:
        job = checked(client.responses.create(model=model, input=QUESTION, background=True))
        assert job.status == "queued"
        while job.status in ("queued", "in_progress"):
            job = checked(client.responses.retrieve(job.id))
        assert job.status == "completed"
        events = [checked(event) for event in client.responses.retrieve(job.id, stream=True, starting_after=3)]
        assert [event.sequence_number for event in events] == list(range(4, 4 + len(events)))
        assert events[-1].type == "response.completed"
        slow = client.responses.create(model=model, input=f"slow: {QUESTION}", background=True)
        assert checked(client.responses.cancel(slow.id)).status == "cancelled"
        with pytest.raises(openai.APIError, match="cancelled"):
            list(client.responses.retrieve(slow.id, stream=True))
        with pytest.raises(openai.BadRequestError):
            client.responses.cancel(job.id)

    await in_thread(recorded, program)


class Tide(pydantic.BaseModel):
    port: str
    metres: float


@WAYS
async def test_an_answer_is_parsed_into_a_model_of_the_callers(recorded: Recorded, streamed: bool) -> None:
    async with async_client(recorded.rig.url) as client:
        if streamed:
            async with client.responses.stream(model="api/sonar", input=TIDE, text_format=Tide) as stream:
                final = await stream.get_final_response()
        else:
            final = await client.responses.parse(model="api/sonar", input=TIDE, text_format=Tide)
        assert final.output_parsed == Tide(port="Ostend", metres=4.5)
        with pytest.raises(openai.BadRequestError) as refused:
            await client.responses.parse(model="session/gpt", input=TIDE, text_format=Tide)
        assert refused.value.param == "text.format.strict"


async def test_where_fields_are_dropped_the_session_is_asked_for_the_form_in_words(tmp_path: Path) -> None:
    recorder = Recorder()
    async with running(tmp_path, unsupported="drop", around=recorder.around) as rig, async_client(rig.url) as client:
        final = await client.responses.parse(model="session/gpt", input=TIDE, text_format=Tide)
    assert final.output_parsed == Tide(port="Ostend", metres=4.5)
    (answer,) = recorder.answers
    assert answer.request["text"]["format"]["strict"] is True
    assert json.loads(answer.body)["text"]["format"]["strict"] is False
    recorder.check()


@MODELS
async def test_the_helper_tells_of_thoughts_searches_and_sources(recorded: Recorded, model: str) -> None:
    async with (
        async_client(recorded.rig.url) as client,
        client.responses.stream(
            model=model,
            input=QUESTION,
            tools=[{"type": "web_search"}],
            include=["web_search_call.action.sources", "reasoning.encrypted_content"],
            reasoning={"effort": "medium", "summary": "auto"},
        ) as stream,
    ):
        kinds = {event.type async for event in stream}
        final: Any = await stream.get_final_response()
    assert {"response.reasoning_summary_text.delta", "response.web_search_call.searching"} <= kinds
    (search,) = [item for item in final.output if item.type == "web_search_call"]
    assert {source.url for source in search.action.sources} >= {
        note.url for note in final.output[-1].content[0].annotations
    }
    assert [item.type for item in final.output][-1] == "message"


@MODELS
@pytest.mark.parametrize("fault", ["midstream_drop", "midstream_error"])
async def test_a_stream_that_breaks_ends_in_a_failed_response(recorded: Recorded, model: str, fault: str) -> None:
    async with async_client(recorded.rig.url, retries=2) as client:
        stream = await client.responses.create(model=model, input=f"fault:{fault} {QUESTION}", stream=True)
        events = [event async for event in stream]
        last: Any = events[-1]
        assert last.type == "response.failed"
        assert last.response.error.code == "server_error"
        assert (await client.responses.retrieve(last.response.id)).status == "failed"


@MODELS
async def test_a_client_that_breaks_off_ends_the_answer(recorded: Recorded, model: str) -> None:
    async with async_client(recorded.rig.url) as client:
        stream = await client.responses.create(model=model, input=f"slow: {QUESTION}", stream=True)
        created: Any = await anext(stream)
        async for event in stream:
            if event.type == "response.output_text.delta":
                break
        await stream.close()
        path = ASK_PATH if model.startswith("session/") else AGENT
        await recorded.rig.wait(path, closed=True)
        while (found := await client.responses.retrieve(created.response.id)).status == "in_progress":
            continue
    assert found.status == "cancelled"


async def test_one_key_of_the_callers_is_one_run(recorded: Recorded) -> None:
    headers = {"Idempotency-Key": "job-1"}
    async with async_client(recorded.rig.url) as client:
        asked: Any = {"model": "api/sonar", "input": QUESTION, "background": True, "extra_headers": headers}
        first, again = [await client.responses.create(**asked) for _ in range(2)]
    assert first.id == again.id
    assert len(await recorded.rig.requests(AGENT)) == 1


async def test_a_run_of_several_callers_is_followed_by_all(recorded: Recorded) -> None:
    await script_run(recorded.rig)
    async with async_client(recorded.rig.url) as client:
        job = await client.responses.create(model="api/sonar", input=QUESTION, background=True)

        async def follow() -> list[Any]:
            stream = await client.responses.retrieve(job.id, stream=True)
            return [event.to_dict() async for event in stream]

        seen = await asyncio.gather(*(follow() for _ in range(5)))
    assert all(events == seen[0] for events in seen)
