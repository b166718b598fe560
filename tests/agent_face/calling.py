"""What callers do with the Agent API's own face."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from typing import Any

import httpx2

from tests.cases.scripts import agent_steps
from tests.perplexity.calling import Caller
from tests.rig import KEY, SSE_HEADERS, bearer

AGENT = "/v1/agent"
PATHS = (
    "/v1/agent",
    "/agent",
    "/perplexity/v1/agent",
    "/perplexity/agent",
    "/perplexity/v1/responses",
    "/perplexity/responses",
)
QUESTION = "Which two rivers meet in Ghent?"
ASK: dict[str, Any] = {"model": "perplexity/sonar", "input": QUESTION}
RUN = "/v1/agent/resp_t1"
CANCEL = f"{RUN}/cancel"
LONG = {"sleep": 600.0}
Json = dict[str, Any]
Events = list[Json]


async def create(caller: Caller, path: str = AGENT, /, key: str = KEY, **body: object) -> Json:
    """A response that must come; ASK unless `body` says otherwise."""
    reply = await caller.post(path, {**ASK, **body}, key=key)
    assert reply.status_code == 200, reply.text
    found: Json = reply.json()
    return found


@contextlib.asynccontextmanager
async def opened(
    caller: Caller, path: str = AGENT, /, key: str = KEY, **body: object
) -> AsyncGenerator[httpx2.Response, None]:
    sent = {**ASK, "stream": True, **body}
    client = caller.rig.client
    async with client.stream("POST", caller.rig.url + path, json=sent, headers=bearer(key)) as reply:
        yield reply


async def stream(caller: Caller, path: str = AGENT, /, key: str = KEY, **body: object) -> Events:
    async with opened(caller, path, key, **body) as reply:
        return [event async for event in events(reply)]


async def follow(caller: Caller, run_id: str, after: int | None = None, *, key: str = KEY) -> Events:
    params = {"stream": "true", **({} if after is None else {"starting_after": str(after)})}
    url = f"{caller.rig.url}{AGENT}/{run_id}"
    async with caller.rig.client.stream("GET", url, params=params, headers=bearer(key)) as reply:
        return [event async for event in events(reply)]


async def events(reply: httpx2.Response) -> AsyncIterator[Json]:
    """As they come. A named one is an error, and nothing comes after it."""
    assert reply.status_code == 200, (await reply.aread()).decode()
    assert reply.headers["content-type"].startswith("text/event-stream")
    name = ""
    async for line in reply.aiter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            event: Json = json.loads(line.removeprefix("data: "))
            assert name in ("", event["type"])
            yield event


def text_of(told: Sequence[Mapping[str, Any]]) -> str:
    return "".join(event["delta"] for event in told if event["type"] == "response.output_text.delta")


def said(response: Mapping[str, Any]) -> str:
    """The text of a whole response."""
    messages = [item for item in response["output"] if item["type"] == "message"]
    return "".join(part["text"] for item in messages for part in item["content"])


def raw(steps: Sequence[Mapping[str, Any]]) -> bytes:
    """What a script writes."""
    return b"".join(step["bytes"].encode() for step in steps)


async def script_cancel(caller: Caller) -> None:
    cancelling = {"steps": [{"bytes": '{"response_id":"resp_t1","status":"cancelling"}'}], "repeat": "forever"}
    await caller.rig.script(CANCEL, cancelling)


def whole_run(status: str = "completed") -> Json:
    """The run that `agent_steps` tell, as a GET gives it."""
    return {"steps": [{"bytes": json.dumps(last_response(status))}]}


def last_response(status: str = "completed") -> Json:
    last = agent_steps()[-1]["bytes"]
    assert isinstance(last, str)
    found: Json = json.loads(last.removeprefix("data: "))["response"]
    return {**found, "status": status}


def replay(steps: Sequence[Mapping[str, Any]]) -> Json:
    return {"headers": SSE_HEADERS, "steps": list(steps)}


async def ledger(caller: Caller) -> list[Json]:
    """Rows of this face, newest first, once those of `count` requests are written."""
    rows: list[Json] = (await caller.get("/admin/requests")).json()["data"]
    return [row for row in rows if row["operation"] in ("agent", "responses")]


async def billed(caller: Caller, count: int = 1) -> list[Json]:
    """The rows, once so many of them have a cost."""
    async with asyncio.timeout(20):
        while True:
            rows = [row for row in await ledger(caller) if row["cost"] is not None]
            if len(rows) >= count:
                return rows
            await asyncio.sleep(0.05)
