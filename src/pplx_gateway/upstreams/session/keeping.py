"""What of the session's life is kept, and what it is kept in: the cookie, and the last word on the login."""

from typing import Literal, NamedTuple, Protocol

import msgspec

from pplx_gateway.catalogue import Tier
from pplx_gateway.settings import Secret
from pplx_gateway.standing import State


class Held(NamedTuple):
    """A token. `version` grows when the owner gives another one, not when the site renews it; `serial` grows with both,
    over all workers. `at` is when it came, in seconds since the epoch; 0 = not known."""

    token: Secret
    version: int = 0
    serial: int = 0
    at: float = 0.0


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """The last check of the login, and the last one that brought a clear word: a challenge or an outage after it does
    not unsay it. `repeated`: the one before said already that it is dead. Times are seconds since the epoch. `version`
    is that of the token that was checked."""

    version: int
    state: State
    at: float
    login: Literal["valid", "expired"] | None = None
    repeated: bool = False
    tier: Tier | None = None
    old_told_of: float = 0.0  # `Held.at` of the token whose age was told


class Shared(NamedTuple):
    """None = nothing is kept."""

    held: Held | None
    record: Record | None


class Keeper(Protocol):
    """Where it is kept. `read` and `give` raise StoreUnavailable; the others make do without a store."""

    @property
    def saved(self) -> bool:
        """False while the newest token is only in memory."""
        ...

    async def renew(self, token: Secret, old: Held) -> Held:
        """Keeps a token by which the site replaced `old`. Gives what holds then: another one, if the owner gave it
        meanwhile."""
        ...

    async def give(self, token: Secret) -> Held:
        """Keeps a token that the owner gave."""
        ...

    async def conclude(self, record: Record) -> None: ...

    async def read(self) -> Shared: ...

    async def take_turn(self) -> bool:
        """True if this worker may check now, for all."""
        ...

    async def end_turn(self) -> None: ...

    async def flush(self) -> None:
        """Tries again what could not be kept."""
        ...


class Memory:
    """Keeps nothing over a restart, and shares it with nobody."""

    saved = True

    def __init__(self, record: Record | None = None) -> None:
        self._held: Held | None = None
        self._record = record

    async def renew(self, token: Secret, old: Held) -> Held:
        self._held = old._replace(token=token, serial=old.serial + 1)
        return self._held

    async def give(self, token: Secret) -> Held:
        before = self._held or Held(token)
        self._held = Held(token, before.version + 1, before.serial + 1)
        return self._held

    async def conclude(self, record: Record) -> None:
        self._record = record

    async def read(self) -> Shared:
        return Shared(self._held, self._record)

    async def take_turn(self) -> bool:
        return True

    async def end_turn(self) -> None:
        return None

    async def flush(self) -> None:
        return None
