"""How a response ends of which nothing is at hand but what the store has: cancelled, or lost with its worker."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from pplx_gateway.errors import GatewayError, UpstreamError
from pplx_gateway.protocols.openai import errors
from pplx_gateway.protocols.openai.encoding import encode
from pplx_gateway.protocols.openai.responses.events import Event
from pplx_gateway.protocols.openai.responses.failure import failure
from pplx_gateway.protocols.openai.responses.keeping import Lost
from pplx_gateway.protocols.openai.responses.plan import Plan
from pplx_gateway.protocols.openai.responses.rendering import with_id
from pplx_gateway.store import Responses
from pplx_gateway.store.records import Ending

Fields = dict[str, object]


class RunLost(UpstreamError):
    """Whoever ran it is gone, and nobody can go on."""

    code = "run_lost"


class ResponseCancelled(GatewayError):
    """What a stream ends with when its response is cancelled."""

    code = "response_cancelled"
    retry = False


class LeftBehind(NamedTuple):
    """`shown` is the response as the store has it, `finished` the events that end an item, `last` the number of the
    last event."""

    shown: bytes
    finished: list[bytes]
    last: int


async def left_behind(responses: Responses, number: int) -> LeftBehind:
    """Raises Lost if it was deleted."""
    stored = await responses.read(number)
    if stored is None:
        raise Lost
    finished = await responses.finished_items(number)
    return LeftBehind(stored.object, finished, await responses.last_event(number))


def failed(left: LeftBehind, error: GatewayError) -> Ending:
    items, last = [_item(event) for event in left.finished], left.last
    whole = _changed(left.shown, items, status="failed", error=failure(error))
    event = Event(last + 1, "response.failed", encode(_Failed(last + 1, msgspec.Raw(whole))))
    return Ending(status="failed", object=whole, output_items=[with_id(bytes(i)) for i in items], events=[event])


def cancelled(left: LeftBehind) -> Ending:
    """No type of OpenAI's tells of it, so the stream ends with an error event."""
    items, last = [_item(event) for event in left.finished], left.last
    whole = _changed(left.shown, items, status="cancelled", usage=None)
    event = error_event(last + 1, ResponseCancelled("The response was cancelled."))
    return Ending(status="cancelled", object=whole, output_items=[with_id(bytes(i)) for i in items], events=[event])


def run_lost(plan: Plan | None) -> RunLost:
    """`plan` None = it ran in the foreground."""
    if plan and plan.model and plan.model.session:
        return RunLost("The gateway was stopped while this ran on the session, which cannot go on with it. Ask again.")
    if plan:
        return RunLost("The gateway was stopped before the upstream had given this run an id. Ask again.")
    return RunLost("The gateway was stopped while this was answered. Ask again.")


def error_event(number: int, error: GatewayError) -> Event:
    """In the words of every reader: flat for OpenAI's types, nested for those who raise what is in `error`."""
    told = errors.error_object(error)
    flat = _Error(number, code=error.code, message=error.message, param=error.param, error=told)
    return Event(number, "error", encode(flat))


def _changed(shown: bytes, items: Sequence[msgspec.Raw], **changes: object) -> bytes:
    fields = msgspec.json.decode(shown, type=dict[str, msgspec.Raw])
    return encode({**fields, "output": items, **changes})


def _item(event: bytes) -> msgspec.Raw:
    return msgspec.json.decode(event, type=_Done).item


class _Done(msgspec.Struct):
    item: msgspec.Raw


class _Failed(msgspec.Struct, tag_field="type", tag="response.failed"):
    sequence_number: int
    response: msgspec.Raw


class _Error(msgspec.Struct, tag_field="type", tag="error"):
    sequence_number: int
    code: str
    message: str
    param: str | None
    error: errors.ErrorObject
