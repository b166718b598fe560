"""The session's token out of whatever was pasted.

Browsers and their helpers show a cookie as a bare value, a Cookie header, a line of `Set-Cookie`, a table's row, a curl
command, a JSON map, an export (a list of objects, alone or under `cookies`); each of them whole or in numbered pieces.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from pplx_gateway.settings import Secret
from pplx_gateway.upstreams.session.cookies import NAME, PIECE, joined, readable

MOST_CHARACTERS = 256 << 10

# The name, whole or a piece of it, what may stand between (`=`, a tab, `: `), and the value.
_NAMED = re.compile(rf'(?<![\w.-])({re.escape(NAME)}(?:\.\d{{1,2}})?)(?:=|\t+|: *)"?([^\s;,"\']*)')
_LOOKS_NAMED = re.compile(r"session-token(?:\.\d+)?[=\t:]|;")
# Under these keys a JSON document may hold the cookie as text, or more JSON.
_KEYS = frozenset({"session_token", "sessionToken", "session-token", "token", "cookie", "cookies", "value"})
# What programs write where they have nothing.
_NOTHING = frozenset({"null", "undefined", "None", "true", "false"})
_SITE = "perplexity"
_NO_JSON = "The session token looks like JSON but is not."


def read_token(pasted: str) -> Secret:
    """Raises ValueError, whose message does not repeat what was pasted."""
    text = pasted.strip().lstrip("\ufeff")
    if len(text) > MOST_CHARACTERS:
        raise ValueError("That is too long for a cookie.")
    try:
        value = _value(text)
    except RecursionError:
        raise ValueError(_NO_JSON) from None
    if not value:
        raise ValueError(f"There is no cookie {NAME} in what was given.")
    if not readable(value):
        raise ValueError("The session token holds characters that no cookie can hold.")
    return Secret(value)


def read_document(document: object) -> Secret | None:
    """The token in JSON of any shape; None if it holds none that could be sent."""
    try:
        value = _from_json(document)
    except (ValueError, RecursionError):
        return None
    return Secret(value) if value and readable(value) else None


def _value(text: str) -> str:
    text = _unquoted(text)
    if text.startswith(("{", "[")):
        return _from_json(_parsed(text))
    if found := _NAMED.findall(text):
        return joined({name: value for name, value in reversed(found) if value})
    return "" if text in _NOTHING or _LOOKS_NAMED.search(text) else text


def _unquoted(text: str) -> str:
    for quote in ('"', "'"):
        if len(text) > 1 and text[0] == text[-1] == quote:
            return text[1:-1].strip()
    return text


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(_NO_JSON) from None


def _from_json(document: object) -> str:
    """Named cookies first, wherever they are; then text under a key that promises one."""
    pairs = dict(_pairs(document))
    return joined(pairs) or next((found for text in _texts(document) if (found := _value(text))), "")


def _pairs(document: object) -> Iterator[tuple[str, str]]:
    match document:
        case {"name": str(name), "value": str(value), **rest}:
            domain = rest.get("domain")
            if not isinstance(domain, str) or _SITE in domain:  # other sites may use the same name
                yield name, value
        case dict():
            for key, value in document.items():
                if isinstance(value, str) and PIECE.fullmatch(str(key)):
                    yield str(key), value
                elif isinstance(value, dict | list):
                    yield from _pairs(value)
        case list():
            for item in document:
                yield from _pairs(item)


def _texts(document: object) -> Iterator[str]:
    if isinstance(document, str):
        yield document
    elif isinstance(document, dict) and "name" not in document:
        for key, value in document.items():
            if isinstance(value, dict) or (key in _KEYS and isinstance(value, str)):
                yield from _texts(value)
