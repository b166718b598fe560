"""`POST /v1/responses`: whole, streamed, or in the background; and once for each Idempotency-Key."""

import hashlib
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from typing import NamedTuple

from starlette.types import Receive, Scope, Send

from pplx_gateway.decode import decode
from pplx_gateway.errors import GatewayError, InvalidRequest, NotFound
from pplx_gateway.exchange import Exchange
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.openai.call import Border, no_verdict, told_headers
from pplx_gateway.protocols.openai.responses.asking import prepared
from pplx_gateway.protocols.openai.responses.background import Background
from pplx_gateway.protocols.openai.responses.beginning import beginning
from pplx_gateway.protocols.openai.responses.following import FollowingCall
from pplx_gateway.protocols.openai.responses.foreground import Foreground
from pplx_gateway.protocols.openai.responses.keeping import Keeping, Lost
from pplx_gateway.protocols.openai.responses.plan import plan_of
from pplx_gateway.protocols.openai.responses.question import Prepared
from pplx_gateway.protocols.openai.responses.rendering import SUCCEEDED, Rendering
from pplx_gateway.protocols.openai.responses.repeated import told_of
from pplx_gateway.protocols.openai.responses.request import ResponsesRequest
from pplx_gateway.routing import Route
from pplx_gateway.store.records import Claim, Hold, StoredResponse
from pplx_gateway.web import headers, replies
from pplx_gateway.web.event_stream import STREAM_HEADERS
from pplx_gateway.web.headers import RawHeaders
from pplx_gateway.web.leaving import CallerLeft, Leaving

KEY_HEADER = "Idempotency-Key"
LONGEST_KEY = 255
_KEY_WITHOUT_STORE = f"'{KEY_HEADER}' has no effect, because nothing of this response is kept."


class KeyReused(InvalidRequest):
    """An Idempotency-Key that came with another request before."""

    code = "idempotency_key_reused"


class CreateResponse(Border):
    def __init__(self, gateway: Gateway, background: Background) -> None:
        super().__init__(gateway, partial(_CreateCall, background))


class _Asked(NamedTuple):
    """What the answer still needs of the request. Its body and its decoded form are gone by then."""

    rendering: Rendering
    shown: bytes  # the response before anything has happened
    route: Route
    stream: bool
    hold: Hold | None
    keyed: bool


