"""What every client was told by `/v1/responses`, to the byte, held against the three readings of tests/readings.py."""

import json
from collections import Counter
from typing import Any
from urllib.parse import parse_qs

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests import readings
from tests.rig import check_error

ROOT = "/v1/responses"


class Answer(msgspec.Struct):
    """`whole` = the client stayed to the end."""

    method: str
    path: str
    query: dict[str, list[str]]
    asked: bytes
    status: int = 0
    kind: str = ""
    body: bytes = b""
    whole: bool = False

    @property
    def streamed(self) -> bool:
        return self.kind.startswith("text/event-stream")

    @property
    def name(self) -> str:
        """What it is an answer to, such as `GET /{id}/input_items`."""
        rest = self.path.removeprefix(ROOT).strip("/").split("/")
        below = "/".join(["{id}", *rest[1:]]) if rest[0] else ""
        return f"{self.method} /{below}".rstrip("/") + (" streamed" if self.streamed else "")

    @property
    def request(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.asked)
        return found

    def check(self) -> None:
        if self.status >= 400:
            check_error(json.loads(self.body))
        elif self.streamed:
            self._check_stream()
        elif self.whole:
            self._check_object(json.loads(self.body))

    def _check_object(self, found: dict[str, Any]) -> None:
        if self.path.endswith("/input_items"):
            readings.check_items(found)
        elif self.method == "DELETE":
            assert found == {"id": self.path.removeprefix(f"{ROOT}/"), "object": "response", "deleted": True}
        else:
            readings.check_response(found)

    def _check_stream(self) -> None:
        after = int(self.query.get("starting_after", ["-1"])[0])
        if not self.whole:
            events = readings.read_frames(self.body[: self.body.rfind(b"\n\n") + 2])
        else:
            events = readings.read_stream(self.body)
        for event in events:
            readings.check_event(event)
        if self.whole and after < 0:
            readings.check_events(events)
        numbers = [event["sequence_number"] for event in events if event["type"] != "error"]
        assert numbers == list(range(after + 1, after + 1 + len(numbers)))


class Recorder:
    """Stands between the gateway and its callers (`running(around=...)`)."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self._app: ASGIApp | None = None

    def around(self, app: ASGIApp) -> ASGIApp:
        self._app = app
        return self

    def check(self) -> Counter[str]:
        """Every object and every event. Returns how many answers there were of which kind."""
        for answer in self.answers:
            answer.check()
        return Counter(answer.name for answer in self.answers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert self._app is not None
        if scope["type"] != "http" or not scope["path"].startswith(ROOT):
            await self._app(scope, receive, send)
            return
        answer = Answer(scope["method"], scope["path"], parse_qs(scope["query_string"].decode()), b"")
        self.answers.append(answer)

        async def heard() -> Message:
            message = await receive()
            answer.asked += message.get("body", b"")
            return message

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer.status = message["status"]
                answer.kind = dict(message["headers"])[b"content-type"].decode()
            else:
                answer.body += message.get("body", b"")
                answer.whole = not message.get("more_body", False)
            await send(message)

        await self._app(scope, heard, told)
