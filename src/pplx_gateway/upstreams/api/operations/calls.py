"""Calls of the API that are answered whole: paid ones by whichever key takes them, others by the key that owns what
they are about.

What may have been billed is never sent twice (asking.py). Reading costs nothing, so it is repeated whatever broke it.
"""

from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import NamedTuple, TypeVar
from urllib.parse import quote

import msgspec

from pplx_gateway.clock import Clock
from pplx_gateway.errors import (
    Conflict,
    GatewayError,
    ModelNotFound,
    NotFound,
    RateLimited,
    UpstreamAuth,
    UpstreamError,
    UpstreamUnreachable,
)
from pplx_gateway.operations import Native, Owned, RunOrder
from pplx_gateway.receipts import Note, Receipt
from pplx_gateway.transport.exchange import Headers, Method, Outgoing, Streaming, Timeouts
from pplx_gateway.upstreams.api.asking import Asking, Call, FaultsOf, Taken, enter
from pplx_gateway.upstreams.api.events import NotJson, Shape
from pplx_gateway.upstreams.api.keys import Key, KeyPool, Wanted
from pplx_gateway.upstreams.api.open_stream import OpenStream
from pplx_gateway.upstreams.api.patience import OUTWARD_WAIT_SECONDS, ApiOptions
from pplx_gateway.upstreams.api.wire import Exchanges, Wire

MOST_BYTES = 64 << 20
T = TypeVar("T", bound=msgspec.Struct)


def unnoted(_receipt: Receipt) -> None:
    """For what costs nothing."""


class Answered(NamedTuple):
    """A success, whole."""

    key: Key
    headers: Headers
    body: bytes

    def receipt(self) -> Receipt:
        """Without what it cost, which only the body tells."""
        limits = {name: value for name, value in self.headers.items if name.startswith("x-ratelimit-")}
        return Receipt(key_name=self.key.name, request_id=self.headers.get("x-request-id"), limits=limits)

    def read(self, shape: Shape[T], note: Note = unnoted) -> T:
        """Raises UpstreamError for what is no JSON object; it was paid for all the same, and is noted."""
        try:
            found = shape.read(self.body)
        except NotJson:
            found = None
        if found is None:
            note(self.receipt())
            raise UpstreamError("The Perplexity API answered with what is no JSON object.")
        return found

    def native(self, id_field: str | None = None) -> Native:
        """`id_field` holds the id of what the answer tells of. Raises UpstreamError where it does not."""
        fields = self.read(_ANY)
        found = getattr(fields, id_field) if id_field else ""
        if found is None:
            raise UpstreamError(f"The Perplexity API answered without '{id_field}'.")
        return Native(body=self.body, receipt=self.receipt(), id=found)


class _Ids(msgspec.Struct):
    id: str | None = None
    skill_id: str | None = None
    session_id: str | None = None


_ANY = Shape(_Ids)


