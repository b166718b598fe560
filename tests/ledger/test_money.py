import json
import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pplx_gateway.money import MOST_DOLLARS, dollars, trillionths
from pplx_gateway.web.money import decimal_response


@pytest.mark.parametrize("text", ["0", "0.00503", "0.1", "1", "10", "1000", "0.000000000001", "12.345678901234"])
def test_an_amount_comes_back_as_it_was_written(text: str) -> None:
    assert format(dollars(trillionths(float(text)) or 0), "f") == text
    assert dollars(trillionths(Decimal(text)) or 0) == Decimal(text)


@given(st.lists(st.decimals(0, 100, places=12), max_size=50))
def test_sums_are_exact(amounts: list[Decimal]) -> None:
    assert dollars(sum(trillionths(amount) or 0 for amount in amounts)) == sum(amounts, Decimal(0))


def test_a_thousand_small_floats_do_not_drift() -> None:
    assert dollars(sum(trillionths(0.00503) or 0 for _ in range(1000))) == Decimal("5.03")
    assert sum(0.00503 for _ in range(1000)) != 5.03


@pytest.mark.parametrize("amount", [-0.01, math.nan, math.inf, -math.inf, MOST_DOLLARS + 1.0, Decimal("NaN"), 1e300])
def test_what_is_no_amount_is_none(amount: float | Decimal) -> None:
    assert trillionths(amount) is None


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (5_030_000_000, "0.00503"), (10**13, "10"), (1, "0.000000000001")]
)
def test_amounts_are_exact_numbers_in_json(number: int, text: str) -> None:
    body = bytes(decimal_response({"cost": dollars(number)}).body)
    assert json.loads(body, parse_float=Decimal, parse_int=Decimal)["cost"] == Decimal(text)
    assert b'"' + text.encode() not in body
