"""Everything that looks on, in one worker: what it counts, what it watches, what it traces."""

import logging
from collections.abc import Iterator

from pplx_gateway.clock import Clock
from pplx_gateway.errors import StoreUnavailable
from pplx_gateway.ledger import Ledger
from pplx_gateway.observing.canary import Canary
from pplx_gateway.observing.desk import CaptureDesk
from pplx_gateway.observing.keys import KeyMeter
from pplx_gateway.observing.meter import Meter
from pplx_gateway.observing.metrics import OPEN_REQUESTS, OPEN_STREAMS, SURPRISES, UPSTREAM_WAITING
from pplx_gateway.observing.requests import RequestMeter
from pplx_gateway.observing.tracing import Tracer
from pplx_gateway.observing.watched import Inner, Watched
from pplx_gateway.observing.workers import Workers
from pplx_gateway.store.counters import Series
from pplx_gateway.supervisor import Supervisor
from pplx_gateway.upstreams.api.keys import KeyKeeper

logger = logging.getLogger("pplx_gateway.metrics")

KEEP_UP_SECONDS = 1.0


class Observer:
    """`requests` is the Watch of those who work. It is a part of the gateway: closed after the ledger, before the
    store."""

    def __init__(
        self,
        *,
        meter: Meter,
        requests: RequestMeter,
        canary: Canary,
        desk: CaptureDesk,
        workers: Workers,
        tracer: Tracer | None,
        clock: Clock,
    ) -> None:
        self.meter = meter
        self.requests = requests
        self.canary = canary
        self.desk = desk
        self.workers = workers
        self.tracer = tracer
        self._clock = clock
        self._watched: dict[str, Watched] = {}
        workers.sources.append(self._flow)

    def around(self, transport: Inner, upstream: str) -> Watched:
        """The way out to `upstream`, looked at."""
        self._watched[upstream] = Watched(transport, upstream, self.meter, self.tracer)
        return self._watched[upstream]

    async def begin(self, ledger: Ledger, keys: KeyKeeper | None, supervisor: Supervisor, *, least: float) -> None:
        """Also sees these from now on, and keeps up once a second, though not within `least` real seconds."""
        self.workers.sources.append(lambda: [((OPEN_REQUESTS.name,), float(ledger.open))])
        if keys is not None:
            meter = KeyMeter(keys, self.meter)
            self.meter.sources.append(meter.digest)
            self.workers.sources.append(meter.states)
        totals = await self.meter.totals()
        self.canary.remember((s[1], s[2], s[3]) for s in totals if s[0] == SURPRISES.name and len(s) == 4)
        supervisor.every("metrics", max(KEEP_UP_SECONDS, least * self._clock.factor), self.keep_up)

    async def keep_up(self) -> None:
        """For the supervisor, once a second. Raises StoreUnavailable."""
        await self.meter.flush()
        await self.workers.keep_up()
        await self.desk.sync()

    async def close(self) -> None:
        await self.meter.flush()
        try:
            await self.workers.leave()
        except StoreUnavailable as error:
            logger.warning("the gauges stay for a while", extra={"why": error.message})
        if self.tracer is not None:
            await self.tracer.close()

    def _flow(self) -> Iterator[tuple[Series, float]]:
        for upstream, watched in self._watched.items():
            yield (OPEN_STREAMS.name, upstream), float(watched.open_streams)
            yield (UPSTREAM_WAITING.name, upstream), float(watched.waiting)
