"""`/admin/wire`: what the upstreams sent that this release does not know, and a capture of its shape on demand."""

from typing import Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from pplx_gateway.gateway import Gateway
from pplx_gateway.observing.canary import Capture
from pplx_gateway.observing.desk import Waiting
from pplx_gateway.observing.metrics import SURPRISES
from pplx_gateway.web.admin import json_response
from pplx_gateway.web.metrics import observer_of


def routes(gateway: Gateway) -> list[BaseRoute]:
    return [
        Route("/admin/wire", AdminWire(gateway).get, methods=["GET"]),
        Route("/admin/wire/capture", AdminWire(gateway).arm, methods=["POST"]),
        Route("/admin/wire/capture", AdminWire(gateway).clear, methods=["DELETE"]),
    ]


class SeenSurprise(msgspec.Struct, frozen=True, kw_only=True):
    """`answers` held it. Times are seconds since the epoch. `name` is "other" for those beyond the first 200."""

    wire: str
    kind: str
    name: str
    answers: int
    first_at: float
    last_at: float


class CaptureReport(msgspec.Struct, frozen=True, kw_only=True):
    """`state`: "armed" = the next answer with a surprise is captured, "held" = one was."""

    state: Literal["off", "armed", "held"]
    armed_at: float | None = None
    capture: Capture | None = None


class WireReport(msgspec.Struct, frozen=True, kw_only=True):
    """Surprises, the newest first."""

    surprises: list[SeenSurprise]
    capture: CaptureReport


class AdminWire:
    """All of it raises NotFound, StoreUnavailable."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def get(self, _: Request) -> Response:
        observer = observer_of(self._gateway)
        totals = await observer.meter.totals()
        seen = [
            SeenSurprise(
                wire=series[1],
                kind=series[2],
                name=series[3],
                answers=round(counted.value),
                first_at=counted.first_at,
                last_at=counted.last_at,
            )
            for series, counted in totals.items()
            if series[0] == SURPRISES.name and len(series) == 4
        ]
        seen.sort(key=lambda surprise: surprise.last_at, reverse=True)
        return json_response(WireReport(surprises=seen, capture=_told(await observer.desk.state())))

    async def arm(self, _: Request) -> Response:
        return json_response(_told(await observer_of(self._gateway).desk.arm()))

    async def clear(self, _: Request) -> Response:
        return json_response(_told(await observer_of(self._gateway).desk.clear()))


def _told(waiting: Waiting) -> CaptureReport:
    wish = waiting.wish
    return CaptureReport(
        state=waiting.state, armed_at=wish.armed_at if wish else None, capture=wish.capture if wish else None
    )
