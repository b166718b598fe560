"""Responses that run without a caller: by supervised tasks, each held in the store by one worker.

A worker that dies lets go of what it held. Another one goes on with it where the upstream can (from the run's first
event, leaving out what was told before), and ends it as failed, with the reason, where it cannot. A graceful stop lets
go in the same way, at once.
"""

import logging
from contextlib import suppress

from pplx_gateway.errors import (
    GatewayError,
    InvalidRequest,
    NotFound,
    StoreUnavailable,
    UnsupportedOperation,
    UpstreamError,
)
from pplx_gateway.exchange import Exchange
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.openai.responses.aftermath import cancelled, failed, left_behind, run_lost
from pplx_gateway.protocols.openai.responses.keeping import Lost
from pplx_gateway.protocols.openai.responses.performance import Performance
from pplx_gateway.protocols.openai.responses.plan import decoded
from pplx_gateway.protocols.openai.responses.rendering import Rendering
from pplx_gateway.protocols.openai.responses.watch import Watch
from pplx_gateway.store.records import Ending, Hold, StoredResponse, TakenRun
from pplx_gateway.supervisor import Supervisor

logger = logging.getLogger("pplx_gateway")


class Background:
    """One in each worker. `watch` also guards what runs in the foreground."""

    def __init__(self, gateway: Gateway) -> None:
        self.watch = Watch(gateway, self._go_on)
        self._gateway = gateway

    def begin(self) -> None:
        """Looks after what is in the store, as long as the gateway is open."""
        if self._gateway.supervisor is not None:
            self._gateway.supervisor.keep("responses", self.watch.keep)

    def start(self, hold: Hold, rendering: Rendering, exchange: Exchange) -> None:
        performance = Performance(self._gateway, self.watch, hold, rendering, exchange)
        self._supervisor.once("response", performance.run)

    async def cancel(self, found: StoredResponse) -> bytes:
        """The response as it is then; one that was cancelled before stays as it is.

        Raises UnsupportedOperation, InvalidRequest if it has ended otherwise, NotFound."""
        if not found.background:
            raise UnsupportedOperation("Only background responses can be cancelled. To stop a stream, close it.")
        taken = await self._take(found.number)
        ending = await self._finish_cancelled(taken.hold) if taken else None
        if ending is not None:
            return ending.object
        now = await self._settled(found.number)
        if now is None:
            raise not_found(found.id)
        if now.status != "cancelled":
            raise InvalidRequest(f"The response '{now.id}' is {now.status}, so it cannot be cancelled any more.")
        return now.object

    async def delete(self, found: StoredResponse) -> bool:
        """Stops it if it runs. False if another was first."""
        await self._take(found.number)
        gone = await self._gateway.responses.delete(found.number)
        self.watch.changed(found.number)
        return gone

    @property
    def _supervisor(self) -> Supervisor:
        if self._gateway.supervisor is None:
            raise StoreUnavailable("This gateway runs nothing in the background.")
        return self._gateway.supervisor

    async def _take(self, number: int) -> TakenRun | None:
        """To end it: nobody else writes to it from now on, in whichever worker it runs. None if it is over, or another
        ends it already."""
        taken = await self._gateway.responses.runs.take_to_end(number)
        self.watch.interrupt(number)
        if taken is not None:
            self._stop_upstream(taken)
        return taken

    async def _settled(self, number: int) -> StoredResponse | None:
        """The response once it is over, None if it is gone."""
        while (now := await self._gateway.responses.read(number)) and now.active:
            await self.watch.news(number)
        return now

    def _stop_upstream(self, taken: TakenRun) -> None:
        """Where closing the connection does not. The caller does not wait for it."""
        if taken.upstream is None or taken.run_id is None:
            return
        run_id, runs = taken.run_id, self._gateway.runs(taken.upstream)
        if runs is not None:
            self._supervisor.once("cancel a run", lambda: runs.cancel(run_id))

    async def _finish_cancelled(self, hold: Hold) -> Ending | None:
        """None if it was deleted meanwhile."""
        with suppress(Lost):
            ending = cancelled(await left_behind(self._gateway.responses, hold.number))
            if await self._gateway.responses.runs.finish(hold, ending):
                self.watch.changed(hold.number)
                return ending
        return None

    async def _go_on(self, taken: TakenRun) -> None:
        """With a run that was left by another worker, or by this one before it was started again."""
        plan = None if taken.plan is None else decoded(taken.plan)
        if plan is None or plan.model is None or taken.run_id is None:
            await self._give_up(taken.hold, run_lost(plan))
            return
        try:
            exchange = self._gateway.attach(taken.run_id, plan.question, plan.model, caller=plan.caller)
        except UpstreamError as error:
            await self._give_up(taken.hold, error)
            return
        known = await self._gateway.responses.event_types(taken.hold.number)
        logger.info("response taken over", extra={"response": plan.response_id, "events": len(known)})
        self.start(taken.hold, Rendering(plan, self._gateway, known), exchange)

    async def _give_up(self, hold: Hold, error: GatewayError) -> None:
        logger.warning("response lost", extra={"number": hold.number, "why": error.message})
        with suppress(Lost):
            ending = failed(await left_behind(self._gateway.responses, hold.number), error)
            await self._gateway.responses.runs.finish(hold, ending)
            self.watch.changed(hold.number)


def not_found(response_id: str) -> NotFound:
    return NotFound(f"There is no response '{response_id[:80]}', or not any more.")
