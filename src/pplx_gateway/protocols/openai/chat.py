"""`POST /v1/chat/completions`, plain and streamed: the hot route."""

from typing import NamedTuple, Protocol

from starlette.types import Receive, Scope, Send

from pplx_gateway.answer import Batch, Finished
from pplx_gateway.decode import decode, unknown_keys
from pplx_gateway.errors import UnsupportedParameter
from pplx_gateway.exchange import Exchange
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.openai.attached import attached
from pplx_gateway.protocols.openai.attachments import Attached
from pplx_gateway.protocols.openai.call import Border, Call, chat_target, no_verdict, told, told_headers
from pplx_gateway.protocols.openai.chat_reply import ChatReply
from pplx_gateway.protocols.openai.chat_request import ChatRequest
from pplx_gateway.protocols.openai.chat_stream import ChatStream
from pplx_gateway.protocols.openai.question import Prepared, prepare
from pplx_gateway.protocols.openai.reply import Head, Told, answered_by, fresh_id
from pplx_gateway.routing import Route
from pplx_gateway.web import replies
from pplx_gateway.web.event_stream import STREAM_HEADERS
from pplx_gateway.web.headers import RawHeaders
from pplx_gateway.web.leaving import Leaving


class Chat(Border):
    def __init__(self, gateway: Gateway) -> None:
        super().__init__(gateway, ChatCall)


class Asked(NamedTuple):
    """All of a request that its answer still needs. The body and its decoded form are gone by then."""

    prepared: Prepared
    route: Route
    streamed: bool

    def told(self, exchange: Exchange) -> Told:
        return told(self.prepared.question, self.prepared.dropped, self.prepared.warnings, exchange)


class Rendering(Protocol):
    """An answer as it is rendered. `finished` is None until it is whole."""

    @property
    def told(self) -> Told: ...
    @property
    def told_so_far(self) -> Told: ...
    @property
    def finished(self) -> Finished | None: ...


class Reply(Rendering, Protocol):
    """Collects an answer that is not streamed."""

    def feed(self, batch: Batch) -> None: ...

    def body(self, head: Head, finished: Finished) -> bytes: ...


class Renderer(Rendering, Protocol):
    """Makes a stream's bytes of an answer. `feed` gives b"" for what nobody can see."""

    def feed(self, batch: Batch) -> bytes: ...


class ChatCall(Call):
    """The base too of what is asked and answered in the same steps, in another dialect."""

    def __init__(self, gateway: Gateway, scope: Scope, receive: Receive, send: Send) -> None:
        super().__init__(gateway, scope, receive, send)
        self._wants_usage = False

    async def answer(self) -> None:
        asked = await self._asked()
        self._facts.update(model=asked.route.requested, stream=asked.streamed)
        async with (
            Leaving(self._receive, self._scope) as leaving,
            self._gateway.ask(self._pinned(asked.prepared.question), asked.route, caller=self._caller) as exchange,
        ):
            if asked.streamed:
                await self._streamed(asked, exchange, leaving)
                return
            reply, finished = await self._collected(asked, exchange)
        await self._plain(asked, reply, finished, exchange)

    async def _asked(self) -> Asked:
        body = await self._body()
        request = decode(body, ChatRequest)
        route = self._resolved(request.model)
        files = await attached(request, self._gateway, self._caller)
        prepared = self._prepare(request, route, unknown_keys(body, ChatRequest), files)
        self._wants_usage = request.wants_usage
        return Asked(prepared, route, bool(request.stream))

    def _prepare(self, request: ChatRequest, route: Route, unknown: tuple[str, ...], files: Attached) -> Prepared:
        settings = self._gateway.settings
        model = route.targets[0]
        if request.stream and request.wants_usage and model.upstream == "session" and settings.stream_usage == "refuse":
            raise UnsupportedParameter(
                "The session upstream does not count tokens (PPLX_STREAM_USAGE=refuse).",
                param="stream_options.include_usage",
            )
        return prepare(request, route.requested, chat_target(self._gateway, route), unknown, files)

    def _reply(self, told: Told) -> Reply:
        return ChatReply(told)

    def _renderer(self, head: Head, told: Told) -> Renderer:
        return ChatStream(head, told, wants_usage=self._wants_usage)

    def _fresh_id(self) -> str:
        return fresh_id()

    def _headers(self, requested: str, told: Told) -> RawHeaders:
        return told_headers(requested, told)

    async def _collected(self, asked: Asked, exchange: Exchange) -> tuple[Reply, Finished]:
        reply: Reply | None = None
        async for batch in exchange:
            if reply is None or reply.told.upstream != exchange.served_by.upstream:
                reply = self._reply(asked.told(exchange))
            reply.feed(batch)
        if reply is None or reply.finished is None:
            raise no_verdict()
        return reply, reply.finished

    async def _plain(self, asked: Asked, reply: Reply, finished: Finished, exchange: Exchange) -> None:
        model = answered_by(finished, exchange.served_by, self._gateway.catalogue)
        body = reply.body(Head(self._fresh_id(), self._now(), model), finished)
        self._facts.update(upstream=reply.told.upstream, answered_by=model)
        whole = reply.told_so_far._replace(remaining_pro=finished.remaining_pro)
        await replies.send_json(self._send, body, self._headers(asked.route.requested, whole))

    async def _streamed(self, asked: Asked, exchange: Exchange, leaving: Leaving) -> None:
        renderer: Renderer | None = None

        def stream_headers() -> RawHeaders:
            prepared = asked.prepared
            untold = Told("", dropped=prepared.dropped, warnings=prepared.warnings)
            found = renderer.told_so_far if renderer else untold
            return [*STREAM_HEADERS, *self._headers(asked.route.requested, found)]

        async with self._open_stream(stream_headers) as stream:
            async for batch in exchange:
                if renderer is None or renderer.told.upstream != exchange.served_by.upstream:
                    renderer = self._begun(asked, exchange)
                if renderer.finished:
                    continue
                data = renderer.feed(batch)
                if renderer.finished:
                    leaving.settle()
                    await stream.close(data)
                elif data:
                    await stream.write(data)
            if renderer is None or not renderer.finished:
                raise no_verdict()

    def _begun(self, asked: Asked, exchange: Exchange) -> Renderer:
        head = Head(self._fresh_id(), self._now(), exchange.served_by.id)
        known = asked.told(exchange)._replace(remaining_pro=self._remaining(exchange))
        self._facts.update(upstream=known.upstream)
        return self._renderer(head, known)
