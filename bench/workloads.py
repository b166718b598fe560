"""Each measurement: one function, one figure or a few, on one setup."""

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.loads import CHUNKS, Face, Question, Side, Spread, ask, held, request_body
from bench.setups import MODELS, Setup, Upstream, gateway, post

Figures = dict[str, float]
GAP_MS = 20
SETTLE_SECONDS = 0.7


class Pace(NamedTuple):
    """How long to measure: seconds for what runs by time, how often a start is repeated. `patient`: what falls behind
    is waited for."""

    seconds: float
    starts: int
    patient: bool


FULL = Pace(seconds=2.5, starts=5, patient=True)
QUICK = Pace(seconds=1, starts=2, patient=False)
BLAST_CALLERS: dict[Side, int] = {"api": 32, "session": 8}
CROWD = 1000
CROWD_GAP_MS = 200
CROWD_CHUNKS = 20


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
    for side in setup.sides:
        cpu = Cpu(setup)
        callers = 4 if setup.slow else BLAST_CALLERS[side]
        measured = ask(setup, Question(side, stream=True), callers, seconds=pace.seconds)
        yield f"{side} blast: CPU us/chunk", cpu.microseconds() / measured.marks
        yield f"{side} blast: chunks/s", measured.marks / measured.seconds
        yield f"{side} blast: answers/s", measured.answered / measured.seconds


def paced(setup: Setup, pace: Pace) -> Iterator[tuple[str, float]]:
    """Streams as in life: a chunk each 20 ms, all callers at the same instant."""
    for side in setup.sides:
        for connections in (1, 50, 200):
            if not setup.slow or pace.patient or connections == 1:
                yield from _paced(setup, Question(side, stream=True, gap_ms=GAP_MS), connections)


def crowd(setup: Setup, _: Pace) -> Iterator[tuple[str, float]]:
    """A thousand streams, a chunk each 200 ms."""
    for side in setup.sides:
        question = Question(side, stream=True, gap_ms=CROWD_GAP_MS, chunks=CROWD_CHUNKS)
        yield from _paced(setup, question, CROWD)


def _paced(setup: Setup, question: Question, connections: int) -> Iterator[tuple[str, float]]:
    # The first chunk comes at once: N chunks take N - 1 gaps.
    nominal_seconds = ((question.chunks or CHUNKS[question.side]) - 1) * question.gap_ms / 1000
    cpu = Cpu(setup)
    measured = ask(setup, question, connections, requests=connections)
    prefix = f"{question.side} paced c{connections}"
    if connections > 1:  # the system counts CPU in steps of 10 ms, too coarse for one stream
        yield f"{prefix}: CPU us/chunk", cpu.microseconds() / measured.marks
    yield f"{prefix}: chunks/s", measured.marks / max(measured.marked_seconds, nominal_seconds)
    yield f"{prefix}: delivered %", 100 * nominal_seconds / max(measured.marked_seconds, nominal_seconds)
    yield from _spread(f"{prefix}: first chunk", measured.first_mark_ms)
    yield from _spread(f"{prefix}: transit", measured.transit_ms)


def responses(setup: Setup, pace: Pace) -> Iterator[tuple[str, float]]:
    """The Responses API, each response kept in the store."""
    return _face(setup, "responses", pace)


def tool_calls(setup: Setup, pace: Pace) -> Iterator[tuple[str, float]]:
    """Calls of an MCP tool that asks. The first one waits for MCP's library."""
    return _face(setup, "mcp", pace)


def _face(setup: Setup, face: Face, pace: Pace) -> Iterator[tuple[str, float]]:
    question = Question("api", stream=False, chunks=8, face=face)
    ask(setup, question, 1, requests=4)
    cpu = Cpu(setup)
    measured = ask(setup, question, 32, seconds=pace.seconds)
    yield f"{face} c32: CPU us/request", cpu.microseconds() / measured.answered
    yield f"{face} c32: per second", measured.answered / measured.seconds
    yield from _spread(f"{face} c32: latency", measured.latency_ms)


def memory(setup: Setup, _: Pace, *, side: Side) -> Iterator[tuple[str, float]]:
    """What open streams hold. One chunk each 200 ms, so that every stream goes through all of its code."""
    yield f"{side} memory: idle RSS MB", setup.program.rss_kb() / 1024
    idle = setup.program.pss_kb()
    yield f"{side} memory: idle PSS MB", idle / 1024
    gap_ms = 2000 if setup.slow else CROWD_GAP_MS  # who falls behind would hold what waits, not what a stream takes
    for connections in (200, CROWD):
        busy = pss_while_open(setup, Question(side, stream=True, gap_ms=gap_ms, chunks=100_000), connections)
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
            post(setup.port, "/v1/chat/completions", request_body(Question("api", stream=False), MODELS["api"]))
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
