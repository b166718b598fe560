"""Discovery as others see it: what it would ask, what it found, and the way to start it."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

import msgspec


class Change(msgspec.Struct, frozen=True, kw_only=True):
    old: str
    new: str


class Report(msgspec.Struct, kw_only=True):
    """What one run found. `at` is epoch seconds. `stopped` says why it ended early, None = it did not. `searches` are
    those that its probes used up; `unclear` and `skipped` hold reasons."""

    at: float = 0.0
    stopped: str | None = None
    picker_read: bool = False
    probes: int = 0
    searches: int = 0
    alive: list[str] = []
    dead: list[str] = []
    upgraded: dict[str, Change] = {}
    added: dict[str, str] = {}
    unclear: dict[str, str] = {}
    skipped: dict[str, str] = {}


class Step(msgspec.Struct, frozen=True):
    """A model to ask: one of the list, or the first of a family that is missing in it."""

    id: str
    upstream_id: str
    missing: bool = False


class Discovery(Protocol):
    @property
    def report(self) -> Report | None:
        """The last run's."""
        ...

    @property
    def under_way(self) -> Report | None:
        """What the run that goes on now, here or in another worker, has found so far; None = none goes on."""
        ...

    @property
    def due_at(self) -> float | None:
        """When the next run begins by itself, epoch seconds; None = not known, or never."""
        ...

    def plan(self) -> Sequence[Step]:
        """What a run would ask, in its order, before successors of what has died."""
        ...

    def searches_left(self) -> int:
        """How many Pro searches a run may use up now."""
        ...

    def start(self) -> asyncio.Task[Report | None]:
        """A run now; the one that is under way is the one. Its result is None where another worker is at it."""
        ...
