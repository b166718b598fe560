"""Refusals over HTTP, as errors of JSON-RPC: the SDK has some that are a bare status, or a few words of plain text."""

import json
from collections.abc import Mapping

from pplx_agent_mcp import INVALID_REQUEST, RpcError, error_frame
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pplx_gateway.web.headers import RawHeaders
from pplx_gateway.web.replies import send_body

_JSON = b"application/json"
_OF_THE_BODY = (b"content-type", b"content-length")


async def refuse(send: Send, error: RpcError, status: int = 400, more: RawHeaders | None = None) -> None:
    body = json.dumps(error_frame(error)).encode()
    headers = [(b"content-type", _JSON), (b"content-length", b"%d" % len(body)), *(more or [])]
    await send_body(send, status, headers, body)


class Refusals:
    """Runs before `app`, and puts `words` in the place of what it says, by status, unless that is JSON already."""

    def __init__(self, app: ASGIApp, words: Mapping[int, str]) -> None:
        self._app = app
        self._words = words

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        replaced = False

        async def worded(message: Message) -> None:
            nonlocal replaced
            words = self._words.get(message["status"]) if message["type"] == "http.response.start" else None
            if words is not None and dict(message["headers"]).get(b"content-type") != _JSON:
                replaced = True
                kept = [(name, value) for name, value in message["headers"] if name not in _OF_THE_BODY]
                await refuse(send, RpcError(INVALID_REQUEST, words), message["status"], kept)
            elif not replaced:
                await send(message)

        await self._app(scope, receive, worded)
