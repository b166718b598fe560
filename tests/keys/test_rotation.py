from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pplx_gateway.upstreams.api.keys.rotation import Rotation


def turns(weights: dict[str, float], count: int) -> list[str]:
    rotation = Rotation(weights)
    return [rotation.next() for _ in range(count)]


def test_turns_come_smoothly() -> None:
    assert "".join(turns({"a": 5, "b": 1, "c": 1}, 7)) == "aabacaa"
    assert "".join(turns({"a": 1, "b": 1}, 4)) == "abab"


@pytest.mark.parametrize("weights", [{"a": 0.1, "b": 0.2, "c": 0.7}, {"a": 1, "b": 2, "c": 7}, {"a": 1e-3, "b": 9e-3}])
def test_no_share_drifts_however_long_it_goes_on(weights: dict[str, float]) -> None:
    counts = Counter(turns(weights, 10_000))
    assert counts == {name: round(10_000 * weight / sum(weights.values())) for name, weight in weights.items()}


@given(st.lists(st.integers(1, 50), min_size=1, max_size=6))
def test_every_window_of_the_weights_sum_holds_each_share_exactly(numbers: list[int]) -> None:
    weights = {str(place): Fraction(number) for place, number in enumerate(numbers)}
    total = sum(numbers)
    found = turns({name: float(weight) for name, weight in weights.items()}, 3 * total)
    for start in range(0, 2 * total):
        window = Counter(found[start : start + total])
        assert all(window[name] == weight for name, weight in weights.items())
