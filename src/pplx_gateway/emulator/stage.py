"""What both halves of the emulator stand on: the clock, the pace, the record of requests and the script.

A half is a function `routes(stage: Stage) -> list[BaseRoute]`. Its endpoints may return any Starlette response; what
must reach the wire step by step (streams, drops, silence) is returned as `stage.play(steps, ...)`.
"""

import asyncio
from collections.abc import AsyncIterable, Callable, Coroutine, Iterable, Sequence
from typing import Any, TypedDict, Unpack

from pplx_gateway.clock import Clock
from pplx_gateway.emulator.keys import KeyBook
from pplx_gateway.emulator.record import Record, Recorder
from pplx_gateway.emulator.script import Pause, ScriptBook, Scripted, Step
from pplx_gateway.emulator.wire import Play, cancelled

Guard = Callable[[Record], Scripted | None]


class Durations(TypedDict, total=False):
    """Clock seconds.

    `pace_seconds` (0.02): between two chunks of an answer. `hold_seconds` (1800): how long the fault
    `upstream_timeout` stays silent before the emulator gives up itself with an HTML 504. `background_seconds` (3): how
    long a background run takes at least. `cancel_seconds` (3): from "cancelling" to "cancelled". `slow_seconds` (5):
    how long a `slow:` answer streams.
    """

    pace_seconds: float
    hold_seconds: float
    background_seconds: float
    cancel_seconds: float
    slow_seconds: float


class Stage:
    """One for each emulator; both halves share it."""

    def __init__(self, clock: Clock, **durations: Unpack[Durations]) -> None:
        self.clock = clock
        self.pace_seconds = durations.get("pace_seconds", 0.02)
        self.hold_seconds = durations.get("hold_seconds", 1800.0)
        self.background_seconds = durations.get("background_seconds", 3.0)
        self.cancel_seconds = durations.get("cancel_seconds", 3.0)
        self.slow_seconds = durations.get("slow_seconds", 5.0)
        self.recorder = Recorder(clock)
        self.scripts = ScriptBook()
        self.keys = KeyBook()
        self.guards: list[tuple[str, str, Guard]] = []
        self.views: dict[str, Callable[[], object]] = {}
        self.open_requests = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Runs `work` apart from any request, until it is done or the emulator stops."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        """Stops what was spawned."""
        await cancelled(*self._tasks)

    def play(
        self,
        steps: AsyncIterable[Step] | Iterable[Step],
        *,
        status: int = 200,
        headers: Sequence[tuple[str, str]] = (),
        delay_seconds: float = 0.0,
    ) -> Play:
        """A response that sends `steps` one by one. It ends cleanly after the last step unless that is Abort or Cut."""
        return Play(self.clock, steps, status=status, headers=headers, delay_seconds=delay_seconds)

    def pause(self, chunks: int, *, slow: bool = False) -> Pause:
        """The pause between two of `chunks` chunks."""
        return Pause(max(self.slow_seconds / max(chunks, 1), self.pace_seconds) if slow else self.pace_seconds)

    def guard(self, method: str, path: str, check: Guard) -> None:
        """Has `check` look at the record of every request to `path` before a scripted answer is used. What it returns
        is answered instead, and the script stays unused: a script does not make the upstream less strict."""
        self.guards.append((method, path, check))

    def show(self, name: str, view: Callable[[], object]) -> None:
        """Adds `view()` under `name` to `GET /_emulator/state`."""
        self.views[name] = view
