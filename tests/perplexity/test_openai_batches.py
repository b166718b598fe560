"""Batches as OpenAI's clients know them: `/v1/files` with the purpose `batch`, and `/v1/batches`."""

import json
from collections.abc import AsyncGenerator

import openai
import pytest
from openai import AsyncOpenAI, DefaultAsyncHttpx2Client

from tests.clients.sdk import checked
from tests.emulator_api.making import jsonl, line
from tests.perplexity.calling import Caller, openai_error
from tests.rig import KEY

LINES = jsonl(line("a"), line("b"))
ASK = {"endpoint": "/v1/responses", "completion_window": "24h"}


@pytest.fixture
async def client(caller: Caller) -> AsyncGenerator[AsyncOpenAI, None]:
    http = DefaultAsyncHttpx2Client(trust_env=False)
    url = f"{caller.rig.url}/v1"
    async with AsyncOpenAI(
        base_url=url, api_key=KEY, max_retries=0, http_client=http, _strict_response_validation=True
    ) as opened:
        yield opened


async def test_a_batch_from_its_file_to_its_results(client: AsyncOpenAI, caller: Caller) -> None:
    file = await client.files.create(file=("in.jsonl", LINES), purpose="batch")
    assert (file.purpose, file.bytes, file.status) == ("batch", len(LINES), "processed")
    batch = checked(
        await client.batches.create(
            input_file_id=file.id, endpoint="/v1/responses", completion_window="24h", metadata={"of": "tides"}
        )
    )
    assert (batch.object, batch.metadata) == ("batch", {"of": "tides"})
    await caller.emulated(f"/_emulator/batches?id={batch.id}&status=completed&timeout=10")
    done = checked(await client.batches.retrieve(batch.id))
    assert done.request_counts is not None
    assert (done.status, done.request_counts.total, done.error_file_id) == ("completed", 2, None)
    assert done.output_file_id is not None
    results = (await client.files.content(done.output_file_id)).text.splitlines()
    assert [json.loads(result)["custom_id"] for result in results] == ["a", "b"]
    assert [each.id async for each in client.batches.list(limit=1)] == [batch.id]
    with pytest.raises(openai.BadRequestError, match="cannot be cancelled"):
        await client.batches.cancel(batch.id)


async def test_a_batch_is_cancelled(client: AsyncOpenAI) -> None:
    file = await client.files.create(file=("in.jsonl", LINES), purpose="batch")
    batch = await client.batches.create(input_file_id=file.id, endpoint="/v1/responses", completion_window="24h")
    assert checked(await client.batches.cancel(batch.id)).status == "cancelling"


async def test_a_file_that_is_no_batch_fails_as_a_batch(client: AsyncOpenAI, caller: Caller) -> None:
    file = await client.files.create(file=("in.jsonl", b"{not json\n"), purpose="batch")
    batch = await client.batches.create(input_file_id=file.id, endpoint="/v1/responses", completion_window="24h")
    await caller.emulated(f"/_emulator/batches?id={batch.id}&status=failed&timeout=10")
    failed = checked(await client.batches.retrieve(batch.id))
    assert failed.errors is not None
    assert failed.errors.data is not None
    assert failed.errors.data[0].line == 1


async def test_files_of_batches_live_among_the_others(client: AsyncOpenAI, caller: Caller) -> None:
    kept = [(await client.files.create(file=(f"{n}.txt", b"text"), purpose="user_data")).id for n in range(3)]
    handed_on = [(await client.files.create(file=(f"{n}.jsonl", LINES), purpose="batch")).id for n in range(3)]
    assert [each.id async for each in client.files.list()] == [*kept[::-1], *handed_on[::-1]]
    assert [each.id async for each in client.files.list(limit=2)] == [*kept[::-1], *handed_on[::-1]]
    assert [each.id async for each in client.files.list(limit=3, order="asc")] == [*kept, *handed_on]
    assert [each.id async for each in client.files.list(purpose="batch")] == handed_on[::-1]
    assert [each.id async for each in client.files.list(purpose="user_data")] == kept[::-1]
    assert (await client.files.retrieve(handed_on[0])).filename == "0.jsonl"
    assert (await client.files.content(handed_on[0])).content == LINES
    assert (await client.files.delete(handed_on[0])).deleted
    with pytest.raises(openai.NotFoundError):
        await client.files.retrieve(handed_on[0])
    assert (await caller.get("/admin/files")).json()["files"][0]["id"] == kept[-1]
    assert len((await caller.get("/admin/files")).json()["files"]) == 3, "none of a batch stays here"


async def test_a_file_that_the_upstream_refuses_does_not_stay_here(caller: Caller) -> None:
    await caller.rig.script("/v1/files", {"status": 500, "steps": [{"bytes": "{}"}]})
    openai_error(await caller.upload("/v1/files", LINES), 502)
    assert (await caller.get("/admin/files")).json()["files"] == []
    assert (await caller.get("/v1/files")).json()["data"] == []


async def test_both_dialects_see_the_same_batches(caller: Caller) -> None:
    file_id = (await caller.upload("/perplexity/v1/files", LINES)).json()["id"]
    batch = (await caller.post("/v1/batches", {**ASK, "input_file_id": file_id})).json()
    native = (await caller.get(f"/perplexity/v1/batches/{batch['id']}")).json()
    assert (native["id"], native["input_file_id"]) == (batch["id"], file_id)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"input_file_id": "file-none"}, "input_file_id"),
        ({}, "input_file_id"),
        ({"input_file_id": "a", "endpoint": "/v1/chat/completions"}, "endpoint"),
        ({"input_file_id": "a", "completion_window": "48h"}, "completion_window"),
        ({"input_file_id": "a", "metadata": []}, "metadata"),
    ],
)
async def test_a_mistake_is_named(caller: Caller, fields: dict[str, object], param: str) -> None:
    assert openai_error(await caller.post("/v1/batches", {**ASK, **fields}), 400)["param"] == param
    assert await caller.rig.requests("*") == []


async def test_too_much_metadata_is_refused_before_it_is_sent(caller: Caller) -> None:
    file_id = (await caller.upload("/v1/files", LINES)).json()["id"]
    metadata = {f"n{n}": "a" for n in range(17)}
    asked = {**ASK, "input_file_id": file_id, "metadata": metadata}
    assert openai_error(await caller.post("/v1/batches", asked), 400)["param"] == "metadata"
    assert await caller.rig.requests("/v1/batches") == []


async def test_a_batch_that_is_not_there_is_a_404(caller: Caller) -> None:
    for method, path in (("GET", "batch-none"), ("POST", "batch-none/cancel")):
        openai_error(await caller.send(method, f"/v1/batches/{path}"), 404)


async def test_how_long_it_lives_has_no_effect_on_a_file_of_a_batch(caller: Caller) -> None:
    fields = {"purpose": "batch", "expires_after[anchor]": "created_at", "expires_after[seconds]": "3600"}
    reply = await caller.send("POST", "/v1/files", files={"file": ("in.jsonl", LINES)}, data=fields)
    assert reply.status_code == 200
    assert reply.headers["x-pplx-dropped"] == "expires_after[anchor], expires_after[seconds]"
