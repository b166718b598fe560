"""Errors in Anthropic's shape. Its types tell less than our codes, so the message has to tell the rest."""

from collections.abc import Iterable

import msgspec

from pplx_gateway import logs
from pplx_gateway.errors import (
    AuthenticationFailed,
    ConversationTooLong,
    Forbidden,
    GatewayError,
    InsufficientQuota,
    LimitError,
    ModelNotAllowed,
    NotFound,
    RequestError,
    RequestTimeout,
    StoreUnavailable,
    TooLarge,
    UpstreamTimeout,
)
from pplx_gateway.protocols.openai.encoding import encode
from pplx_gateway.protocols.openai.errors import RawHeaders, Rendered, rendered

_TYPES: tuple[tuple[type[GatewayError], str], ...] = (
    (AuthenticationFailed, "authentication_error"),
    (Forbidden, "permission_error"),
    (ModelNotAllowed, "permission_error"),
    (NotFound, "not_found_error"),
    (TooLarge, "request_too_large"),
    (RequestTimeout, "timeout_error"),
    (RequestError, "invalid_request_error"),
    (InsufficientQuota, "billing_error"),
    (LimitError, "rate_limit_error"),
    (UpstreamTimeout, "timeout_error"),
    (StoreUnavailable, "overloaded_error"),
)
"""The first that fits counts; what is none of them is an `api_error`."""
_OVERLOADED = (503, 529)
"""What an upstream says when it has too much to do."""
_TOO_LONG = "prompt is too long: "
"""By these words Claude Code knows that it must make the conversation shorter."""


class AnthropicErrorObject(msgspec.Struct, frozen=True, kw_only=True):
    type: str
    message: str


class AnthropicErrorBody(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="error"):
    """Every error under `/v1/messages`, also as the last event of a stream that failed."""

    error: AnthropicErrorObject
    request_id: str | None


def type_of(error: GatewayError) -> str:
    if error.upstream_status in _OVERLOADED:
        return "overloaded_error"
    return next((name for kind, name in _TYPES if isinstance(error, kind)), "api_error")


def message_of(error: GatewayError) -> str:
    """With the field in front where the sentence does not name it: this shape has no other place for it."""
    if isinstance(error, ConversationTooLong):
        return _TOO_LONG + error.message
    named = error.param is None or error.param in error.message
    return error.message if named else f"{error.param}: {error.message}"


def body(error: GatewayError) -> bytes:
    told = AnthropicErrorObject(type=type_of(error), message=message_of(error))
    return encode(AnthropicErrorBody(error=told, request_id=logs.request_id.get()))


def event(error: GatewayError) -> bytes:
    """The last event of a stream that cannot go on. No message_stop comes with it."""
    return b"event: error\ndata: " + body(error) + b"\n\n"


def request_id() -> RawHeaders:
    """The id of the request at work, under the name by which Anthropic's SDKs look for it."""
    found = logs.request_id.get()
    return [(b"request-id", found.encode())] if found else []


def render(error: GatewayError, more: Iterable[tuple[bytes, bytes]] = ()) -> Rendered:
    """`more` are headers that only the place of the error knows, such as Allow."""
    return rendered(error, error.status, body(error), [*request_id(), *more])
