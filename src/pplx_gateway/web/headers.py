"""Request headers as ASGI gives them (bytes, names in small letters), and response header values made safe."""

from collections.abc import Iterable, Sequence
from urllib.parse import quote

from starlette.types import Scope

RawHeaders = list[tuple[bytes, bytes]]

_PRINTABLE = "".join(map(chr, range(0x20, 0x7F)))
_LONGEST_NAME = 64
_MOST_NAMES = 40
_LONGEST_VALUE = 2000
_TABLE = "pplx_gateway.headers"


def first(scope: Scope, name: bytes) -> bytes | None:
    found = _table(scope).get(name)
    return found[0] if found else None


def every(scope: Scope, name: bytes) -> list[bytes]:
    return _table(scope).get(name, [])


def has_any(scope: Scope, names: frozenset[bytes]) -> bool:
    return not names.isdisjoint(_table(scope))


def _table(scope: Scope) -> dict[bytes, list[bytes]]:
    """The headers by name, made once a request: layer after layer asks for some."""
    table: dict[bytes, list[bytes]] | None = scope.get(_TABLE)
    if table is None:
        table = scope[_TABLE] = {}
        for name, value in scope["headers"]:
            table.setdefault(name, []).append(value)
    return table


def replaced(scope: Scope, headers: RawHeaders) -> Scope:
    """The same request with other headers."""
    return {**{key: value for key, value in scope.items() if key != _TABLE}, "headers": headers}


def safe(text: str, longest: int = _LONGEST_VALUE) -> bytes:
    """Printable ASCII as it is, everything else percent-encoded, so that no value can break a header."""
    if len(text) > longest:
        text = text[: longest - 3] + "..."
    if text.isascii() and text.isprintable():
        return text.encode("ascii")
    return quote(text, safe=_PRINTABLE, errors="replace").encode("ascii")


def names(values: Sequence[str]) -> bytes:
    """A list of field names, separated by commas; a very long list ends with `...`."""
    listed = [safe(value, _LONGEST_NAME) for value in values[:_MOST_NAMES]]
    return b", ".join(listed + [b"..."] * (len(values) > _MOST_NAMES))


def sentences(values: Iterable[str]) -> bytes:
    return safe(" ".join(values))
