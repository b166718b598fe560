"""What this worker holds: kept from others while it runs, left alone once it is lost; and what others have left."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator

from pplx_gateway.errors import StoreUnavailable
from pplx_gateway.gateway import Gateway
from pplx_gateway.interrupting import Interruptible
from pplx_gateway.protocols.openai.responses.keeping import Lost
from pplx_gateway.store.records import Hold, TakenRun

logger = logging.getLogger("pplx_gateway")

POLL_SECONDS = 0.1
ADOPT_SECONDS = 1.0
SWEEP_SECONDS = 3600.0


class Watch:
    """`adopt` is given every run that was abandoned. Its seconds are real ones: they are about processes."""

    def __init__(self, gateway: Gateway, adopt: Callable[[TakenRun], Awaitable[None]]) -> None:
        self.closed = False
        self._gateway = gateway
        self._adopt = adopt
        self._held: dict[int, tuple[Hold, Interruptible]] = {}
        self._changes: dict[int, asyncio.Event] = {}

    @contextlib.contextmanager
    def over(self, hold: Hold, work: Interruptible) -> Iterator[None]:
        """While inside, the response stays ours; if it is lost all the same, `work` ends with Lost."""
        self._held[hold.number] = (hold, work)
        try:
            yield
        finally:
            if (held := self._held.get(hold.number)) and held[0] == hold:
                del self._held[hold.number]

    def interrupt(self, number: int) -> None:
        """Does nothing if it does not run in this worker."""
        if held := self._held.get(number):
            held[1].interrupt(Lost())

    def changed(self, number: int) -> None:
        """Wakes those who wait in `news`."""
        if event := self._changes.pop(number, None):
            event.set()

    async def news(self, number: int) -> None:
        """Waits until something may have changed: at once where it is this worker's doing, within POLL_SECONDS where it
        is another's."""
        event = self._changes.setdefault(number, asyncio.Event())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(POLL_SECONDS):
                await event.wait()
        if self._changes.get(number) is event:
            del self._changes[number]
            event.set()  # for the others who wait on it

    async def keep(self) -> None:
        """Runs as long as the gateway does."""
        jobs = [(POLL_SECONDS, self._let_lost_go), (ADOPT_SECONDS, self._renew_and_adopt), (SWEEP_SECONDS, self._sweep)]
        due = [0.0] * len(jobs)
        try:
            while True:
                for place, (seconds, job) in enumerate(jobs):
                    if (now := asyncio.get_running_loop().time()) >= due[place]:
                        due[place] = now + seconds
                        await self._tried(job)
                await asyncio.sleep(POLL_SECONDS)
        except asyncio.CancelledError:
            self.closed = True
            raise

    async def _tried(self, job: Callable[[], Awaitable[None]]) -> None:
        """A store that is busy for once must not cost us what we hold."""
        try:
            await job()
        except StoreUnavailable as error:
            logger.warning("responses not looked after", extra={"why": error.message})

    async def _let_lost_go(self) -> None:
        if holds := self._holds():
            for hold in await self._gateway.responses.runs.lost(holds):
                if (held := self._held.get(hold.number)) and held[0] == hold:
                    held[1].interrupt(Lost())

    async def _renew_and_adopt(self) -> None:
        """In this order, so that after a long sleep of the machine nobody takes from himself."""
        responses = self._gateway.responses
        if holds := self._holds():
            await responses.runs.renew(holds)
            await responses.retention.trim()
        while taken := await responses.runs.take_abandoned():
            await self._adopt(taken)

    async def _sweep(self) -> None:
        await self._gateway.responses.retention.sweep()

    def _holds(self) -> list[Hold]:
        return [hold for hold, _ in self._held.values()]
