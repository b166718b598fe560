"""`POST /v1/chat/completions`, plain and streamed: the hot route, as a plain ASGI callable.

Authentication, limits that headers tell, and request ids are the web layer's. This is the protocol's outermost border:
an error becomes an HTTP answer while nothing was sent, and the stream's last frame afterwards.
"""

import contextlib
import logging
from typing import NamedTuple

from starlette.types import Receive, Scope, Send

from pplx_gateway.answer import Finished
from pplx_gateway.decode import decode, unknown_keys
from pplx_gateway.errors import GatewayError, InternalError, UnsupportedParameter, UpstreamTruncated
from pplx_gateway.gateway import Exchange, Gateway
from pplx_gateway.protocols.openai import errors
from pplx_gateway.protocols.openai.attached import attached
from pplx_gateway.protocols.openai.attachments import Attached
from pplx_gateway.protocols.openai.chat_reply import ChatReply
from pplx_gateway.protocols.openai.chat_request import ChatRequest
from pplx_gateway.protocols.openai.chat_stream import ChatStream
from pplx_gateway.protocols.openai.question import Prepared, Target, prepare
from pplx_gateway.protocols.openai.reply import Head, Told, answered_by, fresh_id
from pplx_gateway.routing import Route
from pplx_gateway.web import defects, headers, replies
from pplx_gateway.web.body import read_body
from pplx_gateway.web.event_stream import STREAM_HEADERS, EventStream
from pplx_gateway.web.headers import RawHeaders
from pplx_gateway.web.leaving import CallerLeft, Leaving

logger = logging.getLogger("pplx_gateway")


