"""Whole answers in one go: JSON, pages, errors."""

import asyncio
from collections.abc import Iterable

from starlette.responses import Response
from starlette.types import Receive, Send

from pplx_gateway.errors import GatewayError
from pplx_gateway.protocols.openai.errors import Rendered
from pplx_gateway.tab import current_tab
from pplx_gateway.web import dialects
from pplx_gateway.web.headers import RawHeaders

# A caller who is still sending would get a reset instead of the answer, so a refused body is read off for a while.
LINGER_SECONDS = 2.0
LINGER_BYTES = 64 << 20


async def send_body(send: Send, status: int, headers: RawHeaders, body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def send_json(send: Send, body: bytes, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
    length = b"%d" % len(body)
    await send_body(send, 200, [(b"content-type", b"application/json"), (b"content-length", length), *headers], body)


async def send_error(send: Send, error: GatewayError, more: Iterable[tuple[bytes, bytes]] = ()) -> None:
    rendered = _rendered(error, more)
    await send_body(send, rendered.status, rendered.headers, rendered.body)


async def send_error_and_close(receive: Receive, send: Send, error: GatewayError) -> None:
    """The error to a caller whose body was not read to its end; the connection closes after it."""
    rendered = _rendered(error, [(b"connection", b"close")])
    await send({"type": "http.response.start", "status": rendered.status, "headers": rendered.headers})
    await send({"type": "http.response.body", "body": rendered.body, "more_body": True})
    await _read_off(receive)
    await send({"type": "http.response.body", "body": b""})


async def _read_off(receive: Receive) -> None:
    left = LINGER_BYTES
    try:
        async with asyncio.timeout(LINGER_SECONDS):
            while left > 0:
                message = await receive()
                if message["type"] == "http.disconnect" or not message.get("more_body"):
                    return
                left -= len(message.get("body", b""))
    except TimeoutError:
        return


def error_response(error: GatewayError, more: Iterable[tuple[bytes, bytes]] = ()) -> Response:
    """The same for Starlette's handlers."""
    rendered = _rendered(error, more)
    response = Response(rendered.body, rendered.status)
    response.raw_headers = rendered.headers
    return response


def _rendered(error: GatewayError, more: Iterable[tuple[bytes, bytes]]) -> Rendered:
    if (tab := current_tab.get()) is not None:
        tab.refused(error)
    return dialects.render(error, more)
