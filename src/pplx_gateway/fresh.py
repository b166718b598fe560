"""Names for what comes and goes: random enough never to meet, and no secret, so that nobody need ask the system for
each of them (a system call costs as much as a small layer of a request)."""

import os
from random import Random

_numbers = Random()  # noqa: S311 - names, no secrets
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_numbers.seed)


def name(prefix: str) -> str:
    """`prefix` and 24 hexadecimal digits."""
    return f"{prefix}{_numbers.getrandbits(96):024x}"
