"""The tools and the rest on MCP's own SDK. Importing this takes over a second, so nobody does it on the loop.

The SDK's low-level server checks no arguments, which is wanted here: the table's own check does (pplx_agent_mcp.py).
"""

import contextlib
import logging
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, NamedTuple

import mcp_types as types
from anyio import BrokenResourceError, ClosedResourceError
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.sse import SseServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from pplx_agent_mcp import (
    CACHE_HINTS,
    INVALID_PARAMS,
    ArgumentError,
    Fields,
    RpcError,
    ToolResult,
    check_arguments,
)
from starlette.types import Message, Receive, Scope, Send

from pplx_gateway.interrupting import Interruptible
from pplx_gateway.protocols.mcp.about import INFO, INSTRUCTIONS, METHODS
from pplx_gateway.protocols.mcp.face import Face
from pplx_gateway.protocols.mcp.messages import Messages, Read
from pplx_gateway.protocols.mcp.params import Precise
from pplx_gateway.protocols.mcp.refusals import Refusals
from pplx_gateway.protocols.mcp.runs import Asker
from pplx_gateway.tab import current_tab
from pplx_gateway.web import headers

# At their lower levels these loggers tell whole messages, questions and answers among them.
_TALKATIVE = ("mcp", "sse_starlette")

Context = ServerRequestContext[Any, Any]

_UNBOUNDED = sys.maxsize  # for what `read` has limits of its own
_REFUSED = {
    405: "At this revision there is nothing but POST.",
    406: "'Accept' must name both application/json and text/event-stream.",
}
_REFUSED_BY_SSE = {
    400: "The address must hold the session_id that the stream's first event gave.",
    404: "There is no such stream: it has ended, or is another caller's. GET /sse opens one.",
}


class Shape(NamedTuple):
    """What goes into a method, and what comes out of it."""

    params: type[types.RequestParams]
    result: type[types.Result]


_SHAPES = {
    "resources/list": Shape(types.PaginatedRequestParams, types.ListResourcesResult),
    "resources/templates/list": Shape(types.PaginatedRequestParams, types.ListResourceTemplatesResult),
    "resources/read": Shape(types.ReadResourceRequestParams, types.ReadResourceResult),
    "prompts/list": Shape(types.PaginatedRequestParams, types.ListPromptsResult),
    "prompts/get": Shape(types.GetPromptRequestParams, types.GetPromptResult),
}


class GatewayStops(Exception):
    """The transports are closing."""


class Transports:
    """Streamable HTTP and the older HTTP+SSE for one face, while `open` is. `stateless`: requests of the handshake era
    come without a session, for any worker to answer."""

    def __init__(self, face: Face, read: Read, *, stateless: bool) -> None:
        self._server = server_of(face)
        self._manager = StreamableHTTPSessionManager(
            self._server,
            stateless=stateless,
            max_request_body_size=_UNBOUNDED,
        )
        self._streamable = Messages(Refusals(self._manager.handle_request, _REFUSED), read)
        self._sse = SseServerTransport("/sse", max_request_body_size=_UNBOUNDED)
        self._sent = Messages(Refusals(self._sse.handle_post_message, _REFUSED_BY_SSE), read)
        self._streams: set[Interruptible] = set()

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncGenerator[None, None]:
        async with self._manager.run():
            try:
                yield
            finally:
                for stream in self._streams:
                    stream.interrupt(GatewayStops())

    async def streamable(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises what `read` raises."""
        await self._streamable(_owned(scope), receive, send)

    async def sse(self, scope: Scope, receive: Receive, send: Send) -> None:
        """GET opens the stream, and POST sends messages to it. Raises what `read` raises."""
        scope = {**_owned(scope), "root_path": scope["state"].get("mcp_root", "")}
        if scope["method"] == "POST":
            with contextlib.suppress(ClosedResourceError, BrokenResourceError):  # the stream's client has just left
                await self._sent(scope, receive, send)
            return
        stream = Interruptible()
        self._streams.add(stream)
        try:
            with contextlib.suppress(GatewayStops):
                async with stream, self._sse.connect_sse(scope, receive, _as_it_comes(send)) as (read, write):
                    await self._server.run(read, write, self._server.create_initialization_options())
        finally:
            self._streams.discard(stream)


def _as_it_comes(send: Send) -> Send:
    """Asks whoever stands between, as the SDK does on its other streams, to hand on each event by itself."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            others = [(name, value) for name, value in message["headers"] if name != b"cache-control"]
            message = {**message, "headers": [*others, (b"cache-control", b"no-cache, no-transform")]}
        await send(message)

    return sent


def _owned(scope: Scope) -> Scope:
    """Binds the sessions that begin here to their caller: another one's key does not reach them. The server leaves
    blanks at the end of headers, which the SDK compares to the letter. Events have no ids here, so there is no place to
    go on from; the SDK fails where one is named."""
    token = AccessToken(token="", client_id=scope["state"]["caller"], scopes=[])
    trimmed = [(name, value.strip(b" \t")) for name, value in scope["headers"] if name != b"last-event-id"]
    return {**headers.replaced(scope, trimmed), "user": AuthenticatedUser(token)}


def server_of(face: Face) -> Server[Any]:
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    tools = {tool.name: tool for tool in face.tools}
    shown = {name: tool.describe() for name, tool in tools.items()}

    async def list_tools(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult.model_validate({"tools": list(shown.values())})

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool. There are: {', '.join(tools)}.")
        try:
            arguments = check_arguments(tool, params.arguments or {})
        except ArgumentError as error:
            frame = ToolResult(f"Invalid arguments for {tool.name}: {error}", is_error=True).frame()
        else:
            frame = await _raising(face.call(tool.name, arguments, _asker(context)))
        return types.CallToolResult.model_validate(frame)

    hint = CacheHint(ttl_ms=CACHE_HINTS["ttlMs"], scope=CACHE_HINTS["cacheScope"])
    server = Server[Any](
        INFO["name"],
        version=INFO["version"],
        title=INFO["title"],
        instructions=INSTRUCTIONS,
        cache_hints={
            "tools/list": hint,
            "prompts/list": hint,
            "resources/list": hint,
            "resources/templates/list": hint,
            "server/discover": hint,
        },
        get_tool_input_schema=lambda name: shown[name]["inputSchema"] if name in shown else None,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    server.middleware.append(Precise(server))
    for method in METHODS:
        server.add_request_handler(method, _SHAPES[method].params, _performing(face, method))
    return server


def _performing(face: Face, method: str) -> Callable[[Context, types.RequestParams], Awaitable[types.Result]]:
    async def perform(context: Context, params: types.RequestParams) -> types.Result:
        fields = params.model_dump(by_alias=True, mode="json", exclude_none=True, exclude={"meta"})
        return _SHAPES[method].result.model_validate(await _raising(face.perform(method, fields, _asker(context))))

    return perform


async def _raising(result: Awaitable[Fields]) -> Fields:
    try:
        return await result
    except RpcError as error:
        raise MCPError(error.code, error.message, error.data) from None


def _asker(context: Context) -> Asker:
    """Whoever sent this very message, whoever began the session."""
    state: dict[str, Any] = context.request.scope["state"] if context.request is not None else {}
    current_tab.set(state.get("tab"))

    async def report(seconds: float, line: str) -> None:
        await context.session.report_progress(round(seconds, 3), message=line)

    return Asker(state.get("caller", ""), state.get("caller_key"), report)
