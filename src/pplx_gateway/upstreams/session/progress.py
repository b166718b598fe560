"""How far discovery has come: what it found the last time, when it is due, what it may still spend today."""

import msgspec

from pplx_gateway.discovering import Report

DAY_SECONDS = 24 * 3600.0


class Progress(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Times are epoch seconds. `spent` searches since `day_at`; `probed`: when each base model was last asked;
    `dead`: those that did not live then, and have no successor yet. `current` is what the run that goes on has found
    so far, and `current_at` when that was kept."""

    due_at: float = 0.0
    day_at: float = 0.0
    spent: int = 0
    probed: dict[str, float] = {}
    dead: tuple[str, ...] = ()
    report: Report | None = None
    current: Report | None = None
    current_at: float = 0.0

    def left(self, per_day: int, now: float, day: float = DAY_SECONDS) -> int:
        """How many more searches may be used. `day` in real seconds."""
        spent = self.spent if 0 <= now - self.day_at < day else 0
        return max(0, per_day - spent)

    def spending(self, now: float, day: float = DAY_SECONDS) -> "Progress":
        """After one more search."""
        if 0 <= now - self.day_at < day:
            return msgspec.structs.replace(self, spent=self.spent + 1)
        return msgspec.structs.replace(self, spent=1, day_at=now)
