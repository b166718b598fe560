"""What the session upstream needs of the way out; `transport.Transport` fits."""

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from pplx_gateway.transport.exchange import Incoming, Outgoing, Streaming


class WayOut(Protocol):
    async def request(self, outgoing: Outgoing) -> Incoming: ...

    def stream(self, outgoing: Outgoing) -> AbstractAsyncContextManager[Streaming]: ...

    async def close(self) -> None: ...
