"""Runs that are found again: by whoever made them, with the key that they were made with, and by nobody else."""

import json
from pathlib import Path
from typing import Any

import pytest

from pplx_gateway.errors import StoreUnavailable
from pplx_gateway.store import Ownership
from tests.agent_face.calling import AGENT, ASK, RUN, create, follow, replay, stream, text_of
from tests.cases.scripts import TEXT, agent_steps
from tests.keys.files import entry, write
from tests.perplexity.calling import Caller, native_error, running_caller

NOBODY_S = "resp_00000000-0000-0000-0000-000000000000"


async def ended(caller: Caller, run_id: str) -> None:
    await caller.emulated(f"/_emulator/runs?id={run_id}&status=completed&timeout=10")


async def test_a_run_in_the_background_is_found_by_its_id(caller: Caller) -> None:
    queued = await create(caller, "/perplexity/v1/responses", background=True)
    assert queued["status"] == "queued"
    await ended(caller, queued["id"])
    for path in ("/v1/agent", "/perplexity/v1/responses", "/perplexity/agent"):
        whole = (await caller.get(f"{path}/{queued['id']}?format=short")).json()
        assert (whole["id"], whole["status"]) == (queued["id"], "completed")
    told = await follow(caller, queued["id"])
    assert [event["sequence_number"] for event in told] == list(range(len(told)))
    again = await follow(caller, queued["id"], 3)
    assert again == told[4:]
    error = native_error(await caller.get(f"{AGENT}/{queued['id']}?stream=true&starting_after={len(told)}"), 400)
    assert error["param"] == "starting_after"
    over = native_error(await caller.post(f"{AGENT}/{queued['id']}/cancel", None), 400)
    assert over["message"] == "the run is already terminal and cannot be cancelled"


async def test_a_run_in_the_background_is_cancelled(caller: Caller) -> None:
    queued = await create(caller, input="slow: Which two rivers meet in Ghent?", background=True)
    reply = await caller.post(f"/perplexity/v1/responses/{queued['id']}/cancel", None)
    assert reply.json() == {"response_id": queued["id"], "status": "cancelling"}
    await caller.emulated(f"/_emulator/runs?id={queued['id']}&status=cancelled&timeout=10")
    assert (await caller.get(f"{AGENT}/{queued['id']}")).json()["status"] == "cancelled"


async def test_a_stream_in_the_background_is_followed_and_found(caller: Caller) -> None:
    told = await stream(caller, background=True)
    run_id = told[0]["response"]["id"]
    assert told[-1]["type"] == "response.completed"
    assert await follow(caller, run_id, 2) == told[3:]


async def test_a_run_in_the_foreground_is_found_too(caller: Caller) -> None:
    made = await create(caller)
    again = (await caller.get(f"{AGENT}/{made['id']}")).json()
    assert again["output"] == made["output"]
    hidden = await create(caller, store=False)
    native_error(await caller.get(f"{AGENT}/{hidden['id']}"), 404)
    assert (await create(caller, previous_response_id=hidden["id"]))["previous_response_id"] == hidden["id"]


async def test_files_of_a_run(caller: Caller) -> None:
    made = await create(caller, input="Save the tides as a csv file", tools=[{"type": "sandbox"}])
    (file,) = (await caller.get(f"/perplexity/v1/responses/{made['id']}/files")).json()["data"]
    content = await caller.get(f"{AGENT}/{made['id']}/files/{file['id']}/content")
    assert len(content.content) == file["bytes"]
    assert content.headers["content-type"] == "application/octet-stream"
    native_error(await caller.get(f"{AGENT}/{made['id']}/files/file_none/content"), 404)


async def test_nobody_else_finds_it(caller: Caller) -> None:
    """And cannot tell it from what does not exist."""
    made = await create(caller, input="Save the tides as a csv file", tools=[{"type": "sandbox"}])
    (file,) = (await caller.get(f"{AGENT}/{made['id']}/files")).json()["data"]
    other = await caller.new_key("other")
    before = len(await caller.rig.requests("*"))
    for tail in ("", "?stream=true", "/files", f"/files/{file['id']}/content"):
        foreign = native_error(await caller.get(f"{AGENT}/{made['id']}{tail}", key=other), 404)
        unknown = native_error(await caller.get(f"{AGENT}/{NOBODY_S}{tail}", key=other), 404)
        assert foreign == unknown
    native_error(await caller.post(f"{AGENT}/{made['id']}/cancel", None, key=other), 404)
    error = native_error(await caller.post(AGENT, {**ASK, "previous_response_id": made["id"]}, key=other), 400)
    assert error["type"] == "previous_response_not_found"
    assert len(await caller.rig.requests("*")) == before


