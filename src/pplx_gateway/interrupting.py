"""Ending a task's work from outside, with a reason that tells it from being cancelled by whoever runs the task."""

import asyncio
from types import TracebackType
from typing import Any, Self


class Interruptible:
    """While the block runs, `interrupt` cancels it, and it ends with the reason that was given."""

    def __init__(self) -> None:
        self._task: asyncio.Task[Any] | None = None
        self._cancelling = 0
        self._reason: Exception | None = None

    async def __aenter__(self) -> Self:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("An interruptible block needs a task to cancel.")
        self._task = task
        self._cancelling = task.cancelling()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task, reason = self._task, self._reason
        self.settle()
        # Only a cancellation of our own becomes the reason; one from outside goes on.
        if task and reason and task.uncancel() <= self._cancelling and kind in (None, asyncio.CancelledError):
            raise reason from error

    def interrupt(self, reason: Exception) -> None:
        """The first reason counts. Nothing happens before the block, nor once it is over or settled."""
        if self._task is not None and self._reason is None:
            self._reason = reason
            self._task.cancel()

    def settle(self) -> None:
        """What is under way now comes to its end, whatever happens. To be called by the block's own task."""
        if self._reason is None:
            self._task = None
