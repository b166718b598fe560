"""What is no message of JSON-RPC is refused here: the SDK would answer with the words of its own library.

Bodies of `/mcp` and of `/sse` come through here before the SDK sees them, whatever era they are of.
"""

import json
from collections.abc import Awaitable, Callable

import mcp_types as types
from pplx_agent_mcp import INVALID_REQUEST, Fields, RpcError, check_message, parse
from pydantic import ValidationError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pplx_gateway.protocols.mcp.ids import Ids
from pplx_gateway.protocols.mcp.refusals import refuse
from pplx_gateway.web import headers

Read = Callable[[Receive], Awaitable[bytes]]
"""Gives a whole body. Raises TooLarge, RequestTimeout, CallerLeft."""

_MARK = b"\xef\xbb\xbf"


class Messages:
    """Runs before `app`."""

    def __init__(self, app: ASGIApp, read: Read) -> None:
        self._app = app
        self._read = read
        self._ids = Ids()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises what `read` raises."""
        if scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body = (await self._read(receive)).removeprefix(_MARK)
        try:
            _check_type(scope)
            async with self._ids.held(headers.first(scope, b"mcp-session-id"), message_of(body)):
                await self._app(scope, _again(body, receive), send)
        except RpcError as error:
            await refuse(send, error)


def _check_type(scope: Scope) -> None:
    """As the SDK does. Raises RpcError."""
    kind = headers.first(scope, b"content-type") or b""
    if not kind.lower().startswith(b"application/json"):
        raise RpcError(INVALID_REQUEST, "A message is sent as 'Content-Type: application/json'.")


def message_of(body: bytes) -> Fields:
    """A request, a notification or an answer. Raises RpcError."""
    message = check_message(parse(body))
    identifier = message.get("id")
    if not isinstance(message.get("params"), dict | None):
        raise RpcError(INVALID_REQUEST, "'params' must be an object.", id=identifier)
    try:
        types.jsonrpc_message_adapter.validate_json(body, by_name=False)
    except ValidationError as error:  # its own words are of the library, and repeat the body
        raise RpcError(INVALID_REQUEST, _words(error, message), id=identifier) from None
    return message


def _words(error: ValidationError, message: Fields) -> str:
    """Of what Python's reader of JSON takes, the library's refuses two things."""
    if error.errors()[0]["type"] != "json_invalid":
        return "The body is no message of JSON-RPC 2.0 as MCP has it."
    try:
        json.dumps(message, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "A text in the message holds half of a surrogate pair, which is no character."
    return "The message is nested too deep."


def _again(body: bytes, receive: Receive) -> Receive:
    """The body, which was read already, and then what comes."""
    left: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return left.pop() if left else await receive()

    return again
