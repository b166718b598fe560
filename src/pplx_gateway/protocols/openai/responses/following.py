"""The events of a response out of the store: those that are there, then the others as they come, from any worker."""

from collections.abc import AsyncGenerator

from starlette.types import Receive, Scope, Send

from pplx_gateway.errors import GatewayError, StoreUnavailable
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.openai.call import Call
from pplx_gateway.protocols.openai.responses.aftermath import error_event
from pplx_gateway.protocols.openai.responses.background import Background, not_found
from pplx_gateway.protocols.openai.responses.events import DONE, Event, frame
from pplx_gateway.protocols.openai.responses.rendering import SUCCEEDED
from pplx_gateway.store.records import StoredEvent, StoredResponse
from pplx_gateway.web.event_stream import STREAM_HEADERS
from pplx_gateway.web.headers import RawHeaders
from pplx_gateway.web.leaving import Leaving

_SUCCESSES = tuple(f"response.{status}" for status in SUCCEEDED)
_LAST = (*_SUCCESSES, "response.failed", "error")


class FollowingCall(Call):
    """A call that may be answered with the events of a stored response."""

    def __init__(self, background: Background, gateway: Gateway, scope: Scope, receive: Receive, send: Send) -> None:
        super().__init__(gateway, scope, receive, send)
        self._background = background
        self._after: int | None = None  # the number of the last event that the caller has, once he follows

    async def _follow(self, found: StoredResponse, after: int, told: RawHeaders) -> None:
        """Everything behind the event `after`, up to the end. Raises NotFound if the response is deleted meanwhile,
        StoreUnavailable at the gateway's stop."""
        self._after = after
        last = ""
        async with Leaving(self._receive) as leaving, self._open_stream(lambda: [*STREAM_HEADERS, *told]) as stream:
            async for batch in self._batches(found, after):
                self._after, last, _ = batch[-1]
                if last not in _LAST:
                    await stream.write(_frames(batch))
                    continue
                leaving.settle()
                await stream.close(_frames(batch) + (DONE if last in _SUCCESSES else b""))
            if not stream.ended:  # there was nothing left to tell
                leaving.settle()
                await stream.close(DONE if found.status in SUCCEEDED else b"")

    async def _batches(self, found: StoredResponse, after: int) -> AsyncGenerator[list[StoredEvent], None]:
        responses, watch = self._gateway.responses, self._background.watch
        while not watch.closed:
            # Read in this order: what a response that is over has told is there by then.
            now = await responses.read(found.number)
            batch = await responses.events(found.number, after)
            if batch:
                yield batch
                after, last, _ = batch[-1]
                if last in _LAST:
                    return
            elif now is None:
                raise not_found(found.id)
            elif not now.active:
                return
            else:
                await watch.news(found.number)
        raise StoreUnavailable(
            "The gateway is stopping. The response goes on; follow it again with 'starting_after' in a while."
        )

    def _last_words(self, error: GatewayError) -> bytes:
        """It repeats the last number, so that nothing is missed by whoever resumes after it."""
        if self._after is None:
            return super()._last_words(error)
        return frame(error_event(max(self._after, 0), error))


def _frames(batch: list[StoredEvent]) -> bytes:
    return b"".join(frame(Event(*event)) for event in batch)
