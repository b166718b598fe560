"""`GET /admin/quota`: what is left of the plan, and how that went."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.gateway import Gateway
from pplx_gateway.store.quota_history import KEPT_DAYS, Reading
from pplx_gateway.web.admin import json_response
from pplx_gateway.web.admin_models import no_session
from pplx_gateway.web.usage_query import refuse_unknown

USUAL_DAYS = 30
_DAY_SECONDS = 86_400


def routes(gateway: Gateway) -> list[BaseRoute]:
    return [Route("/admin/quota", AdminQuota(gateway).get, methods=["GET"])]


class QuotaReport(msgspec.Struct, frozen=True, kw_only=True):
    """null = not known, which is not zero. `readings` are those of the last `days`, in their order; their times are
    seconds since the epoch."""

    remaining_pro: int | None
    remaining_research: int | None
    age_seconds: float | None
    days: int
    readings: list[Reading]


class AdminQuota:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def get(self, request: Request) -> Response:
        """Raises InvalidRequest, NotFound."""
        refuse_unknown(request.query_params, frozenset({"days"}))
        days = _days(request.query_params.get("days"))
        quota = self._gateway.quota
        if quota is None:
            raise no_session()
        now = quota.reading()
        readings = await quota.history(self._gateway.clock.now() - days * _DAY_SECONDS)
        return json_response(
            QuotaReport(
                remaining_pro=now.remaining_pro,
                remaining_research=now.remaining_research,
                age_seconds=None if now.age_seconds is None else round(now.age_seconds, 1),
                days=days,
                readings=list(readings),
            )
        )


def _days(text: str | None) -> int:
    """Raises InvalidRequest."""
    if not text:
        return USUAL_DAYS
    if not (text.isascii() and text.isdigit() and len(text) <= 4 and 1 <= int(text) <= KEPT_DAYS):
        raise InvalidRequest(f"'days' must be a whole number from 1 to {KEPT_DAYS}.", param="days")
    return int(text)
