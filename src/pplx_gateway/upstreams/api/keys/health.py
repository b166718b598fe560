"""How one key fares: whether it is good, since when not, and when it may be tried again.

A key that failed rests: as long as the API says, or longer each time. After that one question tries it, and only its
good answer lets the others come. So does the first question of all, where there are other keys to fall back to.
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import Literal

import msgspec

from pplx_gateway.clock import Clock
from pplx_gateway.errors import GatewayError, InsufficientQuota, LimitError, RateLimited, UpstreamAuth

State = Literal["untried", "good", "throttled", "out_of_balance", "refused"]

_STATES: Mapping[type[GatewayError], State] = {
    RateLimited: "throttled",
    InsufficientQuota: "out_of_balance",
    UpstreamAuth: "refused",
}
FAILS_OVER = tuple(_STATES)
"""What another key may mend, and what surely was not billed."""

FIRST_REST_SECONDS: Mapping[State, float] = {"throttled": 1.0, "out_of_balance": 60.0, "refused": 60.0}
LONGEST_REST_SECONDS: Mapping[State, float] = {"throttled": 60.0, "out_of_balance": 900.0, "refused": 900.0}
_OWN_WORDS = re.compile(r"(answered HTTP \d{3}): .*", re.DOTALL)
"""Behind it stands what the API said, which may repeat what one caller asked; this is told to others, and kept."""
TRIAL_SECONDS = 10.0
"""How long others wait for the question that tries a key."""


class Learnt(msgspec.Struct, frozen=True, kw_only=True):
    """What others should know of a key. Times are seconds since the epoch."""

    state: State
    at: float
    rests_until: float
    in_a_row: int
    message: str | None = None


class Health:
    """`changed` is called when the key fails, and when one that failed is good again."""

    def __init__(self, clock: Clock, changed: Callable[[], None] = lambda: None) -> None:
        self.state: State = "untried"
        self.requests = 0
        self.failures = 0
        self.last_used_at: float | None = None
        self.last_failed_at: float | None = None
        self.message: str | None = None
        self._clock = clock
        self._changed = changed
        self._rests_until = 0.0
        self._in_a_row = 0
        self._trial: asyncio.Event | None = None

    @property
    def rest_seconds(self) -> float:
        """Until it may be tried again; 0 = now."""
        return max(0.0, self._rests_until - self._clock.monotonic())

    @property
    def resting(self) -> bool:
        return self.rest_seconds > 0

    @property
    def on_trial(self) -> bool:
        """True while one question tries whether a key that failed is good again."""
        return self._trial is not None and self.failing

    @property
    def failing(self) -> bool:
        """True from a failure on, until an answer."""
        return self.state not in ("good", "untried")

    async def cleared(self) -> bool:
        """Waits for the question that tries the key, if there is one; a while at most. False = it rests now."""
        try:
            async with self._clock.deadline(TRIAL_SECONDS):
                while self._trial is not None and self.state != "good":
                    await self._trial.wait()
        except TimeoutError:
            pass
        return not self.resting

    def used(self) -> None:
        """A question goes out."""
        self.requests += 1
        self.last_used_at = self._clock.now()
        if self.state != "good" and self._trial is None:
            self._trial = asyncio.Event()

    def answered(self) -> None:
        """It was taken."""
        mended = self.failing
        self.state = "good"
        self._in_a_row = 0
        self.message = None
        self.unsettled()
        if mended:
            self._changed()

    def failed(self, error: GatewayError, wait_seconds: float | None) -> None:
        """`wait_seconds` is the API's own hint."""
        self.state = next(state for kind, state in _STATES.items() if isinstance(error, kind))
        self.failures += 1
        self.last_failed_at = self._clock.now()
        self.message = _OWN_WORDS.sub(r"\1.", error.message)
        rest = FIRST_REST_SECONDS[self.state] * 2 ** min(self._in_a_row, 20)
        self._in_a_row += 1
        self._rests_until = self._clock.monotonic() + (
            min(rest, LONGEST_REST_SECONDS[self.state]) if wait_seconds is None else wait_seconds
        )
        self.unsettled()
        self._changed()

    def unsettled(self) -> None:
        """The question that tried it is over, perhaps for reasons that say nothing of the key."""
        if self._trial is not None:
            self._trial.set()
            self._trial = None

    def learnt(self) -> Learnt:
        now = self._clock.now()
        return Learnt(
            state=self.state,
            at=now,
            rests_until=now + self._clock.real(self.rest_seconds),
            in_a_row=self._in_a_row,
            message=self.message,
        )

    def adopt(self, learnt: Learnt) -> None:
        """What another worker has learnt. Its failure counts as long as the rest lasts, its good news if it is newer
        than the failure here."""
        rest = -self._clock.since(learnt.rests_until)
        if learnt.state not in ("good", "untried"):
            if rest > self.rest_seconds:
                self.state, self.message = learnt.state, learnt.message
                self._in_a_row = max(self._in_a_row, learnt.in_a_row)
                self._rests_until = self._clock.monotonic() + rest
                self.last_failed_at = max(self.last_failed_at or 0.0, learnt.at)
        elif self.failing and learnt.at >= (self.last_failed_at or 0.0):
            self.state, self.message = learnt.state, None
            self._in_a_row, self._rests_until = 0, 0.0

    def error(self) -> LimitError | UpstreamAuth:
        """Why it cannot be used while it rests."""
        kind = next(kind for kind, state in _STATES.items() if state == self.state)
        words = self.message or "The key rests."
        return kind(words, retry_after=self.rest_seconds)  # type: ignore[return-value]
