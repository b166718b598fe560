"""Failures of the API as other clients have met them, on its own paths: whatever form they have, how often it is asked,
and how long it may be silent."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from tests.agent_face.calling import AGENT, ASK, QUESTION, events
from tests.cases.scripts import agent_steps
from tests.perplexity.calling import Caller, native_error, running_caller
from tests.rig import ASK_PATH, KEY, bearer

SEARCH = "/search"
PATHS = {AGENT: ASK, SEARCH: {"query": QUESTION}}
PAGE = "<center><h1>401 Authorization Required</h1></center><hr>openresty"
INVALID = '{"detail":[{"loc":["body","query"],"msg":"field required","type":"value_error"}]}'
FORMS: dict[str, tuple[int, str, int, str]] = {
    "a page": (401, PAGE, 502, "PERPLEXITY_API_KEY"),
    "nothing": (502, "", 502, "502"),
    "a detail": (400, '{"detail":"nope"}', 400, "nope"),
    "details": (422, INVALID, 422, "field required"),
    "a text as error": (500, '{"error":"nope"}', 500, "nope"),
    "a message": (503, '{"message":"nope"}', 503, "nope"),
}


@pytest.mark.parametrize("form", FORMS)
async def test_an_error_in_any_form_has_a_message_and_is_not_asked_for_again(caller: Caller, form: str) -> None:
    status, body, seen, words = FORMS[form]
    for path, asked in PATHS.items():
        await caller.rig.script(path, {"status": status, "steps": [{"bytes": body}]})
        error = native_error(await caller.post(path, asked), seen)
        assert words in error["message"]
        assert "<" not in error["message"]
        assert len(await caller.rig.requests(path)) == 1


@pytest.mark.parametrize("told", [False, True], ids=["without a time", "with one"])
async def test_twenty_who_are_throttled_try_little_and_are_told_when_to_come_back(tmp_path: Path, told: bool) -> None:
    body = '{"error":{"message":"slow down","type":"request_rate_limit_exceeded","code":429}}'
    headers = {"x-ratelimit-reset": str(int(time.time()) + 3)} if told else {}
    throttle: dict[str, Any] = {"status": 429, "headers": headers, "steps": [{"bytes": body}], "repeat": "forever"}
    async with running_caller(tmp_path, order=("session", "api"), factor=50.0) as caller:
        for path, asked in PATHS.items():
            await caller.rig.script(path, throttle)
            replies = await asyncio.gather(*(caller.post(path, asked) for _ in range(20)))
            for reply in replies:
                native_error(reply, 429)
                assert int(reply.headers["retry-after"]) >= 1
            assert len(await caller.rig.requests(path)) <= 20 * 3
        assert await caller.rig.requests(ASK_PATH) == []


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_a_level_may_be_silent_for_nine_minutes(tmp_path: Path, streamed: bool) -> None:
    steps = agent_steps()
    body = {"preset": "medium", "input": QUESTION, "stream": streamed}
    async with running_caller(tmp_path, factor=200.0) as caller:
        await caller.rig.script(AGENT, [*steps[:5], {"sleep": 540.0}, *steps[5:]])
        client = caller.rig.client
        async with client.stream("POST", caller.rig.url + AGENT, json=body, headers=bearer(KEY)) as reply:
            if streamed:
                assert [event["type"] async for event in events(reply)][-1] == "response.completed"
            else:
                assert b'"completed"' in await reply.aread()
        assert len(await caller.rig.requests(AGENT)) == 1
