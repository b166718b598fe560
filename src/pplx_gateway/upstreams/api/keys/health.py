"""How one key fares: whether it is good, since when not, and when it may be tried again.

A key that failed rests: as long as the API says, or longer each time. After that one question tries it, and only its
good answer lets the others come. So does the first question of all, where there are other keys to fall back to.
"""

import asyncio
from collections.abc import Mapping
from typing import Literal

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
TRIAL_SECONDS = 10.0
"""How long others wait for the question that tries a key."""


class Health:
    def __init__(self, clock: Clock) -> None:
        self.state: State = "untried"
        self.requests = 0
        self.failures = 0
        self.last_used_at: float | None = None
        self.last_failed_at: float | None = None
        self.message: str | None = None
        self._clock = clock
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
        return self._trial is not None and self.state not in ("good", "untried")

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
        self.state = "good"
        self._in_a_row = 0
        self.message = None
        self.unsettled()

    def failed(self, error: GatewayError, wait_seconds: float | None) -> None:
        """`wait_seconds` is the API's own hint."""
        self.state = next(state for kind, state in _STATES.items() if isinstance(error, kind))
        self.failures += 1
        self.last_failed_at = self._clock.now()
        self.message = error.message
        rest = FIRST_REST_SECONDS[self.state] * 2 ** min(self._in_a_row, 20)
        self._in_a_row += 1
        self._rests_until = self._clock.monotonic() + (
            min(rest, LONGEST_REST_SECONDS[self.state]) if wait_seconds is None else wait_seconds
        )
        self.unsettled()

    def unsettled(self) -> None:
        """The question that tried it is over, perhaps for reasons that say nothing of the key."""
        if self._trial is not None:
            self._trial.set()
            self._trial = None

    def error(self) -> LimitError | UpstreamAuth:
        """Why it cannot be used while it rests."""
        kind = next(kind for kind, state in _STATES.items() if state == self.state)
        words = self.message or "The key rests."
        return kind(words, retry_after=self.rest_seconds)  # type: ignore[return-value]
