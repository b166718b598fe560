"""Events of the Agent API on their way out: as they came, and one of our own where a stream cannot go on."""

from collections.abc import Sequence

import msgspec

from pplx_gateway.errors import GatewayError
from pplx_gateway.operations import RunEvent
from pplx_gateway.protocols.openai.encoding import encode
from pplx_gateway.protocols.perplexity.errors import PerplexityErrorObject, error_object
from pplx_gateway.sse import MESSAGE
from pplx_gateway.sse import encode as sse


class _Error(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="error"):
    """`message` and `code` stand outside, too, since some readers look for them there."""

    sequence_number: int
    error: PerplexityErrorObject
    message: str
    code: int


def frames(events: Sequence[RunEvent]) -> bytes:
    return b"".join(sse(event.data, None if event.name == MESSAGE else event.name) for event in events)


def error_frame(number: int, error: GatewayError) -> bytes:
    """The last event. Named, because Perplexity's own SDK raises what is in it only then. `number` is that of the last
    event before it, so that nothing is missed by whoever resumes after it."""
    told = error_object(error)
    event = _Error(sequence_number=max(number, 0), error=told, message=told.message, code=told.code)
    return sse(encode(event), "error")
