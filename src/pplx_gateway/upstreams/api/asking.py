"""Getting what costs money taken: by one key after the other, and again where it surely was not.

A POST that may have been billed is never repeated. What the API refuses with 401, 402, 403 or 429 was not.
"""

import logging
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import NamedTuple

from pplx_gateway.clock import Clock
from pplx_gateway.errors import GatewayError, RateLimited, UpstreamError
from pplx_gateway.transport.exchange import Outgoing, Streaming
from pplx_gateway.upstreams.api.keys import Key, KeyPool, Wanted
from pplx_gateway.upstreams.api.keys.health import FAILS_OVER, Health
from pplx_gateway.upstreams.api.open_stream import OpenStream
from pplx_gateway.upstreams.api.patience import ApiOptions
from pplx_gateway.upstreams.api.wire import Exchanges
from pplx_gateway.upstreams.faults import Faults, read_detail, wait_seconds

logger = logging.getLogger(__name__)

MAX_ERROR_BYTES = 65536
LONGEST_REST_SECONDS = 3600.0
"""The longest hint of the API that a key rests for; after that it is asked again."""

FaultsOf = Callable[[Key], Faults]


class Call(NamedTuple):
    """What is to be taken. `outgoing` makes the request for the key that it goes out with."""

    wanted: Wanted
    outgoing: Callable[[Key], Outgoing]


class Taken(NamedTuple):
    """The answer's stream, and the key that it is paid with."""

    key: Key
    streaming: Streaming


class Asking:
    def __init__(
        self, transport: Exchanges, keys: KeyPool, faults: FaultsOf, clock: Clock, options: ApiOptions
    ) -> None:
        self._transport = transport
        self._keys = keys
        self._faults = faults
        self._clock = clock
        self._options = options

    async def until_taken(self, call: Call, transfer: OpenStream) -> Taken:
        """The stream is open as long as `transfer` is."""
        attempt, failures = 1, dict[str, GatewayError]()
        while True:
            name = ""
            try:
                key, health = await self._choose(call.wanted, failures)
                name = key.name
                return Taken(key, await self._send(call, key, health, transfer))
            except GatewayError as error:
                failures[name] = error
                told = _kindest(failures.values())
                if isinstance(error, FAILS_OVER) and self._keys.has_other(call.wanted, failures):
                    logger.info("another key is tried", extra={"key": name, "why": error.code})
                    wait = 0.0
                elif (pause := self._options.wait_before_retry(told, attempt)) is not None:
                    wait, attempt, failures = pause, attempt + 1, {}
                else:
                    raise told from None
            await transfer.aclose()
            if wait:
                await self._clock.sleep(wait)

    async def _choose(self, wanted: Wanted, tried: Collection[str]) -> tuple[Key, Health]:
        """While one question tries a key, others wait for what comes of it."""
        while True:
            key = self._keys.choose(wanted, tried)
            health = self._keys.health(key.name)
            if self._keys.is_sole(wanted) or await health.cleared():
                health.used()
                return key, health

    async def _send(self, call: Call, key: Key, health: Health, transfer: OpenStream) -> Streaming:
        try:
            streaming = await transfer.enter(self._transport.stream(call.outgoing(key)))
            if is_good(streaming):
                health.answered()
                return streaming
            error, of_key = await refusal(streaming, self._faults(key))
            if of_key:
                health.failed(error, wait_seconds(streaming.headers, self._clock.now(), LONGEST_REST_SECONDS))
            raise error
        finally:
            health.unsettled()


async def enter(transport: Exchanges, outgoing: Outgoing, faults: Faults, transfer: OpenStream) -> Streaming:
    """Raises the error that any status but a good one means; redirects are among them."""
    streaming = await transfer.enter(transport.stream(outgoing))
    if is_good(streaming):
        return streaming
    raise (await refusal(streaming, faults))[0]


def is_good(streaming: Streaming) -> bool:
    return 200 <= streaming.status < 300


async def refusal(streaming: Streaming, faults: Faults) -> tuple[GatewayError, bool]:
    """The error that the response means, and whether another key might mend it: a page says nothing of a key."""
    body = b""
    with suppress(UpstreamError):  # the status says enough
        body = await streaming.read(MAX_ERROR_BYTES)
    error = faults.of_response(streaming.status, streaming.headers, body)
    page = streaming.status == 403 and read_detail(body) is None
    return error, isinstance(error, FAILS_OVER) and not page


def _kindest(failures: Iterable[GatewayError]) -> GatewayError:
    """What to tell of several: a throttle, since it passes by itself; else the last one."""
    told = list(failures)
    throttles = [error for error in told if isinstance(error, RateLimited)]
    return min(throttles, key=lambda error: error.retry_after or 0.0) if throttles else told[-1]
