"""The gateway's faces: one question asked through any of them, and what came of it when it failed."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx2
import msgspec

from tests.mcp_gateway.calling import events_of, modern
from tests.responses.calling import RESPONSES
from tests.rig import KEY, SECRETS, Rig, bearer

Json = dict[str, Any]

MCP = "mcp"
_ENDED = ("completed", "failed", "incomplete", "cancelled")
_SUCCESS = (
    "[DONE]",
    '"finish_reason":"stop"',
    '"status":"COMPLETED"',
    '"status":"completed"',
    "response.completed",
    "message_stop",
    '"stop_reason":"end_turn"',
)


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """How a question failed. `status` is None where the answer had begun, or where the protocol tells it otherwise;
    `after` is Retry-After."""

    status: int | None
    code: str | None
    type: str | None
    param: str | None
    retry: str | None
    after: str | None
    message: str


class Face(msgspec.Struct, frozen=True, kw_only=True):
    """`body` is given a model and a question; `wrong` names a field and a value that it must refuse."""

    name: str
    path: str
    body: Callable[[str, str], Json]
    wrong: tuple[str, object]
    streamed: bool = False
    background: bool = False

    @property
    def anthropic(self) -> bool:
        return self.path == "/v1/messages"

    @property
    def mirror(self) -> bool:
        """Under `/perplexity`, where a code is a number."""
        return self.path.startswith("/perplexity")

    async def fail(self, rig: Rig, body: Json, *, key: str | None = KEY) -> Failed:
        """The failure that must come of `body`. Whatever looks like success fails the test."""
        sent = bearer(key)
        if self.name == MCP:
            body, more = modern("tools/call", {"name": "perplexity_search", "arguments": body})
            sent |= more
        if self.anthropic:
            sent["anthropic-version"] = "2023-06-01"
        reply = await rig.client.post(rig.url + self.path, json=body, headers=sent)
        if self.background and reply.status_code == 200:
            reply = await over(rig, reply.json()["id"])
        check(reply)
        return _READERS.get(self.name, _http)(reply)


def _messages(model: str, question: str) -> Json:
    return {"model": model, "messages": [{"role": "user", "content": question}]}


def _streamed(body: Callable[[str, str], Json]) -> Callable[[str, str], Json]:
    return lambda model, question: {**body(model, question), "stream": True}


def _input(model: str, question: str) -> Json:
    return {"model": model, "input": question}


def _faces(name: str, path: str, body: Callable[[str, str], Json], wrong: tuple[str, object]) -> list[Face]:
    plain = Face(name=name, path=path, body=body, wrong=wrong)
    streamed = Face(name=f"{name}, streamed", path=path, body=_streamed(body), wrong=wrong, streamed=True)
    return [plain, streamed]


FACES: tuple[Face, ...] = (
    *_faces("chat", "/v1/chat/completions", _messages, ("messages", 5)),
    *_faces("responses", RESPONSES, _input, ("input", 5)),
    Face(
        name="responses, background",
        path=RESPONSES,
        body=lambda model, question: {**_input(model, question), "background": True},
        wrong=("input", 5),
        background=True,
    ),
    *_faces("sonar", "/v1/sonar", _messages, ("messages", 5)),
    *_faces("mirrored sonar", "/perplexity/chat/completions", _messages, ("messages", 5)),
    *_faces("agent", "/v1/agent", _input, ("input", 5)),
    *_faces("mirrored agent", "/perplexity/v1/agent", _input, ("input", 5)),
    *_faces(
        "messages",
        "/v1/messages",
        lambda model, question: {**_messages(model, question), "max_tokens": 64},
        ("messages", 5),
    ),
    Face(
        name=MCP,
        path="/mcp",
        body=lambda model, question: {"model": model, "query": question},
        wrong=("query", 5),
    ),
)


def check(reply: httpx2.Response) -> None:
    """No secret, no page of somebody else's, no success."""
    text = reply.text
    for secret in SECRETS:
        assert secret not in text
    assert "Traceback" not in text
    assert "<html" not in text.lower()
    for shape in _SUCCESS:
        assert shape not in text, f"{shape} in {text[-600:]}"


def _http(reply: httpx2.Response) -> Failed:
    if reply.status_code == 200 and reply.headers["content-type"].startswith("text/event-stream"):
        return _within(reply)
    document = reply.json()
    run = document.get("object") == "response"  # a run that failed, as the Agent API tells it
    assert not run or document["status"] == "failed", document
    return _failed(reply, document.get("error") or document, None if run else reply.status_code)


def _within(reply: httpx2.Response) -> Failed:
    """The last event of a stream is its error."""
    data = [line.removeprefix("data: ") for line in reply.text.splitlines() if line.startswith("data: ")]
    last = json.loads(data[-1])
    error = last.get("error") or (last.get("response") or {}).get("error") or last
    return _failed(reply, error, None)


def _kept(reply: httpx2.Response) -> Failed:
    """A response that ran in the background and failed."""
    document = reply.json()
    if reply.status_code != 200:
        return _failed(reply, document["error"], reply.status_code)
    assert document["status"] == "failed", document
    assert document["output"] == []
    return _failed(reply, document["error"], None)


def _tool(reply: httpx2.Response) -> Failed:
    if reply.status_code != 200:
        return _http(reply)
    streamed = reply.headers["content-type"].startswith("text/event-stream")
    (message,) = [event for event in (events_of(reply.text) if streamed else [reply.json()]) if "id" in event]
    result = message["result"]
    assert result["isError"] is True, result
    (block,) = result["content"]
    error = {**(result.get("structuredContent") or {}).get("error", {}), "message": block["text"]}
    assert str(error.get("code") or "") in block["text"], "the code stands in the text too"
    return _failed(reply, error, None)


def _failed(reply: httpx2.Response, error: Json, status: int | None) -> Failed:
    code = error.get("code")
    assert error["message"]
    assert "\n" not in error["message"] or reply.url.path == "/mcp"
    return Failed(
        status=status,
        code=None if code is None else str(code),
        type=error.get("type"),
        param=error.get("param"),
        retry=reply.headers.get("x-should-retry"),
        after=reply.headers.get("retry-after"),
        message=error["message"],
    )


async def over(rig: Rig, response_id: str) -> httpx2.Response:
    async with asyncio.timeout(60):
        while True:
            reply = await rig.client.get(f"{rig.url}{RESPONSES}/{response_id}", headers=bearer(KEY))
            if reply.json()["status"] in _ENDED:
                return reply
            await asyncio.sleep(0.02)


_READERS: dict[str, Callable[[httpx2.Response], Failed]] = {MCP: _tool, "responses, background": _kept}
