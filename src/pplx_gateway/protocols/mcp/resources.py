"""What is left and what was used, for clients to read: the plan's quota, and the caller's own usage."""

import json
from collections.abc import Awaitable, Callable

from pplx_agent_mcp import INVALID_PARAMS, Fields, RpcError, clip

from pplx_gateway.gateway import Gateway
from pplx_gateway.money import dollars
from pplx_gateway.protocols.mcp.runs import Asker
from pplx_gateway.store.ledger import Choice

QUOTA, USAGE = "pplx://quota", "pplx://usage"
USAGE_DAYS = 30
_DAY_SECONDS = 86_400.0
_JSON = "application/json"


class Resources:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._readers: dict[str, Callable[[Asker], Awaitable[Fields]]] = {QUOTA: self._quota, USAGE: self._usage}

    def listed(self) -> Fields:
        """The result of `resources/list`."""
        return {
            "resources": [
                {
                    "uri": QUOTA,
                    "name": "quota",
                    "title": "What is left of the plan",
                    "description": "Searches left of the subscription; null where that is not known.",
                    "mimeType": _JSON,
                },
                {
                    "uri": USAGE,
                    "name": "usage",
                    "title": "What you have used",
                    "description": f"Your own requests and costs of the last {USAGE_DAYS} days.",
                    "mimeType": _JSON,
                },
            ]
        }

    async def read(self, params: Fields, asker: Asker) -> Fields:
        """The result of `resources/read`. Raises RpcError, StoreUnavailable."""
        uri = params.get("uri")
        reader = self._readers.get(uri) if isinstance(uri, str) else None
        if reader is None:
            shown = clip(uri, 200) if isinstance(uri, str) else None
            raise RpcError(INVALID_PARAMS, f"Unknown resource. There are: {', '.join(self._readers)}.", {"uri": shown})
        text = json.dumps(await reader(asker), indent=1)
        return {"contents": [{"uri": uri, "mimeType": _JSON, "text": text}], "ttlMs": 0, "cacheScope": "private"}

    async def _quota(self, _: Asker) -> Fields:
        """The same for all callers, since all live on one plan."""
        reading = self._gateway.quota.reading() if self._gateway.quota else None
        standing = self._gateway.session.standing() if self._gateway.session else None
        return {
            "remaining_pro": reading.remaining_pro if reading else None,
            "remaining_research": reading.remaining_research if reading else None,
            "age_seconds": reading.age_seconds if reading else None,
            "session": standing.state if standing else None,
            "tier": standing.tier if standing else None,
        }

    async def _usage(self, asker: Asker) -> Fields:
        """Costs are US dollars as decimal text; what the upstream did not tell counts among `unknown_costs`."""
        ledger = self._gateway.ledger
        today, month = await ledger.spent(asker.caller)
        since = ledger.clock.now() - USAGE_DAYS * _DAY_SECONDS
        (group,) = await ledger.groups(Choice(since=since, caller=asker.caller), ())
        limits = asker.key.limits if asker.key else None
        return {
            "days": USAGE_DAYS,
            "requests": group.sums.requests,
            "errors": group.sums.errors,
            "searches": group.sums.searches,
            "pro_searches": group.sums.pro_searches,
            "cost": str(dollars(group.sums.cost)),
            "unknown_costs": group.sums.unknown_costs,
            "spent_today": str(dollars(today)),
            "spent_this_month": str(dollars(month)),
            "cost_per_day": str(limits.cost_per_day) if limits and limits.cost_per_day is not None else None,
            "cost_per_month": str(limits.cost_per_month) if limits and limits.cost_per_month is not None else None,
        }
