"""The api upstream on real sockets: its transport, and the emulator."""

import contextlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

import httpx2
import msgspec

from pplx_gateway.answer import AnswerEvent, Started, TextDelta
from pplx_gateway.clock import Clock
from pplx_gateway.emulator.server import EmulatorServer
from pplx_gateway.question import Question
from pplx_gateway.settings import Secret
from pplx_gateway.transport import Transport
from pplx_gateway.upstreams.api import ApiOptions, ApiUpstream
from pplx_gateway.upstreams.api.keys import Key, KeyPool
from pplx_gateway.upstreams.api.signatures import Signatures
from tests.api.asking import model

Json = dict[str, Any]


def key(name: str, value: str, **more: Any) -> Key:
    return Key(name=name, secret=Secret(value), origin="file", **more)


class Live:
    """One emulator, and as many upstreams before it as a test opens."""

    def __init__(self, url: str, clock: Clock, client: httpx2.AsyncClient) -> None:
        self.url = url
        self.clock = clock
        self._client = client

    @contextlib.asynccontextmanager
    async def upstream(
        self, *keys: Key, options: ApiOptions | None = None, signatures: Signatures | None = None
    ) -> AsyncGenerator[ApiUpstream, None]:
        pool = KeyPool(self.clock, keys or [key("default", "pplx-one")])
        opened = ApiUpstream(Transport(self.clock), self.clock, pool, self.url, options, signatures=signatures)
        try:
            yield opened
        finally:
            await opened.close()

    async def get(self, path: str) -> Json:
        reply = await self._client.get(self.url + path)
        assert reply.status_code == 200, reply.text
        found: Json = reply.json()
        return found

    async def post(self, path: str, body: object = None) -> Json:
        reply = await self._client.post(self.url + path, json=body)
        assert reply.status_code == 200, reply.text
        found: Json = reply.json()
        return found

    async def keys(self, states: Mapping[str, object]) -> None:
        await self.post("/_emulator/keys", dict(states))

    async def uses(self) -> dict[str, int]:
        found = await self.get("/_emulator/keys")
        return {name: view["uses"] for name, view in found["keys"].items()}

    async def run(self, run_id: str, status: str) -> Json:
        """Waits for the run to be so."""
        found = await self.get(f"/_emulator/runs?id={run_id.partition('@')[0]}&status={status}&timeout=10")
        (run,) = found["runs"]
        view: Json = run
        return view

    async def cut(self, run_id: str) -> None:
        await self.post(f"/_emulator/runs/{run_id.partition('@')[0]}/cut")

    async def requests(self, path: str = "/v1/agent*") -> list[Json]:
        found: list[Json] = (await self.get(f"/_emulator/requests?path={path}"))["requests"]
        return found


@contextlib.asynccontextmanager
async def live(factor: float = 20.0, **durations: Any) -> AsyncGenerator[Live, None]:
    clock = Clock(factor)
    async with (
        EmulatorServer(clock, **durations) as emulator,
        httpx2.AsyncClient(timeout=30, trust_env=False) as client,
    ):
        yield Live(emulator.url, clock, client)


async def events_of(upstream: ApiUpstream, asked: Question, caller: str = "alice") -> list[AnswerEvent]:
    """The whole answer."""
    async with aclosing(upstream.ask(asked, model(asked.model), caller)) as batches:
        return [event async for batch in batches for event in batch]


async def attached(upstream: ApiUpstream, run_id: str, asked: Question) -> list[AnswerEvent]:
    kept = msgspec.structs.replace(asked, turns=())
    async with aclosing(upstream.attach(run_id, kept, model(asked.model), "alice")) as batches:
        return [event async for batch in batches for event in batch]


async def left_at_start(upstream: ApiUpstream, asked: Question) -> str:
    """Asks, reads the run's id and leaves."""
    async with aclosing(upstream.ask(asked, model(asked.model), "alice")) as batches:
        async for batch in batches:
            for event in batch:
                if isinstance(event, Started) and event.run_id:
                    return event.run_id
    raise AssertionError("no run id was told")


def text_of(events: list[AnswerEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))
