"""One response in the background, from the asking to the end, whatever end that is."""

import asyncio
import logging
from contextlib import suppress

from pplx_gateway.answer import Batch, Started
from pplx_gateway.errors import GatewayError
from pplx_gateway.exchange import Exchange
from pplx_gateway.gateway import Gateway
from pplx_gateway.interrupting import Interruptible
from pplx_gateway.protocols.openai.call import defect, no_verdict
from pplx_gateway.protocols.openai.responses.aftermath import failed, left_behind, run_lost
from pplx_gateway.protocols.openai.responses.keeping import Keeping, Lost
from pplx_gateway.protocols.openai.responses.rendering import Rendering
from pplx_gateway.protocols.openai.responses.watch import Watch
from pplx_gateway.store.records import Ending, Hold

logger = logging.getLogger("pplx_gateway")


class Performance:
    """Work for a supervised task."""

    def __init__(self, gateway: Gateway, watch: Watch, hold: Hold, rendering: Rendering, exchange: Exchange) -> None:
        self._gateway = gateway
        self._watch = watch
        self._rendering = rendering
        self._exchange = exchange
        self._keeping = Keeping(gateway.responses, hold, lambda: watch.changed(hold.number))
        self._interruptible = Interruptible()
        self._ended = False

    async def run(self) -> None:
        """The border: every way to fail becomes the response's own end."""
        hold = self._keeping.hold
        try:
            with self._watch.over(hold, self._interruptible):
                async with self._interruptible:
                    await self._perform()
        except Lost:
            logger.info("response given up", extra={"response": self._rendering.plan.response_id})
        except GatewayError as error:
            await self._fail(error)
        except asyncio.CancelledError:
            await self._let_go()
            raise
        except Exception as error:  # noqa: BLE001 - the border
            await self._fail(defect(error))
        finally:
            self._keeping.close()

    async def _perform(self) -> None:
        rendering = self._rendering
        async with self._exchange as exchange:
            async for batch in exchange:
                if rendering.finished:
                    continue
                events = rendering.feed(batch, exchange)
                await self._note_start(batch)
                if rendering.finished:
                    await self._end(rendering.ending(events))
                else:
                    self._keeping.write(events)
        if not rendering.finished:
            raise no_verdict()

    async def _note_start(self, batch: Batch) -> None:
        """Keeps the upstream's own id of the run, by which another worker goes on. Raises Lost."""
        for event in batch:
            if isinstance(event, Started):
                plan = self._rendering.noted(self._exchange)
                upstream = self._exchange.served_by.upstream
                runs = self._gateway.responses.runs
                if not await runs.note(self._keeping.hold, upstream, event.run_id, plan.encoded()):
                    await self._stop_unknown(upstream, event.run_id)
                    raise Lost

    async def _stop_unknown(self, upstream: str, run_id: str | None) -> None:
        """Whoever took the response over did not know of this run, so nobody else stops it."""
        runs = self._gateway.runs(upstream)
        if runs is not None and run_id is not None:
            with suppress(GatewayError):
                await runs.cancel(run_id)

    async def _end(self, ending: Ending) -> None:
        self._interruptible.settle()
        await self._keeping.end(ending)
        self._ended = True
        told = {"response": self._rendering.plan.response_id, "status": ending.status}
        logger.info("response ended", extra={**told, "upstream": self._exchange.served_by.upstream})

    async def _fail(self, error: GatewayError) -> None:
        rendering, hold = self._rendering, self._keeping.hold
        if self._ended:
            return
        logger.warning("response failed", extra={"response": rendering.plan.response_id, "code": error.code})
        with suppress(Lost):
            if rendering.caught_up and not rendering.over:
                ending = rendering.ending(rendering.fail(error))
            else:
                ending = failed(await left_behind(self._gateway.responses, hold.number), error)
            await self._keeping.end(ending)

    async def _let_go(self) -> None:
        """The gateway stops. What the upstream goes on with is taken up again at the next start."""
        runs = self._gateway.responses.runs
        if self._gateway.runs(self._exchange.served_by.upstream) is not None:
            await runs.release(self._keeping.hold)
        else:
            await self._fail(run_lost(self._rendering.plan))
