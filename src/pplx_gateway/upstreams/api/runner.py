"""Runs of the API from their begin to their end, whoever reads them.

A run is asked for once. If its stream breaks, it is picked up by id, never asked again, since it is paid for. If its
reader leaves, it is cancelled by id, since nobody would read it; one that detaches goes on.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

from pplx_gateway.clock import Clock
from pplx_gateway.errors import GatewayError, InvalidRequest, ModelNotFound, RateLimited
from pplx_gateway.observing.canary import Canary
from pplx_gateway.operations import RunEvent
from pplx_gateway.transport.exchange import Streaming
from pplx_gateway.upstreams.api.asking import FaultsOf, enter
from pplx_gateway.upstreams.api.keys import Key
from pplx_gateway.upstreams.api.open_stream import OpenStream
from pplx_gateway.upstreams.api.patience import OUTWARD_WAIT_SECONDS, ApiOptions
from pplx_gateway.upstreams.api.pickups import Look, Pickups, RunGone
from pplx_gateway.upstreams.api.raw_events import RawReader
from pplx_gateway.upstreams.api.run import BatchT, Run
from pplx_gateway.upstreams.api.wire import Exchanges, Wire

logger = logging.getLogger(__name__)

_NOTHING_TO_CANCEL = (400, 404)  # over already, or unknown (docs/wire-agent.md 2.8)

Begin = Callable[[OpenStream], Awaitable[Run[BatchT]]]
Seen = Callable[[Run[BatchT]], Awaitable[None]]


class Runner:
    """One for all runs of one upstream, so that closing finds every one of them."""

    def __init__(
        self,
        transport: Exchanges,
        wire: Wire,
        faults: FaultsOf,
        *,
        clock: Clock,
        options: ApiOptions,
        canary: Canary | None = None,
    ) -> None:
        self._transport = transport
        self._wire = wire
        self._faults = faults
        self._clock = clock
        self._options = options
        self._canary = canary
        self._runs: set[Run[Any]] = set()
        self._cancelling: set[asyncio.Task[None]] = set()

    async def batches(self, begin: Begin[BatchT], seen: Seen[BatchT] | None = None) -> AsyncGenerator[BatchT, None]:
        """`seen` is told after each read, before what it brought is given out."""
        transfer, run = OpenStream(), None
        try:
            run = await begin(transfer)
            del begin  # what was sent need not stay as long as the answer
            self._runs.add(run)
            while True:
                while (batch := await run.next_batch()) is not None:
                    if seen is not None:
                        await seen(run)
                    if batch:
                        yield batch
                await run.drain(self._options.drain_seconds)
                if run.finished:
                    return
                await transfer.aclose()
                await self.look(run, run.pick_up(), transfer)
        except RateLimited as error:
            error.retry_after = OUTWARD_WAIT_SECONDS if error.retry_after is None else error.retry_after
            raise
        finally:
            await transfer.aclose()
            if run is not None:
                self._runs.discard(run)
                self._leave(run)

    def raw_run(
        self,
        key: Key,
        pickups: Pickups,
        *,
        detaches: bool,
        patient: bool,
        run_id: str | None = None,
        after: int | None = None,
    ) -> tuple[Run[list[RunEvent]], RawReader]:
        """A run whose events are given out as they come, those beyond number `after`, and what reads them."""
        sight = self._canary.sight("api") if self._canary else None
        reader = RawReader(self._faults(key), run_id=run_id, after=after, sight=sight)
        timeouts = self._options.timeouts(research=patient)
        run = Run(
            reader,
            reader,
            self._clock,
            key=key,
            timeouts=timeouts,
            pickups=pickups,
            detaches=detaches,
            signatures={},
        )
        return run, reader

    async def look(self, run: Run[Any], look: Look, transfer: OpenStream, *, exactly: bool = False) -> None:
        """Another stream of the run, or the reason why there is none. `exactly` = what its place has no events for any
        more is an error; else the whole run does."""
        if look.wait_seconds:
            await self._clock.sleep(look.wait_seconds)
        try:
            run.read(await self._resume(run, transfer, whole=look.whole, exactly=exactly))
        except GatewayError as error:
            gone = RunGone("The Perplexity API does not know the run any more.", upstream_status=404)
            run.break_off(gone if isinstance(error, ModelNotFound) else error)

    async def cancel(self, run_id: str, key: Key) -> None:
        """One that is over already is no error. Raises GatewayError."""
        answer = await self._transport.request(self._wire.cancel(key, run_id, self._options.brief()))
        logger.debug("run cancelled", extra={"run_id": run_id, "status": answer.status})
        if not (200 <= answer.status < 300 or answer.status in _NOTHING_TO_CANCEL):
            raise self._faults(key).of_response(answer.status, answer.headers, answer.body)

    async def close(self) -> None:
        """Stops what nobody will read. The transport must be open yet."""
        for run in list(self._runs):
            run.give_up()
            self._leave(run)
        if self._cancelling:
            await asyncio.wait(self._cancelling, timeout=self._clock.real(self._options.cancel_seconds))

    async def _resume(self, run: Run[Any], transfer: OpenStream, *, whole: bool, exactly: bool) -> Streaming:
        faults, run_id = self._faults(run.key), run.run_id or ""
        if not whole:
            try:
                resume = self._wire.resume(run.key, run_id, run.last_sequence, run.timeouts)
                return await enter(self._transport, resume, faults, transfer)
            except InvalidRequest:
                if exactly:
                    raise
                # The place has expired: the whole run is there yet (docs/wire-agent.md 2.8).
                await transfer.aclose()
        return await enter(self._transport, self._wire.retrieve(run.key, run_id, run.timeouts), faults, transfer)

    def _leave(self, run: Run[Any]) -> None:
        """Stops a run that may go on without a reader, once. The call outlives whoever leaves."""
        if run.detaches or run.run_id is None or run.cancel_sent or not run.may_go_on_upstream:
            return
        run.cancel_sent = True
        task = asyncio.get_running_loop().create_task(self._cancel_quietly(run.run_id, run.key))
        self._cancelling.add(task)
        task.add_done_callback(self._cancelling.discard)

    async def _cancel_quietly(self, run_id: str, key: Key) -> None:
        try:
            await self.cancel(run_id, key)
        except GatewayError as error:
            logger.info("run not cancelled", extra={"run_id": run_id, "why": error.code})
