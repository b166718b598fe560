"""Runs a command's coroutine to its end, also where that is a signal: whatever it began is ended in order."""

import asyncio
import contextlib
import signal
from collections.abc import Coroutine
from typing import Any

from pplx_gateway.commands.exits import Exit


def run(main: Coroutine[Any, Any, Exit | None]) -> Exit:
    """Raises KeyboardInterrupt after Ctrl-C, and whatever `main` raises."""
    with asyncio.Runner() as runner:
        return runner.run(until_signalled(main)) or Exit.OK


async def until_signalled(main: Coroutine[Any, Any, Exit | None]) -> Exit | None:
    """A signal to end cancels it, as Ctrl-C does by the runner's own doing, and makes it TERMINATED."""
    task = asyncio.current_task()
    ended = False

    def end() -> None:
        nonlocal ended
        ended = True
        if task is not None:
            task.cancel()

    loop = asyncio.get_running_loop()
    with contextlib.suppress(NotImplementedError, ValueError):
        loop.add_signal_handler(signal.SIGTERM, end)
    try:
        return await main
    except asyncio.CancelledError:
        if not ended:
            raise
        return Exit.TERMINATED
    finally:
        with contextlib.suppress(NotImplementedError, ValueError):
            loop.remove_signal_handler(signal.SIGTERM)  # nobody would hear it while the loop rests
