"""`POST /v1/agent`. On the api its events pass through as they come: whole, streamed, or in the background."""

from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import NamedTuple

import msgspec
from starlette.types import Receive, Scope, Send

from pplx_gateway.errors import GatewayError, StoreUnavailable
from pplx_gateway.gateway import Gateway
from pplx_gateway.operations import AgentRun, Agents, RunEnd, RunEvent, RunOrder
from pplx_gateway.protocols.kept.things import Things
from pplx_gateway.protocols.openai import pinning
from pplx_gateway.protocols.openai.call import Border, Call, no_verdict, told_headers
from pplx_gateway.protocols.openai.encoding import encode
from pplx_gateway.protocols.openai.reply import Told
from pplx_gateway.protocols.openai.responses.background import Background
from pplx_gateway.protocols.perplexity.agent.bound import Bonds
from pplx_gateway.protocols.perplexity.agent.frames import error_frame, frames
from pplx_gateway.protocols.perplexity.agent.reading import Read, read
from pplx_gateway.protocols.perplexity.agent.routed import routed
from pplx_gateway.protocols.perplexity.agent.running import KIND, UNBILLED, Bill, bind, finish, response_of
from pplx_gateway.protocols.perplexity.agent.session_call import SessionCall
from pplx_gateway.protocols.perplexity.agent.target import Target, target
from pplx_gateway.protocols.perplexity.agent.watching import RunWatch
from pplx_gateway.protocols.perplexity.sonar.models import SonarModels
from pplx_gateway.routing import Route
from pplx_gateway.store.ownership import Thing
from pplx_gateway.web import replies
from pplx_gateway.web.event_stream import STREAM_HEADERS, EventStream
from pplx_gateway.web.headers import RawHeaders
from pplx_gateway.web.leaving import Leaving

_USAGE = "stream_options.include_usage"


class Means(NamedTuple):
    """What all requests share."""

    watch: RunWatch
    models: SonarModels
    background: Background


class CreateRun(Border):
    def __init__(self, gateway: Gateway, means: Means) -> None:
        super().__init__(gateway, partial(_CreateCall, means))


class _Asked(NamedTuple):
    """What the answer still needs of the request. Its body and its decoded form are gone by then."""

    run: AgentRun | None  # None = it is queued, and nobody waits for it
    order: RunOrder | None
    route: Route
    background: bool
    streamed: bool
    headers: RawHeaders


