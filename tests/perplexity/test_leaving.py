"""Callers who leave, and files that break off."""

import asyncio
import json

import httpx2
import pytest

from tests.emulator_api.making import jsonl, line
from tests.life.waiting import until
from tests.perplexity.calling import Caller

FILES = "/perplexity/v1/files"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/search", {"query": "slow: tides"}),
        ("/v1/embeddings", {"model": "pplx-embed-v1-4b", "input": "slow: tides"}),
        (
            "/v1/decisions",
            {
                "model": "pplx-decider-v1-27b",
                "state": "slow: tides",
                "questions": {"a": {"type": "noul", "instructions": "b"}},
            },
        ),
    ],
)
async def test_who_leaves_ends_the_work_upstream(caller: Caller, path: str, body: dict[str, object]) -> None:
    asked = asyncio.create_task(caller.post(f"/perplexity{path}", body))
    await caller.rig.wait(path)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    await caller.rig.wait(path, closed=True, seconds=5)


async def test_a_batch_that_was_begun_is_its_callers_though_it_left(caller: Caller) -> None:
    file_id = (await caller.upload(FILES, jsonl(line("a")))).json()["id"]
    body = {"id": "batch_late", "object": "batch", "status": "validating"}
    late = {
        "headers": {"content-type": "application/json"},
        "steps": [{"bytes": json.dumps(body)}],
        "delay": 0.5,
    }
    await caller.rig.script("/v1/batches", late)
    order = {"endpoint": "/v1/responses", "input_file_id": file_id}
    asked = asyncio.create_task(caller.post("/perplexity/v1/batches", order))
    await caller.rig.wait("/v1/batches")
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    await caller.rig.wait("/v1/batches", ended=True)
    known = {"headers": {"content-type": "application/json"}, "steps": [{"bytes": json.dumps(body)}]}
    await caller.rig.script("/v1/batches/batch_late", known)

    async def found() -> bool:
        return (await caller.get("/perplexity/v1/batches/batch_late")).status_code == 200

    assert await until(found), "whose it is is written after the upstream has answered"


@pytest.mark.parametrize("path", [FILES, "/v1/files"])
async def test_a_file_that_breaks_off_does_not_look_whole(caller: Caller, path: str) -> None:
    file_id = (await caller.upload(path, jsonl(line("a")))).json()["id"]
    steps = [{"bytes": "half a fi"}, {"sleep": 0.05}, {"abort": True}]
    await caller.rig.script(f"/v1/files/{file_id}/content", {"steps": steps})
    with pytest.raises(httpx2.RemoteProtocolError):
        await caller.get(f"{path}/{file_id}/content")
    assert (await caller.get(f"{path}/{file_id}/content")).content == jsonl(line("a"))


async def test_a_file_is_nothing_that_a_browser_shows(caller: Caller) -> None:
    file_id = (await caller.upload(FILES, b"<script>alert(1)</script>")).json()["id"]
    reply = await caller.get(f"{FILES}/{file_id}/content")
    assert reply.headers["content-type"] == "application/octet-stream"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["content-disposition"] == "attachment"
