"""What is no message of JSON-RPC is refused here: the SDK would answer with the words of its own library.

Bodies of `/mcp` come through here before the SDK sees them, whatever era they are of.
"""

import json
from collections.abc import Awaitable, Callable

import mcp_types as types
from pplx_agent_mcp import INVALID_REQUEST, RpcError, check_message, error_frame, parse
from pydantic import ValidationError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pplx_gateway.web.replies import send_body

Read = Callable[[Receive], Awaitable[bytes]]
"""Gives a whole body. Raises TooLarge, RequestTimeout, CallerLeft."""


class Messages:
    """Runs before `app`."""

    def __init__(self, app: ASGIApp, read: Read) -> None:
        self._app = app
        self._read = read

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises what `read` raises."""
        if scope["method"] == "POST":
            body = await self._read(receive)
            if (error := fault_of(body)) is not None:
                await _refuse(send, error)
                return
            receive = _again(body, receive)
        await self._app(scope, receive, send)


def fault_of(body: bytes) -> RpcError | None:
    """What keeps the body from being a request, a notification or an answer."""
    try:
        message = check_message(parse(body))
    except RpcError as error:
        return error
    identifier = message.get("id")
    if not isinstance(message.get("params"), dict | None):
        return RpcError(INVALID_REQUEST, "'params' must be an object.", id=identifier)
    try:
        types.jsonrpc_message_adapter.validate_json(body, by_name=False)
    except ValidationError:  # its own words are of the library, and repeat the body
        return RpcError(INVALID_REQUEST, "The body is no message of JSON-RPC 2.0 as MCP has it.", id=identifier)
    return None


def _again(body: bytes, receive: Receive) -> Receive:
    """The body, which was read already, and then what comes."""
    left: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return left.pop() if left else await receive()

    return again


async def _refuse(send: Send, error: RpcError) -> None:
    body = json.dumps(error_frame(error)).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send_body(send, 400, headers, body)
