"""One request for an answer, from its bytes to the last byte of its reply; chat completions and Responses alike.

Authentication, limits that headers tell, and request ids are the web layer's. This is the protocol's outermost border:
an error becomes an HTTP answer while nothing was sent, and the stream's last frame afterwards.
"""

import contextlib
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable

from starlette.types import Receive, Scope, Send

from pplx_gateway.capabilities import Feature, Support
from pplx_gateway.errors import GatewayError, InternalError, UpstreamTruncated
from pplx_gateway.exchange import Exchange
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.openai import errors, pinning
from pplx_gateway.protocols.openai.reply import Told
from pplx_gateway.protocols.openai.settling import Target
from pplx_gateway.question import TURNS, Question
from pplx_gateway.routing import Route
from pplx_gateway.sse import KEEP_ALIVE
from pplx_gateway.web import defects, headers, replies
from pplx_gateway.web.body import read_body
from pplx_gateway.web.event_stream import EventStream
from pplx_gateway.web.headers import RawHeaders
from pplx_gateway.web.leaving import CallerLeft

logger = logging.getLogger("pplx_gateway")


class Call(ABC):
    """`answer` does the work; `fail` tells the caller of whatever it raised."""

    conversation_field = "messages"

    def __init__(self, gateway: Gateway, scope: Scope, receive: Receive, send: Send) -> None:
        self._gateway = gateway
        self._caller: str = scope["state"]["caller"]
        self._facts: dict[str, object] = scope["state"]["facts"]
        self._scope = scope
        self._receive = receive
        self._send = send
        self._stream: EventStream | None = None
        self._body_left = True

    @abstractmethod
    async def answer(self) -> None: ...

    async def fail(self, error: GatewayError) -> None:
        self._facts["error"] = error.code
        error.param = self.conversation_field if error.param == TURNS else error.param
        if self._stream and self._stream.ended:
            logger.warning("failed after the answer", extra={"code": error.code})
        elif self._stream and self._stream.started:
            await self._stream.close(self._last_words(error))
        elif self._body_left:
            await replies.send_error_and_close(self._receive, self._send, error)
        else:
            await replies.send_error(self._send, error)

    def _last_words(self, error: GatewayError) -> bytes:
        """What ends a stream that cannot go on."""
        return errors.frame(error)

    async def _body(self) -> bytes:
        settings = self._gateway.settings
        body = await read_body(
            self._receive,
            self._gateway.clock,
            limit=settings.max_body_bytes,
            wait_seconds=settings.body_timeout_seconds,
            scope=self._scope,
        )
        self._body_left = False
        return body

    def _resolved(self, model_id: str | None) -> Route:
        """Where the model leads; to the api alone where one of its keys is asked for by name."""
        return pinning.keyed(self._gateway.resolve(model_id), pinning.key_name(self._scope))

    def _pinned(self, question: Question) -> Question:
        return pinning.pinned(question, pinning.key_name(self._scope))

    def _open_stream(self, told: Callable[[], RawHeaders]) -> EventStream:
        self._stream = EventStream(
            self._send,
            self._gateway.clock,
            silence_seconds=self._gateway.settings.keep_alive_seconds,
            headers=told,
            comment=self._keep_alive,
        )
        return self._stream

    def _keep_alive(self) -> bytes:
        """What breaks the silence of a stream."""
        return KEEP_ALIVE

    def _remaining(self, exchange: Exchange) -> int | None:
        """As last heard: a stream's headers leave before the answer is counted."""
        quota = self._gateway.quota
        return quota.reading().remaining_pro if quota and exchange.served_by.upstream == "session" else None

    def _now(self) -> int:
        return int(self._gateway.clock.now())


class Border:
    """A plain ASGI callable: one instance serves every request, by a Call for each."""

    def __init__(self, gateway: Gateway, call: Callable[[Gateway, Scope, Receive, Send], Call]) -> None:
        self._gateway = gateway
        self._call = call

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        call = self._call(self._gateway, scope, receive, send)
        try:
            await call.answer()
        except CallerLeft:
            scope["state"]["facts"]["left"] = True
            return
        except GatewayError as error:
            failure = error
        except Exception as error:  # noqa: BLE001 - the border
            failure = defect(error)
        else:
            return
        with contextlib.suppress(CallerLeft):
            await call.fail(failure)


def defect(error: Exception) -> InternalError:
    """Logs where it happened, and gives what a caller may know of it."""
    logger.log(logging.ERROR, "defect", extra={"where": defects.trace(error)})
    return InternalError("The gateway failed on this request. Its log tells more under the request's id.")


def chat_target(gateway: Gateway, route: Route) -> Target:
    """What a chat must know of whoever answers first."""
    support = gateway.support(route)
    if gateway.settings.chat_tools == "refuse" and support.get(Feature.FUNCTIONS) is Support.EMULATED:
        support = {**support, Feature.FUNCTIONS: Support.REFUSED}
    return Target(route.targets[0].upstream, support, gateway.unsupported)


def told(question: Question, dropped: tuple[str, ...], warnings: tuple[str, ...], exchange: Exchange) -> Told:
    """What is known before the first batch is rendered."""
    return Told(
        upstream=exchange.served_by.upstream,
        show_steps=question.thinking or exchange.served_by.reasons,
        dropped=dropped,
        warnings=warnings,
        failover=exchange.failover,
        rating=exchange.rating,
    )


def told_headers(requested: str, told: Told) -> RawHeaders:
    """What every answer tells about itself. `told.upstream` is "" while it is not known."""
    found = [(b"x-pplx-requested-model", headers.safe(requested, 256))]
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


def no_verdict() -> UpstreamTruncated:
    return UpstreamTruncated("The upstream's answer ended before it was whole.")
