"""When Python looks for cyclic garbage: not while it imports, and seldom while it serves.

A request leaves no cycles behind, so there is next to nothing to find; but with Python's own thresholds every few
requests pay for a look at everything (measured: 9 % of a request's CPU, a fifth of the imports' time).
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# New containers, less those that are gone, until the next look; Python's own is 700.
YOUNGEST = 10_000


@contextmanager
def paused() -> Iterator[None]:
    """For imports: what they make stays."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def settle() -> None:
    """For a server, once its code is loaded: no look takes in again what is here by now."""
    gc.freeze()
    gc.set_threshold(YOUNGEST, 20, 20)
