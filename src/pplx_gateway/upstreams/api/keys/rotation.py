"""Smooth weighted round-robin: in any run of as many choices as the weights add up to, each gets exactly its share, and
no one's turns come in a lump."""

from collections.abc import Mapping
from fractions import Fraction
from math import lcm


class Rotation:
    """`weights` by name, all above 0."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        exact = {name: Fraction(repr(weight)) for name, weight in weights.items()}  # 0.1 means a tenth
        scale = lcm(*(weight.denominator for weight in exact.values()))
        self._weights = {name: int(weight * scale) for name, weight in exact.items()}
        self._total = sum(self._weights.values())
        self._current = dict.fromkeys(weights, 0)

    def next(self) -> str:
        for name, weight in self._weights.items():
            self._current[name] += weight
        chosen = max(self._current, key=lambda name: self._current[name])
        self._current[chosen] -= self._total
        return chosen
