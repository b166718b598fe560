"""Ways to cut a text or a stream, for tests that must not depend on the cut."""

from collections.abc import Iterator
from itertools import pairwise
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T", str, bytes)


def halves(whole: T) -> Iterator[list[T]]:
    """Every cut in two, the empty halves included."""
    for place in range(len(whole) + 1):
        yield [whole[:place], whole[place:]]


def singles(whole: T) -> list[T]:
    return [whole[place : place + 1] for place in range(len(whole))]


def every_cut(whole: T) -> Iterator[list[T]]:
    yield from halves(whole)
    yield singles(whole)


@st.composite
def cut(draw: st.DrawFn, wholes: st.SearchStrategy[T]) -> tuple[T, list[T]]:
    """A whole and some way to cut it."""
    whole = draw(wholes)
    places: list[int] = draw(st.lists(st.integers(0, len(whole)), max_size=8))
    bounds = [0, *sorted(places), len(whole)]
    return whole, [whole[start:end] for start, end in pairwise(bounds)]


def words(*tokens: str, max_size: int = 24) -> st.SearchStrategy[str]:
    """Texts made of a few tokens, so that chance finds the rare neighbours."""
    return st.lists(st.sampled_from(tokens), max_size=max_size).map("".join)
