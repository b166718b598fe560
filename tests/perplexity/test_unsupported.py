"""What Perplexity has not is refused with one error, and never with a 404 or half a success."""

import json
from collections.abc import Awaitable

import openai
import pytest
from openai import AsyncOpenAI, DefaultAsyncHttpx2Client

from pplx_gateway.protocols.openai.unsupported import LACKING
from tests.perplexity.calling import Caller, openai_error
from tests.rig import KEY

PATHS = [path for lacking in LACKING for path in lacking.paths]


@pytest.mark.parametrize("path", PATHS)
async def test_every_path_below_is_refused_alike(caller: Caller, path: str) -> None:
    for method in ("GET", "POST", "DELETE"):
        for tail in ("", "/some/thing"):
            error = openai_error(await caller.send(method, f"/v1/{path}{tail}"), 400)
            assert (error["code"], error["type"]) == ("unsupported_operation", "invalid_request_error")
    assert await caller.rig.requests("*") == []


async def test_a_body_of_any_kind_is_not_looked_at(caller: Caller) -> None:
    for content in (b"", b"{", json.dumps({"model": "x", "prompt": "a"}).encode(), bytes(1 << 20)):
        openai_error(await caller.send("POST", "/v1/completions", content=content), 400)
    openai_error(await caller.send("POST", "/completions", content=b"{}"), 400)


async def test_a_key_is_needed_to_learn_it(caller: Caller) -> None:
    openai_error(await caller.send("POST", "/v1/images/generations", key=None), 401)


async def test_the_sdk_raises_bad_request(caller: Caller) -> None:
    http = DefaultAsyncHttpx2Client(trust_env=False)
    async with AsyncOpenAI(base_url=f"{caller.rig.url}/v1", api_key=KEY, http_client=http) as client:
        calls: list[Awaitable[object]] = [
            client.completions.create(model="a", prompt="b"),
            client.images.generate(prompt="a"),
            client.audio.speech.create(model="a", input="b", voice="c"),
            client.moderations.create(input="a"),
            client.fine_tuning.jobs.create(model="a", training_file="b"),
            client.vector_stores.create(name="a"),
            client.uploads.create(bytes=1, filename="a", mime_type="text/plain", purpose="batch"),
            client.videos.create(prompt="a"),
            client.evals.list(),
            client.containers.list(),
            client.conversations.create(),
            client.skills.list(),
        ]
        for call in calls:
            with pytest.raises(openai.BadRequestError) as failed:
                await call
            assert failed.value.code == "unsupported_operation"
