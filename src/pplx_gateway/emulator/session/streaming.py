"""A Course as steps on the wire: paced, silent where research is, and stopped when somebody asks for it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import NamedTuple

from pplx_gateway.clock import Clock
from pplx_gateway.emulator.script import Bytes, Pause, Step
from pplx_gateway.emulator.session.forms import Course
from pplx_gateway.emulator.session.frames import END_OF_STREAM, KEEP_ALIVE, Frame, write

STREAM_HEADERS = (
    ("content-type", "text/event-stream"),
    ("cache-control", "no-cache"),
    (
        "cf-ray",
        "8f0000000000beef-FRA",
    ),  # good responses have one too: it proves no challenge (docs/wire-session.md 7.1)
)


class Pace(NamedTuple):
    """Seconds of the clock. `frame`: between two frames; `silence`: what deep research is silent for in all, spread
    over the way; `answer`: how long it waits after its questions."""

    frame: float = 0.0
    silence: float = 0.0
    answer: float = 0.0


def whole(course: Course, pace: Pace) -> list[Step]:
    """Every frame, a comment before the text, and the end."""
    steps: list[Step] = []
    for frame in course.way:
        steps += [write(frame), *_pauses(pace.silence / len(course.way))]
    steps += [*_pauses(pace.answer), Bytes(KEEP_ALIVE)]
    for frame in course.text:
        steps += [write(frame), *_pauses(pace.frame)]
    return [*steps, write(course.completed), Bytes(END_OF_STREAM)]


def single(frame: Frame) -> list[Step]:
    """A stream of one frame."""
    return [write(frame), Bytes(END_OF_STREAM)]


def paced(steps: Iterable[Step], seconds: float) -> list[Step]:
    """`steps` with a pause after each write."""
    return [part for step in steps for part in (step, *(_pauses(seconds) if isinstance(step, Bytes) else []))]


async def stoppable(
    steps: Sequence[Step], clock: Clock, stop: asyncio.Event, stopped: Callable[[int], Sequence[Step]]
) -> AsyncIterator[Step]:
    """`steps` until `stop` is set; then what `stopped` makes of the number of steps that had been taken."""
    for taken, step in enumerate(steps):
        if isinstance(step, Pause):
            await _wait(clock, step.seconds, stop)
        if stop.is_set():
            for last in stopped(taken):
                yield last
            return
        if not isinstance(step, Pause):
            yield step


async def _wait(clock: Clock, seconds: float, stop: asyncio.Event) -> None:
    try:
        async with clock.deadline(seconds):
            await stop.wait()
    except TimeoutError:
        return


def _pauses(seconds: float) -> list[Pause]:
    return [Pause(seconds)] if seconds > 0 else []
