"""A response whose caller waits for it: what he was told, and what the store keeps of it in the end."""

import logging
from contextlib import suppress

from pplx_gateway.answer import Batch
from pplx_gateway.errors import GatewayError, StoreUnavailable
from pplx_gateway.exchange import Exchange
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.openai.responses.aftermath import ResponseCancelled, error_event
from pplx_gateway.protocols.openai.responses.events import Event, frame
from pplx_gateway.protocols.openai.responses.keeping import Keeping, Lost
from pplx_gateway.protocols.openai.responses.rendering import Rendering, frames
from pplx_gateway.store.records import Ending

logger = logging.getLogger("pplx_gateway")


class Foreground:
    """`keeping` None = nothing is stored. `keyed`: a repeat of the request may come, and follows the events.

    An end that is none leaves the key to the next request: who asks again then is answered anew."""

    def __init__(self, gateway: Gateway, rendering: Rendering, keeping: Keeping | None, *, keyed: bool) -> None:
        self.rendering = rendering
        self._responses = gateway.responses if keeping else None
        self._keeping = keeping
        self._keyed = keyed
        self._untold: list[Event] = []
        self._opened = False
        self._next = 0  # the number of the event that is told next

    def feed(self, batch: Batch, exchange: Exchange) -> bool:
        """True if there is something to tell: the beginning alone waits, for an error before anything else is an HTTP
        answer."""
        first = [] if self._opened or self._untold else self.rendering.begin()
        news = self.rendering.feed(batch, exchange)
        self._untold += first + news
        self._opened = self._opened or bool(news)
        return self._opened and bool(self._untold)

    def tell(self) -> bytes:
        """Raises Lost, StoreUnavailable."""
        if self._keeping and self._keyed and not self.rendering.over:
            self._keeping.write(self._untold)
        return self._tell()

    async def end(self) -> None:
        """Keeps the whole response, before it is told. Raises Lost, StoreUnavailable."""
        if self._keeping:
            await self._keeping.end(self.rendering.ending(self._untold if self._keyed else ()))
            self._keeping = None

    async def cancel(self) -> None:
        """The caller has left."""
        self.rendering.cancel()
        over = error_event(self._next, ResponseCancelled("The caller left before the response was whole."))
        await self._finish(self.rendering.ending([over] if self._keyed else (), free_key=True))

    async def fail(self, error: GatewayError, *, begun: bool) -> None:
        """`begun`: something was sent, so that the stream ends as failed; else there is no response at all."""
        if begun:
            self._untold += self.rendering.fail(error)
        if begun and self.rendering.status == "failed":
            await self._finish(self.rendering.ending(self._untold if self._keyed else (), free_key=True))
        else:
            await self._discard()

    def last_words(self, error: GatewayError) -> bytes:
        """After `fail`."""
        if self.rendering.status == "failed":
            return self._tell()
        return frame(error_event(self._next, error))  # it was whole, and could not be kept

    def lost(self) -> None:
        """Somebody else has decided about it in the store."""
        if self._keeping:
            self._keeping.close()
            self._keeping = None

    def _tell(self) -> bytes:
        data = frames(self._untold, self.rendering.status)
        self._next += len(self._untold)
        self._untold = []
        return data

    async def _finish(self, ending: Ending) -> None:
        if self._keeping:
            with suppress(Lost, StoreUnavailable):  # the caller has the news; the lease ends by itself
                await self._keeping.end(ending)
            self._keeping = None

    async def _discard(self) -> None:
        if self._keeping and self._responses:
            self._keeping.close()
            with suppress(StoreUnavailable):
                await self._responses.runs.discard(self._keeping.hold)
            self._keeping = None
