"""What was used and what it cost: for the owner of all callers, for a caller of its own."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from pplx_gateway.caller_keys import CallerKey
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.gateway import Gateway
from pplx_gateway.money import dollars
from pplx_gateway.store.ledger import MOST_GROUPS, Dimension, Group, Sums
from pplx_gateway.web.money import decimal_response
from pplx_gateway.web.usage_query import COMMON, DIMENSIONS, choice_of, group_by, iso, refuse_unknown, span_of

_OWNERS_ALONE = ("key", "caller")


def routes(gateway: Gateway) -> list[BaseRoute]:
    usage = Usage(gateway)
    return [
        Route("/admin/usage", usage.admin, methods=["GET"]),
        Route("/v1/usage", usage.own, methods=["GET"]),
    ]


class UsageSums(msgspec.Struct, frozen=True, kw_only=True):
    """Costs are US dollars: `cost` of all whose cost is known, of which the upstream gave `cost_given` and the gateway
    worked out `cost_computed`. `unknown_costs`: requests that went to the paid api, and nobody has told what they cost.
    `searches` are those of the api, `pro_searches` those of the session's plan. `mean_milliseconds`: from the request's
    beginning to its end."""

    requests: int
    errors: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    reasoning_tokens: int
    searches: int
    pro_searches: int
    cost: Decimal
    cost_given: Decimal
    cost_computed: Decimal
    unknown_costs: int
    mean_milliseconds: int


class UsageRow(msgspec.Struct, frozen=True, kw_only=True):
    """`by` has a name for each dimension of `group_by`; null where a request had none. `caller_name`: that of the
    caller's key, where callers are told apart."""

    by: dict[str, str | None]
    sums: UsageSums
    caller_name: str | None = None


class UsageReport(msgspec.Struct, frozen=True, kw_only=True):
    """`to` is not included. Both are ISO 8601, UTC."""

    object: Literal["usage"]
    since: str = msgspec.field(name="from")
    until: str = msgspec.field(name="to")
    group_by: list[Dimension]
    total: UsageSums
    rows: list[UsageRow]


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """US dollars of today and of this month (UTC); null = no limit."""

    spent_today: Decimal
    spent_this_month: Decimal
    cost_per_day: Decimal | None
    cost_per_month: Decimal | None


class OwnUsage(UsageReport, frozen=True, kw_only=True):
    budget: Budget


class Usage:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def admin(self, request: Request) -> Response:
        """Raises InvalidRequest."""
        refuse_unknown(request.query_params, COMMON | {"group_by"})
        return decimal_response(await self._report(request, DIMENSIONS))

    async def own(self, request: Request) -> Response:
        """What the caller itself has used, and what is left. Raises InvalidRequest."""
        refuse_unknown(request.query_params, COMMON - {"caller", "key"} | {"group_by"})
        caller: str = request.state.caller
        allowed = [dimension for dimension in DIMENSIONS if dimension not in _OWNERS_ALONE]
        report = await self._report(request, allowed, caller)
        budget = await self._budget(caller, getattr(request.state, "caller_key", None))
        fields = {name: getattr(report, name) for name in UsageReport.__struct_fields__}
        return decimal_response(OwnUsage(**fields, budget=budget))

    async def _report(self, request: Request, allowed: Sequence[Dimension], caller: str | None = None) -> UsageReport:
        query = request.query_params
        span = span_of(query, self._gateway.clock.now())
        by = group_by(query, allowed)
        choice = choice_of(query, span, caller)
        ledger = self._gateway.ledger
        names = self._names()
        total = await ledger.groups(choice, ())
        groups = await ledger.groups(choice, by) if by else []
        if len(groups) > MOST_GROUPS:
            raise InvalidRequest(
                f"That is more than {MOST_GROUPS} rows. Ask for fewer days or groups.", param="group_by"
            )
        return UsageReport(
            object="usage",
            since=iso(span.since),
            until=iso(span.until),
            group_by=by,
            total=_sums(total[0].sums),
            rows=[_row(group, by, names) for group in groups],
        )

    def _names(self) -> dict[str | None, str]:
        """Of callers' keys, by id."""
        keys = self._gateway.caller_keys
        return {key.id: key.name for key in keys.every} if keys else {}

    async def _budget(self, caller: str, key: CallerKey | None) -> Budget:
        today, month = await self._gateway.ledger.spent(caller)
        return Budget(
            spent_today=dollars(today),
            spent_this_month=dollars(month),
            cost_per_day=key.limits.cost_per_day if key else None,
            cost_per_month=key.limits.cost_per_month if key else None,
        )


def _row(group: Group, by: Sequence[Dimension], callers: Mapping[str | None, str]) -> UsageRow:
    names: dict[str, str | None] = dict(zip(by, group.names, strict=True))
    return UsageRow(by=names, sums=_sums(group.sums), caller_name=callers.get(names.get("caller")))


def _sums(sums: Sums) -> UsageSums:
    return UsageSums(
        requests=sums.requests,
        errors=sums.errors,
        input_tokens=sums.input_tokens,
        output_tokens=sums.output_tokens,
        cached_tokens=sums.cached_tokens,
        reasoning_tokens=sums.reasoning_tokens,
        searches=sums.searches,
        pro_searches=sums.pro_searches,
        cost=dollars(sums.cost),
        cost_given=dollars(sums.cost_given),
        cost_computed=dollars(sums.cost_computed),
        unknown_costs=sums.unknown_costs,
        mean_milliseconds=round(sums.milliseconds / sums.requests) if sums.requests else 0,
    )
