"""`/v1/agent/{id}` and what lies below it, whoever has answered. Every caller finds its own runs alone."""

from collections.abc import AsyncIterable
from contextlib import AbstractAsyncContextManager

from starlette.datastructures import QueryParams
from starlette.types import Scope

from pplx_gateway.errors import GatewayError, InvalidRequest, NotFound, UnsupportedParameter
from pplx_gateway.gateway import Gateway
from pplx_gateway.operations import Native, Owned
from pplx_gateway.protocols.kept.things import Things
from pplx_gateway.protocols.openai.call import Call, no_verdict
from pplx_gateway.protocols.openai.paging import event_number_of, flag_of
from pplx_gateway.protocols.openai.responses.background import Background
from pplx_gateway.protocols.operation import Operation, Reply, json, told
from pplx_gateway.protocols.perplexity.agent.answered import answered
from pplx_gateway.protocols.perplexity.agent.frames import error_frame, frames
from pplx_gateway.protocols.perplexity.agent.objects import Cancelling, FileList
from pplx_gateway.protocols.perplexity.agent.running import KIND, finish
from pplx_gateway.protocols.perplexity.agent.session import NO_EVENTS, of_session
from pplx_gateway.store.records import StoredResponse
from pplx_gateway.web.event_stream import STREAM_HEADERS
from pplx_gateway.web.leaving import Leaving

FORMS = ("default", "short")
UPSTREAM = (b"x-pplx-upstream", b"api")


def streamed(scope: Scope) -> bool:
    """Whether a GET asks for events. Raises InvalidRequest."""
    return flag_of(QueryParams(scope["query_string"]).get("stream"), "stream")


class KeptRuns:
    """Work on what was made by the api, and on responses of the session, which are kept here (session.py)."""

    def __init__(self, background: Background) -> None:
        self._background = background

    async def retrieve(self, asked: Operation) -> Reply:
        """The response as it stands. Raises GatewayError, NotFound among them."""
        if "starting_after" in asked.query:
            raise InvalidRequest("'starting_after' needs 'stream=true'.", param="starting_after")
        form = _form(asked.query)
        if of_session(asked.id):
            return json(answered((await _response(asked)).object))
        return _reply(await asked.gateway.operations.agents.run(await _find(asked), form))

    async def cancel(self, asked: Operation) -> Reply:
        """Raises GatewayError: InvalidRequest for a run that is over."""
        if of_session(asked.id):
            await self._background.cancel(await _response(asked))
            return json(Cancelling(response_id=asked.id))
        return _reply(await asked.gateway.operations.agents.cancel_run(await _find(asked)))

    async def files(self, asked: Operation) -> Reply:
        """What the run has shared. Raises GatewayError."""
        if of_session(asked.id):
            await _response(asked)
            return json(FileList())
        return _reply(await asked.gateway.operations.run_files.files_of(await _find(asked)))


async def content(gateway: Gateway, scope: Scope) -> AbstractAsyncContextManager[AsyncIterable[bytes]]:
    """Raises GatewayError."""
    path = scope["path_params"]
    run = await Things(gateway, scope["state"]["caller"]).find(KIND, path["id"])
    return gateway.operations.run_files.content_of(run, path["file_id"])


async def _response(asked: Operation) -> StoredResponse:
    found = await asked.gateway.responses.find(asked.caller, asked.id)
    if found is None:
        raise NotFound("There is no run with this id.")
    return found


class FollowCall(Call):
    """`GET /v1/agent/{id}?stream=true`: the run's events as they came, and on as they come."""

    _last = -1

    async def answer(self) -> None:
        self._body_left = False
        query = QueryParams(self._scope["query_string"])
        _form(query)
        self._last = event_number_of(query.get("starting_after"))
        run_id = self._scope["path_params"]["id"]
        if of_session(run_id) and await self._gateway.responses.find(self._caller, run_id):
            raise UnsupportedParameter(NO_EVENTS, param="stream")
        owned = await Things(self._gateway, self._caller).find(KIND, run_id)
        await self._follow(owned)

    async def _follow(self, owned: Owned) -> None:
        agents = self._gateway.operations.agents
        async with (
            Leaving(self._receive) as leaving,
            agents.follow_run(owned, None if self._last < 0 else self._last) as run,
            self._open_stream(lambda: [*STREAM_HEADERS, UPSTREAM]) as stream,
        ):
            async for events in run:
                numbers = [event.number for event in events if event.number is not None]
                self._last = numbers[-1] if numbers else self._last
                if run.end is None:
                    await stream.write(frames(events))
                    continue
                leaving.settle()
                await finish(run.end, events, stream)
            if run.end is None:
                raise no_verdict()
            if not stream.ended:
                leaving.settle()
                await finish(run.end, [], stream)

    def _last_words(self, error: GatewayError) -> bytes:
        return error_frame(self._last, error)


async def _find(asked: Operation) -> Owned:
    return await Things(asked.gateway, asked.caller).find(KIND, asked.id)


def _form(query: QueryParams) -> str | None:
    form = query.get("format")
    if form not in (None, *FORMS):
        raise InvalidRequest(f"'format' must be one of: {', '.join(FORMS)}.", param="format")
    return form


def _reply(native: Native) -> Reply:
    return Reply(native.body, told(native.receipt))