@pytest.mark.parametrize("run_id", ["%2e%2e", "a/b", "resp_t1@default", "x" * 5000])
async def test_odd_ids_are_found_nowhere(caller: Caller, run_id: str) -> None:
    native_error(await caller.get(f"{AGENT}/{run_id}"), 404)
    assert await caller.rig.requests("*") == []


async def test_a_run_belongs_to_the_key_that_made_it(tmp_path: Path) -> None:
    write(tmp_path, entry("one"), entry("two"))
    async with running_caller(tmp_path, perplexity_api_key=None) as caller:
        for name in ("one", "two", "one"):
            headers = {"x-pplx-key-name": name}
            reply = await caller.post(AGENT, ASK, headers=headers)
            made = reply.json()
            assert (await caller.get(f"{AGENT}/{made['id']}")).json()["id"] == made["id"]
            await create(caller, previous_response_id=made["id"])
            other = {"x-pplx-key-name": "two" if name == "one" else "one"}
            error = native_error(
                await caller.post(AGENT, {**ASK, "previous_response_id": made["id"]}, headers=other), 400
            )
            assert error["param"] == "x-pplx-key-name"


async def test_a_key_must_allow_every_model_that_may_serve(tmp_path: Path) -> None:
    write(tmp_path, entry("one", models=["perplexity/sonar"]), entry("two", models=["perplexity/sonar", "gpt-6-luna"]))
    async with running_caller(tmp_path, perplexity_api_key=None) as caller:
        for _ in range(3):
            await create(caller, model=None, models=["perplexity/sonar", "openai/gpt-6-luna"])
        sent = await caller.rig.requests(AGENT)
        assert {request["headers"]["authorization"] for request in sent} == {"Bearer pplx-two-SECRET-KEY"}
        body = {"input": "x", "models": ["perplexity/sonar", "xai/grok-4.7"]}
        error = native_error(await caller.post(AGENT, body), 403)
        assert "xai/grok-4.7" in error["message"]


async def test_what_a_key_may_not_ask(caller: Caller) -> None:
    phone = await caller.new_key("phone", models=["fast", "perplexity/sonar"])
    await create(caller, key=phone)
    await create(caller, key=phone, model=None, preset="fast")
    for body in ({"model": "openai/gpt-6-luna"}, {"effort": "high"}, {"models": ["perplexity/sonar", "xai/grok-4.7"]}):
        native_error(await caller.post(AGENT, {"input": "x", **body}, key=phone), 403)


async def test_a_store_that_fails_keeps_no_run_going(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """An id that nobody could use again would be paid for in vain."""

    async def broken(*_: Any) -> None:
        raise StoreUnavailable("The disk is full.")

    monkeypatch.setattr(Ownership, "add", broken)
    native_error(await caller.post(AGENT, {**ASK, "input": "slow: why?", "background": True}), 503)
    native_error(await caller.post(AGENT, {**ASK, "input": "slow: why?", "background": True, "stream": True}), 503)
    cancelled = await caller.rig.requests(f"{AGENT}/*")
    assert [request["path"].endswith("/cancel") for request in cancelled] == [True, True]
    await caller.rig.script(AGENT, agent_steps())
    assert text_of(await stream(caller)) == TEXT, "who waits for the answer still gets it"


async def test_a_replay_is_byte_for_byte(caller: Caller) -> None:
    await caller.rig.script(AGENT, agent_steps())
    await create(caller)
    odd = '{"type":"response.tea","sequence_number":  4,"x":1.50}'
    await caller.rig.script(RUN, replay([{"bytes": f"data: {odd}\n\n"}, *agent_steps()[5:]]))
    reply = await caller.get(f"{RUN}?stream=true&starting_after=3")
    assert reply.content.startswith(f"data: {odd}\n\n".encode())
    assert json.loads(reply.content.rsplit(b"data: ", 1)[1])["type"] == "response.completed"