class Chat:
    """One instance serves every request."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        call = _Call(self._gateway, scope, receive, send)
        try:
            await call.answer()
        except CallerLeft:
            scope["state"]["facts"]["left"] = True
            return
        except GatewayError as error:
            failure = error
        except Exception as error:  # noqa: BLE001 - the border
            logger.log(logging.ERROR, "defect", extra={"where": defects.trace(error)})
            failure = InternalError("The gateway failed on this request. Its log tells more under the request's id.")
        else:
            return
        with contextlib.suppress(CallerLeft):
            await call.fail(failure)


class _Asked(NamedTuple):
    """All of a request that its answer still needs. The body and its decoded form are gone by then."""

    prepared: Prepared
    route: Route
    streamed: bool
    wants_usage: bool


class _Call:
    """One request: from its bytes to the last byte of its answer."""

    def __init__(self, gateway: Gateway, scope: Scope, receive: Receive, send: Send) -> None:
        self._gateway = gateway
        self._caller: str = scope["state"]["caller"]
        self._facts: dict[str, object] = scope["state"]["facts"]
        self._receive = receive
        self._send = send
        self._stream: EventStream | None = None
        self._body_left = True

    async def answer(self) -> None:
        asked = await self._asked()
        self._facts.update(model=asked.route.requested, stream=asked.streamed)
        async with (
            Leaving(self._receive) as leaving,
            self._gateway.ask(asked.prepared.question, asked.route, caller=self._caller) as exchange,
        ):
            if asked.streamed:
                await self._streamed(asked, exchange, leaving)
                return
            reply, finished = await self._collected(asked, exchange)
        await self._plain(asked, reply, finished, exchange)

    async def _asked(self) -> _Asked:
        settings = self._gateway.settings
        body = await read_body(
            self._receive,
            self._gateway.clock,
            limit=settings.max_body_bytes,
            wait_seconds=settings.body_timeout_seconds,
        )
        self._body_left = False
        request = decode(body, ChatRequest)
        route = self._gateway.resolve(request.model)
        files = await attached(request, self._gateway, self._caller)
        prepared = self._prepare(request, route, unknown_keys(body, ChatRequest), files)
        return _Asked(prepared, route, bool(request.stream), request.wants_usage)

    async def fail(self, error: GatewayError) -> None:
        self._facts["error"] = error.code
        if self._stream and self._stream.ended:
            logger.warning("failed after the answer", extra={"code": error.code})
        elif self._stream and self._stream.started:
            await self._stream.close(errors.frame(error))
        elif self._body_left:
            await replies.send_error_and_close(self._receive, self._send, error)
        else:
            await replies.send_error(self._send, error)

    def _prepare(self, request: ChatRequest, route: Route, unknown: tuple[str, ...], files: Attached) -> Prepared:
        settings = self._gateway.settings
        model = route.targets[0]
        if request.stream and request.wants_usage and model.upstream == "session" and settings.stream_usage == "refuse":
            raise UnsupportedParameter(
                "The session upstream does not count tokens (PPLX_STREAM_USAGE=refuse).",
                param="stream_options.include_usage",
            )
        target = Target(model.upstream, self._gateway.support(route), settings.unsupported)
        return prepare(request, route.requested, target, unknown, files)

    async def _collected(self, asked: _Asked, exchange: Exchange) -> tuple[ChatReply, Finished]:
        reply: ChatReply | None = None
        async for batch in exchange:
            if reply is None or reply.told.upstream != exchange.served_by.upstream:
                reply = ChatReply(_told(asked.prepared, exchange))
            reply.feed(batch)
        if reply is None or reply.finished is None:
            raise _no_verdict()
        return reply, reply.finished

    async def _plain(self, asked: _Asked, reply: ChatReply, finished: Finished, exchange: Exchange) -> None:
        model = answered_by(finished, exchange.served_by, self._gateway.catalogue)
        body = reply.body(Head(fresh_id(), self._created(), model), finished)
        self._facts.update(upstream=reply.told.upstream, answered_by=model)
        told = reply.told_so_far._replace(remaining_pro=finished.remaining_pro)
        await replies.send_json(self._send, body, _headers(asked.route, told))

    async def _streamed(self, asked: _Asked, exchange: Exchange, leaving: Leaving) -> None:
        renderer: ChatStream | None = None

        def stream_headers() -> RawHeaders:
            prepared = asked.prepared
            untold = Told("", dropped=prepared.dropped, warnings=prepared.warnings)
            return [*STREAM_HEADERS, *_headers(asked.route, renderer.told_so_far if renderer else untold)]

        self._stream = EventStream(
            self._send,
            self._gateway.clock,
            silence_seconds=self._gateway.settings.keep_alive_seconds,
            headers=stream_headers,
        )
        async with self._stream as stream:
            async for batch in exchange:
                if renderer is None or renderer.told.upstream != exchange.served_by.upstream:
                    renderer = self._renderer(asked, exchange)
                if renderer.finished:
                    continue
                data = renderer.feed(batch)
                if renderer.finished:
                    leaving.settle()
                    await stream.close(data)
                elif data:
                    await stream.write(data)
            if renderer is None or not renderer.finished:
                raise _no_verdict()

    def _renderer(self, asked: _Asked, exchange: Exchange) -> ChatStream:
        head = Head(fresh_id(), self._created(), exchange.served_by.id)
        told = _told(asked.prepared, exchange)._replace(remaining_pro=self._remaining(exchange))
        self._facts.update(upstream=told.upstream)
        return ChatStream(head, told, wants_usage=asked.wants_usage)

    def _remaining(self, exchange: Exchange) -> int | None:
        """As last heard: a stream's headers leave before the answer is counted."""
        quota = self._gateway.quota
        return quota.reading().remaining_pro if quota and exchange.served_by.upstream == "session" else None

    def _created(self) -> int:
        return int(self._gateway.clock.now())


def _told(prepared: Prepared, exchange: Exchange) -> Told:
    return Told(
        upstream=exchange.served_by.upstream,
        show_steps=prepared.question.thinking or exchange.served_by.reasons,
        dropped=prepared.dropped,
        warnings=prepared.warnings,
        failover=exchange.failover,
    )


def _headers(route: Route, told: Told) -> RawHeaders:
    """What every answer tells about itself. `told.upstream` is "" while it is not known."""
    found = [(b"x-pplx-requested-model", headers.safe(route.requested, 256))]
    if told.upstream:
        found.append((b"x-pplx-upstream", told.upstream.encode()))
    if told.failover:
        found.append((b"x-pplx-failover", headers.safe(told.failover)))
    if told.dropped:
        found.append((b"x-pplx-dropped", headers.names(told.dropped)))
    if told.remaining_pro is not None:
        found.append((b"x-pplx-remaining-pro", b"%d" % told.remaining_pro))
    if told.warnings:
        found.append((b"x-pplx-warnings", headers.sentences(told.warnings)))
    return found


def _no_verdict() -> UpstreamTruncated:
    return UpstreamTruncated("The upstream's answer ended before it was whole.")
