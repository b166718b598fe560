"""Errors in Perplexity's shape: `code` is the status as a number, and `type` the word that is OpenAI's `code`.

Clients of this API know what its statuses mean, so the upstream's own is kept. Only what it says of a credential of
ours is not the caller's concern, and stays a 502.
"""

from collections.abc import Iterable

import msgspec

from pplx_gateway.errors import GatewayError, UpstreamAuth
from pplx_gateway.protocols.openai.encoding import encode
from pplx_gateway.protocols.openai.errors import Rendered, rendered

_OF_OURS = (401, 403)
"""What an upstream says of a credential."""


class PerplexityErrorObject(msgspec.Struct, frozen=True, kw_only=True):
    message: str
    type: str
    param: str | None
    code: int


class PerplexityErrorBody(msgspec.Struct, frozen=True):
    """Every error under `/perplexity` and on the paths that are Perplexity's alone."""

    error: PerplexityErrorObject


def status_of(error: GatewayError) -> int:
    """As the upstream said, where it was the upstream that failed."""
    told = error.upstream_status
    if told is None or isinstance(error, UpstreamAuth) or told in _OF_OURS or not 400 <= told < 600:
        return error.status
    return told


def error_object(error: GatewayError) -> PerplexityErrorObject:
    return PerplexityErrorObject(message=error.message, type=error.code, param=error.param, code=status_of(error))


def body(error: GatewayError) -> bytes:
    return encode(PerplexityErrorBody(error_object(error)))


def frame(error: GatewayError) -> bytes:
    """The last event of a stream that cannot go on."""
    return b"data: " + body(error) + b"\n\n"


def render(error: GatewayError, more: Iterable[tuple[bytes, bytes]] = ()) -> Rendered:
    """`more` are headers that only the place of the error knows, such as Allow."""
    return rendered(error, status_of(error), body(error), more)