class _CreateCall(Call):
    def __init__(self, means: Means, gateway: Gateway, scope: Scope, receive: Receive, send: Send) -> None:
        super().__init__(gateway, scope, receive, send)
        self._watch = means.watch
        self._models = means.models
        self._background = means.background
        self._session: SessionCall | None = None
        self._last = -1  # the number of the last event that the caller has
        self._noted = False
        self._thing: Thing | None = None

    async def answer(self) -> None:
        asked = await self._asked()
        if asked is None:
            if self._session is not None:
                await self._session.answer()
            return
        with Bill.begun(self._gateway, self._caller, asked.route) as bill:
            if asked.run is not None and asked.streamed:
                await self._streamed(asked.run, asked, bill)
                return
            body = await self._plain(asked, bill)
        await replies.send_json(self._send, body, asked.headers)

    async def fail(self, error: GatewayError) -> None:
        await (self._session.fail(error) if self._session else super().fail(error))

    def _last_words(self, error: GatewayError) -> bytes:
        return error_frame(self._last, error)

    # before the answer

    async def _asked(self) -> _Asked | None:
        """None if the session answers."""
        found = read(await self._body(), self._gateway.clock.now())
        bonds = Bonds(self._gateway, self._caller, pinning.key_name(self._scope))
        found, chosen = await routed(found, bonds, self._models)
        wanted = target(found.request, self._models, chosen)
        if wanted.upstream == "session":
            self._session = SessionCall(self._background, self._gateway, self._scope, self._receive, self._send)
            self._session.reads(found, wanted)
            return None
        request, route = wanted.request, wanted.routes[0]
        background, streamed = bool(request.background), bool(request.stream)
        self._facts.update(model=route.requested, stream=streamed, upstream="api")
        order = await self._order(found, wanted, bonds)
        waits = streamed or not background
        return _Asked(
            run=self._agents.start_run(order) if waits else None,
            order=None if waits else order,
            route=route,
            background=background,
            streamed=streamed,
            headers=told_headers(route.requested, _told(found, wanted)),
        )

    async def _order(self, found: Read, wanted: Target, bonds: Bonds) -> RunOrder:
        request = wanted.request
        waits = bool(request.stream) or not request.background
        # What a run has cost is told only with its usage, so nobody may leave that out.
        sent = msgspec.structs.replace(request, input=found.items, stream=waits, stream_options=None)
        return RunOrder(
            body=encode(sent),
            names=wanted.names[0],
            others=wanted.names[1:],
            key_name=await bonds.key_name(request.previous_response_id),
            background=bool(request.background),
            patient=wanted.patient,
        )

    @property
    def _agents(self) -> Agents:
        return self._gateway.operations.agents

    # the answer

    async def _plain(self, asked: _Asked, bill: Bill) -> bytes:
        if asked.run is not None:
            return await self._whole(asked.run, asked, bill)
        if asked.order is None:
            raise RuntimeError("there is nothing to ask")
        return await self._queued(asked.order, bill)

    async def _queued(self, order: RunOrder, bill: Bill) -> bytes:
        """Whoever leaves now has ordered it all the same."""
        native = await self._agents.queue_run(order)
        bill.made_with(native.receipt.key_name)
        await Things(self._gateway, self._caller).made(KIND, native, self._agents.cancel_run, UNBILLED)
        thing = Thing(KIND, native.id, native.id, native.receipt.key_name, self._caller, UNBILLED)
        self._watch.follow(thing, bill.hand_over())
        return native.body

    async def _whole(self, run: AgentRun, asked: _Asked, bill: Bill) -> bytes:
        async with Leaving(self._receive) as leaving, run:
            async for events in run:
                await self._note(run, events, asked, bill)
            if run.end is None:
                raise no_verdict()
            leaving.settle()
            bill.ended(run.end)
            return response_of(run.end)

    async def _streamed(self, run: AgentRun, asked: _Asked, bill: Bill) -> None:
        try:
            async with run:
                await self._tell(run, asked, bill)
        finally:
            thing = self._thing
            if run.end is None and thing is not None and thing.purpose == UNBILLED:
                self._watch.follow(thing, bill.hand_over())  # it goes on, and somebody must hear what it costs

    async def _tell(self, run: AgentRun, asked: _Asked, bill: Bill) -> None:
        async with AsyncExitStack() as stack:
            leaving = Leaving(self._receive)
            stream = self._open_stream(lambda: [*STREAM_HEADERS, *asked.headers])
            if not asked.background:
                await stack.enter_async_context(leaving)
                await stack.enter_async_context(stream)
            async for events in run:
                first = not self._noted
                await self._note(run, events, asked, bill)
                if asked.background and first and self._noted:
                    # Whoever leaves before has ordered it all the same, and its id must be known.
                    await stack.enter_async_context(leaving)
                    await stack.enter_async_context(stream)
                if run.end is None:
                    await stream.write(frames(events))
                    continue
                leaving.settle()
                await self._finish(run, events, bill, stream)
            if not stream.ended:
                leaving.settle()
                await self._finish(run, [], bill, stream)

    async def _finish(self, run: AgentRun, events: list[RunEvent], bill: Bill, stream: EventStream) -> None:
        if run.end is None:
            raise no_verdict()
        await self._ended(run.end, bill)
        await finish(run.end, events, stream)

    async def _note(self, run: AgentRun, events: list[RunEvent], asked: _Asked, bill: Bill) -> None:
        """Raises StoreUnavailable for a run in the background that nobody would find again."""
        if run.owned is not None and not self._noted:
            self._noted = True
            bill.made_with(run.owned.key_name)
            self._thing = await bind(self._gateway, self._caller, run.owned, unbilled=asked.background)
            if self._thing is None and asked.background:
                with suppress(GatewayError):
                    await self._agents.cancel_run(run.owned)
                raise StoreUnavailable("What runs in the background could not be kept, so it was cancelled.")
        bill.heard(events)
        numbers = [event.number for event in events if event.number is not None]
        self._last = numbers[-1] if numbers else self._last

    async def _ended(self, end: RunEnd, bill: Bill) -> None:
        if self._thing is None or self._thing.purpose != UNBILLED:
            bill.ended(end)
            return
        with suppress(StoreUnavailable):  # it stays unbilled, and is taken up later
            await self._watch.settle(self._thing, bill, end)


def _told(found: Read, wanted: Target) -> Told:
    options = wanted.request.stream_options
    dropped = (_USAGE,) if options is not None and options.include_usage is False else ()
    return Told("api", dropped=(*found.dropped, *dropped), warnings=(*found.warnings, *wanted.warnings))
