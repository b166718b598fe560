"""The running program, for tests that look at it from outside: gateway and emulator, each on a real port.

`Rig.chat` and `Rig.stream` check the invariants of every answer: whole or failed and never between; one error shape; no
field sent upstream that the Agent API does not know; no secret and no prompt in the logs.
"""

import contextlib
import io
import json
import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import msgspec
from starlette.types import ASGIApp

from pplx_gateway.clock import Clock
from pplx_gateway.emulator.app import create_app as emulate
from pplx_gateway.emulator.record import Recorder
from pplx_gateway.emulator.server import EmulatorServer
from pplx_gateway.logs import JsonFormatter
from pplx_gateway.opening import open_gateway
from pplx_gateway.settings import Secret, Settings
from pplx_gateway.web.app import create_app
from tests.running import serve

KEY = "gk-test-0123456789"
API_KEY = "pplx-SECRET-KEY"
COOKIE = "emulator-max-SECRET-COOKIE"
SECRETS = (KEY, API_KEY, COOKIE)

AGENT = "/v1/agent"
ASK_PATH = "/rest/sse/perplexity_ask"


class Reply(msgspec.Struct):
    """An answer that was not streamed."""

    status: int
    headers: httpx2.Headers
    json: Any

    @property
    def error(self) -> dict[str, Any]:
        found: dict[str, Any] = self.json["error"]
        return found

    @property
    def content(self) -> str:
        text: str = self.json["choices"][0]["message"]["content"]
        return text


class Stream(msgspec.Struct):
    """A streamed answer, read to its end. `payloads` are the `data:` lines; `broken` = the connection was cut."""

    status: int
    headers: httpx2.Headers
    raw: bytes
    payloads: list[str]
    comments: int
    broken: bool = False

    @property
    def chunks(self) -> list[dict[str, Any]]:
        return [json.loads(text) for text in self.payloads if text != "[DONE]" and '"choices"' in text]

    @property
    def done(self) -> bool:
        return bool(self.payloads) and self.payloads[-1] == "[DONE]"

    @property
    def error(self) -> dict[str, Any] | None:
        found = [json.loads(text)["error"] for text in self.payloads if text.startswith('{"error"')]
        return found[0] if found else None

    @property
    def content(self) -> str:
        return self._joined("content")

    @property
    def reasoning(self) -> str:
        return self._joined("reasoning_content")

    @property
    def finish(self) -> dict[str, Any]:
        """The one chunk that carries a finish_reason."""
        (chunk,) = [chunk for chunk in self.chunks if chunk["choices"] and chunk["choices"][0]["finish_reason"]]
        return chunk

    @property
    def annotations(self) -> list[dict[str, Any]]:
        lists = [delta["annotations"] for delta in self.deltas if delta.get("annotations")]
        assert len(lists) <= 1, "annotations must come once, since clients add lists up"
        return lists[0] if lists else []

    @property
    def deltas(self) -> list[dict[str, Any]]:
        return [chunk["choices"][0]["delta"] for chunk in self.chunks if chunk["choices"]]

    def _joined(self, key: str) -> str:
        return "".join(delta.get(key) or "" for delta in self.deltas)


class Emulator(NamedTuple):
    """`recorder` holds what came to `url`."""

    url: str
    recorder: Recorder


