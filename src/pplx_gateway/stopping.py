"""A stop while all is still starting, of a worker that nobody looks after any more, and one in stages where the server
is not ours (workers, `uvicorn pplx_gateway.asgi:app`).

Such a server waits for the answers under way and then cancels them, which their callers cannot tell from an answer that
is whole. Here they are ended before that, with an error.
"""

import asyncio
import contextlib
import logging
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator
from multiprocessing import parent_process
from types import FrameType

from pplx_gateway.serving import GRACE_SECONDS

logger = logging.getLogger("pplx_gateway")

SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextlib.contextmanager
def cut_short() -> Iterator[None]:
    """While inside: SIGTERM cancels the task, as Ctrl-C does already. What a handler raises instead comes up wherever
    the loop is at the moment, also where nobody lets it through, and then the process stays."""
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()

    def caught(_number: int, _frame: FrameType | None) -> None:
        if task is not None:
            loop.call_soon_threadsafe(task.cancel)

    before = signal.signal(signal.SIGTERM, caught)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def orphan_stops() -> Iterator[None]:
    """While inside: a worker whose parent was killed stops. Nobody else would tell it to, and it holds the port."""
    parent = parent_process()
    if parent is None:
        yield
        return
    loop, gone = asyncio.get_running_loop(), parent.sentinel

    def stop() -> None:
        loop.remove_reader(gone)
        logger.warning("this worker stops: the process that started it is gone")
        signal.raise_signal(signal.SIGTERM)

    loop.add_reader(gone, stop)
    try:
        yield
    finally:
        loop.remove_reader(gone)


@contextlib.contextmanager
def cut_late(cut: Callable[[], Awaitable[None]], grace_seconds: float = GRACE_SECONDS) -> Iterator[None]:
    """While inside: the first signal to stop also calls `cut`, `grace_seconds` later. The server's own handlers, which
    must be set by now, are called as before. Outside the main thread, where no signals arrive, it does nothing."""
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    before = _handlers()

    def caught(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(stopping.set)
        before[signal.Signals(number)](number, frame)

    for number in before:
        signal.signal(number, caught)
    waiting = asyncio.create_task(_cut_after(stopping, cut, grace_seconds))
    try:
        yield
    finally:
        waiting.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)


def _handlers() -> dict[signal.Signals, Callable[[int, FrameType | None], object]]:
    if threading.current_thread() is not threading.main_thread():
        return {}
    found = {number: signal.getsignal(number) for number in SIGNALS}
    return {number: handler for number, handler in found.items() if callable(handler)}


async def _cut_after(stopping: asyncio.Event, cut: Callable[[], Awaitable[None]], grace_seconds: float) -> None:
    await stopping.wait()
    await asyncio.sleep(grace_seconds)
    logger.warning("stopping: answers under way are ended with an error")
    await cut()
