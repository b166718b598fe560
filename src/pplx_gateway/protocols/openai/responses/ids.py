"""Ids of items that this gateway makes."""

import secrets


def fresh(prefix: str) -> str:
    """`msg` gives `msg_` and 32 digits."""
    return f"{prefix}_{secrets.token_hex(16)}"
