"""What the API does not say that it cost, by its price list (prices.py), in US dollars."""

from collections.abc import Sequence
from decimal import Decimal

import msgspec

from pplx_gateway.answer import Cost
from pplx_gateway.prices import prices
from pplx_gateway.receipts import Receipt


def search_cost(kind: str | None) -> Cost | None:
    """However many queries there are, they are one search. What one for people costs is told nowhere."""
    price = prices().of_searches(kind or "web")
    return None if price is None else Cost(total=float(price), tool_calls=float(price))


def decision_cost(model: str, tokens: int) -> Cost | None:
    """A dated model costs what its family costs; None for one whose price is told nowhere."""
    return _cost(prices().of_decision(model, tokens))


def embedding_cost(model: str, tokens: int) -> Cost | None:
    return _cost(prices().of_embedding(model, tokens))


def _cost(amount: Decimal | None) -> Cost | None:
    return None if amount is None else Cost(total=float(amount), input=float(amount))


def together(receipts: Sequence[Receipt]) -> Receipt:
    """The sum of several calls of one kind, with the last one's id and key. Exact to the last digit; no sum where one
    call's cost is not known."""
    last = receipts[-1]
    costs = [receipt.cost for receipt in receipts if receipt.cost is not None]
    return msgspec.structs.replace(
        last,
        input_tokens=sum(receipt.input_tokens for receipt in receipts),
        output_tokens=sum(receipt.output_tokens for receipt in receipts),
        searches=sum(receipt.searches for receipt in receipts),
        cost=_sum(costs) if len(costs) == len(receipts) else None,
        computed=any(receipt.computed for receipt in receipts),
    )


def _sum(costs: Sequence[Cost]) -> Cost:
    def added(name: str) -> float | None:
        parts = [getattr(cost, name) for cost in costs]
        return None if None in parts else float(sum(Decimal(str(part)) for part in parts))

    return Cost(total=added("total") or 0.0, input=added("input"), output=added("output"), currency=costs[0].currency)
