"""Which deciders there are, for every dialect that asks one."""

from pplx_gateway.errors import ModelNotFound
from pplx_gateway.protocols.embedding import unprefixed

FAMILY = "pplx-decider-"
KNOWN = ("pplx-decider-v1-27b", "pplx-decider-v1.1-27b")
"""Those on the API's own price list of October 2026 (docs/wire-agent.md 5)."""


def decider_model(requested: str) -> str:
    """The upstream's name of it. One of the family that is newer than this release is passed on. Raises
    ModelNotFound."""
    name = unprefixed(requested)
    if not name.startswith(FAMILY):
        known = ", ".join(KNOWN)
        raise ModelNotFound(f"'{requested[:80]}' is no decider. There are: {known}.", param="model")
    return name
