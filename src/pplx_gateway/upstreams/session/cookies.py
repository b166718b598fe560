"""The session's cookie: read from whatever was pasted, sent under its one name, renewed as the site renews it.

NextAuth keeps the token in `__Secure-next-auth.session-token`, or in numbered pieces of it where it is large
(docs/wire-session.md 3). Under any other name the site takes the asker for nobody, without saying so.
"""

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from pplx_gateway.settings import Secret
from pplx_gateway.transport.exchange import Headers

NAME = "__Secure-next-auth.session-token"
# NextAuth cuts a cookie of more than 4096 bytes, 163 of which it reckons for everything but the value.
PIECE_CHARACTERS = 4096 - 163

_VALUE = re.compile(r"[!#-+\--:<-\[\]-~]+")  # RFC 6265 cookie-octets
_PIECE = re.compile(re.escape(NAME) + r"(?:\.(\d{1,2}))?")
_NO_AGE = re.compile(r"0+|-\d+")
_LONG_AGO = re.compile(r"\b19\d\d\b")

OnChange = Callable[[Secret], Awaitable[None]]


def read_token(pasted: str) -> Secret:
    """The token in a bare value, a `name=value; ...` header, a JSON map or a cookie export. Raises ValueError,
    whose message does not repeat what was pasted."""
    text = pasted.strip().removeprefix("Cookie:").removeprefix("cookie:").strip()
    pairs = _pairs(text)
    value = text if pairs is None else _joined(pairs)
    if not value:
        raise ValueError(f"There is no cookie {NAME} in what was given.")
    if not _VALUE.fullmatch(value):
        raise ValueError("The session token holds characters that no cookie can hold.")
    return Secret(value)


def _pairs(text: str) -> dict[str, str] | None:
    """Names and values; None for a bare value."""
    if text.startswith(("{", "[")):
        return dict(_from_json(text))
    if re.search(r"session-token(?:\.\d+)?=", text) or ";" in text:
        parts = (part.strip().partition("=") for part in text.split(";"))
        return {name.strip(): value.strip().strip('"') for name, _, value in parts}
    return None


def _from_json(text: str) -> Iterator[tuple[str, str]]:
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("The session token looks like JSON but is not.") from None
    if isinstance(value, dict):
        entries = [{"name": name, "value": content} for name, content in value.items()]
    else:
        entries = [entry for entry in value if isinstance(entry, dict)]
    for entry in entries:
        name, content = entry.get("name"), entry.get("value")
        if isinstance(name, str) and isinstance(content, str):
            yield name, content


def _joined(pairs: Mapping[str, str]) -> str:
    """The whole token from its one cookie or from its pieces; empty if it is not there, or a piece is missing."""
    if pairs.get(NAME):
        return pairs[NAME]
    pieces = {int(found[1]): value for name, value in pairs.items() if (found := _PIECE.fullmatch(name)) and found[1]}
    if not pieces or sorted(pieces) != list(range(len(pieces))) or not all(pieces.values()):
        return ""
    return "".join(pieces[number] for number in sorted(pieces))


class Credentials:
    """The token that holds now. `version` grows when the owner gives a new one, not when the site renews it;
    `on_change` is told of both, to keep the token."""

    def __init__(self, token: Secret | None, on_change: OnChange | None = None) -> None:
        self.version = 0
        self._token = token
        self._on_change = on_change

    @property
    def present(self) -> bool:
        return self._token is not None

    def cookie(self) -> str:
        """The Cookie header; empty without a token."""
        value = self._token.reveal() if self._token else ""
        if len(value) <= PIECE_CHARACTERS:
            return f"{NAME}={value}" if value else ""
        pieces = [value[start : start + PIECE_CHARACTERS] for start in range(0, len(value), PIECE_CHARACTERS)]
        return "; ".join(f"{NAME}.{number}={piece}" for number, piece in enumerate(pieces))

    def secrets(self) -> list[str]:
        """What must never be shown."""
        return [self._token.reveal()] if self._token else []

    async def replace(self, token: Secret) -> None:
        """A token that the owner gave."""
        self.version += 1
        await self._set(token)

    async def adopt(self, headers: Headers) -> bool:
        """Takes over a token that a good response set. Deletions and halves of a token change nothing."""
        pairs = dict(pair for line in headers.all("set-cookie") if (pair := _set_cookie(line)))
        value = _joined(pairs)
        if not value or not _VALUE.fullmatch(value) or value in self.secrets():
            return False
        await self._set(Secret(value))
        return True

    async def _set(self, token: Secret) -> None:
        self._token = token
        if self._on_change is not None:
            await self._on_change(token)


def _set_cookie(line: str) -> tuple[str, str] | None:
    """Name and value of the session's cookie; None for others, and for a line that takes the cookie away."""
    first, *attributes = line.split(";")
    name, _, value = first.strip().partition("=")
    value = value.strip().strip('"')
    if not _PIECE.fullmatch(name) or not value:
        return None
    for attribute in attributes:
        key, _, content = attribute.strip().partition("=")
        if key.lower() == "max-age" and _NO_AGE.fullmatch(content.strip()):
            return None
        if key.lower() == "expires" and _LONG_AGO.search(content):
            return None
    return name, value
