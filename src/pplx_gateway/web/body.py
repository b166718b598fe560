"""Reading a request's body: within a size, and within a patience."""

import asyncio
from collections.abc import AsyncGenerator, Callable

from starlette.types import Receive, Scope

from pplx_gateway.clock import Clock
from pplx_gateway.errors import RequestTimeout, TooLarge
from pplx_gateway.web.leaving import CallerLeft, is_whole

# The whole body may take this many times the longest wait for one part, so that a drip cannot hold on for ever.
_PARTS_OF_PATIENCE = 20


async def read_body(
    receive: Receive, clock: Clock, *, limit: int, wait_seconds: float, scope: Scope | None = None
) -> bytes:
    """The whole body. `wait_seconds` is the longest wait for the next part; whose `scope` tells that all of it is here
    waits for none, which saves the timers.

    Raises TooLarge as soon as `limit` bytes are passed, RequestTimeout, CallerLeft.
    """
    if scope is not None and is_whole(scope):
        return await _parts(receive, limit, lambda: None)
    try:
        async with clock.deadline(wait_seconds) as timer:
            end = _from_now(clock.real(wait_seconds * _PARTS_OF_PATIENCE))
            return await _parts(receive, limit, lambda: timer.reschedule(min(end, _from_now(clock.real(wait_seconds)))))
    except TimeoutError:
        raise _too_slow() from None


async def _parts(receive: Receive, limit: int, more: Callable[[], None]) -> bytes:
    """`more` is called before each further part."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise CallerLeft
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise too_large(limit)
        parts.append(part)
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)
        more()


async def body_parts(
    receive: Receive, clock: Clock, *, limit: int, wait_seconds: float, refusal: TooLarge
) -> AsyncGenerator[bytes, None]:
    """The body as it comes, for those who need not hold it whole. Time that the reader takes between the parts counts
    for nothing. Raises `refusal` as soon as `limit` bytes are passed, RequestTimeout, CallerLeft."""
    patience = wait_seconds * _PARTS_OF_PATIENCE
    size = 0
    more = True
    while more:
        began = clock.monotonic()
        try:
            async with clock.deadline(min(wait_seconds, patience)):
                message = await receive()
        except TimeoutError:
            raise _too_slow() from None
        if message["type"] == "http.disconnect":
            raise CallerLeft
        patience -= clock.monotonic() - began
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise refusal
        more = message.get("more_body", False)
        yield part


def too_large(limit: int) -> TooLarge:
    return TooLarge(f"The request's body is larger than {limit} bytes (PPLX_MAX_BODY_BYTES).")


def _too_slow() -> RequestTimeout:
    return RequestTimeout("The request's body did not come to its end in time.")


def _from_now(seconds: float) -> float:
    return asyncio.get_running_loop().time() + seconds
