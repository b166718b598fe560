"""A blocking iterator for those who await."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import TypeVar

from pplx_agent_mcp import Cancelled

T = TypeVar("T")


class _End:
    """Nothing more will come."""


async def from_thread(make: Callable[[threading.Event], Iterator[T]]) -> AsyncGenerator[T, None]:
    """What the iterator gives, made and run in a thread of its own. Its event is set once nobody awaits any more; the
    iterator should then raise Cancelled. The program's end does not wait for the thread."""
    loop = asyncio.get_running_loop()
    given: asyncio.Queue[T | Exception | _End] = asyncio.Queue()
    cancelled = threading.Event()

    def hand_over(entry: T | Exception | _End) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is left to hear it
            loop.call_soon_threadsafe(given.put_nowait, entry)

    def run() -> None:
        try:
            for entry in make(cancelled):
                hand_over(entry)
            hand_over(_End())
        except Cancelled:
            hand_over(_End())
        except Exception as error:  # noqa: BLE001 - handed to whoever awaits, who would wait for ever otherwise
            hand_over(error)

    threading.Thread(target=run, daemon=True, name="pplx-agent").start()
    try:
        while not isinstance(entry := await given.get(), _End):
            if isinstance(entry, Exception):
                raise entry
            yield entry
    finally:
        cancelled.set()
