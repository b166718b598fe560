"""OpenAI's SDK, as strict as it can be made, on everything that stored and background responses can do."""

from collections.abc import AsyncGenerator
from pathlib import Path

import openai
import pytest
from openai import AsyncOpenAI
from openai.types.responses import ResponseInputMessageItem

from tests.clients.sdk import async_client, checked
from tests.responses.calling import script_run
from tests.responses.test_create import MODELS
from tests.rig import Rig, running

QUESTION = "Which two rivers meet in Ghent?"


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncGenerator[Rig, None]:
    async with running(tmp_path) as found:
        yield found


@pytest.fixture
async def client(rig: Rig) -> AsyncGenerator[AsyncOpenAI, None]:
    async with async_client(rig.url) as found:
        yield found


@pytest.mark.parametrize("model", MODELS)
async def test_create_retrieve_list_chain_and_delete(client: AsyncOpenAI, model: str) -> None:
    first = checked(await client.responses.create(model=model, input=QUESTION))
    again = checked(await client.responses.retrieve(first.id, include=["web_search_call.action.sources"]))
    assert again.to_dict() == first.to_dict()
    said = [{"role": "user", "content": f"Part {number}"} for number in range(5)]
    second = await client.responses.create(model=model, input=said, previous_response_id=first.id)  # type: ignore[arg-type]
    items = [item async for item in client.responses.input_items.list(second.id, order="asc", limit=2)]
    messages = [item for item in items if isinstance(item, ResponseInputMessageItem)]
    assert [message.content[0].to_dict()["text"] for message in messages] == [part["content"] for part in said]
    await client.responses.delete(second.id)
    with pytest.raises(openai.NotFoundError):
        await client.responses.retrieve(second.id)


@pytest.mark.parametrize("model", MODELS)
async def test_background_with_polling_and_with_a_stream_that_is_resumed(client: AsyncOpenAI, model: str) -> None:
    response = checked(await client.responses.create(model=model, input=QUESTION, background=True))
    while response.status in ("queued", "in_progress"):
        response = checked(await client.responses.retrieve(response.id))
    assert response.status == "completed"
    assert response.output_text
    stream = await client.responses.create(model=model, input=QUESTION, background=True, stream=True)
    numbers, response_id = [], ""
    async for event in stream:
        numbers.append(event.sequence_number)
        if event.type == "response.created":
            response_id = event.response.id
        if len(numbers) == 6:
            break
    await stream.close()
    rest = await client.responses.retrieve(response_id, stream=True, starting_after=numbers[-1])
    async for event in rest:
        numbers.append(checked(event).sequence_number)
    assert event.type == "response.completed"
    assert numbers == list(range(len(numbers)))
    assert event.response.to_dict() == (await client.responses.retrieve(response_id)).to_dict()


@pytest.mark.parametrize("model", MODELS)
async def test_the_stream_helper_on_a_new_and_on_a_kept_response(client: AsyncOpenAI, model: str) -> None:
    async with client.responses.stream(model=model, input=QUESTION, background=True) as stream:
        kinds = [event.type async for event in stream]
        final = await stream.get_final_response()
    assert kinds[0] == "response.created"
    assert final.output_text
    async with client.responses.stream(response_id=final.id) as kept:
        again = await kept.get_final_response()
    assert again.output_text == final.output_text


async def test_cancel(rig: Rig, client: AsyncOpenAI) -> None:
    await script_run(rig, shown=8)
    response = await client.responses.create(model="api/sonar", input=QUESTION, background=True)
    stream = await client.responses.retrieve(response.id, stream=True)
    await anext(stream)
    assert checked(await client.responses.cancel(response.id)).status == "cancelled"
    with pytest.raises(openai.APIError, match="cancelled"):
        _ = [event async for event in stream]
    assert (await client.responses.cancel(response.id)).status == "cancelled"
    with pytest.raises(openai.BadRequestError):
        await client.responses.create(model="api/sonar", input=QUESTION, previous_response_id=response.id)
