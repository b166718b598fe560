"""Questions of MCP's callers as responses in the background: begun, followed for a while, collected, cancelled."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import NamedTuple

from pplx_gateway.caller_keys import CallerKey
from pplx_gateway.decode import decode
from pplx_gateway.errors import GatewayError, StoreUnavailable, UpstreamTimeout
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.mcp.asking import renamed, request_body, reworded, route_of
from pplx_gateway.protocols.mcp.stages import Stages
from pplx_gateway.protocols.mcp.tools import WAIT_SECONDS
from pplx_gateway.protocols.openai.call import no_verdict
from pplx_gateway.protocols.openai.responses.asking import prepared
from pplx_gateway.protocols.openai.responses.background import Background, not_found
from pplx_gateway.protocols.openai.responses.beginning import beginning
from pplx_gateway.protocols.openai.responses.plan import plan_of
from pplx_gateway.protocols.openai.responses.question import Prepared
from pplx_gateway.protocols.openai.responses.rendering import Rendering
from pplx_gateway.protocols.openai.responses.request import ResponsesRequest
from pplx_gateway.routing import Route
from pplx_gateway.store.records import StoredResponse

SILENCE_SECONDS = 10.0
"""Longest time without news for a caller who asked for some."""

Report = Callable[[float, str], Awaitable[None]]
"""Is given seconds, which grow, and a line of progress."""


async def nobody(_seconds: float, _line: str) -> None:
    """For a caller who asked for no progress."""


class Asker(NamedTuple):
    """Who calls a tool: the caller's id, its key if it has one of its own, and where progress goes."""

    caller: str
    key: CallerKey | None = None
    report: Report = nobody


class State(NamedTuple):
    """A response as it was last seen. `progress` says how far it is, while it is under way."""

    id: str
    active: bool
    object: bytes
    progress: str = ""


class LeftUnderWay(Exception):
    """`error` kept its caller from the end of a response that was begun, and goes on."""

    def __init__(self, response_id: str, error: GatewayError) -> None:
        super().__init__(response_id)
        self.response_id = response_id
        self.error = error


class Runs:
    def __init__(self, gateway: Gateway, background: Background) -> None:
        self._gateway = gateway
        self._background = background
        self._beginning: set[asyncio.Task[StoredResponse]] = set()

    async def ask(self, tool: str, arguments: Mapping[str, object], asker: Asker, *, wait: bool = True) -> State:
        """The answer, or how far it is once the caller cannot wait any longer. Raises GatewayError if nothing was
        begun, LeftUnderWay if something was."""
        began = self._gateway.clock.monotonic()
        try:
            route = route_of(tool, arguments, self._gateway)
            found = await self._prepared(tool, arguments, route, asker)
        except GatewayError as error:
            raise renamed(error, tool) from None
        if not found.store:
            return await self._at_once(found, route, asker)
        stored = await self._begin(found, route, asker)
        try:
            if wait:  # the id comes before anything else can happen, also to who then leaves
                await asker.report(self._gateway.clock.monotonic() - began, f"{stored.id}: {Stages().line(0)}")
            return await self.follow(stored, WAIT_SECONDS if wait else 0, asker.report, began=began)
        except GatewayError as error:
            raise LeftUnderWay(stored.id, error) from None

    async def find(self, response_id: str, caller: str) -> StoredResponse:
        """Raises NotFound, StoreUnavailable."""
        found = await self._gateway.responses.find(caller, response_id)
        if found is None:
            raise not_found(response_id)
        return found

    async def follow(
        self, stored: StoredResponse, seconds: float, report: Report, *, began: float | None = None
    ) -> State:
        """Waits for its end, at most until `seconds` after `began`. Leaving ends nothing. Raises NotFound,
        StoreUnavailable."""
        clock, watch, stages = self._gateway.clock, self._background.watch, Stages()
        start = clock.monotonic() if began is None else began
        told = start
        while not watch.closed:
            now = await self._gateway.responses.read(stored.number)
            if now is None:
                raise not_found(stored.id)
            if not now.active:
                return State(now.id, False, now.object)
            changed = stages.count(await self._gateway.responses.events(stored.number, stages.last))
            moment = clock.monotonic()
            left = seconds - (moment - start)
            if left <= 0:
                return State(now.id, True, now.object, stages.line(moment - start))
            if changed or moment - told >= SILENCE_SECONDS:
                told = moment
                await report(moment - start, f"{stored.id}: {stages.line(moment - start)}")
            with suppress(TimeoutError):
                async with clock.deadline(left):
                    await watch.news(stored.number)
        raise StoreUnavailable("The gateway is stopping. What was asked goes on where its upstream can.")

    async def cancel(self, stored: StoredResponse) -> State:
        """Raises UnsupportedOperation, InvalidRequest if it has ended otherwise, NotFound."""
        return State(stored.id, False, await self._background.cancel(stored))

    async def _prepared(self, tool: str, arguments: Mapping[str, object], route: Route, asker: Asker) -> Prepared:
        body = request_body(tool, arguments, route, background=self._gateway.keeps_responses)
        found = await prepared(decode(body, ResponsesRequest), body, route, self._gateway, asker.caller)
        if found.background:
            await self._gateway.check(found.question, route, caller=asker.caller)
        return found._replace(warnings=tuple(reworded(sentence, tool) for sentence in found.warnings))

    async def _begin(self, found: Prepared, route: Route, asker: Asker) -> StoredResponse:
        """Goes on if its caller leaves: what is kept but never asked would wait until it is given up as lost."""
        beginning = asyncio.create_task(self._kept(found, route, asker))
        self._beginning.add(beginning)
        beginning.add_done_callback(self._beginning.discard)
        return await asyncio.shield(beginning)

    async def _kept(self, found: Prepared, route: Route, asker: Asker) -> StoredResponse:
        """Kept first and asked then, so that whatever is paid for can be found."""
        rendering = self._rendering(found, route, asker)
        plan = rendering.plan
        new = beginning(rendering, found.input_items, background=True)
        hold = await self._gateway.responses.add(new)
        if hold is None:
            raise StoreUnavailable("The response could not be kept, so it was not begun.")
        self._background.start(hold, rendering, self._gateway.ask(plan.question, route, caller=asker.caller))
        return StoredResponse(hold.number, plan.response_id, "queued", True, new.object)

    async def _at_once(self, found: Prepared, route: Route, asker: Asker) -> State:
        """Where nothing may be kept: the answer in time, or none."""
        rendering = self._rendering(found, route, asker)
        exchange = self._gateway.ask(rendering.plan.question, route, caller=asker.caller)
        try:
            async with self._gateway.clock.deadline(WAIT_SECONDS), exchange:
                async for batch in exchange:
                    rendering.feed(batch, exchange)
        except TimeoutError:
            raise UpstreamTimeout(
                f"There was no answer within {WAIT_SECONDS} seconds, and this gateway keeps nothing that could be "
                "collected later (PPLX_STORE_DAYS=0)."
            ) from None
        if not rendering.finished:
            raise no_verdict()
        return State("", False, rendering.object())

    def _rendering(self, found: Prepared, route: Route, asker: Asker) -> Rendering:
        created_at = int(self._gateway.clock.now())
        plan = plan_of(found, caller=asker.caller, requested=route.requested, created_at=created_at)
        return Rendering(plan, self._gateway)
