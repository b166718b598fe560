"""What texts have in common, without a model: hashed words, so that texts about one thing lie near each other.

Every word adds a few fixed places of either sign in each block of 128 numbers. So the first 128 numbers of a vector
mean as much as all of them, which is what `dimensions` relies on.
"""

import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache

Vector = list[float]

BLOCK = 128
_PLACES = 6  # in each block, for each feature
_STEM_LETTERS = 5
_STEM_WEIGHT = 0.6
_COMMON_WEIGHT = 0.15
_COMMON_WORDS = """
a about all also an and any are as at be been but by can could did do does for from had has have he her his how i if in
into is it its just may me more most my no not of on one only or other our out over she should so some such than that
the their them then there these they this those to up us was we were what when where which who will with would you your
"""
_COMMON = frozenset(_COMMON_WORDS.split())
_WORD = re.compile(r"\w+")


def vector(text: str, size: int) -> Vector:
    """The meaning of `text` in `size` numbers (a multiple of 8), of length 1 over all of them."""
    return normal(_sum(features(text), size))


def features(text: str) -> Mapping[str, float]:
    """What a text says, with weights: its words, and what they begin with, so that "rivers" is close to "river"."""
    found: defaultdict[str, float] = defaultdict(float)
    for word in _WORD.findall(text.lower()):
        if word in _COMMON:
            found[word] += _COMMON_WEIGHT
            continue
        found[word] += 1
        found[word[:_STEM_LETTERS] + "-"] += _STEM_WEIGHT
    return found or {text: 1.0}  # signs and pictures mean something, too


def mixed(parts: Iterable[tuple[Vector, float]], size: int) -> Vector:
    """The sum of weighted vectors, of length 1."""
    total = [0.0] * size
    for part, weight in parts:
        for place, value in enumerate(part):
            total[place] += weight * value
    return normal(total)


def normal(values: Vector) -> Vector:
    length = math.sqrt(sum(value * value for value in values))
    return [value / length for value in values] if length else values


def likeness(left: str, right: str) -> float:
    """From 0 (nothing in common) to 1 (the same words)."""
    one, other = features(left), features(right)
    shared = sum(weight * other.get(feature, 0.0) for feature, weight in one.items())
    lengths = math.sqrt(sum(w * w for w in one.values()) * sum(w * w for w in other.values()))
    return shared / lengths if lengths else 0.0


def _sum(found: Mapping[str, float], size: int) -> Vector:
    total = [0.0] * size
    for feature, weight in found.items():
        damped = math.sqrt(weight)
        for place, sign in _places(feature, -(-size // BLOCK)):
            if place < size:
                total[place] += sign * damped
    return total


@lru_cache(maxsize=4096)
def _places(feature: str, blocks: int) -> tuple[tuple[int, int], ...]:
    """Where `feature` stands in a vector of `blocks` blocks, with its signs. A prefix stays what it is in more."""
    digest = hashlib.shake_128(feature.encode(errors="surrogatepass")).digest(blocks * _PLACES)
    return tuple(
        (index // _PLACES * BLOCK + (byte & 127), 1 if byte & 128 else -1) for index, byte in enumerate(digest)
    )
