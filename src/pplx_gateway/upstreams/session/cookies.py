"""The session's cookie: sent under its one name, renewed as the site renews it.

NextAuth keeps the token in `__Secure-next-auth.session-token`, or in numbered pieces of it where it is large
(docs/wire-session.md 3). Under any other name the site takes the asker for nobody, without saying so.
"""

import asyncio
import re
from collections import deque
from collections.abc import Mapping

from pplx_gateway.settings import Secret
from pplx_gateway.transport.exchange import Headers
from pplx_gateway.upstreams.session.keeping import Held, Keeper, Memory

NAME = "__Secure-next-auth.session-token"
PIECE = re.compile(re.escape(NAME) + r"(?:\.(\d{1,2}))?")
# NextAuth cuts a cookie of more than 4096 bytes, 163 of which it reckons for everything but the value.
PIECE_CHARACTERS = 4096 - 163
# Answers under way may still echo the tokens before the one that holds.
REMEMBERED_TOKENS = 8

_VALUE = re.compile(r"[!#-+\--:<-\[\]-~]+")  # RFC 6265 cookie-octets
_NO_AGE = re.compile(r"0+|-\d+")
_LONG_AGO = re.compile(r"\b19\d\d\b")


def readable(value: str) -> bool:
    """A cookie can hold it."""
    return _VALUE.fullmatch(value) is not None


def joined(pairs: Mapping[str, str]) -> str:
    """The whole token from its one cookie or from its pieces; empty if it is not there, or a piece is missing."""
    if pairs.get(NAME):
        return pairs[NAME]
    pieces = {int(found[1]): value for name, value in pairs.items() if (found := PIECE.fullmatch(name)) and found[1]}
    if not pieces or sorted(pieces) != list(range(len(pieces))) or not all(pieces.values()):
        return ""
    return "".join(pieces[number] for number in sorted(pieces))


def cut(token: str) -> list[str]:
    """The token as it is sent: whole, or in pieces."""
    if len(token) <= PIECE_CHARACTERS:
        return [token]
    return [token[start : start + PIECE_CHARACTERS] for start in range(0, len(token), PIECE_CHARACTERS)]


def cookie_of(token: Secret) -> str:
    """The Cookie header."""
    pieces = cut(token.reveal())
    if len(pieces) == 1:
        return f"{NAME}={pieces[0]}"
    return "; ".join(f"{NAME}.{number}={piece}" for number, piece in enumerate(pieces))


def renewed_token(headers: Headers) -> Secret | None:
    """The token that a response sets. Deletions and halves of a token are none."""
    pairs = dict(pair for line in headers.all("set-cookie") if (pair := _set_cookie(line)))
    value = joined(pairs)
    return Secret(value) if value and readable(value) else None


class Credentials:
    """The token that holds now. `version` grows when the owner gives a new one, not when the site renews it. `keeper`
    keeps both, before they are used."""

    def __init__(self, token: Secret | None, keeper: Keeper | None = None) -> None:
        self._keeper = keeper or Memory()
        self._lock = asyncio.Lock()
        self._held: Held | None = None
        self._recent: deque[tuple[Secret, ...]] = deque(maxlen=REMEMBERED_TOKENS)
        if token is not None:
            self.take(Held(token))

    @property
    def present(self) -> bool:
        return self._held is not None

    @property
    def held(self) -> Held | None:
        return self._held

    @property
    def version(self) -> int:
        return self._held.version if self._held else 0

    def cookie(self) -> str:
        """The Cookie header; empty without a token."""
        return cookie_of(self._held.token) if self._held else ""

    def secrets(self) -> list[str]:
        """What must never be shown: the token, those before it, and the pieces in which they were sent."""
        return [part.reveal() for parts in self._recent for part in parts]

    def holds(self, token: Secret) -> bool:
        return self._held is not None and self._held.token.reveal() == token.reveal()

    def take(self, held: Held) -> bool:
        """From the keeper: True if the token is another one. What was read before the newest was written comes too
        late."""
        if self._held is not None and held.serial < self._held.serial:
            return False
        changed = not self.holds(held.token)
        self._held = held
        if changed:
            token = held.token.reveal()
            self._recent.append(tuple(map(Secret, dict.fromkeys((token, *cut(token))))))
        return changed

    async def replace(self, token: Secret) -> None:
        """A token that the owner gave. Raises StoreUnavailable, and then the old one holds."""
        async with self._lock:
            self.take(await self._keeper.give(token))

    async def adopt(self, headers: Headers, version: int) -> bool:
        """Takes over the token that a good response set, if it did. `version` is that of the request's cookie, which
        may not be the newest any more."""
        token = renewed_token(headers)
        return token is not None and await self.renew(token, version)

    async def renew(self, token: Secret, version: int) -> bool:
        """False for the token that holds already, and for one of another version."""
        async with self._lock:
            if self._held is None or self.holds(token) or version != self.version:
                return False
            self.take(await self._keeper.renew(token, self._held))
            return self.holds(token)


def _set_cookie(line: str) -> tuple[str, str] | None:
    """Name and value of the session's cookie; None for others, and for a line that takes the cookie away."""
    first, *attributes = line.split(";")
    name, _, value = first.strip().partition("=")
    value = value.strip().strip('"')
    if not PIECE.fullmatch(name) or not value:
        return None
    for attribute in attributes:
        key, _, content = attribute.strip().partition("=")
        if key.lower() == "max-age" and _NO_AGE.fullmatch(content.strip()):
            return None
        if key.lower() == "expires" and _LONG_AGO.search(content):
            return None
    return name, value
