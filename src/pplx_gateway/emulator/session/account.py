"""Who asks: accounts made from the words of their token.

A token is `WORD-WORD-...`. One that begins `emulator-free`, `emulator-pro` or `emulator-max` has that tier, any other
is pro. More words after that:

============  ==========================================================================================================
expired       the login is over: an empty session, anonymous answers
blocked       Cloudflare's challenge stands before everything
rotate        each session check renews the cookie, in the shape in which it came
chunked       with rotate: the new cookie comes in pieces
toggle        with rotate: from one piece to several, and back
rotateask     each ask renews it as well
left7         seven Pro searches are left
spent         no Pro searches, research or labs are left
unknown       the quota says 0 and `not_provided`, although nothing is used up
noupload      the upload quota is used up
cloudinary    images are uploaded the older way, whose form answers with JSON
nodocs        the document service is behind a challenge
============  ==========================================================================================================

A renewed token is the old one with `~` and a number; whatever stands after the `~` does not change whose it is.
"""

import hashlib
import re
from collections.abc import Iterator
from typing import Literal
from uuid import UUID

import msgspec

Tier = Literal["free", "pro", "max"]
TIERS: tuple[Tier, ...] = ("free", "pro", "max")
# model id -> the counter it uses; any other model of a mode `copilot` uses a Pro search.
RESEARCH_KINDS = {"pplx_alpha": "research", "pplx_beta": "labs"}
_START: dict[Tier, dict[str, int]] = {
    "free": {"pro": 0, "research": 0, "labs": 0},
    "pro": {"pro": 200, "research": 20, "labs": 25},
    "max": {"pro": 1000, "research": 200, "labs": 50},
}
_TIERED = re.compile(r"emulator-(free|pro|max)(?:-|$)")
_LEFT = re.compile(r"left(\d+)")


class Account(msgspec.Struct, kw_only=True):
    """`left` counts what remains by kind. `lie_until`: a fault has spoilt the next session check, unless that comes
    after this moment (monotonic seconds of the clock), too late to be about the same fault."""

    key: str
    tier: Tier
    words: frozenset[str]
    left: dict[str, int]
    rotations: int = 0
    lie_until: float | None = None

    @property
    def user_id(self) -> str:
        return str(UUID(bytes=hashlib.blake2b(self.key.encode(), digest_size=16).digest(), version=4))

    @property
    def expired(self) -> bool:
        return "expired" in self.words

    @property
    def blocked(self) -> bool:
        return "blocked" in self.words

    def allows(self, tier: Tier) -> bool:
        return TIERS.index(tier) <= TIERS.index(self.tier)

    def lies(self, now: float) -> bool:
        """Whether this session check is spoilt; the one after it is not."""
        until, self.lie_until = self.lie_until, None
        return until is not None and now < until

    def use(self, kind: str | None) -> None:
        """Counts one answer; None = of a kind that is not counted."""
        if kind is not None:
            self.left[kind] = max(0, self.left[kind] - 1)

    def next_token(self, token: str, *, pieces: bool) -> str:
        """The token after `token`: a rotation never brings the same one twice. In pieces it is as long as real ones."""
        self.rotations += 1
        renewed = f"{token.partition('~')[0]}~{self.rotations}"
        return f"{renewed}~{'x' * 4200}" if pieces else renewed


def kind_of(mode: str, model: str) -> str | None:
    """Which counter an answer takes from; None = from none."""
    return RESEARCH_KINDS.get(model, "pro" if mode == "copilot" else None)


class Accounts:
    """Every account that a token has named so far."""

    def __init__(self) -> None:
        self._known: dict[str, Account] = {}

    def of(self, token: str | None) -> Account | None:
        """The account behind a token; None = anonymous."""
        if token is None:
            return None
        key = token.partition("~")[0]
        if key not in self._known:
            self._known[key] = _account(key)
        return self._known[key]

    def __iter__(self) -> Iterator[Account]:
        return iter(self._known.values())


def _account(key: str) -> Account:
    words = frozenset(key.split("-"))
    tiered = _TIERED.match(key)
    tier: Tier = next((tier for tier in TIERS if tiered and tiered[1] == tier), "pro")
    left = dict(_START[tier])
    if "spent" in words:
        left = dict.fromkeys(left, 0)
    told = next((found[1] for word in words if (found := _LEFT.fullmatch(word))), None)
    if told is not None:
        left["pro"] = int(told)
    return Account(key=key, tier=tier, words=words, left=left)
