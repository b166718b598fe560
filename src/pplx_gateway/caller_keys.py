"""Keys that the owner gives to others: what one may do, and how its secret is made and known again.

A secret is `pplxgw-`, 256 random bits and a checksum, so that a mistyped one is told from a wrong one, and scanners
find it in what should not hold it. It is shown once; what is kept is its SHA-256, which is as good as a slow hash where
nobody can guess.
"""

import hashlib
import secrets
import zlib
from contextvars import ContextVar
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Literal

import msgspec

PREFIX = "pplxgw-"
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SECRET_CHARACTERS = 43  # of 62 kinds: 256 bits
_CHECKSUM_CHARACTERS = 6  # 32 bits
_HINT_CHARACTERS = 4
_OUR_PREFIXES = ("session/", "api/")

Upstream = Literal["session", "api"]
Use = Literal["header", "mcp-path"]
"""Where a key is presented: in a header, or in the path of MCP's addresses (`/KEY/mcp`, `/KEY/sse`) and nowhere else.
What stands in addresses ends up in histories and logs, so it must open nothing more."""


class Limits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """None or empty = no limit. Costs are US dollars; days and months are those of UTC. `models` may hold `*`;
    `origins` are those of the pages that may use the key; `unsupported` rules instead of PPLX_UNSUPPORTED."""

    requests_per_minute: int | None = None
    requests_per_day: int | None = None
    cost_per_day: Decimal | None = None
    cost_per_month: Decimal | None = None
    models: tuple[str, ...] = ()
    upstreams: tuple[Upstream, ...] = ()
    origins: tuple[str, ...] = ()
    unsupported: Literal["reject", "drop"] | None = None


class CallerKey(msgspec.Struct, frozen=True, kw_only=True):
    """`id` names the caller everywhere; times are seconds since the epoch. `hint` is the secret's end."""

    id: str
    name: str
    hint: str
    created_at: float
    use: Use = "header"
    limits: Limits = Limits()
    expires_at: float | None = None
    revoked_at: float | None = None
    last_used_at: float | None = None

    def status(self, now: float) -> Literal["active", "expired", "revoked"]:
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "active"

    def allows_model(self, requested: str) -> bool:
        """With or without the prefix that names an upstream."""
        bare = next((requested.removeprefix(p) for p in _OUR_PREFIXES if requested.startswith(p)), requested)
        return not self.limits.models or any(
            fnmatchcase(name, pattern) for pattern in self.limits.models for name in (requested, bare)
        )

    def allows_upstream(self, upstream: str) -> bool:
        return not self.limits.upstreams or upstream in self.limits.upstreams


current_key: ContextVar[CallerKey | None] = ContextVar("current_key", default=None)
"""That of the request at work; None for the owner's, and where nobody asks."""


def new_id() -> str:
    return f"key_{secrets.token_hex(8)}"


def new_secret() -> str:
    body = PREFIX + _written(int.from_bytes(secrets.token_bytes(32)), _SECRET_CHARACTERS)
    return body + _checksum(body)


def is_one(presented: bytes) -> bool:
    """True if it was meant to be one of ours."""
    return presented.startswith(PREFIX.encode())


def is_whole(presented: bytes) -> bool:
    """True if the checksum is right."""
    text = presented.decode("latin-1")
    body, checksum = text[:-_CHECKSUM_CHARACTERS], text[-_CHECKSUM_CHARACTERS:]
    return len(body) == len(PREFIX) + _SECRET_CHARACTERS and _checksum(body) == checksum


def digest_of(presented: bytes) -> bytes:
    return hashlib.sha256(presented).digest()


def hint_of(secret: str) -> str:
    return secret[-_HINT_CHARACTERS:]


def _checksum(body: str) -> str:
    return _written(zlib.crc32(body.encode("latin-1")), _CHECKSUM_CHARACTERS)


def _written(number: int, characters: int) -> str:
    digits = []
    for _ in range(characters):
        number, digit = divmod(number, len(_DIGITS))
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))
