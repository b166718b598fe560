"""The api upstream: a question becomes one run of the Agent API, always streamed (runner.py)."""

from collections.abc import AsyncGenerator, Mapping
from functools import partial

from pplx_gateway.answer import Batch
from pplx_gateway.capabilities import Feature, Support
from pplx_gateway.catalogue import Model
from pplx_gateway.clock import Clock
from pplx_gateway.errors import GatewayError
from pplx_gateway.observing.canary import Canary
from pplx_gateway.question import Question
from pplx_gateway.upstreams.api.asking import Asking, Call
from pplx_gateway.upstreams.api.assembly import Assembly
from pplx_gateway.upstreams.api.draft import Draft, unsigned_calls
from pplx_gateway.upstreams.api.handles import Handle
from pplx_gateway.upstreams.api.keys import Key, KeyPool
from pplx_gateway.upstreams.api.open_stream import OpenStream
from pplx_gateway.upstreams.api.operations import Calls, operations
from pplx_gateway.upstreams.api.patience import ApiOptions
from pplx_gateway.upstreams.api.pickups import BACKGROUND_PICKUPS, FOREGROUND_PICKUPS, Brief, Lasting, Look
from pplx_gateway.upstreams.api.reader import Reader
from pplx_gateway.upstreams.api.request import AgentRequest, without_prompt
from pplx_gateway.upstreams.api.run import Run
from pplx_gateway.upstreams.api.runner import Begin, Runner
from pplx_gateway.upstreams.api.signatures import Signatures
from pplx_gateway.upstreams.api.support import support
from pplx_gateway.upstreams.api.wire import Exchanges, Wire
from pplx_gateway.upstreams.faults import Faults

SERVICE = "The Perplexity API"


class ApiUpstream:
    """api.perplexity.ai through the keys of one owner. It owns `transport` and closes it. Its runs are Runs
    (operations.py), and what else it does are its `operations`."""

    name = "api"

    def __init__(
        self,
        transport: Exchanges,
        clock: Clock,
        keys: KeyPool,
        base_url: str = "https://api.perplexity.ai",
        options: ApiOptions | None = None,
        *,
        signatures: Signatures | None = None,
        headers: Mapping[str, str] | None = None,
        canary: Canary | None = None,
    ) -> None:
        self._transport = transport
        self._clock = clock
        self._keys = keys
        self._options = options or ApiOptions()
        self._wire = Wire(base_url, headers)
        self._asking = Asking(transport, keys, self._faults, clock, self._options)
        self._canary = canary
        self._runner = Runner(transport, self._wire, self._faults, clock=clock, options=self._options, canary=canary)
        calls = Calls(transport, self._wire, keys, self._faults, clock=clock, options=self._options)
        self.operations = operations(calls, self._runner)
        self._signatures = signatures or Signatures()

    def support(self, model: Model) -> Mapping[Feature, Support]:
        return support(model)

    def ask(self, question: Question, model: Model, caller: str) -> AsyncGenerator[Batch, None]:
        """See Upstream. Beside upstream errors it raises InvalidRequest, UnsupportedParameter and ModelNotAllowed,
        before anything is sent."""
        return self._batches(partial(self._start, question, model, caller), caller)

    async def check(self, question: Question, model: Model, caller: str) -> None:  # noqa: ARG002 - no threads here
        """See Checker."""
        wanted = Draft(question, model, {}).wanted
        if wanted.pinned is not None:
            self._keys.choose(wanted)

    def attach(self, run_id: str, question: Question, model: Model, caller: str) -> AsyncGenerator[Batch, None]:
        """See Runs. Raises NotFound for an id that no run of this upstream has."""
        return self._batches(partial(self._rejoin, run_id, question, model), caller)

    async def cancel(self, run_id: str) -> None:
        """See Runs."""
        handle = Handle.read(run_id)
        key, attempt = self._keys.named(handle.key_name), 1
        while True:
            try:
                await self._runner.cancel(handle.run_id, key)
            except GatewayError as error:
                wait = self._options.wait_before_retry(error, attempt)
                if wait is None:
                    raise
            else:
                return
            await self._clock.sleep(wait)
            attempt += 1

    async def remember(
        self, question: Question, model: Model, caller: str, text_as_returned: str, continuation: object
    ) -> None:
        """Nothing: the API is given the whole conversation each time."""

    async def close(self) -> None:
        await self._runner.close()
        await self._transport.close()

    def _batches(self, begin: Begin[Batch], caller: str) -> AsyncGenerator[Batch, None]:
        async def seen(run: Run[Batch]) -> None:
            if run.signatures:
                await self._signatures.keep(caller, run.key.name, run.signatures)
                run.signatures.clear()

        return self._runner.batches(begin, seen)

    async def _start(self, question: Question, model: Model, caller: str, transfer: OpenStream) -> Run[Batch]:
        calls = unsigned_calls(question)
        draft = Draft(question, model, await self._signatures.find(caller, calls) if calls else {})
        timeouts = self._options.timeouts(research=model.research or question.background)
        call = Call(draft.wanted, lambda key: self._wire.ask(key, draft.body(key), timeouts))
        taken = await self._asking.until_taken(call, transfer)
        run = self._new_run(draft.request, model, taken.key)
        run.read(taken.streaming)
        return run

    async def _rejoin(self, run_id: str, question: Question, model: Model, transfer: OpenStream) -> Run[Batch]:
        handle = Handle.read(run_id)
        request = without_prompt(question, model)._replace(lasting=True)
        run = self._new_run(request, model, self._keys.named(handle.key_name), handle.run_id)
        await self._runner.look(run, Look(), transfer)
        return run

    def _new_run(self, request: AgentRequest, model: Model, key: Key, run_id: str | None = None) -> Run[Batch]:
        signatures: dict[str, str] = {}
        faults = self._faults(key)
        sight = self._canary.sight("api") if self._canary else None
        assembly = Assembly(
            request.route,
            request.names,
            may_call=request.callable,
            faults=faults,
            keep_signature=signatures.__setitem__,
            sight=sight,
        )
        assembly.run_id = run_id
        reader = Reader(
            assembly, faults, request.warnings, key_name=key.name, must_be_known=request.lasting, sight=sight
        )
        brief = Brief(BACKGROUND_PICKUPS if request.background else FOREGROUND_PICKUPS)
        return Run(
            assembly,
            reader,
            self._clock,
            key=key,
            timeouts=self._options.timeouts(research=model.research or request.lasting),
            pickups=Lasting() if request.lasting else brief,
            detaches=request.lasting,
            signatures=signatures,
        )

    def _faults(self, key: Key) -> Faults:
        return Faults(SERVICE, key.label, self._keys.secrets, self._clock)
