"""One question to `/v1/responses` either way, streamed or not, with one shape for what came of it."""

import json
from collections.abc import Mapping
from typing import Any

import httpx2
import msgspec
import pytest

from tests import readings
from tests.cases.asking import PATHS, asked
from tests.rig import KEY, Rig, bearer, check_error

Json = dict[str, Any]
PATH = "/v1/responses"
ASK: Json = {"model": "sonar", "input": "Which two rivers meet in Ghent?"}
BOTH = pytest.mark.parametrize("upstream", PATHS)
WAYS = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


class Said(msgspec.Struct):
    """`error` is the one of an HTTP answer, `response` the object that any other answer ended in, `events` how."""

    status: int
    headers: httpx2.Headers
    response: Json
    events: list[Json]
    error: Json

    @property
    def text(self) -> str:
        parts = [part for item in self.response["output"] for part in item.get("content", [])]
        return "".join(part["text"] for part in parts)

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.events]

    def items(self, kind: str) -> list[Json]:
        return [item for item in self.response["output"] if item["type"] == kind]


async def ask(
    rig: Rig,
    body: Mapping[str, object] | bytes,
    *,
    streamed: bool = False,
    headers: Mapping[str, str] | None = None,
) -> Said:
    """Whatever comes, held against all readings; the rig checks its log and what reached the upstream."""
    content = body if isinstance(body, bytes) else json.dumps({**ASK, **body, "stream": streamed}).encode()
    sent = {"content-type": "application/json", **bearer(KEY), **(headers or {})}
    reply = await rig.client.post(rig.url + PATH, content=content, headers=sent)
    await rig.check()
    if reply.status_code != 200:
        check_error(reply.json())
        return Said(reply.status_code, reply.headers, {}, [], reply.json()["error"])
    if not streamed:
        readings.check_response(reply.json())
        return Said(200, reply.headers, reply.json(), [], {})
    events = readings.read_stream(reply.content)
    return Said(200, reply.headers, readings.check_events(events), events, {})


async def answered(rig: Rig, body: Mapping[str, object], *, streamed: bool = False) -> tuple[Said, Json]:
    """A whole answer, and the JSON of the one question that was asked upstream for it."""
    before = len(await asked(rig))
    said = await ask(rig, body, streamed=streamed)
    assert said.status == 200, said.error
    assert said.response["status"] == "completed", said.response["error"]
    (sent,) = (await asked(rig))[before:]
    return said, sent


async def refused(rig: Rig, body: Mapping[str, object], status: int = 400) -> Json:
    """The error, which is the same streamed and not, and before which nothing was asked upstream."""
    before = await asked(rig)
    whole, streamed = [await ask(rig, body, streamed=way) for way in (False, True)]
    assert (whole.status, streamed.status) == (status, status), (body, whole, streamed)
    assert whole.error == streamed.error
    assert await asked(rig) == before
    return whole.error
