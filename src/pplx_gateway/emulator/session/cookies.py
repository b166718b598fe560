"""The session cookie: read in one piece or in several, and renewed (docs/wire-session.md 3)."""

import re
from collections.abc import Mapping
from typing import NamedTuple

NAME = "__Secure-next-auth.session-token"
PIECE_LIMIT = 3933  # what NextAuth puts in one cookie of 4096 bytes beside name and attributes
_PIECE = re.compile(re.escape(NAME) + r"\.(\d+)")
_LIFE = "Path=/; Expires={expires}; HttpOnly; Secure; SameSite=Lax"
_GONE = "Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax"


class Credential(NamedTuple):
    """`names` are the cookies that held the token. `token` None = none came that counts: no cookie, an empty one, a
    non-secure name, or one whole cookie beside pieces (NextAuth would join them all, and find nonsense)."""

    token: str | None
    names: tuple[str, ...] = ()

    @property
    def in_pieces(self) -> bool:
        return bool(self.names) and self.names[0] != NAME


def credential(cookies: Mapping[str, str]) -> Credential:
    """The token that `cookies` carry; pieces are joined in the order of their numbers."""
    numbered = {int(found[1]): name for name in cookies if (found := _PIECE.fullmatch(name))}
    pieces = tuple(numbered[number] for number in sorted(numbered))
    if NAME in cookies:
        token = "" if pieces else cookies[NAME]
        return Credential(token or None, (NAME, *pieces))
    return Credential("".join(cookies[name] for name in pieces) or None, pieces)


def renewal(old: Credential, token: str, *, in_pieces: bool, expires: str) -> list[str]:
    """The Set-Cookie values that put `token` in place of `old`; names that are no longer used are deleted."""
    if in_pieces:
        size = min(PIECE_LIMIT, -(-len(token) // 2))
        values = [token[start : start + size] for start in range(0, len(token), size)]
        new = {f"{NAME}.{number}": value for number, value in enumerate(values)}
    else:
        new = {NAME: token}
    kept = [f"{name}={value}; {_LIFE.format(expires=expires)}" for name, value in new.items()]
    return kept + [f"{name}=; {_GONE}" for name in old.names if name not in new]


def deletion(old: Credential) -> list[str]:
    """The Set-Cookie values that log out."""
    return [f"{name}=; {_GONE}" for name in old.names or (NAME,)]
