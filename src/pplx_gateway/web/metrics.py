"""`GET /metrics`: everything that is counted, for Prometheus and whoever reads its format."""

import asyncio
from importlib import import_module

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from pplx_gateway.errors import NotFound
from pplx_gateway.gateway import Gateway
from pplx_gateway.observing.observer import Observer
from pplx_gateway.observing.standing import sizes, standing
from pplx_gateway.store.counters import Series

_EXPOSITION = "pplx_gateway.observing.exposition"


def routes(gateway: Gateway) -> list[BaseRoute]:
    return [Route("/metrics", MetricsRoute(gateway).get, methods=["GET"])]


class MetricsRoute:
    """Whichever worker is asked, it tells of all of them. A store that fails is told of, and stops nothing."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def get(self, request: Request) -> Response:
        """Raises NotFound."""
        observer = observer_of(self._gateway)
        totals = await observer.meter.totals()
        sums = await observer.workers.sums()
        values = {series: counted.value for series, counted in totals.items()}
        values |= standing(self._gateway, sums, failing=observer.meter.failing)
        return await asyncio.to_thread(self._page, values, request.headers.get("accept", ""))

    def _page(self, values: dict[Series, float], accept: str) -> Response:
        values |= dict(sizes(self._gateway.settings.folder))
        page = import_module(_EXPOSITION).page(values, accept)
        return Response(page.body, headers={"content-type": page.media_type, "cache-control": "no-store"})


def observer_of(gateway: Gateway) -> Observer:
    """Raises NotFound."""
    if gateway.observer is None:
        raise NotFound("This gateway counts nothing.")
    return gateway.observer
