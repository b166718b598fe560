"""Waiting for what has no event of its own."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


async def until(look: Callable[[], Awaitable[T | None]], seconds: float = 20.0) -> T:
    """The first thing that `look` finds that is not None or False. Raises TimeoutError."""
    async with asyncio.timeout(seconds):
        while True:
            found = await look()
            if found is not None and found is not False:
                return found
            await asyncio.sleep(0.02)
