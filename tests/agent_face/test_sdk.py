"""Perplexity's own SDK, whose base address alone is ours: runs in every way that it knows."""

import inspect
from collections.abc import AsyncIterator
from typing import Any

import perplexity
import pytest

from tests.agent_face.calling import AGENT, QUESTION, RUN, replay
from tests.cases.scripts import A_BASE, TEXT, URLS, agent_steps
from tests.perplexity.calling import Caller, Sdk, bytes_of

MODEL = "perplexity/sonar"


async def told(sdk: Sdk, use: Any) -> list[Any]:
    """Every event of a stream, from either client."""

    def gather(client: Any) -> Any:
        opened = use(client)
        return _gathered(opened) if inspect.isawaitable(opened) else list(opened)

    found: list[Any] = await sdk.do(gather)
    return found


async def _gathered(opened: Any) -> list[Any]:
    stream: AsyncIterator[Any] = await opened
    return [event async for event in stream]


async def test_a_plain_answer(sdk: Sdk, caller: Caller) -> None:
    await caller.rig.script(AGENT, agent_steps())
    response: Any = await sdk.do(
        lambda client: client.responses.create(
            model=MODEL,
            input=QUESTION,
            tools=[{"type": "web_search", "filters": {"search_recency_filter": "week"}}],
            max_steps=3,
        )
    )
    assert type(response).__name__ == "ResponsesResponseOutput"
    assert response.output_text == TEXT
    assert response.status == "completed"
    assert response.usage.cost.total_cost == 0.00503
    assert [result.url for result in response.output[0].results] == URLS
    (sent,) = await caller.rig.requests(AGENT)
    assert sent["json"]["tools"][0]["filters"] == {"search_recency_filter": "week"}


async def test_a_stream(sdk: Sdk, caller: Caller) -> None:
    await caller.rig.script(AGENT, agent_steps())
    events = await told(sdk, lambda client: client.responses.create(model=MODEL, input=QUESTION, stream=True))
    assert [event.type for event in events] == [event["type"] for event in A_BASE]
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == TEXT


async def test_background_retrieve_replay_and_cancel(sdk: Sdk, caller: Caller) -> None:
    queued = await sdk.do(
        lambda client: client.responses.create(preset="medium", input=f"slow: {QUESTION}", background=True)
    )
    assert queued.status == "queued"
    now = await sdk.do(lambda client: client.responses.retrieve(queued.id, format="default"))
    assert now.id == queued.id
    assert now.status in ("queued", "in_progress")
    cancelling = await sdk.do(lambda client: client.responses.cancel(queued.id))
    assert (cancelling.response_id, cancelling.status) == (queued.id, "cancelling")
    await caller.emulated(f"/_emulator/runs?id={queued.id}&status=cancelled&timeout=10")
    open_minded = type(sdk)(caller.mirror, strict=False)  # the API has this event, and the SDK's types have not
    events = await told(open_minded, lambda client: client.responses.retrieve(queued.id, stream=True, starting_after=0))
    await open_minded.close()
    assert events[-1].type == "response.cancelled"


async def test_a_replay(sdk: Sdk, caller: Caller) -> None:
    await caller.rig.script(AGENT, agent_steps())
    made = await sdk.do(lambda client: client.responses.create(model=MODEL, input=QUESTION))
    await caller.rig.script(RUN, replay(agent_steps()[4:]))
    events = await told(sdk, lambda client: client.responses.retrieve(made.id, stream=True, starting_after=3))
    assert [event.sequence_number for event in events] == list(range(4, len(A_BASE)))


async def test_files(sdk: Sdk) -> None:
    made = await sdk.do(
        lambda client: client.responses.create(
            model=MODEL, input="Save the tides as a csv file", tools=[{"type": "sandbox"}]
        )
    )
    listed = await sdk.do(lambda client: client.responses.files.list(made.id))
    (file,) = listed.data
    content = await sdk.do(lambda client: client.responses.files.content(file.id, response_id=made.id))
    assert len(await bytes_of(content)) == file.bytes


async def test_functions(sdk: Sdk) -> None:
    tools = [{"type": "function", "name": "tide_table", "parameters": {"type": "object"}}]
    first = await sdk.do(
        lambda client: client.responses.create(model=MODEL, input="Use tide_table for 'Ostend'.", tools=tools)
    )
    (call,) = [item for item in first.output if item.type == "function_call"]
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "High water in Ostend is at 06:12."}
    again = await sdk.do(
        lambda client: client.responses.create(model=MODEL, input=[result], tools=tools, previous_response_id=first.id)
    )
    assert "High water in Ostend is at 06:12." in again.output_text


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"model": MODEL, "input": "x", "extra_body": {"verbosity": 1}}, perplexity.BadRequestError),
        ({"model": "gpt-99", "input": "x"}, perplexity.NotFoundError),
        ({"model": MODEL, "input": "fault:upstream_429 x"}, perplexity.RateLimitError),
        ({"model": MODEL, "input": "fault:upstream_500 x"}, perplexity.InternalServerError),
        ({"model": MODEL, "input": "fault:upstream_401 x"}, perplexity.InternalServerError),
        ({"model": MODEL, "input": "fault:upstream_402 x"}, perplexity.APIStatusError),
    ],
)
async def test_errors(sdk: Sdk, body: dict[str, Any], error: type[perplexity.APIStatusError]) -> None:
    with pytest.raises(error) as raised:
        await sdk.do(lambda client: client.responses.create(**body))
    assert isinstance(raised.value.body, dict)
    with pytest.raises(error):
        await told(sdk, lambda client: client.responses.create(**body, stream=True))


async def test_a_stream_that_breaks_raises(sdk: Sdk) -> None:
    asked = {"model": MODEL, "input": "fault:midstream_drop x", "stream": True}
    with pytest.raises(perplexity.APIStatusError, match="upstream_truncated"):
        await told(sdk, lambda client: client.responses.create(**asked))


async def test_wrong_keys_and_unknown_ids(sdk: Sdk, caller: Caller) -> None:
    stranger = type(sdk)(caller.mirror, key="gk-wrong")
    with pytest.raises(perplexity.AuthenticationError):
        await stranger.do(lambda client: client.responses.create(model=MODEL, input="x"))
    await stranger.close()
    with pytest.raises(perplexity.NotFoundError):
        await sdk.do(lambda client: client.responses.retrieve("resp_of_nobody"))
    with pytest.raises(perplexity.NotFoundError):
        await sdk.do(lambda client: client.responses.cancel("resp_of_nobody"))
