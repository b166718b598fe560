"""How the owner's session stands: what other rooms may know of it and do with it, without knowing the upstream."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

import msgspec

from pplx_gateway.catalogue import Tier
from pplx_gateway.store.quota_history import Reading

# blocked: a challenge page, which says nothing about the cookie. unknown: nobody could tell, or nobody asked yet.
State = Literal["valid", "expired", "blocked", "unknown"]


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """None = not known. `cookie_age_hours` counts from when the cookie was given or last renewed; `tier` is what the
    site says of the account; `kept` = the cookie would outlive a restart."""

    state: State = "unknown"
    checked_seconds_ago: float | None = None
    cookie_age_hours: float | None = None
    cookie_old: bool = False
    tier: Tier | None = None
    kept: bool = True


class Session(Protocol):
    """The owner's session."""

    @property
    def present(self) -> bool:
        """There is a cookie, good or bad."""
        ...

    @property
    def tier(self) -> Tier | None: ...

    def standing(self) -> Standing:
        """At once, from memory."""
        ...

    def refresh(self) -> None:
        """Has the site asked behind the caller's back, where the last word is old."""
        ...

    async def renew(self, pasted: str) -> Standing:
        """Puts a new cookie in place of the old one, once the site has said that it is good. Raises InvalidRequest (no
        cookie, or one that is dead), SessionBlocked, UpstreamError, StoreUnavailable; then the old one still holds."""
        ...


class QuotaReading(NamedTuple):
    """What remains of the plan; None = not known, which is not zero."""

    remaining_pro: int | None = None
    remaining_research: int | None = None
    age_seconds: float | None = None


class Quota(Protocol):
    def reading(self) -> QuotaReading:
        """At once, from memory. Where that is old, a newer one is asked for behind it."""
        ...

    async def history(self, since: float) -> Sequence[Reading]:
        """The readings that are kept, from `since` (epoch seconds) on, in their order. Raises StoreUnavailable."""
        ...
