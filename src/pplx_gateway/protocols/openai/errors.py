"""Errors in OpenAI's shape: always four keys, `code` a string, and headers that tell clients whether to try again."""

import math
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from pplx_gateway.errors import AuthenticationFailed, GatewayError, RateLimited
from pplx_gateway.protocols.openai.encoding import encode
from pplx_gateway.web.headers import safe

# openai-python ignores a longer wait; openai-node would sleep for as long as it is told.
LONGEST_RETRY_AFTER_SECONDS = 120
# For a throttle that names no wait: without one, clients would repeat within half a second.
USUAL_RETRY_AFTER_SECONDS = 5

RawHeaders = list[tuple[bytes, bytes]]


class ErrorObject(msgspec.Struct, frozen=True, kw_only=True):
    message: str
    type: str
    param: str | None
    code: str | None


class ErrorBody(msgspec.Struct, frozen=True):
    """Every error of the gateway, also as the last frame of a stream that failed."""

    error: ErrorObject


class Rendered(NamedTuple):
    status: int
    headers: RawHeaders
    body: bytes


def error_object(error: GatewayError) -> ErrorObject:
    return ErrorObject(message=error.message, type=error.type, param=error.param, code=error.code)


def body(error: GatewayError) -> bytes:
    return encode(ErrorBody(error_object(error)))


def frame(error: GatewayError) -> bytes:
    """The last event of a stream that cannot go on. No finish_reason and no [DONE] come with it."""
    return b"data: " + body(error) + b"\n\n"


def render(error: GatewayError, more: Iterable[tuple[bytes, bytes]] = ()) -> Rendered:
    """`more` are headers that only the place of the error knows, such as Allow."""
    return rendered(error, error.status, body(error), more)


def rendered(error: GatewayError, status: int, content: bytes, more: Iterable[tuple[bytes, bytes]] = ()) -> Rendered:
    """`content` with the headers that the error has in every dialect."""
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(content)), *more]
    if isinstance(error, AuthenticationFailed):
        headers.append((b"www-authenticate", b"Bearer"))
    if error.upstream_request_id is not None:
        headers.append((b"x-pplx-upstream-request-id", safe(error.upstream_request_id, 128)))
    headers += _retry_headers(error)
    return Rendered(status, headers, content)


def _retry_headers(error: GatewayError) -> RawHeaders:
    seconds = error.retry_after
    if seconds is None and isinstance(error, RateLimited):
        seconds = USUAL_RETRY_AFTER_SECONDS
    wait = None if seconds is None else max(1, math.ceil(seconds))
    if wait is not None and wait > LONGEST_RETRY_AFTER_SECONDS:
        return [(b"x-should-retry", b"false")]
    headers = [] if wait is None else [(b"retry-after", b"%d" % wait)]
    if error.retry is not None:
        headers.append((b"x-should-retry", b"true" if error.retry else b"false"))
    return headers
