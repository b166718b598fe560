"""Calls of functions as the model reads them in a conversation's history."""

from typing import Any

import msgspec

from pplx_gateway.upstreams.names import Names
from pplx_gateway.upstreams.session.transcript import Called


def entry(called: Called, names: Names) -> dict[str, Any]:
    """`for` marks a call that was made for what is asked now; without a result the content is null."""
    mark = {"for": "query"} if called.for_query else {}
    return {
        "role": "function",
        "name": names.sent(called.call.name),
        "arguments": _value(called.call.arguments),
        "content": called.result,
        **mark,
    }


def _value(arguments: str) -> object:
    """Arguments come as JSON text; what is none is told as it is."""
    try:
        return msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return arguments
