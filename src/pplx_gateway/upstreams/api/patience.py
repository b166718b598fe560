"""How long to wait for the API, and when to ask again.

A question is paid for, so it is repeated only where the first one surely was not taken: no connection, or a 429.
"""

from collections.abc import Callable
from secrets import SystemRandom

import msgspec

from pplx_gateway.errors import GatewayError, RateLimited, UpstreamUnreachable
from pplx_gateway.transport import Timeouts, TransferTimeout

LONGEST_WAIT_SECONDS = 10.0
OUTWARD_WAIT_SECONDS = 5.0
"""Told to callers where the upstream throttles and gives no hint: longer than what was waited here in vain."""


class ApiOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Gateway seconds. `research_seconds` takes the place of first byte and idle for models that take minutes; `total`
    None = no limit. `attempts` counts the first one; the wait after it is `backoff_seconds`, and doubles up to
    `longest_backoff_seconds`. `jitter` gives numbers from 0 to 1."""

    connect_seconds: float = 10.0
    first_byte_seconds: float = 120.0
    idle_seconds: float = 120.0
    research_seconds: float = 900.0
    total_seconds: float | None = None
    drain_seconds: float = 0.05
    cancel_seconds: float = 10.0
    attempts: int = 3
    backoff_seconds: float = 0.5
    longest_backoff_seconds: float = 10.0
    jitter: Callable[[], float] = SystemRandom().random

    def timeouts(self, *, research: bool) -> Timeouts:
        return Timeouts(
            connect=self.connect_seconds,
            first_byte=self.research_seconds if research else self.first_byte_seconds,
            idle=self.research_seconds if research else self.idle_seconds,
            total=self.total_seconds,
        )

    def brief(self) -> Timeouts:
        """For a call that only says stop."""
        seconds = self.cancel_seconds
        return Timeouts(connect=min(self.connect_seconds, seconds), first_byte=seconds, idle=seconds, total=seconds)

    def wait_before_retry(self, error: GatewayError, attempt: int) -> float | None:
        """Seconds until the next attempt after the `attempt`th failed, None = no further one.

        Exponential and jittered, so that callers who were throttled together do not come back together; never shorter
        than the upstream's own hint.
        """
        if attempt >= self.attempts or not _surely_not_taken(error):
            return None
        backoff = min(self.backoff_seconds * 2 ** (attempt - 1), self.longest_backoff_seconds)
        hint = error.retry_after or 0.0
        return None if hint > LONGEST_WAIT_SECONDS else hint + backoff * (0.5 + self.jitter())


def _surely_not_taken(error: GatewayError) -> bool:
    unconnected = isinstance(error, TransferTimeout) and error.limit == "connect"
    return unconnected or isinstance(error, RateLimited | UpstreamUnreachable)