class Calls:
    def __init__(
        self, transport: Exchanges, wire: Wire, keys: KeyPool, faults: FaultsOf, *, clock: Clock, options: ApiOptions
    ) -> None:
        self._transport = transport
        self._wire = wire
        self._keys = keys
        self._faults = faults
        self._clock = clock
        self._options = options
        self._asking = Asking(transport, keys, faults, clock, options)

    async def paid(
        self,
        path: str,
        body: bytes,
        names: tuple[str, ...],
        key_name: str | None,
        *,
        others: tuple[tuple[str, ...], ...] = (),
        content: str = "application/json",
        note: Note = unnoted,
    ) -> Answered:
        """A POST by any key that may be used for a model of these `names`, or by the one called `key_name`. `others` as
        Wanted has them.

        An answer that is cut off, or left, is noted too, since it was paid for. Raises GatewayError.
        """

        def outgoing(key: Key) -> Outgoing:
            return self._wire.call("POST", path, key, self._timeouts, body=body, content=content)

        async with OpenStream() as transfer:
            with hinting():
                key, streaming = await self._asking.until_taken(
                    Call(Wanted(names, key_name, others=others), outgoing), transfer
                )
            try:
                return Answered(key, streaming.headers, await _whole(streaming))
            except BaseException:
                note(Answered(key, streaming.headers, b"").receipt())
                raise

    async def take(self, order: RunOrder, transfer: OpenStream) -> Taken:
        """A run whose events are a stream that is open as long as `transfer` is. Raises GatewayError."""
        timeouts = self._options.timeouts(research=order.patient)
        wanted = Wanted(order.names, order.key_name, others=order.others)
        call = Call(wanted, lambda key: self._wire.ask(key, order.body, timeouts))
        with hinting():
            return await self._asking.until_taken(call, transfer)

    def owner(self, key_name: str) -> Key:
        """Raises UpstreamAuth where it is not there any more."""
        return self._keys.named(key_name)

    async def get(self, path: str, key_name: str) -> Answered:
        return await self._by_owner("GET", path, key_name, repeat=True)

    async def send(
        self,
        method: Method,
        path: str,
        key_name: str,
        body: bytes = b"",
        *,
        content: str = "application/json",
        more: Mapping[str, str] | None = None,
    ) -> Answered:
        """What changes something that `key_name` owns."""
        return await self._by_owner(method, path, key_name, body=body, content=content, more=more)

    @asynccontextmanager
    async def stream(self, path: str, key_name: str) -> AsyncGenerator[Streaming, None]:
        """Bytes of any kind, as they come."""
        key = self._keys.named(key_name)
        outgoing = self._wire.call("GET", path, key, self._timeouts, accept="application/octet-stream")
        async with OpenStream() as transfer:
            with of_things():
                streaming = await enter(self._transport, outgoing, self._faults(key), transfer)
            yield streaming

    async def _by_owner(
        self,
        method: Method,
        path: str,
        key_name: str,
        *,
        body: bytes | None = None,
        content: str = "application/json",
        more: Mapping[str, str] | None = None,
        repeat: bool = False,
    ) -> Answered:
        key, attempt = self._keys.named(key_name), 1
        outgoing = self._wire.call(method, path, key, self._timeouts, body=body, content=content, more=more)
        while True:
            try:
                with hinting(), of_things():
                    return await self._once(outgoing, key)
            except GatewayError as error:
                wait = self._wait(error, attempt, repeat=repeat)
                if wait is None:
                    raise
            await self._clock.sleep(wait)
            attempt += 1

    async def _once(self, outgoing: Outgoing, key: Key) -> Answered:
        async with OpenStream() as transfer:
            streaming = await enter(self._transport, outgoing, self._faults(key), transfer)
            return Answered(key, streaming.headers, await _whole(streaming))

    def _wait(self, error: GatewayError, attempt: int, *, repeat: bool) -> float | None:
        """A read that failed upstream counts as one that never was."""
        passing = repeat and isinstance(error, UpstreamError) and not isinstance(error, UpstreamAuth)
        counted = UpstreamUnreachable(error.message, retry_after=error.retry_after) if passing else error
        return self._options.wait_before_retry(counted, attempt)

    @property
    def _timeouts(self) -> Timeouts:
        return self._options.timeouts(research=False)


async def _whole(streaming: Streaming) -> bytes:
    body = await streaming.read(MOST_BYTES + 1)
    if len(body) > MOST_BYTES:
        raise UpstreamError(f"The Perplexity API answered with more than {MOST_BYTES >> 20} MiB.")
    return body


@contextmanager
def hinting() -> Iterator[None]:
    """A throttle without a hint gets ours."""
    try:
        yield
    except RateLimited as error:
        error.retry_after = OUTWARD_WAIT_SECONDS if error.retry_after is None else error.retry_after
        raise


@contextmanager
def of_things() -> Iterator[None]:
    """Where no model is asked, a 404 is about a thing, and a 409 about its state."""
    try:
        yield
    except ModelNotFound as error:
        raise _otherwise(NotFound(error.message), error) from error
    except UpstreamError as error:
        if error.upstream_status == 409:
            raise _otherwise(Conflict(error.message), error) from error
        raise


def _otherwise(told: GatewayError, error: GatewayError) -> GatewayError:
    """What the upstream said, under another name."""
    told.upstream_status, told.upstream_request_id = error.upstream_status, error.upstream_request_id
    return told


def segment(text: str) -> str:
    """`text` as one step of a path, which it can neither leave nor end. Raises NotFound for what is no step at all."""
    if text in ("", ".", ".."):
        raise NotFound("There is no such id.")
    return quote(text, safe="")


def owned_path(base: str, thing: Owned, tail: str = "") -> str:
    return f"{base}/{segment(thing.id)}{tail}"


def query(values: Mapping[str, object]) -> str:
    """Those of `values` that are not None, as the end of an address."""
    pairs = [f"{name}={quote(str(value), safe='')}" for name, value in values.items() if value is not None]
    return "?" + "&".join(pairs) if pairs else ""
