"""What callers do with `/v1/responses`, every answer held against its invariants."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx2

from tests import readings
from tests.cases.scripts import Step, agent_steps
from tests.rig import AGENT, KEY, Rig, bearer, check_error, running

RESPONSES = "/v1/responses"
ASK: dict[str, Any] = {"model": "api/sonar", "input": "Which two rivers meet in Ghent?"}
SESSION_ASK: dict[str, Any] = {**ASK, "model": "session/sonar"}
LONG: Step = {"sleep": 600.0}
RUN = "/v1/agent/resp_t1"
"""Where the upstream tells of the run that `agent_steps` begin."""
CANCEL_RUN = f"{RUN}/cancel"
SSE = {"content-type": "text/event-stream"}
LAST = ("response.completed", "response.incomplete", "response.failed", "error")

Event = dict[str, Any]


class Told:
    """A stream, as far as it was read. `done` = it ended with `[DONE]`."""

    def __init__(self, events: Sequence[Event], *, done: bool) -> None:
        self.events = list(events)
        self.done = done

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.events]

    @property
    def numbers(self) -> list[int]:
        return [event["sequence_number"] for event in self.events]

    @property
    def response(self) -> dict[str, Any]:
        """The response as the last event has it."""
        found: dict[str, Any] = self.events[-1]["response"]
        return found

    @property
    def text(self) -> str:
        return "".join(event["delta"] for event in self.events if event["type"] == "response.output_text.delta")


class Caller:
    def __init__(self, url: str, key: str | None = KEY) -> None:
        self._client = httpx2.AsyncClient(base_url=url, headers=bearer(key), timeout=60, trust_env=False, verify=False)

    async def __aenter__(self) -> "Caller":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def post(
        self, body: Mapping[str, object], path: str = RESPONSES, headers: Mapping[str, str] | None = None
    ) -> httpx2.Response:
        return checked(await self._client.post(path, json=body, headers=dict(headers or {})))

    async def create(self, headers: Mapping[str, str] | None = None, /, **body: object) -> dict[str, Any]:
        """A response that must come; ASK unless `body` says otherwise."""
        reply = await self.post({**ASK, **body}, headers=headers)
        assert reply.status_code == 200, reply.text
        found: dict[str, Any] = reply.json()
        readings.check_response(found)
        return found

    async def stream(self, headers: Mapping[str, str] | None = None, /, **body: object) -> Told:
        async with self.open(headers, **body) as events:
            return told([event async for event in events])

    @contextlib.asynccontextmanager
    async def open(
        self, headers: Mapping[str, str] | None = None, /, **body: object
    ) -> AsyncGenerator[AsyncIterator[Event | None], None]:
        """Events as they come, None for `[DONE]`."""
        sent = {**ASK, "stream": True, **body}
        async with self._client.stream("POST", RESPONSES, json=sent, headers=dict(headers or {})) as reply:
            yield read_events(reply)

    async def follow(self, response_id: str, after: int | None = None) -> Told:
        async with self.open_follow(response_id, after) as events:
            return told([event async for event in events], after=-1 if after is None else after)

    @contextlib.asynccontextmanager
    async def open_follow(
        self, response_id: str, after: int | None = None
    ) -> AsyncGenerator[AsyncIterator[Event | None], None]:
        params = {"stream": "true", **({} if after is None else {"starting_after": str(after)})}
        async with self._client.stream("GET", f"{RESPONSES}/{response_id}", params=params) as reply:
            yield read_events(reply)

    async def get(self, path: str, **params: str) -> httpx2.Response:
        return checked(await self._client.get(f"{RESPONSES}/{path}", params=params))

    async def delete(self, response_id: str) -> httpx2.Response:
        return checked(await self._client.delete(f"{RESPONSES}/{response_id}"))

    async def cancel(self, response_id: str) -> httpx2.Response:
        return checked(await self._client.post(f"{RESPONSES}/{response_id}/cancel"))

    async def ended(self, response_id: str, seconds: float = 30) -> dict[str, Any]:
        """The response once it is over."""
        async with asyncio.timeout(seconds):
            while True:
                found: dict[str, Any] = (await self.get(response_id)).json()
                readings.check_response(found)
                if found["status"] not in ("queued", "in_progress"):
                    return found
                await asyncio.sleep(0.05)


async def read_events(reply: httpx2.Response) -> AsyncIterator[Event | None]:
    """Each event, its line's type held against its own."""
    if reply.status_code != 200:
        await reply.aread()
        raise AssertionError(reply.text)
    kind = ""
    async for line in reply.aiter_lines():
        if line.startswith("event: "):
            kind = line.removeprefix("event: ")
        elif line == "data: [DONE]":
            yield None
        elif line.startswith("data: "):
            event: Event = json.loads(line.removeprefix("data: "))
            assert event["type"] == kind
            readings.check_event(event)
            yield event


def told(events: Sequence[Event | None], after: int = -1) -> Told:
    """A stream that came to its end: numbers without gaps, one last event, `[DONE]` after success alone."""
    done = bool(events) and events[-1] is None
    found = Told([event for event in events if event is not None], done=done)
    assert len(events) - len(found.events) == int(done)
    assert found.numbers == list(range(after + 1, after + 1 + len(found.events)))
    if after < 0:
        readings.check_events(found.events)
    if found.events:
        assert [kind for kind in found.types if kind in LAST] == [found.types[-1]]
        assert done == (found.types[-1] in LAST[:2])
    return found


def checked(reply: httpx2.Response) -> httpx2.Response:
    if reply.status_code >= 400:
        check_error(reply.json())
    return reply


def error(reply: httpx2.Response) -> dict[str, Any]:
    found: dict[str, Any] = reply.json()["error"]
    return found


@contextlib.asynccontextmanager
async def calling(folder: Path, **settings: Any) -> AsyncGenerator[tuple[Rig, Caller], None]:
    async with running(folder, **settings) as rig, Caller(rig.url) as caller:
        yield rig, caller


async def script_run(rig: Rig, shown: int | None = None) -> None:
    """The next run tells `shown` steps and is silent then; whoever picks it up is told everything."""
    steps = agent_steps()
    await rig.script(AGENT, [*steps[:shown], LONG] if shown is not None else steps)
    await rig.script(RUN, {"headers": SSE, "steps": steps, "repeat": "forever"})
    cancelling = {"steps": [{"bytes": '{"response_id":"resp_t1","status":"cancelling"}'}], "repeat": "forever"}
    await rig.script(CANCEL_RUN, cancelling)
