"""Runs in the background: nobody waits for them, but somebody must hear what they cost.

Each is followed to its end, and billed once whoever hears of it first. What a gateway that stops leaves behind is taken
up by the next one.
"""

from pplx_gateway.errors import NotFound
from pplx_gateway.gateway import Gateway
from pplx_gateway.operations import Owned, RunEnd
from pplx_gateway.protocols.perplexity.agent.running import KIND, UNBILLED, Bill
from pplx_gateway.routing import NO_MODEL, Route
from pplx_gateway.store.ownership import Thing

LOOK_SECONDS = 600.0
"""How often a worker looks for runs that nobody seems to follow any more."""


class RunWatch:
    """One in each worker."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._followed: set[str] = set()
        self._looked = False

    def begin(self) -> None:
        """Takes up what was left, as long as the gateway is open."""
        if self._gateway.supervisor is not None:
            self._gateway.supervisor.every("runs left unbilled", LOOK_SECONDS, self._take_up)

    def follow(self, thing: Thing, bill: Bill) -> None:
        """To the end of the run. `bill` is settled then."""
        if self._gateway.supervisor is None or thing.id in self._followed:
            with bill:
                return
        self._followed.add(thing.id)
        self._gateway.supervisor.once("run in the background", lambda: self._follow(thing, bill))

    async def settle(self, thing: Thing, bill: Bill, end: RunEnd) -> None:
        """Bills the run, if nobody has. Raises StoreUnavailable."""
        if await self._gateway.ownership.settle(thing):
            bill.made_with(thing.key_name)
            bill.ended(end)

    async def _follow(self, thing: Thing, bill: Bill) -> None:
        try:
            with bill:
                await self._to_the_end(thing, bill)
        finally:
            self._followed.discard(thing.id)

    async def _to_the_end(self, thing: Thing, bill: Bill) -> None:
        owned = Owned(thing.upstream_id, thing.key_name)
        try:
            async with self._gateway.operations.agents.follow_run(owned, to_the_end=True) as run:
                async for _ in run:
                    continue
        except NotFound:  # nobody will ever know
            await self._gateway.ownership.settle(thing)
            raise
        if run.end is not None:
            await self.settle(thing, bill, run.end)

    async def _take_up(self) -> None:
        """At the start everything, later on what is old enough not to be another worker's."""
        gateway = self._gateway
        if gateway.keys is not None and not gateway.keys.present:
            return
        before = gateway.clock.now() - (LOOK_SECONDS if self._looked else 0.0)
        self._looked = True
        model = gateway.catalogue.find("api", NO_MODEL)
        for thing in await gateway.ownership.waiting(KIND, UNBILLED, before=before):
            if model is not None and thing.id not in self._followed:
                self.follow(thing, Bill.begun(gateway, thing.caller, Route(NO_MODEL, (model,))))
