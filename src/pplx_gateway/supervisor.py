"""Tasks that run beside the requests, as long as the gateway does. One that fails is told of and started again."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine

from pplx_gateway.clock import Clock
from pplx_gateway.errors import GatewayError

logger = logging.getLogger("pplx_gateway.supervisor")

FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 300.0

Work = Callable[[], Awaitable[None]]


class Supervisor:
    """`keep` for work that goes on for ever, `once` for work that ends by itself."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tasks: set[asyncio.Task[None]] = set()

    def keep(self, name: str, work: Work) -> None:
        """Runs `work` again whenever it ends or fails, with a wait that doubles with each failure in a row."""
        self._start(self._again(name, work))

    def every(self, name: str, seconds: float, work: Work) -> None:
        """Runs `work` now, and `seconds` after each end of it."""

        async def repeated() -> None:
            while True:
                await work()
                await self._clock.sleep(seconds)

        self.keep(name, repeated)

    def once(self, name: str, work: Work) -> None:
        self._start(self._guarded(name, work))

    async def close(self) -> None:
        """Cancels everything and waits for it."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, running: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(running)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _again(self, name: str, work: Work) -> None:
        wait = FIRST_WAIT_SECONDS
        while True:
            began = self._clock.monotonic()
            await self._guarded(name, work)
            if self._clock.monotonic() - began > LONGEST_WAIT_SECONDS:
                wait = FIRST_WAIT_SECONDS  # it ran well for a while
            await self._clock.sleep(wait)
            wait = min(wait * 2, LONGEST_WAIT_SECONDS)

    async def _guarded(self, name: str, work: Work) -> None:
        """The border of a background task: its failure must end nothing else."""
        try:
            await work()
        except GatewayError as error:
            logger.warning("a task failed", extra={"task": name, "code": error.code, "why": error.message})
        except Exception:
            logger.exception("a task failed", extra={"task": name})
