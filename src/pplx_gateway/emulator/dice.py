"""Chance without chance: the same question always gives the same choices, in every process and on every day."""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """Choices that depend on `seed` and on the name of the choice alone, never on the order of the calls."""

    def __init__(self, seed: str) -> None:
        self.seed = seed

    def number(self, name: str, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        digest = hashlib.blake2b(f"{name}\x00{self.seed}".encode(errors="surrogatepass"), digest_size=8).digest()
        return low + int.from_bytes(digest, "big") % (high - low + 1)

    def pick(self, name: str, options: Sequence[T]) -> T:
        return options[self.number(name, 0, len(options) - 1)]

    def chance(self, name: str, percent: int) -> bool:
        return self.number(name, 1, 100) <= percent

    def order(self, name: str, options: Sequence[T]) -> list[T]:
        """All of `options`, shuffled."""
        places = sorted(range(len(options)), key=lambda index: self.number(f"{name}/{index}", 0, 1 << 32))
        return [options[index] for index in places]