class Rig:
    """`factor` speeds up the clock of gateway and emulator alike."""

    def __init__(self, emulator: Emulator, url: str, log: io.StringIO) -> None:
        self.url = url
        self.emulator = emulator
        self.emulator_url = emulator.url
        self.log = log
        self.prompts: list[str] = []
        self._client = httpx2.AsyncClient(timeout=60, trust_env=False, verify=False)

    async def close(self) -> None:
        await self._client.aclose()

    @property
    def client(self) -> httpx2.AsyncClient:
        """For requests that no method below makes."""
        return self._client

    # the emulator

    async def script(self, path: str, *answers: Iterable[Mapping[str, object]] | Mapping[str, object]) -> None:
        """Queues answers for `path`: lists of steps, or whole answers with `status`, `headers` and so on."""
        forms = [dict(a) if isinstance(a, Mapping) else {"headers": SSE_HEADERS, "steps": list(a)} for a in answers]
        reply = await self._client.post(f"{self.emulator_url}/_emulator/script", json={"path": path, "answers": forms})
        assert reply.status_code == 200, reply.text

    async def requests(self, path: str = "*") -> list[dict[str, Any]]:
        """What reached the emulator, in order."""
        reply = await self._client.get(f"{self.emulator_url}/_emulator/requests", params={"path": path})
        found: list[dict[str, Any]] = reply.json()["requests"]
        return found

    async def wait(
        self, path: str, *, closed: bool = False, ended: bool = False, count: int = 1, seconds: float = 10
    ) -> list[dict[str, Any]]:
        """Waits, `seconds` at most, until `count` requests came, were left early or were answered (`ended`)."""
        waited = {"closed": str(int(closed)), "ended": str(int(ended)), "timeout": str(seconds)}
        params = {"path": path, "count": str(count), **waited}
        reply = await self._client.get(f"{self.emulator_url}/_emulator/wait", params=params)
        assert reply.status_code == 200, f"{path} was not seen {count} times: {reply.text[:300]}"
        found: list[dict[str, Any]] = reply.json()["requests"]
        return found

    async def emulated(self, path: str) -> str:
        """What the emulator serves at `path`, as text."""
        return (await self._client.get(self.emulator_url + path)).text

    # the gateway

    async def get(self, path: str, *, key: str | None = KEY) -> Reply:
        return self._reply(await self._client.get(self.url + path, headers=bearer(key)))

    async def post(
        self,
        body: Mapping[str, object] | bytes,
        *,
        path: str = "/v1/chat/completions",
        headers: Mapping[str, str] | None = None,
        key: str | None = KEY,
    ) -> Reply:
        """One request that is not streamed, whatever it says."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self._note(body)
        sent = {"content-type": "application/json", **bearer(key), **(headers or {})}
        return self._reply(await self._client.post(self.url + path, content=content, headers=sent))

    async def chat(self, body: Mapping[str, object], *, headers: Mapping[str, str] | None = None) -> Reply:
        """A chat that is not streamed; invariants checked."""
        reply = await self.post({**body, "stream": False}, headers=headers)
        if reply.status == 200:
            assert reply.json["object"] == "chat.completion"
            assert reply.json["choices"][0]["finish_reason"], "a whole answer has a reason to end"
        await self.check()
        return reply

    async def stream(self, body: Mapping[str, object], *, headers: Mapping[str, str] | None = None) -> Stream:
        """A streamed chat, read to its end; invariants checked."""
        self._note(body)
        sent = {**bearer(KEY), **(headers or {})}
        raw, broken = bytearray(), False
        async with self._client.stream(
            "POST", f"{self.url}/v1/chat/completions", json={**body, "stream": True}, headers=sent
        ) as reply:
            try:
                async for data in reply.aiter_raw():
                    raw += data
            except httpx2.RemoteProtocolError:
                broken = True
        stream = read_stream(reply.status_code, reply.headers, bytes(raw), broken)
        check_stream(stream)
        await self.check()
        return stream

    @contextlib.asynccontextmanager
    async def open_stream(self, body: Mapping[str, object]) -> AsyncGenerator[httpx2.Response, None]:
        """A stream that the test reads, or leaves, itself."""
        self._note(body)
        async with self._client.stream(
            "POST", f"{self.url}/v1/chat/completions", json={**body, "stream": True}, headers=bearer(KEY)
        ) as reply:
            yield reply

    async def check(self) -> None:
        """No undocumented field reached the Agent API; nothing secret reached the log."""
        for request in self.emulator.recorder.find(f"{AGENT}*"):
            refusal = request.refusal or ""
            assert "unknown field" not in refusal, refusal
        log = self.log.getvalue()
        for secret in (*SECRETS, *self.prompts):
            assert secret not in log, "a secret or a prompt stands in the log"

    def _reply(self, reply: httpx2.Response) -> Reply:
        found = Reply(reply.status_code, reply.headers, reply.json() if reply.content else None)
        if found.status >= 400:
            check_error(found.json)
        return found

    def _note(self, body: object) -> None:
        """Remembers the texts of a body, to look for them in the log."""
        match body:
            case Mapping():
                for key, value in body.items():
                    if key in ("content", "text", "arguments") and isinstance(value, str) and len(value) > 12:
                        self.prompts.append(value)
                    self._note(value)
            case list() | tuple():
                for value in body:
                    self._note(value)


SSE_HEADERS = {"content-type": "text/event-stream"}


def bearer(key: str | None) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"} if key else {}


def read_stream(status: int, headers: httpx2.Headers, raw: bytes, broken: bool) -> Stream:
    lines = raw.decode().split("\n")
    assert b"\r" not in raw, "streams use LF alone"
    payloads = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    comments = [line for line in lines if line.startswith(":")]
    others = [line for line in lines if line and line not in comments and not line.startswith("data: ")]
    if status == 200:
        assert not others, others
        return Stream(status, headers, raw, payloads, len(comments), broken)
    check_error(json.loads(raw))
    return Stream(status, headers, raw, [raw.decode()], 0, broken)


def check_stream(stream: Stream) -> None:
    """Success: one finish, one `[DONE]`, last. Failure: neither, one error, and nothing after it."""
    if stream.status != 200:
        return
    assert stream.headers["content-type"].startswith("text/event-stream")
    assert stream.headers["cache-control"] == "no-cache, no-transform"
    assert stream.headers["x-accel-buffering"] == "no"
    chunks = stream.chunks
    assert len({chunk["id"] for chunk in chunks}) <= 1
    assert {chunk["object"] for chunk in chunks} <= {"chat.completion.chunk"}
    assert all(isinstance(chunk["created"], int) for chunk in chunks)
    finishes = [c for c in chunks if c["choices"] and c["choices"][0]["finish_reason"] is not None]
    if stream.error is None:
        assert len(finishes) == 1, stream.payloads[-3:]
        assert stream.payloads.count("[DONE]") == 1
        assert stream.done
    else:
        assert not finishes
        assert "[DONE]" not in stream.payloads
        assert stream.payloads[-1].startswith('{"error"')
        check_error(json.loads(stream.payloads[-1]))


def check_error(body: Any) -> None:
    """The one error shape, with a message that a person can read."""
    assert set(body) == {"error"}, body
    error = body["error"]
    assert set(error) == {"message", "type", "code", "param"}, error
    assert error["message"]
    assert isinstance(error["message"], str)
    assert isinstance(error["type"], str)
    assert "\n" not in error["message"]
    assert "<html" not in error["message"].lower()
    assert "Traceback" not in error["message"]
    assert not any(secret in json.dumps(body) for secret in SECRETS)


@contextlib.asynccontextmanager
async def running(
    folder: Path,
    *,
    order: Sequence[str] = ("session", "api"),
    factor: float = 1.0,
    clock: Clock | None = None,
    around: Callable[[ASGIApp], ASGIApp] = lambda app: app,
    **settings: Any,
) -> AsyncGenerator[Rig, None]:
    """Gateway and emulator with credentials for the upstreams in `order`; the rest of the settings as given. `around`
    may put something between the gateway and its callers."""
    clock = clock or Clock(factor)
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger("pplx_gateway")
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        played = emulate(clock, pace_seconds=0.0)
        async with EmulatorServer(played) as emulator:
            chosen: dict[str, Any] = {
                "api_key": Secret(KEY),
                "upstreams": tuple(order),
                "cookie": Secret(COOKIE) if "session" in order else None,
                "perplexity_api_key": Secret(API_KEY) if "api" in order else None,
                "account_type": "max",
                "notices": False,  # texts are compared to the letter
                "session_url": emulator.url,
                "api_url": emulator.url,
                "clock_factor": clock.factor,
                "data_dir": folder,
                **settings,
            }
            gateway = await open_gateway(Settings(**chosen), clock)
            async with serve(around(create_app(gateway))) as url:
                rig = Rig(Emulator(emulator.url, played.stage.recorder), url, log)
                yield rig
                await rig.close()
            await gateway.close()
    finally:
        root.removeHandler(handler)
