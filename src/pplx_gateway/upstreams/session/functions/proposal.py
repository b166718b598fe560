"""The model's answer as it should be: one JSON object, read strictly.

Two things around the object are not the model's words and are taken off: one code fence around the whole answer, as
models like to write it, and what the page itself leaves in texts (cleaning.py). Anything else around it is a breach.
"""

import json
import math
from typing import Any, NamedTuple

from pplx_gateway.errors import ToolProtocolError
from pplx_gateway.fences import FenceStripper
from pplx_gateway.upstreams.session.cleaning import Cleaner


class Call(NamedTuple):
    name: str
    arguments: dict[str, Any]


class Proposal(NamedTuple):
    """Either `calls`, or `content`: text, or an object where one was asked for."""

    calls: tuple[Call, ...] = ()
    content: str | dict[str, Any] = ""


def read_proposal(text: str) -> Proposal:
    """Raises ToolProtocolError, whose message repeats nothing of `text`."""
    value = _only_object(_unfenced(text))
    if value.keys() == {"content"}:
        content = value["content"]
        if not isinstance(content, str | dict) or not (content if isinstance(content, dict) else content.strip()):
            raise breach("its 'content' is no text")
        return Proposal(content=content)
    if value.keys() != {"tool_calls"}:
        raise breach("it holds neither 'tool_calls' nor 'content' alone")
    calls = value["tool_calls"]
    if not isinstance(calls, list) or not calls:
        raise breach("its 'tool_calls' is no list of calls")
    return Proposal(tuple(map(_call, calls)))


def looks_like_calls(text: str) -> bool:
    """True for a proposal of calls, also where the calls themselves are wrong."""
    try:
        return "tool_calls" in _only_object(_unfenced(text))
    except ToolProtocolError:
        return False


def breach(what: str) -> ToolProtocolError:
    return ToolProtocolError(f"Perplexity's answer is not in the form that function calls need: {what}.")


def _call(value: object) -> Call:
    if not isinstance(value, dict) or value.keys() != {"name", "arguments"}:
        raise breach("a call is not made of 'name' and 'arguments'")
    name, arguments = value["name"], value["arguments"]
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise breach("a call's 'name' is no text, or its 'arguments' no object")
    return Call(name, arguments)


def _unfenced(text: str) -> str:
    stripper = FenceStripper()
    return stripper.feed(text) + stripper.close()


def _only_object(text: str) -> dict[str, Any]:
    start = text.find("{")
    try:
        value, end = _DECODER.raw_decode(text, max(start, 0))
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:  # half a letter, escaped without its other half, included
        raise breach(str(error) if isinstance(error, _Strict) else "it is no valid JSON") from None
    if not isinstance(value, dict):
        raise breach("it is no JSON object")
    if not _blank(text[:start]) or not _blank(text[end:]):
        raise breach("something stands before or after its JSON object")
    return value


def _blank(text: str) -> bool:
    cleaner = Cleaner()
    return not (cleaner.feed(text) + cleaner.close()).strip()


class _Strict(ValueError):
    """What Python reads although it is no JSON, or is read in several ways."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Strict("a key of its JSON stands there twice")
    return found


def _float(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise _Strict("a number of its JSON is too large")
    return number


def _constant(name: str) -> float:
    raise _Strict(f"its JSON holds {name}")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_float, parse_constant=_constant)
