"""One run of the agent: its state, its events, and those who follow it."""

import asyncio
import uuid
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any, Literal

import msgspec

from pplx_gateway.emulator.agent.conversation import Conversation
from pplx_gateway.emulator.agent.plan import Plan
from pplx_gateway.emulator.agent.request import AgentRequest

Status = Literal["queued", "in_progress", "completed", "incomplete", "failed", "cancelled", "requires_action"]
Breakage = Literal["drop", "bad_json"]
KEPT_RUNS = 2000


class StreamCut(Exception):
    """This one stream of a run breaks off."""


class Run:
    """Goes on whether anybody follows it or not, until it ends or is cancelled. Times are seconds since the epoch.

    `broken` = the run got lost on the way: its stream ends so, and nobody will find it again.
    """

    def __init__(
        self,
        request: AgentRequest,
        conversation: Conversation,
        plan: Plan,
        *,
        key: str,
        created_at: float,
        on_change: Callable[[], None],
    ) -> None:
        self.uuid = str(uuid.uuid4())
        self.id = f"resp_{self.uuid}"
        self.request = request
        self.conversation = conversation
        self.plan = plan
        self.key = key
        self.created_at = created_at
        self.completed_at: float | None = None
        self.status: Status = "queued" if request.body.background else "in_progress"
        self.output: list[dict[str, Any]] = []
        self.usage: dict[str, Any] | None = None
        self.error: dict[str, Any] | None = None
        self.incomplete_reason: str | None = None
        self.cancelling = False
        self.broken: Breakage | None = None
        self.events: list[bytes] = []
        self.task: asyncio.Task[None] | None = None
        self._ended = False
        self._cuts = 0
        self._changed = asyncio.Event()
        self._on_change = on_change

    @property
    def ended(self) -> bool:
        """True once the last event is out."""
        return self._ended

    @property
    def hidden(self) -> bool:
        """`store: false` only hides the run from GET."""
        return self.request.body.store is False

    @property
    def model(self) -> str:
        """The level's name until the run is done, what served it from then on (docs/wire-agent.md 2.6)."""
        done = self.status in ("completed", "incomplete", "requires_action", "failed")
        return self.plan.model if done else self.plan.shown_model

    def emit(self, kind: str, **payload: object) -> None:
        event = {"type": kind, "sequence_number": len(self.events), **payload}
        self.emit_raw(msgspec.json.encode(event))

    def emit_raw(self, data: bytes) -> None:
        self.events.append(b"data: " + data + b"\n\n")
        self._wake()

    def become(self, status: Status) -> None:
        self.status = status
        self._wake()

    def stop(self) -> None:
        """Stops the work, with the state left as it is."""
        if self.task is not None:
            self.task.cancel()

    def end(self) -> None:
        """After this nothing is emitted any more."""
        self._ended = True
        self._wake()

    def cut_followers(self) -> None:
        """Breaks every stream that follows the run now; the run itself goes on."""
        self._cuts += 1
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
        self._on_change()

    async def follow(self, after: int = -1) -> AsyncGenerator[bytes, None]:
        """Events whose sequence number is above `after`: those that are there, then the others as they come. Raises
        StreamCut."""
        place, cuts = after + 1, self._cuts
        while True:
            if self._cuts != cuts:
                raise StreamCut
            if place < len(self.events):
                place += 1
                yield self.events[place - 1]  # a cut may come while this is sent
            elif self._ended:
                return
            else:
                await self._changed.wait()

    async def finished(self) -> None:
        while not self._ended:
            await self._changed.wait()


class Runs:
    """Every run that can still be asked for, oldest first."""

    def __init__(self) -> None:
        self._runs: OrderedDict[str, Run] = OrderedDict()

    def __iter__(self) -> Iterator[Run]:
        return iter(list(self._runs.values()))

    def add(self, run: Run) -> None:
        self._runs[run.id] = run
        if len(self._runs) > KEPT_RUNS:  # one that goes on is kept whatever comes after it
            self._runs.pop(next((old.id for old in self._runs.values() if old.ended), run.id))

    def forget(self, run: Run) -> None:
        self._runs.pop(run.id, None)

    def find(self, run_id: str, key: str) -> Run | None:
        """The run, if it was made with `key`."""
        run = self._runs.get(run_id)
        return run if run is not None and run.key == key else None
