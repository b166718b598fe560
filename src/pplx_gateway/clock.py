"""Time, injected everywhere, so that nine silent minutes can pass in a few seconds of a test.

With a factor of 100 one real second counts as a hundred. All arguments and results are gateway seconds, not real ones,
but for `now` and `uptime`.
"""

import asyncio
import time


class Clock:
    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor

    def now(self) -> float:
        """Wall time, seconds since the epoch; never scaled, because others compare it with their own."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that only grow; for durations."""
        return time.monotonic() * self.factor

    def uptime(self) -> float:
        """Real seconds that only grow, and the same in every process of this machine until it is started anew."""
        return time.monotonic()

    def since(self, moment: float) -> float:
        """Gateway seconds that have passed since `moment`, which `now` gave, maybe in another process."""
        return (self.now() - moment) * self.factor

    def real(self, seconds: float) -> float:
        """The real seconds in which `seconds` pass."""
        return seconds / self.factor

    def milliseconds(self, seconds: float) -> int:
        """Real milliseconds, at least 1, for libraries that count themselves."""
        return max(1, round(seconds * 1000 / self.factor))

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(self.real(seconds))

    def deadline(self, seconds: float | None) -> asyncio.Timeout:
        """An async context that raises TimeoutError after `seconds`; None = never."""
        return asyncio.timeout(None if seconds is None else self.real(seconds))
