"""From bytes to a request that can be sent: read, translated where it is in an older form, checked."""

from typing import NamedTuple

from pplx_gateway.decode import convert, decode
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.protocols.perplexity.agent.checking import checked
from pplx_gateway.protocols.perplexity.agent.items import InputItem, input_items
from pplx_gateway.protocols.perplexity.agent.legacy import translated
from pplx_gateway.protocols.perplexity.agent.request import AgentRequest, JsonObject
from pplx_gateway.protocols.perplexity.strict import unknown_field
from pplx_gateway.unknown import unknown_paths


class Read(NamedTuple):
    """`items` is the request's `input`; `dropped` names fields of older forms that do nothing any more."""

    request: AgentRequest
    items: str | list[InputItem]
    warnings: tuple[str, ...]
    dropped: tuple[str, ...]


def read(body: bytes, now: float) -> Read:
    """`now` is in seconds since the epoch. Raises InvalidRequest."""
    fields, warnings, dropped = translated(decode(body, JsonObject), now)
    if "input" not in fields:
        raise InvalidRequest("Missing required parameter: 'input'.", param="input")
    request = convert(fields, AgentRequest, "")
    for path in unknown_paths(fields, AgentRequest):
        raise unknown_field(path)
    return Read(checked(request), input_items(request.input), warnings, dropped)
