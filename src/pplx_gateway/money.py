"""US dollars, counted in whole trillionths, so that sums are exact: a single token costs more than ten thousand of
them, even the cheapest."""

from decimal import ROUND_HALF_EVEN, Decimal

PER_DOLLAR = 10**12
MOST_DOLLARS = 10_000
"""For one request; above this it is a mistake of whoever told it."""


def trillionths(dollars: Decimal | float) -> int | None:
    """A float stands for the decimal that it was written as. None for what is no amount: below zero, not finite, or
    above MOST_DOLLARS."""
    exact = dollars if isinstance(dollars, Decimal) else Decimal(repr(dollars))
    if not exact.is_finite() or not 0 <= exact <= MOST_DOLLARS:
        return None
    return int((exact * PER_DOLLAR).to_integral_value(ROUND_HALF_EVEN))


def dollars(trillionths: int) -> Decimal:
    """Without zeros at the end, or an exponent that would stand for some."""
    return Decimal(format(Decimal(trillionths).scaleb(-12).normalize(), "f"))
