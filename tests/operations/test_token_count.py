"""`/v1/responses/input_tokens` and `/v1/responses/compact`, as OpenAI's SDK calls them."""

from collections.abc import AsyncGenerator

import openai
import pytest
import pytest_asyncio
from openai import AsyncOpenAI, DefaultAsyncHttpx2Client

from tests.caller_keys.calling import make
from tests.rig import KEY, Rig, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATH = "/v1/responses/input_tokens"
QUESTION = "Which two rivers meet in the old town of Ghent, and where do they go from there?"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rig(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Rig, None]:
    async with running(tmp_path_factory.mktemp("count")) as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(rig: Rig) -> AsyncGenerator[AsyncOpenAI, None]:
    http = DefaultAsyncHttpx2Client(trust_env=False)
    async with AsyncOpenAI(base_url=f"{rig.url}/v1", api_key=KEY, http_client=http, max_retries=0) as opened:
        yield opened


async def test_tokens_are_estimated_and_the_estimate_says_so(rig: Rig, client: AsyncOpenAI) -> None:
    before = len(await rig.requests("*"))
    raw = await client.responses.input_tokens.with_raw_response.count(model="gpt", input=QUESTION)
    counted = raw.parse()
    assert counted.object == "response.input_tokens"
    assert len(QUESTION) / 6 < counted.input_tokens < len(QUESTION)
    assert "is an estimate" in raw.headers["x-pplx-warnings"]
    longer = await client.responses.input_tokens.count(model="gpt", input=QUESTION, instructions=QUESTION * 3)
    assert longer.input_tokens > 3 * counted.input_tokens
    tools = [{"type": "function", "name": "tide", "parameters": {"type": "object"}, "strict": False}]
    offered = await client.responses.input_tokens.count(model="gpt", input=QUESTION, tools=tools)  # type: ignore[arg-type]
    assert offered.input_tokens > counted.input_tokens
    assert len(await rig.requests("*")) == before


async def test_what_was_said_before_counts(client: AsyncOpenAI) -> None:
    first = await client.responses.create(model="gpt", input=QUESTION * 4)
    alone = await client.responses.input_tokens.count(model="gpt", input="And then?")
    after = await client.responses.input_tokens.count(model="gpt", input="And then?", previous_response_id=first.id)
    assert after.input_tokens > alone.input_tokens + len(QUESTION * 4) / 6


async def test_what_is_wrong_is_named(rig: Rig, client: AsyncOpenAI) -> None:
    for body, param, code in (
        ({"model": "gpt"}, "input", "invalid_request"),
        ({"model": "gpt", "input": []}, "input", "invalid_request"),
        ({"model": "sonnar", "input": "a"}, "model", "model_not_found"),
        (
            {"model": "gpt", "input": "a", "previous_response_id": "resp_none"},
            "previous_response_id",
            "previous_response_not_found",
        ),
    ):
        reply = await rig.post(body, path=PATH)
        assert (reply.error["param"], reply.error["code"]) == (param, code), reply.json
    _, narrow = await make(rig, "narrow", models=["auto"])
    assert (await rig.post({"model": "gpt", "input": "a"}, path=PATH, key=narrow)).status == 403


async def test_compaction_is_an_operation_that_there_is_not(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        await client.responses.compact(model="gpt", input=QUESTION)
    assert refused.value.code == "unsupported_operation"
    assert "Compaction of responses" in refused.value.message
