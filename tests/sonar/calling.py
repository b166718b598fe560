"""What callers do with Sonar, every stream held against the rules of its mode."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import msgspec

from pplx_gateway.protocols.perplexity.sonar.objects import SonarCompletion
from tests.rig import KEY, SECRETS, Reply, Rig, bearer, running

SONAR = "/v1/sonar"
LATER = "/v1/async/sonar"
QUESTION = "Which two rivers meet in Ghent?"
ASK: dict[str, Any] = {"model": "sonar", "messages": [{"role": "user", "content": QUESTION}]}
OVER = ("COMPLETED", "FAILED")

Chunk = dict[str, Any]


class Told(msgspec.Struct):
    """A stream as far as it came. `error` is what it broke off with."""

    status: int
    headers: httpx2.Headers
    chunks: list[Chunk]
    done: bool
    error: dict[str, Any] | None = None

    @property
    def objects(self) -> list[str]:
        return [chunk["object"] for chunk in self.chunks]

    @property
    def text(self) -> str:
        return "".join(chunk["choices"][0]["delta"]["content"] for chunk in self.chunks)

    @property
    def last(self) -> Chunk:
        return self.chunks[-1]

    @property
    def message(self) -> dict[str, Any]:
        found: dict[str, Any] = self.last["choices"][0]["message"]
        return found


async def ask(rig: Rig, path: str = SONAR, *, headers: Mapping[str, str] | None = None, **body: object) -> Reply:
    """One request; a success must be a whole Sonar answer."""
    reply = await rig.post({**ASK, **body}, path=path, headers=headers)
    if reply.status == 200:
        check_completion(reply.json)
        assert reply.json["object"] == "chat.completion"
        assert reply.json["status"] == "COMPLETED"
        assert reply.json["choices"][0]["finish_reason"]
    else:
        check_error(reply)
    await rig.check()
    return reply


async def refused(rig: Rig, status: int = 400, path: str = SONAR, **body: Any) -> dict[str, Any]:
    """The error that must come."""
    reply = await ask(rig, path, **body)
    assert reply.status == status, reply.json
    return reply.error


async def stream(rig: Rig, path: str = SONAR, **body: object) -> Told:
    sent = {**ASK, "stream": True, **body}
    rig.prompts.append(QUESTION)
    raw = bytearray()
    async with rig.client.stream("POST", rig.url + path, json=sent, headers=bearer(KEY)) as reply:
        async for data in reply.aiter_raw():
            raw += data
        told = read(reply.status_code, reply.headers, raw.decode())
    if told.status == 200:
        (check_concise if body.get("stream_mode") == "concise" else check_full)(told)
    await rig.check()
    return told


def read(status: int, headers: httpx2.Headers, raw: str) -> Told:
    """An error is an event of that name, the last one, and nothing succeeds after it."""
    if status != 200:
        return Told(status, headers, [], done=False, error=json.loads(raw)["error"])
    spoken = "\n".join(line for line in raw.split("\n") if not line.startswith(":"))
    blocks = [block for block in spoken.split("\n\n") if block.strip()]
    done = blocks[-1:] == ["data: [DONE]"]
    error = None
    if blocks and blocks[-1].startswith("event: error\n"):
        error = json.loads(blocks.pop().partition("\ndata: ")[2])["error"]
    payloads = [block.removeprefix("data: ") for block in (blocks[:-1] if done else blocks)]
    return Told(status, headers, [json.loads(payload) for payload in payloads], done=done, error=error)


def check_full(told: Told) -> None:
    said = ""
    for chunk in told.chunks:
        check_completion(chunk)
        choice = chunk["choices"][0]
        said += choice["delta"]["content"]
        assert choice["message"]["content"] == said, "each chunk repeats what was said so far"
    assert set(told.objects) <= {"chat.completion.chunk"}
    _check_end(told)


def check_concise(told: Told) -> None:
    for chunk in told.chunks:
        check_completion(chunk)
    objects = told.objects
    stages = ["chat.reasoning", "chat.reasoning.done", "chat.completion.chunk", "chat.completion.done"]
    assert objects == sorted(objects, key=stages.index), objects
    if told.error is None:
        assert objects.count("chat.reasoning.done") == objects.count("chat.completion.done") == 1
        assert told.message["content"] == told.text
    for chunk in told.chunks:
        if chunk["object"] in ("chat.reasoning", "chat.completion.chunk"):
            assert chunk["choices"][0]["message"] == {"role": "assistant", "content": ""}
            assert "search_results" not in chunk
    _check_end(told)


def _check_end(told: Told) -> None:
    ends = [chunk for chunk in told.chunks if chunk["choices"][0]["finish_reason"] is not None]
    assert [chunk for chunk in told.chunks if chunk["type"] == "end_of_stream"] == ends
    assert [chunk for chunk in told.chunks if chunk["status"] == "COMPLETED"] == ends
    assert len({(chunk["id"], chunk["model"], chunk["created"]) for chunk in told.chunks}) <= 1
    if told.error is None:
        assert told.done
        assert ends == [told.last]
    else:
        assert not ends
        assert not told.done
        assert isinstance(told.error["code"], int)


def check_completion(value: object) -> None:
    """Nothing but what is documented stands in it."""
    found = msgspec.convert(value, SonarCompletion)
    assert _without_nulls(json.loads(msgspec.json.encode(found))) == _without_nulls(value)


def _without_nulls(value: object) -> object:
    match value:
        case dict():
            return {key: _without_nulls(item) for key, item in value.items() if item is not None}
        case list():
            return [_without_nulls(item) for item in value]
        case _:
            return value


def check_error(reply: Reply) -> None:
    assert reply.error["code"] == reply.status, "the code is the status, as a number"
    assert set(reply.error) == {"message", "type", "code", "param"}


class Later:
    """Asynchronous Sonar at `url`."""

    def __init__(self, url: str, key: str | None = KEY, path: str = LATER) -> None:
        self._client = httpx2.AsyncClient(base_url=url, headers=bearer(key), timeout=60, trust_env=False)
        self._path = path

    async def __aenter__(self) -> "Later":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def submit(self, body: Mapping[str, object], headers: Mapping[str, str] | None = None) -> httpx2.Response:
        reply = await self._client.post(self._path, json=body, headers=dict(headers or {}))
        return self._checked(reply)

    async def created(self, *, key: str | None = None, **request: object) -> dict[str, Any]:
        body = {"request": {**ASK, **request}, **({"idempotency_key": key} if key else {})}
        reply = await self.submit(body)
        assert reply.status_code == 200, reply.text
        found: dict[str, Any] = reply.json()
        assert found["id"] == found["task_id"]
        return found

    async def get(self, request_id: str) -> httpx2.Response:
        return self._checked(await self._client.get(f"{self._path}/{request_id}"))

    async def listed(self, **params: str) -> dict[str, Any]:
        reply = await self._client.get(self._path, params=params)
        assert reply.status_code == 200, reply.text
        found: dict[str, Any] = reply.json()
        return found

    async def ended(self, request_id: str, seconds: float = 30) -> dict[str, Any]:
        """The request once it is over."""
        async with asyncio.timeout(seconds):
            while True:
                found: dict[str, Any] = (await self.get(request_id)).json()
                if found["status"] in OVER:
                    return found
                await asyncio.sleep(0.05)

    def _checked(self, reply: httpx2.Response) -> httpx2.Response:
        found = reply.json()
        if reply.status_code >= 400:
            assert found["error"]["code"] == reply.status_code
            assert not any(secret in reply.text for secret in SECRETS)
        elif found["response"] is not None:
            check_completion(found["response"])
        return reply


@contextlib.asynccontextmanager
async def calling(folder: Path, **settings: Any) -> AsyncGenerator[Rig, None]:
    async with running(folder, **settings) as rig:
        yield rig
        await rig.check()
