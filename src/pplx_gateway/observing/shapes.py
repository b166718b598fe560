"""The shape of a JSON value: names of keys, kinds and lengths, never a value.

A key can be a value in disguise: an address, an id, a question that something is filed under. So only what looks like a
name that a programmer gave is told, and of an object with very many keys none is.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

MOST_NODES = 400
MOST_KEYS = 80
MOST_KINDS = 6
DEEPEST = 16
MOST_CHARACTERS = 16_384
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_MOST_DIGITS = 4
_MORE = "..."

Secrets = Callable[[], Iterable[str]]


def plain_name(name: object, secrets: Secrets = tuple) -> str | None:
    """`name`, if it looks like one and holds no secret of ours; else None."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or sum(map(str.isdigit, name)) > _MOST_DIGITS:
        return None
    return None if any(secret and secret in name for secret in secrets()) else name


def shape_of(value: Any, secrets: Secrets = tuple) -> str:
    """As JSON text of at most MOST_CHARACTERS, to be read by people."""
    text = msgspec.json.format(msgspec.json.encode(_Shaper(secrets).of(value, 0)), indent=2).decode()
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}\n{_MORE}"


class _Shaper:
    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._left = MOST_NODES

    def of(self, value: Any, depth: int) -> Any:
        self._left -= 1
        if self._left < 0 or depth > DEEPEST:
            return _MORE
        if isinstance(value, dict):
            return self._object(value, depth)
        return self._list(value, depth) if isinstance(value, list) else _scalar(value)

    def _object(self, value: dict[str, Any], depth: int) -> Any:
        if len(value) > MOST_KEYS:
            return {f"({len(value)} keys)": self.of(next(iter(value.values())), depth + 1)}
        return {self._key(key): self.of(inner, depth + 1) for key, inner in value.items()}

    def _key(self, key: str) -> str:
        return plain_name(key, self._secrets) or f"(key of {len(key)})"

    def _list(self, value: list[Any], depth: int) -> Any:
        kinds: list[Any] = []
        for inner in value[:MOST_KEYS]:
            shape = self.of(inner, depth + 1)
            if shape not in kinds:
                kinds.append(shape)
            if len(kinds) >= MOST_KINDS or self._left < 0:
                break
        return [f"list of {len(value)}", *kinds]


def _scalar(value: Any) -> str:
    match value:
        case str():
            return f"text of {len(value)}"
        case bool():
            return "true or false"
        case None:
            return "null"
        case _:
            return "number"
