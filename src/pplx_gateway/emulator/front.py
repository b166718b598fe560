"""Stands before both halves: records each request, answers from the script, sees callers leave."""

import asyncio

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pplx_gateway.emulator.record import Record
from pplx_gateway.emulator.script import Entry, Scripted, matches
from pplx_gateway.emulator.stage import Stage
from pplx_gateway.emulator.wire import cancelled, connection_of, until_disconnected

CONTROL_PREFIX = "/_emulator/"
# Above what either upstream takes (32 MiB on the API), so that the halves can refuse in their own words.
MAX_BODY_BYTES = 80 << 20


class Front:
    """ASGI middleware. Everything but the control paths is read whole before a half sees it."""

    def __init__(self, app: ASGIApp, stage: Stage) -> None:
        self._app = app
        self.stage = stage

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].startswith(CONTROL_PREFIX):
            await self._app(scope, receive, send)
            return
        self.stage.open_requests += 1
        try:
            await self._handle(scope, receive, send)
        finally:
            self.stage.open_requests -= 1

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await read_body(receive)
        except ClientDisconnect:
            self.stage.recorder.closed_early(self._record(scope, b""))
            return
        record = self._record(scope, body or b"")
        scope.setdefault("state", {})["record"] = record
        if body is None:
            await JSONResponse({"error": "too large"}, 413, {"connection": "close"})(scope, receive, send)
            return
        left = asyncio.Event()
        watch = asyncio.ensure_future(self._watch(scope, receive, record, left))
        try:
            await self._choose(record)(scope, replay(body, left), self._noting(send, record))
        finally:
            await cancelled(watch)

    def _record(self, scope: Scope, body: bytes) -> Record:
        headers = Headers(scope=scope).items()
        query = scope["query_string"].decode("latin-1")
        return self.stage.recorder.add(scope["method"], scope["path"], query, headers, body)

    def _choose(self, record: Record) -> ASGIApp:
        """The script's answer if there is one and the request deserves it, else the emulator's own."""
        entry = self.stage.scripts.peek(record.method, record.path)
        if entry is None:
            return self._app
        answer = self._refusal(entry, record) or self.stage.scripts.use(entry)
        record.scripted = True
        return self.stage.play(
            answer.steps, status=answer.status, headers=answer.headers, delay_seconds=answer.delay_seconds
        )

    def _refusal(self, entry: Entry, record: Record) -> Scripted | None:
        checks = [
            check
            for method, path, check in self.stage.guards
            if entry.strict and method == record.method and matches(path, record.path)
        ]
        return next((refusal for check in checks if (refusal := check(record)) is not None), None)

    async def _watch(self, scope: Scope, receive: Receive, record: Record, left: asyncio.Event) -> None:
        await until_disconnected(receive)
        connection = connection_of(scope)
        if connection is not None and connection.broken:
            record.ended = True
            self.stage.recorder.changed()
        if not record.ended:
            self.stage.recorder.closed_early(record)
        left.set()

    def _noting(self, send: Send, record: Record) -> Send:
        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                record.status = message["status"]
                self.stage.recorder.changed()
            elif not message.get("more_body", False):
                record.ended = record.closed_at is None
                self.stage.recorder.changed()
            await send(message)

        return noting


async def read_body(receive: Receive) -> bytes | None:
    """The whole body; None if it is too large. Raises ClientDisconnect."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            return None
        if not message.get("more_body", False):
            return bytes(body)


def replay(body: bytes, left: asyncio.Event) -> Receive:
    """A `receive` that gives `body` in one piece, and then waits for the caller to leave."""
    pending = [body]

    async def receive() -> Message:
        if pending:
            return {"type": "http.request", "body": pending.pop(), "more_body": False}
        await left.wait()
        return {"type": "http.disconnect"}

    return receive
