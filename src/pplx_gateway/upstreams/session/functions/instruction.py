"""What the model is told about functions. It is the gateway's own text, so it never passes the whitelist."""

from typing import Any

import msgspec

from pplx_gateway.question import JsonSchemaFormat, OutputFormat
from pplx_gateway.upstreams.session.functions.offer import Offer

_OFFER = (
    "The asker's program offers you functions. You propose calls, it makes them and sends you what they returned. You "
    "make none yourself: never invent a result, and never say that a call was made."
)
_FORM = (
    "Your whole answer must be exactly one JSON object: nothing before it, nothing after it, no code fence, no "
    "citation marks, no keys but those named here."
)
_CALLS = (
    'To have functions called, answer {"tool_calls":[{"name":"the function","arguments":{"its":"arguments"}}]}. '
    "The arguments are an object that is valid under the function's parameters, a JSON Schema."
)
_WORDS = 'To answer yourself, answer {"content":"your answer"}.'
_OBJECT = 'To answer yourself, answer {"content":{"your":"answer"}}: the content is a JSON object.'
_AUTO = (
    "Have functions called where one of them does what is asked, or can tell what you would otherwise guess; "
    "answer yourself where none is needed any more."
)
_MUST = "Functions must be called now; an answer of your own is not accepted."
_NAMED = "The function {} must be called now, exactly once; an answer of your own is not accepted."
_SINGLE = "Propose one call at most."
_CALLED = (
    'Entries of the history with the role "function" are calls that were made, with what each returned as its '
    'content. Those with "for":"query" were made for this query. Rely on what was returned.'
)
_NONE = "No function can be called now: answer in words."


def offering(offer: Offer, format_: OutputFormat | None, *, called: bool) -> str:
    """The instructions for a question that offers functions; `called` = some were called before."""
    functions = [_shown(name, offer) for name in offer.functions]
    lines = [_OFFER, _FORM, _CALLS, *([] if offer.must else _answering(format_)), _choosing(offer)]
    if offer.single and not offer.named:
        lines.append(_SINGLE)
    if called:
        lines.append(_CALLED)
    lines.append(f"Functions: {msgspec.json.encode(functions).decode()}")
    return "\n".join(lines)


def recalling() -> str:
    """The instructions for a question that offers nothing, but comes after calls."""
    return f"{_CALLED} {_NONE}"


def _answering(format_: OutputFormat | None) -> list[str]:
    if format_ is None:
        return [_WORDS]
    if isinstance(format_, JsonSchemaFormat):
        schema = msgspec.json.encode(format_.schema).decode()
        return [_OBJECT, f"It must be valid under this JSON Schema: {schema}"]
    return [_OBJECT]


def _choosing(offer: Offer) -> str:
    if offer.named:
        return _NAMED.format(*offer.functions)
    return _MUST if offer.must else _AUTO


def _shown(name: str, offer: Offer) -> dict[str, Any]:
    function = offer.functions[name]
    described = {} if function.description is None else {"description": function.description}
    return {"name": name, **described, "parameters": function.schema.document}
