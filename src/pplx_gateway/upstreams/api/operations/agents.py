"""Runs of the agent as they are told, for callers who speak the API's own dialect (docs/wire-agent.md 2)."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Protocol, Self

from pplx_gateway.errors import GatewayError, InvalidRequest, NotFound, UpstreamTruncated
from pplx_gateway.operations import Native, Owned, RunEnd, RunEvent, RunOrder
from pplx_gateway.upstreams.api.assembly import is_run_id
from pplx_gateway.upstreams.api.open_stream import OpenStream
from pplx_gateway.upstreams.api.operations.calls import Calls, owned_path, query
from pplx_gateway.upstreams.api.pickups import (
    BACKGROUND_PICKUPS,
    FOREGROUND_PICKUPS,
    Brief,
    Lasting,
    Look,
    RunGone,
)
from pplx_gateway.upstreams.api.raw_events import RawReader, is_over
from pplx_gateway.upstreams.api.run import Run
from pplx_gateway.upstreams.api.runner import Runner

PATH = "/v1/agent"

Events = list[RunEvent]


class ApiAgents:
    """Agents (operations.py)."""

    def __init__(self, calls: Calls, runner: Runner) -> None:
        self._calls = calls
        self._runner = runner

    def start_run(self, order: RunOrder) -> "ApiAgentRun":
        return ApiAgentRun(self._calls, self._runner, partial(self._start, order))

    def follow_run(self, run: Owned, after: int | None = None, *, to_the_end: bool = False) -> "ApiAgentRun":
        ending = None if after is None else partial(self._ending, run, after)
        return ApiAgentRun(self._calls, self._runner, partial(self._follow, run, after, to_the_end), ending)

    async def queue_run(self, order: RunOrder) -> Native:
        taken = await self._calls.paid(PATH, order.body, order.names, order.key_name, others=order.others)
        return taken.native("id")

    async def run(self, run: Owned, form: str | None = None) -> Native:
        path = owned_path(PATH, run) + query({"format": form})
        return (await self._calls.get(path, run.key_name)).native("id")

    async def cancel_run(self, run: Owned) -> Native:
        return (await self._calls.send("POST", owned_path(PATH, run, "/cancel"), run.key_name)).native()

    async def _ending(self, run: Owned, after: int) -> RunEnd | None:
        """How a run ended that has nothing to tell behind its event `after`; None where it has not ended. Raises
        InvalidRequest where it has no such event."""
        before = ApiAgentRun(self._calls, self._runner, partial(self._follow, run, after - 1 if after else None, False))
        found: set[int | None] = set()
        with suppress(InvalidRequest, UpstreamTruncated):
            async with before:
                async for events in before:
                    found |= {event.number for event in events}
        if after in found:
            return before.end
        if before.end is None and not is_over((await self.run(run)).body):
            return None
        raise InvalidRequest(f"The run, which is over, has no event {after}, or not any more.", param="starting_after")

    async def _start(self, order: RunOrder, told: "ApiAgentRun", transfer: OpenStream) -> Run[Events]:
        taken = await self._calls.take(order, transfer)
        run, reader = self._runner.raw_run(
            taken.key,
            Brief(BACKGROUND_PICKUPS if order.background else FOREGROUND_PICKUPS),
            detaches=order.background,
            patient=order.patient,
        )
        told.reads(reader, taken.key.name)
        run.read(taken.streaming)
        return run

    async def _follow(
        self, owned: Owned, after: int | None, to_the_end: bool, told: "ApiAgentRun", transfer: OpenStream
    ) -> Run[Events]:
        if not is_run_id(owned.id):
            raise NotFound("There is no such run.")
        run, reader = self._runner.raw_run(
            self._calls.owner(owned.key_name),
            Lasting() if to_the_end else Brief(BACKGROUND_PICKUPS),
            detaches=True,
            patient=True,
            run_id=owned.id,
            after=after,
        )
        told.reads(reader, owned.key_name)
        await self._runner.look(run, Look(), transfer, exactly=after is not None)
        return run


class _Begin(Protocol):
    async def __call__(self, told: "ApiAgentRun", transfer: OpenStream) -> Run[Events]: ...


class ApiAgentRun:
    """AgentRun (operations.py). `ending` tells how a run ended of which there was nothing to read."""

    def __init__(
        self,
        calls: Calls,
        runner: Runner,
        begin: _Begin,
        ending: Callable[[], Awaitable[RunEnd | None]] | None = None,
    ) -> None:
        self._calls = calls
        self._reader: RawReader | None = None
        self._key_name = ""
        self._ending = ending
        self._end: RunEnd | None = None
        self._events = self._told(runner, begin)

    @property
    def owned(self) -> Owned | None:
        run_id = self._reader.run_id if self._reader else None
        return None if run_id is None else Owned(run_id, self._key_name)

    @property
    def end(self) -> RunEnd | None:
        return self._end or (self._reader.end if self._reader else None)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._events.aclose()

    def __aiter__(self) -> AsyncIterator[Events]:
        return self._events

    def reads(self, reader: RawReader, key_name: str) -> None:
        """From now on this is what is told of."""
        self._reader = reader
        self._key_name = key_name

    async def _told(self, runner: Runner, begin: _Begin) -> AsyncGenerator[Events, None]:
        batches = runner.batches(partial(begin, self))
        del begin
        silent = True
        try:
            async for batch in batches:
                if silent and self._ending is not None and self.end is not None and self.end.skipped:
                    self._end = await self._ending()
                    return
                silent = False
                if self.end is not None and not self.end.response:
                    await self._complete()
                yield batch
        except RunGone as error:
            raise NotFound("There is no such run, or not any more.") from error
        except UpstreamTruncated:
            if not silent or self._ending is None:
                raise
            self._end = await self._ending()
            if self._end is None:
                raise
        finally:
            await batches.aclose()

    async def _complete(self) -> None:
        """The last event may come without its response, which can be asked for."""
        if (owned := self.owned) is not None and self._reader is not None and self._reader.may_complete:
            with suppress(GatewayError):
                self._reader.complete((await self._calls.get(owned_path(PATH, owned), owned.key_name)).body)
