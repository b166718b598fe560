"""The api upstream: a question becomes one run of the Agent API, always streamed.

A run is asked for once. If its stream breaks, it is picked up by id, never asked again, since it is paid for. If its
reader leaves, it is cancelled by id, since nobody would read it.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, suppress
from functools import partial

import msgspec

from pplx_gateway.answer import Batch
from pplx_gateway.capabilities import Feature, Support
from pplx_gateway.catalogue import Model
from pplx_gateway.clock import Clock
from pplx_gateway.errors import GatewayError, RateLimited, UpstreamError
from pplx_gateway.question import Question
from pplx_gateway.transport.exchange import Outgoing, Streaming
from pplx_gateway.upstreams.api.assembly import Assembly
from pplx_gateway.upstreams.api.patience import OUTWARD_WAIT_SECONDS, ApiOptions, wait_before_retry
from pplx_gateway.upstreams.api.reader import Reader
from pplx_gateway.upstreams.api.request import AgentRequest, build
from pplx_gateway.upstreams.api.run import Run
from pplx_gateway.upstreams.api.signatures import Signatures
from pplx_gateway.upstreams.api.support import support
from pplx_gateway.upstreams.api.wire import Credential, Exchanges, Wire
from pplx_gateway.upstreams.faults import Faults

logger = logging.getLogger(__name__)

SERVICE = "The Perplexity API"
CREDENTIAL = "PERPLEXITY_API_KEY"
MAX_ERROR_BYTES = 65536


class ApiUpstream:
    """api.perplexity.ai through one key. It owns `transport` and closes it."""

    name = "api"

    def __init__(
        self,
        transport: Exchanges,
        clock: Clock,
        key: Credential,
        base_url: str = "https://api.perplexity.ai",
        options: ApiOptions | None = None,
    ) -> None:
        self._transport = transport
        self._clock = clock
        self._options = options or ApiOptions()
        self._wire = Wire(base_url, key)
        self._faults = Faults(SERVICE, CREDENTIAL, lambda: (key.reveal(),), clock)
        self._signatures = Signatures()
        self._runs: set[Run] = set()
        self._cancelling: set[asyncio.Task[None]] = set()

    def support(self, model: Model) -> Mapping[Feature, Support]:
        return support(model)

    async def ask(self, question: Question, model: Model, caller: str) -> AsyncGenerator[Batch, None]:
        """See Upstream. Beside upstream errors it raises InvalidRequest and UnsupportedParameter, before anything is
        sent."""
        request = build(question, model, partial(self._signatures.find, caller))
        post = self._wire.ask(request.body, self._options.timeouts(research=model.research))
        run = self._new_run(request, model, caller)
        del request  # what was sent need not stay as long as the answer
        self._runs.add(run)
        try:
            while not run.finished:
                async with AsyncExitStack() as transfer:
                    run.read(await self._open(run, post, transfer))
                    post = msgspec.structs.replace(post, body=None)
                    while (batch := await run.next_batch()) is not None:
                        if batch:
                            yield batch
                    await run.drain(self._options.drain_seconds)
                if not run.finished:
                    run.pick_up()
        except RateLimited as error:
            error.retry_after = OUTWARD_WAIT_SECONDS if error.retry_after is None else error.retry_after
            raise
        finally:
            self._runs.discard(run)
            self._leave(run)

    async def remember(
        self, question: Question, model: Model, caller: str, text_as_returned: str, continuation: object
    ) -> None:
        """Nothing: the API is given the whole conversation each time."""

    async def close(self) -> None:
        for run in list(self._runs):
            run.give_up()
            self._leave(run)
        if self._cancelling:
            await asyncio.wait(self._cancelling, timeout=self._clock.real(self._options.cancel_seconds))
        await self._transport.close()

    def _new_run(self, request: AgentRequest, model: Model, caller: str) -> Run:
        assembly = Assembly(
            request.route,
            request.names,
            may_call=request.callable,
            faults=self._faults,
            keep_signature=partial(self._signatures.keep, caller),
        )
        reader = Reader(assembly, self._faults, request.warnings)
        idle = self._options.timeouts(research=model.research).idle
        return Run(assembly, reader, self._clock, idle_seconds=idle, background=request.background)

    async def _open(self, run: Run, post: Outgoing, transfer: AsyncExitStack) -> Streaming:
        """The question's stream, or the run's where it is to be picked up. It is open as long as `transfer` is."""
        if run.lost is None or run.run_id is None:
            return await self._ask_until_taken(post, transfer)
        resume = self._wire.resume(run.run_id, run.last_sequence, post.timeouts)
        try:
            return await self._enter(resume, transfer)
        except GatewayError as error:
            raise run.lost from error

    async def _ask_until_taken(self, post: Outgoing, transfer: AsyncExitStack) -> Streaming:
        attempt = 1
        while True:
            try:
                return await self._enter(post, transfer)
            except GatewayError as error:
                wait = wait_before_retry(error, attempt, self._options.jitter())
                if wait is None:
                    raise
            await transfer.aclose()
            await self._clock.sleep(wait)
            attempt += 1

    async def _enter(self, outgoing: Outgoing, transfer: AsyncExitStack) -> Streaming:
        """Raises the error that any status but a good one means; redirects are among them."""
        streaming = await transfer.enter_async_context(self._transport.stream(outgoing))
        if 200 <= streaming.status < 300:
            return streaming
        body = b""
        with suppress(UpstreamError):  # the status says enough
            body = await streaming.read(MAX_ERROR_BYTES)
        raise self._faults.of_response(streaming.status, streaming.headers, body)

    def _leave(self, run: Run) -> None:
        """Stops a run that may go on without a reader, once. The call outlives whoever leaves."""
        if run.run_id is None or run.cancel_sent or not run.may_go_on_upstream:
            return
        run.cancel_sent = True
        task = asyncio.get_running_loop().create_task(self._cancel(run.run_id))
        self._cancelling.add(task)
        task.add_done_callback(self._cancelling.discard)

    async def _cancel(self, run_id: str) -> None:
        """A run that is over already answers 400, which is as good (docs/wire-agent.md 2.8)."""
        try:
            answer = await self._transport.request(self._wire.cancel(run_id, self._options.brief()))
        except GatewayError as error:
            logger.info("run not cancelled", extra={"run_id": run_id, "why": error.code})
        else:
            logger.debug("run cancelled", extra={"run_id": run_id, "status": answer.status})
