"""Each measurement: one function, one figure or a few, on one setup."""

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.loads import CHUNKS, SIDES, Question, Side, Spread, ask, held, request_body
from bench.setups import Setup, Upstream, gateway, post

Figures = dict[str, float]
GAP_MS = 20
SETTLE_SECONDS = 0.7


class Pace(NamedTuple):
    """How long to measure: seconds for what runs by time, how often a start is repeated."""

    seconds: float
    starts: int


FULL = Pace(seconds=5, starts=5)
QUICK = Pace(seconds=1.5, starts=2)


def requests(setup: Setup, pace: Pace) -> Iterator[tuple[str, float]]:
    """Answers that are not streamed, over the api side, at 1, 32 and 256 callers."""
    question = Question("api", stream=False, chunks=8)
    ask(setup, question, 8, seconds=0.3)  # connections and caches are warm
    for connections in (1, 32, 256):
        cpu = Cpu(setup)
        measured = ask(setup, question, connections, seconds=pace.seconds)
        prefix = f"requests c{connections}"
        yield f"{prefix}: CPU us/request", cpu.microseconds() / measured.answered
        yield f"{prefix}: per second", measured.answered / measured.seconds
        yield from _spread(f"{prefix}: latency", measured.latency_ms)


def blast(setup: Setup, pace: Pace) -> Iterator[tuple[str, float]]:
    """Streams as fast as they come."""
    for side, connections in zip(SIDES, (32, 8), strict=True):
        cpu = Cpu(setup)
        measured = ask(setup, Question(side, stream=True), connections, seconds=pace.seconds)
        yield f"{side} blast: CPU us/chunk", cpu.microseconds() / measured.marks
        yield f"{side} blast: chunks/s", measured.marks / measured.seconds
        yield f"{side} blast: answers/s", measured.answered / measured.seconds


def paced(setup: Setup, _: Pace) -> Iterator[tuple[str, float]]:
    """Streams as in life: a chunk each 20 ms, all callers at the same instant."""
    for side in SIDES:
        # The first chunk comes at once: N chunks take N - 1 gaps.
        nominal_seconds = (CHUNKS[side] - 1) * GAP_MS / 1000
        for connections in (1, 50, 200):
            cpu = Cpu(setup)
            measured = ask(setup, Question(side, stream=True, gap_ms=GAP_MS), connections, requests=connections)
            prefix = f"{side} paced c{connections}"
            if connections > 1:  # the system counts CPU in steps of 10 ms, too coarse for one stream
                yield f"{prefix}: CPU us/chunk", cpu.microseconds() / measured.marks
            yield f"{prefix}: delivered %", 100 * nominal_seconds / max(measured.marked_seconds, nominal_seconds)
            yield from _spread(f"{prefix}: first chunk", measured.first_mark_ms)
            yield from _spread(f"{prefix}: transit", measured.transit_ms)


def memory(setup: Setup, side: Side) -> Iterator[tuple[str, float]]:
    """What open streams hold. One chunk each 200 ms, so that every stream goes through all of its code."""
    yield f"{side} memory: idle RSS MB", setup.program.rss_kb() / 1024
    idle = setup.program.pss_kb()
    yield f"{side} memory: idle PSS MB", idle / 1024
    for connections in (200, 1000):
        busy = pss_while_open(setup, Question(side, stream=True, gap_ms=200, chunks=100_000), connections)
        yield f"{side} memory: PSS MB at {connections}", busy / 1024
        yield f"{side} memory: KB/stream at {connections}", (busy - idle) / connections


def pss_while_open(setup: Setup, question: Question, connections: int) -> int:
    """KB that the setup holds while so many streams are open; the least of three looks, as garbage comes and goes."""
    with tempfile.TemporaryDirectory() as folder, held(setup, question, connections, Path(folder)):
        return min(_after(SETTLE_SECONDS, setup.program.pss_kb) for _ in range(3))


def _after(seconds: float, look: Callable[[], int]) -> int:
    time.sleep(seconds)
    return look()


class Left(NamedTuple):
    """After the callers vanished: questions that stayed open, and the milliseconds until the last one was closed."""

    open: int
    ms: float


LEAVING: dict[str, Question] = {
    "api stream, silent": Question("api", stream=True, hold=True),
    "api stream, active": Question("api", stream=True, gap_ms=GAP_MS, chunks=100_000),
    "api, not streamed": Question("api", stream=False, hold=True),
    "session stream, silent": Question("session", stream=True, hold=True),
    "session stream, active": Question("session", stream=True, gap_ms=GAP_MS, chunks=100_000),
    "session, not streamed": Question("session", stream=False, hold=True),
}


def leave(setup: Setup, up: Upstream, question: Question, callers: int = 50, patience_seconds: float = 10) -> Left:
    """Lets callers ask, waits until the upstream has all of their questions, and lets the callers vanish."""
    wait_for(lambda: up.stats().open == 0, patience_seconds)
    with tempfile.TemporaryDirectory() as folder, held(setup, question, callers, Path(folder)) as program:
        if not wait_for(lambda: up.stats().open == callers, patience_seconds):
            raise RuntimeError(f"{setup.name}: {up.stats().open} of {callers} questions reached the upstream")
        vanished_ns = program.vanish()
    wait_for(lambda: up.stats().open == 0, patience_seconds)
    stats = up.stats()
    return Left(stats.open, (stats.last_closed_ns - vanished_ns) / 1e6)


def start(folder: Path, upstream_url: str, pace: Pace) -> Figures:
    """From nothing to the first 200, and to the first answer by a model; medians."""
    first_200, first_answer = [], []
    for number in range(pace.starts):
        with gateway(folder, upstream_url, name=f"start-{number}") as setup:
            first_200.append(setup.start_ms)
            post(setup.port, "/v1/chat/completions", request_body(Question("api", stream=False), translated=True))
            first_answer.append((time.monotonic_ns() - setup.program.started_ns) / 1e6)
    return {"start: first 200 ms": median(first_200), "start: first answer ms": median(first_answer)}


def wait_for(condition: Callable[[], bool], seconds: float) -> bool:
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > limit:
            return False
        time.sleep(0.005)
    return True


class Cpu:
    """CPU time of a setup from here on."""

    def __init__(self, setup: Setup) -> None:
        self._program = setup.program
        self._before = setup.program.cpu_seconds()

    def microseconds(self) -> float:
        return (self._program.cpu_seconds() - self._before) * 1e6


def _spread(prefix: str, spread: Spread | None) -> Iterator[tuple[str, float]]:
    if spread is not None:
        yield f"{prefix} p50 ms", spread.p50
        yield f"{prefix} p99 ms", spread.p99
