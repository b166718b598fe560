"""Bytes to structs, with the field's path in every error. The only way in for a caller's JSON.

Measured on msgspec 0.23: `Raw` lets bad UTF-8 through, deep input raises RecursionError, and messages end with the path
(`- at `$.messages[0].role``); all three become an InvalidRequest here.
"""

import re
from collections.abc import Hashable
from functools import cache
from typing import Any, TypeVar, cast

import msgspec

from pplx_gateway.errors import InvalidJson, InvalidRequest
from pplx_gateway.unknown import unknown_paths

T = TypeVar("T")

MAX_DEPTH = 100
_LONGEST_NAME = 80  # of a caller's own, in a message
_BOM = b"\xef\xbb\xbf"
_PATH = re.compile(r"^(?P<reason>.*?) - at `(?:key` in `)?\$(?P<path>.*)`$", re.DOTALL)
_MISSING = re.compile(r"^Object missing required field `(?P<field>[^`]+)`$")
_UNKNOWN = re.compile(r"^Object contains unknown field `(?P<field>.*)`$", re.DOTALL)
_SURROGATE_PAIR = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def decode(body: bytes, type_: type[T]) -> T:
    """The body as `type_`. A UTF-8 byte order mark in front is ignored.

    Raises InvalidJson where the bytes are not UTF-8, not JSON, or nested deeper than MAX_DEPTH; InvalidRequest with
    `param` (such as `messages[0].content`) where they do not fit the type.
    """
    text = _utf8(body)
    try:
        value: T = _decoder(cast(Hashable, type_)).decode(text)
    except msgspec.ValidationError as error:
        raise misfit(error) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidJson(f"The body is not valid JSON: {_reason(error, text)}") from None
    except RecursionError:
        raise _too_deep(_deep_key(text)) from None
    if text.count(b"{") + text.count(b"[") > MAX_DEPTH:
        _refuse_deep(value)
    return value


def convert(value: object, type_: type[T], at: str) -> T:
    """A part of a decoded body, which stands at the path `at`. Raises InvalidRequest as `decode` does."""
    try:
        return msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        raise misfit(error, at) from None


def unknown_keys(body: bytes, type_: type[msgspec.Struct]) -> tuple[str, ...]:
    """The paths of keys in a body (one that `decode` accepted) that `type_` does not know, in the body's order."""
    return tuple(unknown_paths(_raw_object.decode(_utf8(body)), type_))


def misfit(error: msgspec.ValidationError, at: str = "") -> InvalidRequest:
    """msgspec's message as an InvalidRequest; `param` is None where the body as a whole is of the wrong type."""
    message = str(error)
    found = _PATH.match(message)
    reason, path = (found["reason"], found["path"]) if found else (message, "")
    path = f"{at}{path}".lstrip(".")
    missing = _MISSING.match(reason)
    if missing:
        path = f"{path}.{missing['field']}".lstrip(".")
        return InvalidRequest(f"Missing required parameter: '{path}'.", param=path)
    unknown = _UNKNOWN.match(reason)
    if unknown:
        path = f"{path}.{unknown['field'][:_LONGEST_NAME]}".lstrip(".")
        return InvalidRequest(f"Unknown parameter: '{path}'.", param=path)
    if not path:
        return InvalidRequest(f"The body is wrong: {reason}.")
    return InvalidRequest(f"Invalid value for '{path}': {reason}.", param=path)


@cache
def _decoder(type_: Hashable) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(cast(type[Any], type_))


_raw_object = msgspec.json.Decoder(dict[str, msgspec.Raw])


def _utf8(body: bytes) -> bytes:
    text = body.removeprefix(_BOM)
    if not text.isascii():
        try:
            text.decode()
        except UnicodeDecodeError:
            raise InvalidJson("The body is not valid UTF-8.") from None
    return text


def _reason(error: Exception, text: bytes) -> str:
    if isinstance(error, UnicodeDecodeError) or _holds_half_a_pair(text):
        return "it holds an escaped surrogate without its partner."
    return f"{error}."


def _holds_half_a_pair(text: bytes) -> bool:
    """msgspec calls a high surrogate at a string's end truncated input."""
    return bool(_SURROGATE.search(_SURROGATE_PAIR.sub(b"", text.replace(rb"\\", b""))))


def _refuse_deep(value: object) -> None:
    """Free-form fields (a tool's schema) may be deep enough to exhaust whoever walks them later."""
    for key, child in _children(value):
        level = [child]
        for _ in range(MAX_DEPTH):
            level = [grandchild for item in level for _, grandchild in _children(item)]
            if not level:
                break
        else:
            raise _too_deep(key)


def _children(value: object) -> list[tuple[str, object]]:
    """The named parts of a struct or container; scalars have none."""
    match value:
        case dict():
            return [(str(key), child) for key, child in value.items()]
        case list() | tuple():
            return [("", child) for child in value]
        case msgspec.Struct():
            return [(name, getattr(value, name)) for name in value.__struct_fields__]
        case _:
            return []


def _too_deep(key: str) -> InvalidJson:
    key = key[:_LONGEST_NAME]
    where = f"'{key}'" if key else "The body"
    return InvalidJson(f"{where} is nested deeper than {MAX_DEPTH} levels.", param=key or None)


def _deep_key(text: bytes) -> str:
    """The top-level key below which the text is nested too deep, "" if it is below none. A scan of tokens, because
    every decoder at hand recurses; it ends at the depth that is refused."""
    depth, key = 0, ""
    for token in _TOKEN.finditer(text):
        match token[0]:
            case b"{" | b"[":
                depth += 1
                if depth > MAX_DEPTH:
                    break
            case b"}" | b"]":
                depth -= 1
            case string if depth == 1 and text[token.end() : token.end() + 8].lstrip()[:1] == b":":
                key = string[1:-1].decode(errors="replace")
    return key
