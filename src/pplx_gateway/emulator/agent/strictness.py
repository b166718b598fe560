"""From bytes to a request, refusing in the API's words what its decoder would refuse."""

import re
from typing import Any, TypeVar

import msgspec

from pplx_gateway.emulator.agent.errors import ApiError
from pplx_gateway.emulator.agent.request import AgentBody, AgentRequest, InputItem, Message

MAX_BODY_BYTES = 32 << 20
T = TypeVar("T")

_UNKNOWN = re.compile(r"Object contains unknown field `(?P<field>.*?)`")
_MISSING = re.compile(r"Object missing required field `(?P<field>.*?)`")
_PLACE = re.compile(r"^(?P<what>.*?)(?: - at `(?:key in )?\$(?P<path>.*)`)?$", re.DOTALL)


def read_object(body: bytes) -> dict[str, Any]:
    """The JSON object in `body`. Raises ApiError 413 and 400."""
    if len(body) > MAX_BODY_BYTES:
        raise ApiError(413, "request body exceeds 32 MiB", "payload_too_large")
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ApiError(400, f"invalid request body: json: {error}") from error
    if not isinstance(value, dict):
        raise ApiError(400, "invalid request body: json: expected an object")
    return value


def read_as(value: object, kind: type[T], at: str = "") -> T:
    """`value` as a `kind`. Raises ApiError 400 that names the field."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise _refusal(str(error), at) from error
    except RecursionError as error:
        raise ApiError(400, "invalid request body: json: exceeded max depth") from error


def _refusal(text: str, at: str) -> ApiError:
    match = _PLACE.match(text)
    what, path = (match["what"], match["path"] or "") if match else (text, "")
    place = (at + path).lstrip(".")
    if unknown := _UNKNOWN.match(what):
        field = unknown["field"]
        return ApiError(400, f'invalid request body: json: unknown field "{field}"', param=field)
    if missing := _MISSING.match(what):
        field = f"{place}.{missing['field']}".lstrip(".")
        return ApiError(400, f"invalid request body: {field} is required", param=field)
    where = place or "body"
    return ApiError(400, f"invalid request body: {where}: {what[:1].lower()}{what[1:]}", param=place or None)


def read_request(body: bytes) -> AgentRequest:
    """The Agent request in `body`. Raises ApiError for what is malformed; rules.py judges the rest."""
    read = read_as(read_object(body), AgentBody)
    return AgentRequest(body=read, items=tuple(_items(read.input)))


def _items(given: str | list[dict[str, Any]] | None) -> list[InputItem]:
    if isinstance(given, str):
        return [Message(role="user", content=given)] if given else []
    # A message may leave out its type; everything else must name it.
    named = [item if "type" in item else {"type": "message", **item} for item in given or []]
    return [read_as(item, InputItem, at=f"input[{place}]") for place, item in enumerate(named)]  # type: ignore[arg-type]