class _CreateCall(FollowingCall):
    conversation_field = "input"

    def __init__(self, background: Background, gateway: Gateway, scope: Scope, receive: Receive, send: Send) -> None:
        super().__init__(background, gateway, scope, receive, send)
        self._keys = headers.every(scope, KEY_HEADER.lower().encode())
        self._foreground: Foreground | None = None

    async def answer(self) -> None:
        asked = await self._asked()
        if asked is None:
            return
        if asked.hold and asked.rendering.plan.echo.background:
            await self._in_background(asked, asked.hold)
        else:
            await self._in_foreground(asked)

    async def fail(self, error: GatewayError) -> None:
        if self._foreground:
            stream = self._stream
            await self._foreground.fail(error, begun=bool(stream and stream.started and not stream.ended))
        await super().fail(error)

    def _last_words(self, error: GatewayError) -> bytes:
        return self._foreground.last_words(error) if self._foreground else super()._last_words(error)

    # before the answer

    async def _asked(self) -> _Asked | None:
        """None if it was asked before, and has got its answer."""
        body = await self._body()
        request = decode(body, ResponsesRequest)
        claim = self._claim(body)
        if claim and await self._repeat(claim, request):
            return None
        route = self._resolved(request.model)
        found = await prepared(request, body, route, self._gateway, self._caller)
        found = found._replace(question=self._pinned(found.question))
        if found.background:
            await self._gateway.check(found.question, route, caller=self._caller)
        if claim and not found.store:
            claim = None
            dropped, warnings = (*found.dropped, KEY_HEADER), (*found.warnings, _KEY_WITHOUT_STORE)
            found = found._replace(dropped=dropped, warnings=warnings)
        plan = plan_of(found, caller=self._caller, requested=route.requested, created_at=self._now())
        self._facts.update(model=plan.requested, stream=found.stream, response=plan.response_id)
        rendering = Rendering(plan, self._gateway)
        shown, hold = rendering.object(), None
        if found.store:
            hold = await self._hold(found, rendering, claim, request)
            if hold is None:
                return None
        return _Asked(rendering, shown, route, found.stream, hold, claim is not None)

    def _claim(self, body: bytes) -> Claim | None:
        if not self._keys:
            return None
        key = self._keys[0].strip()
        if len(self._keys) > 1 or not key.isascii() or not 1 <= len(key) <= LONGEST_KEY:
            raise InvalidRequest(f"'{KEY_HEADER}' must be one text of 1 to {LONGEST_KEY} ASCII characters.")
        return Claim(key.decode(), hashlib.sha256(body).digest())

    async def _hold(
        self, found: Prepared, rendering: Rendering, claim: Claim | None, request: ResponsesRequest
    ) -> Hold | None:
        """The response's place in the store. None if another request was first with the same key; then the caller has
        got its answer."""
        new = beginning(rendering, found.input_items, background=found.background, claim=claim)
        while (hold := await self._gateway.responses.add(new)) is None:
            if claim and await self._repeat(claim, request):
                return None
        return hold

    async def _repeat(self, claim: Claim, request: ResponsesRequest) -> bool:
        """Answers with the response that an earlier request of the same key has made. False if there is none, or it has
        come to nothing."""
        earlier = (
            await self._gateway.responses.claimed(self._caller, claim.key) if self._gateway.keeps_responses else None
        )
        if earlier is None:
            return False
        found, body = earlier
        if body != claim.body:
            raise KeyReused(f"This '{KEY_HEADER}' came with another request before. Take a new one for a new request.")
        whole = found if found.background else await (self._begun if request.stream else self._settled)(found)
        if whole is None:
            return False
        self._facts.update(response=found.id, repeat=True)
        told = told_headers(self._requested(request.model), told_of(whole.object))
        if request.stream:
            await self._follow(found, -1, told)
        else:
            await replies.send_json(self._send, whole.object, told)
        return True

    def _requested(self, model: str | None) -> str:
        """The model's name as it was asked for then."""
        if model is None:
            with suppress(GatewayError):
                return self._gateway.resolve(None).requested
        return model or self._gateway.settings.default_model

    async def _begun(self, found: StoredResponse) -> StoredResponse | None:
        """The response once it has told something; None if it never did, or failed before it was asked for again."""
        responses = self._gateway.responses
        now: StoredResponse | None = found
        async with Leaving(self._receive):
            while now is not None and now.active and await responses.last_event(found.number) < 0:
                await self._background.watch.news(found.number)
                now = await responses.read(found.number)
        return now if now is not None and (now.active or now.status in SUCCEEDED) else None

    async def _settled(self, found: StoredResponse) -> StoredResponse | None:
        """The response once it is whole; None if it never was."""
        now: StoredResponse | None = found
        async with Leaving(self._receive):
            while now is not None and now.active:
                await self._background.watch.news(found.number)
                now = await self._gateway.responses.read(found.number)
        return now if now is not None and now.status in SUCCEEDED else None

    # the answer

    async def _in_background(self, asked: _Asked, hold: Hold) -> None:
        rendering = asked.rendering
        plan = rendering.plan
        self._background.start(hold, rendering, self._gateway.ask(plan.question, asked.route, caller=self._caller))
        told = told_headers(plan.requested, rendering.told)
        if asked.stream:
            await self._follow(StoredResponse(hold.number, plan.response_id, "queued", True, b""), -1, told)
        else:
            await replies.send_json(self._send, asked.shown, told)

    async def _in_foreground(self, asked: _Asked) -> None:
        rendering = asked.rendering
        foreground = self._foreground = Foreground(self._gateway, rendering, self._keeping(asked), keyed=asked.keyed)
        try:
            async with Leaving(self._receive) as leaving:
                with self._watched(asked, leaving):
                    exchange = self._gateway.ask(rendering.plan.question, asked.route, caller=self._caller)
                    async with exchange:
                        await (self._stream_out if asked.stream else self._collect)(foreground, exchange, leaving)
        except CallerLeft:
            await foreground.cancel()
            raise
        except Lost:
            foreground.lost()
            raise NotFound(f"The response '{rendering.plan.response_id}' was deleted while it ran.") from None
        if not asked.stream:
            await replies.send_json(
                self._send, rendering.object(), told_headers(rendering.plan.requested, rendering.told)
            )

    async def _collect(self, foreground: Foreground, exchange: Exchange, leaving: Leaving) -> None:
        rendering = foreground.rendering
        async for batch in exchange:
            rendering.feed(batch, exchange)
        if not rendering.finished:
            raise no_verdict()
        leaving.settle()
        await foreground.end()
        self._facts.update(upstream=rendering.told.upstream)

    async def _stream_out(self, foreground: Foreground, exchange: Exchange, leaving: Leaving) -> None:
        rendering = foreground.rendering

        def told() -> RawHeaders:
            known = rendering.told._replace(remaining_pro=self._remaining(exchange))
            self._facts.update(upstream=known.upstream)
            return [*STREAM_HEADERS, *told_headers(rendering.plan.requested, known)]

        async with self._open_stream(told) as stream:
            async for batch in exchange:
                if rendering.finished or not foreground.feed(batch, exchange):
                    continue
                if rendering.finished:
                    leaving.settle()
                    await foreground.end()
                    await stream.close(foreground.tell())
                else:
                    await stream.write(foreground.tell())
            if not rendering.finished:
                raise no_verdict()

    def _keeping(self, asked: _Asked) -> Keeping | None:
        if asked.hold is None:
            return None
        number, watch = asked.hold.number, self._background.watch
        return Keeping(self._gateway.responses, asked.hold, lambda: watch.changed(number))

    def _watched(self, asked: _Asked, leaving: Leaving) -> AbstractContextManager[None]:
        return self._background.watch.over(asked.hold, leaving) if asked.hold else nullcontext()
