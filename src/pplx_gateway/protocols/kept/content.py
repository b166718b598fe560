"""The bytes of a file that an upstream keeps, handed on as they come."""

import logging
from collections.abc import AsyncIterable, Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from starlette.types import Receive, Scope, Send

from pplx_gateway.errors import GatewayError
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.openai.call import Call
from pplx_gateway.web.leaving import Leaving

logger = logging.getLogger("pplx_gateway")

Find = Callable[[Gateway, Scope], Awaitable[AbstractAsyncContextManager[AsyncIterable[bytes]]]]
HEADERS = [
    (b"content-type", b"application/octet-stream"),
    (b"content-disposition", b"attachment"),
    (b"x-content-type-options", b"nosniff"),
]
"""Nothing that a browser would show or run."""


class ContentCall(Call):
    def __init__(self, find: Find, gateway: Gateway, scope: Scope, receive: Receive, send: Send) -> None:
        super().__init__(gateway, scope, receive, send)
        self._find = find
        self._body_left = False
        self._begun = False

    async def answer(self) -> None:
        async with Leaving(self._receive) as leaving:
            async with await self._find(self._gateway, self._scope) as parts:
                iterator = aiter(parts)
                part = await anext(iterator, None)  # what fails at once is an answer of its own
                self._begun = True
                await self._send({"type": "http.response.start", "status": 200, "headers": HEADERS})
                while part is not None:
                    await self._send({"type": "http.response.body", "body": part, "more_body": True})
                    part = await anext(iterator, None)
            leaving.settle()
            await self._send({"type": "http.response.body", "body": b""})

    async def fail(self, error: GatewayError) -> None:
        """Once bytes have left, nothing can be said any more. The body is left without its end, so that the server cuts
        the connection, and nobody takes a part for the whole."""
        if not self._begun:
            await super().fail(error)
            return
        self._facts["error"] = error.code
        logger.warning("a file broke off", extra={"code": error.code})
