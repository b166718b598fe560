"""Whether, when and how a run whose stream broke is looked for again. It is never asked for again: it is paid for."""

from typing import NamedTuple, Protocol

from pplx_gateway.errors import (
    GatewayError,
    RateLimited,
    UpstreamError,
    UpstreamTimeout,
    UpstreamTruncated,
    UpstreamUnreachable,
)

FOREGROUND_PICKUPS = 1
BACKGROUND_PICKUPS = 5
POLL_SECONDS = 5.0  # docs/wire-agent.md 2.8
FRUITLESS_WAITS = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0, 60.0, 60.0, 60.0)
"""Seconds before each look after one that brought nothing; as many in a row are the end."""
_NEVER = -1


class RunGone(UpstreamError):
    """The upstream knows no such run (any more)."""


class Broken(NamedTuple):
    """How things stand when there is nothing more to read. `cursor` is the last event's number; `exact` = going on
    after it repeats nothing; `alive` = the upstream just said that the run goes on; `settled` = it has ended it;
    `known` = the run's id is."""

    failure: GatewayError
    cursor: int | None
    known: bool
    exact: bool
    alive: bool
    settled: bool


class Look(NamedTuple):
    """`whole` = the run as it stands, instead of its stream."""

    wait_seconds: float = 0.0
    whole: bool = False


class Pickups(Protocol):
    def next(self, broken: Broken) -> Look:
        """Raises what broke the stream where another look is no use."""
        ...


class Brief:
    """For somebody who waits: at once or not at all, at most `most` times, and each look must bring news."""

    def __init__(self, most: int) -> None:
        self._left = most
        self._lost: GatewayError | None = None
        self._cursor: int | None = _NEVER

    def next(self, broken: Broken) -> Look:
        cut = isinstance(broken.failure, UpstreamTruncated) and broken.known and broken.exact
        if not cut or self._left == 0 or broken.cursor == self._cursor:
            raise self._lost or broken.failure
        self._left -= 1
        self._cursor = broken.cursor
        self._lost = broken.failure
        return Look()


class Lasting:
    """For a run that outlives its connection: as long as it lives or the upstream may come back."""

    def __init__(self) -> None:
        self._fruitless = 0
        self._cursor: int | None = _NEVER
        self._gone = False

    def next(self, broken: Broken) -> Look:
        gone = isinstance(broken.failure, RunGone)
        possible = broken.known and broken.exact and not broken.settled and not (gone and self._gone)
        if not (possible and _passes(broken.failure)):
            raise broken.failure
        self._gone = gone
        news = broken.cursor != self._cursor
        self._cursor = broken.cursor
        if news or broken.alive:
            self._fruitless = 0
            return Look() if news else Look(POLL_SECONDS)
        if self._fruitless == len(FRUITLESS_WAITS):
            raise broken.failure
        self._fruitless += 1
        return Look(FRUITLESS_WAITS[self._fruitless - 1], whole=True)


def _passes(failure: GatewayError) -> bool:
    """True for what another look may mend: the way to the upstream, not its word."""
    if type(failure) is UpstreamError:
        return (failure.upstream_status or 0) >= 500
    return isinstance(failure, _PASSING)


_PASSING = (UpstreamTruncated, UpstreamTimeout, UpstreamUnreachable, RateLimited, RunGone)
