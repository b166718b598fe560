"""`POST /v1/agent` on the session, once its body was read: whole, streamed, or in the background."""

from contextlib import AbstractContextManager, nullcontext, suppress

from starlette.types import Receive, Scope, Send

from pplx_gateway.errors import GatewayError, NotFound, StoreUnavailable, UnsupportedParameter
from pplx_gateway.exchange import Exchange
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.openai import pinning
from pplx_gateway.protocols.openai.call import Call, no_verdict, told_headers
from pplx_gateway.protocols.openai.encoding import encode
from pplx_gateway.protocols.openai.responses.background import Background
from pplx_gateway.protocols.openai.responses.keeping import Keeping, Lost
from pplx_gateway.protocols.openai.responses.rendering import Rendering
from pplx_gateway.protocols.perplexity.agent.answered import answered
from pplx_gateway.protocols.perplexity.agent.frames import error_frame
from pplx_gateway.protocols.perplexity.agent.objects import AgentResponse
from pplx_gateway.protocols.perplexity.agent.reading import Read
from pplx_gateway.protocols.perplexity.agent.session import NO_EVENTS, Asked, asked
from pplx_gateway.protocols.perplexity.agent.target import Target
from pplx_gateway.protocols.perplexity.agent.telling import AgentTelling
from pplx_gateway.web import replies
from pplx_gateway.web.event_stream import STREAM_HEADERS
from pplx_gateway.web.headers import RawHeaders
from pplx_gateway.web.leaving import Leaving


class SessionCall(Call):
    def __init__(self, background: Background, gateway: Gateway, scope: Scope, receive: Receive, send: Send) -> None:
        super().__init__(gateway, scope, receive, send)
        self._body_left = False
        self._background = background
        self._telling: AgentTelling | None = None
        self._request: tuple[Read, Target] | None = None

    def reads(self, found: Read, target: Target) -> None:
        """What `answer` answers."""
        self._request = (found, target)

    async def answer(self) -> None:
        ready = await self._ready()
        plan = ready.rendering.plan
        self._facts.update(model=plan.requested, stream=ready.streamed, upstream="session", response=plan.response_id)
        if ready.hold is not None and plan.echo.background:
            first = _shown(ready.rendering)
            exchange = self._gateway.ask(plan.question, ready.route, caller=self._caller)
            self._background.start(ready.hold, ready.rendering, exchange)
            await self._reply(ready, first)
            return
        await self._in_foreground(ready)
        if not ready.streamed:
            await self._reply(ready, _shown(ready.rendering))

    async def _ready(self) -> Asked:
        """Nothing of the request stays behind. Raises RequestError and its kinds, StoreUnavailable."""
        if self._request is None:
            raise RuntimeError("there is nothing to answer")
        (found, target), self._request = self._request, None
        if target.request.background and target.request.stream:
            raise UnsupportedParameter(NO_EVENTS, param="stream")
        pinning.keyed(target.routes[0], pinning.key_name(self._scope))
        return await asked(found, target, self._gateway, self._caller)

    def _last_words(self, error: GatewayError) -> bytes:
        return error_frame(self._telling.number if self._telling else -1, error)

    async def _reply(self, ready: Asked, response: AgentResponse) -> None:
        headers = told_headers(ready.rendering.plan.requested, ready.rendering.told)
        await replies.send_json(self._send, encode(response), headers)

    async def _in_foreground(self, ready: Asked) -> None:
        plan, kept = ready.rendering.plan, self._keeping(ready)
        try:
            async with Leaving(self._receive) as leaving:
                with self._watched(ready, leaving):
                    async with self._gateway.ask(plan.question, ready.route, caller=self._caller) as exchange:
                        await (self._tell if ready.streamed else self._collect)(ready, exchange, leaving, kept)
        except Lost:
            raise NotFound(f"The response '{plan.response_id}' was deleted while it ran.") from None
        except BaseException:
            await self._discard(ready, kept)
            raise

    async def _collect(self, ready: Asked, exchange: Exchange, leaving: Leaving, kept: Keeping | None) -> None:
        async for batch in exchange:
            ready.rendering.feed(batch, exchange)
        if not ready.rendering.finished:
            raise no_verdict()
        leaving.settle()
        await _keep(ready, kept)

    async def _tell(self, ready: Asked, exchange: Exchange, leaving: Leaving, kept: Keeping | None) -> None:
        rendering, telling = ready.rendering, AgentTelling(_shown(ready.rendering))
        self._telling = telling

        def headers() -> RawHeaders:
            known = rendering.told._replace(remaining_pro=self._remaining(exchange))
            return [*STREAM_HEADERS, *told_headers(rendering.plan.requested, known)]

        async with self._open_stream(headers) as stream:
            async for batch in exchange:
                if rendering.finished:
                    continue
                rendering.feed(batch, exchange)
                data = telling.feed(batch)
                if rendering.finished:
                    leaving.settle()
                    await _keep(ready, kept)
                    await stream.close(data + telling.end(_shown(rendering)))
                elif data:
                    await stream.write(data)
            if not rendering.finished:
                raise no_verdict()

    def _keeping(self, ready: Asked) -> Keeping | None:
        if ready.hold is None:
            return None
        number, watch = ready.hold.number, self._background.watch
        return Keeping(self._gateway.responses, ready.hold, lambda: watch.changed(number))

    def _watched(self, ready: Asked, leaving: Leaving) -> AbstractContextManager[None]:
        return self._background.watch.over(ready.hold, leaving) if ready.hold else nullcontext()

    async def _discard(self, ready: Asked, kept: Keeping | None) -> None:
        """An answer that nobody got is not kept."""
        if kept is not None and ready.hold is not None:
            kept.close()
            with suppress(StoreUnavailable):
                await self._gateway.responses.runs.discard(ready.hold)


def _shown(rendering: Rendering) -> AgentResponse:
    return answered(rendering.object())


async def _keep(ready: Asked, kept: Keeping | None) -> None:
    if kept is not None:
        await kept.end(ready.rendering.ending())
