"""What is told beside a response that an earlier request with the same Idempotency-Key has made."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import pytest
import pytest_asyncio

from tests.rig import KEY, Rig, bearer, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

ASK: dict[str, Any] = {"model": "gpt", "input": "Which two rivers meet in Ghent?"}
TOLD = ("x-pplx-requested-model", "x-pplx-upstream", "x-pplx-dropped", "x-pplx-warnings")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rig(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Rig, None]:
    async with running(tmp_path_factory.mktemp("repeated"), unsupported="drop") as opened:
        yield opened


async def ask(rig: Rig, idempotency_key: str, path: str = "/v1/responses", **more: Any) -> httpx2.Response:
    sent = {"idempotency-key": idempotency_key, **bearer(KEY)}
    reply = await rig.client.post(rig.url + path, json={**ASK, **more}, headers=sent)
    assert reply.status_code == 200, reply.text
    return reply


def told(reply: httpx2.Response) -> dict[str, str | None]:
    return {name: reply.headers.get(name) for name in TOLD}


@pytest.mark.parametrize("more", [{}, {"temperature": 0.2}, {"model": "api/sonar", "seed": 1}, {"model": None}])
async def test_a_repeat_tells_the_same_as_the_first(rig: Rig, more: dict[str, Any]) -> None:
    first = await ask(rig, f"plain {more}", **more)
    again = await ask(rig, f"plain {more}", **more)
    assert again.json() == first.json()
    assert told(again) == told(first)
    assert told(again)["x-pplx-upstream"] == ("api" if more.get("model") == "api/sonar" else "session")
    assert told(again)["x-pplx-requested-model"] == (more.get("model") or "gpt")


async def test_a_repeat_of_a_stream_and_of_a_job_tells_it_too(rig: Rig) -> None:
    streamed = [await ask(rig, "stream", stream=True) for _ in range(2)]
    assert [told(reply)["x-pplx-requested-model"] for reply in streamed] == ["gpt", "gpt"]
    assert told(streamed[1])["x-pplx-upstream"] == "session"
    jobs = [await ask(rig, "job", background=True) for _ in range(2)]
    assert jobs[0].json()["id"] == jobs[1].json()["id"]
    assert [told(reply)["x-pplx-requested-model"] for reply in jobs] == ["gpt", "gpt"]


async def test_repeats_beside_a_stream_that_fails_before_it_begins_are_asked_anew(rig: Rig) -> None:
    body = {"model": "api/sonar", "input": "fault:upstream_500 Which rivers?", "stream": True}
    sent = {"idempotency-key": "fails", **bearer(KEY)}
    address = f"{rig.url}/v1/responses"
    replies = await asyncio.gather(*(rig.client.post(address, json=body, headers=sent) for _ in range(4)))
    assert [(reply.status_code, reply.json()["error"]["code"]) for reply in replies] == [(502, "upstream_error")] * 4


async def test_a_job_of_sonars_tells_it_too(rig: Rig) -> None:
    body = {"model": "api/sonar", "messages": [{"role": "user", "content": ASK["input"]}]}
    sent = {"request": body, "idempotency_key": "sonar"}
    replies = [await rig.post(sent, path="/v1/async/sonar") for _ in range(2)]
    assert replies[0].json["id"] == replies[1].json["id"]
    assert [reply.headers["x-pplx-requested-model"] for reply in replies] == ["api/sonar"] * 2


async def test_a_key_for_what_is_not_kept_is_told_as_dropped(rig: Rig) -> None:
    for stream in (False, True):
        reply = await ask(rig, "lost", store=False, stream=stream)
        assert "Idempotency-Key" in reply.headers["x-pplx-dropped"].split(", ")
        assert "'Idempotency-Key' has no effect" in reply.headers["x-pplx-warnings"]
