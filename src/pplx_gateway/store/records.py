"""What the store knows of a response: while it is under way, when it ends, and afterwards."""

import secrets
from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec

Order = Literal["asc", "desc"]
StoredEvent = tuple[int, str, bytes]
"""Its number, its type, its data as JSON."""
StoredItem = tuple[str, bytes]
"""Its id, and the whole as JSON."""

ACTIVE = ("queued", "in_progress")
BUILT_UPON = ("completed", "incomplete")


class StoredResponse(NamedTuple):
    """`object` is the response as it was last shown, as JSON; `ended_at` seconds since the epoch."""

    number: int
    id: str
    status: str
    background: bool
    object: bytes
    ended_at: int | None = None

    @property
    def active(self) -> bool:
        return self.status in ACTIVE


class Hold(NamedTuple):
    """Whoever has it writes to the response `number` that is under way, until another takes it over."""

    number: int
    token: str


class Claim(NamedTuple):
    """An Idempotency-Key, and a digest of the request that came with it."""

    key: str
    body: bytes


class NewResponse(msgspec.Struct, frozen=True, kw_only=True):
    """`plan` is what another worker needs to go on with it, None where it could not; times are seconds."""

    id: str
    caller: str
    parent: str | None
    background: bool
    created_at: int
    object: bytes
    input_items: Sequence[StoredItem]
    events: Sequence[StoredEvent] = ()
    plan: bytes | None = None
    claim: Claim | None = None

    @property
    def size(self) -> int:
        parts = [data for _, data in self.input_items] + [data for _, _, data in self.events]
        return len(self.object) + len(self.plan or b"") + sum(map(len, parts))


class ItemPage(NamedTuple):
    items: list[bytes]
    has_more: bool


class TakenRun(NamedTuple):
    """A run that was another's until now. `plan` is as NewResponse had it; `run_id` is the upstream's own."""

    hold: Hold
    upstream: str | None
    run_id: str | None
    plan: bytes | None


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How a response ends. `free_key`: a repeat of the request with its Idempotency-Key asks anew."""

    status: str
    object: bytes
    output_items: Sequence[StoredItem] = ()
    events: Sequence[StoredEvent] = ()
    free_key: bool = False


def new_token() -> str:
    """For a Hold that nobody else has."""
    return secrets.token_hex(12)
