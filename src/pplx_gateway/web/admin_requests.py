"""`GET /admin/requests`: requests one by one, with what became of them."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from pplx_gateway.gateway import Gateway
from pplx_gateway.money import dollars
from pplx_gateway.protocols.openai.paging import limit_of
from pplx_gateway.store.ledger import CostSource, Numbered
from pplx_gateway.web.money import decimal_response
from pplx_gateway.web.usage_query import COMMON, before_of, choice_of, iso, refuse_unknown, span_of

USUAL_REQUESTS, MOST_REQUESTS = 50, 500


def routes(gateway: Gateway) -> list[BaseRoute]:
    return [Route("/admin/requests", Requests(gateway).get, methods=["GET"])]


class RequestRow(msgspec.Struct, frozen=True, kw_only=True):
    """One request. `cost` is US dollars, null = not known; `cost_source` says who told it. `estimated`: tokens were
    counted from characters. `error`: the code of what the caller was told instead of an answer, or of what broke it
    off; `status` is that of HTTP."""

    id: str
    at: str
    caller: str
    caller_name: str | None
    protocol: str
    operation: str
    requested_model: str | None
    served_model: str | None
    upstream: str | None
    key: str | None
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    reasoning_tokens: int
    estimated: bool
    searches: int
    pro_searches: int
    cost: Decimal | None
    cost_source: CostSource
    milliseconds: int
    first_text_milliseconds: int | None
    status: int
    error: str | None
    dropped: list[str]


class RequestList(msgspec.Struct, frozen=True, kw_only=True):
    """The newest first. `next`: send it as `before` for the following page; null = there is none."""

    object: Literal["list"]
    data: list[RequestRow]
    has_more: bool
    next: int | None


class Requests:
    """Requests one by one."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def get(self, request: Request) -> Response:
        """Raises InvalidRequest."""
        query = request.query_params
        refuse_unknown(query, COMMON | {"limit", "before", "error"})
        limit = limit_of(query.get("limit"), usual=USUAL_REQUESTS, most=MOST_REQUESTS)
        choice = choice_of(query, span_of(query, self._gateway.clock.now(), whole=True), None)
        found = await self._gateway.ledger.recent(choice, limit=limit + 1, before=before_of(query.get("before")))
        page = found[:limit]
        more = len(found) > limit
        rows = [_request(numbered) for numbered in page]
        return decimal_response(
            RequestList(object="list", data=rows, has_more=more, next=page[-1].number if more else None)
        )


def _request(numbered: Numbered) -> RequestRow:
    entry = numbered.entry
    renamed = {"protocol": entry.face, "requested_model": entry.asked, "served_model": entry.served}
    same = {name: getattr(entry, name) for name in RequestRow.__struct_fields__ if hasattr(entry, name)}
    changed = {
        "at": iso(datetime.fromtimestamp(entry.at, UTC)),
        "key": entry.key_name,
        "cost": None if entry.cost is None else dollars(entry.cost),
        "dropped": [name for name in entry.dropped.split(", ") if name],
    }
    return RequestRow(**{**same, **renamed, **changed})
