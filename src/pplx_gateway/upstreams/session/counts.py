"""What remains of the plan, as a value: how readings, answers and refusals change it (docs/wire-session.md 4).

The site's zero proves nothing: it shows zeros to strangers, and has shown them to signed-in people. So a count is gone
by the site's own word, or by a fall to zero after a positive count; all else is "not known", which never refuses
anybody.
"""

from typing import Literal

import msgspec

Kind = Literal["pro", "research"]

# A count that could not be read for a day says nothing any more: the site refills it within a week.
KNOWN_SECONDS = 24 * 3600.0


class Count(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`left` None = not known. `positive`: a count above zero was seen. `gone_at`: when an answer was refused because
    nothing is left (epoch seconds), 0 = never. `used` counts our own answers, to tell what a reading cannot know."""

    left: int | None = None
    positive: bool = False
    gone_at: float = 0.0
    used: int = 0

    def took(self) -> "Count":
        """One answer less."""
        left = None if self.left is None else max(0, self.left - 1)
        return msgspec.structs.replace(self, left=left, used=self.used + 1, gone_at=0.0)

    def refused(self, at: float) -> "Count":
        return msgspec.structs.replace(self, left=0 if self.left is not None else None, gone_at=at)

    def read(self, told: "Told", used_before: int) -> "Count":
        """After a reading that began when `used` was `used_before`."""
        if told.left is None:
            return self
        if told.left > 0:
            left = self._meanwhile(told.left, self.used - used_before)
            return msgspec.structs.replace(self, left=left, positive=True, gone_at=0.0)
        if told.available is True:
            return msgspec.structs.replace(self, left=None, gone_at=0.0)
        if told.available is False or self.positive:
            return msgspec.structs.replace(self, left=0)
        return msgspec.structs.replace(self, left=None)

    def _meanwhile(self, told: int, used: int) -> int:
        """Answers that ended while the reading was under way may be in it or not; more than before is a refill."""
        if not used or self.left is None or told > self.left + used:
            return told
        return min(told, self.left)


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """One reading of one count. `left` None = nothing usable; `available` is the site's own word, None = no word."""

    left: int | None = None
    available: bool | None = None


class Counts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All of it, as the workers share it. `version` is that of the cookie whose plan it is. Times are epoch seconds:
    `read_at` of the last reading that told something, `tried_at` of the last one at all; 0 = never."""

    version: int = 0
    pro: Count = Count()
    research: Count = Count()
    read_at: float = 0.0
    tried_at: float = 0.0

    def of(self, kind: Kind) -> Count:
        return self.research if kind == "research" else self.pro

    def having(self, kind: Kind, count: Count) -> "Counts":
        if kind == "research":
            return msgspec.structs.replace(self, research=count)
        return msgspec.structs.replace(self, pro=count)
