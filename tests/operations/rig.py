"""The operations of the api upstream, with as many keys as a test wants, and the emulator that answers them."""

import contextlib
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import httpx2

from pplx_gateway.clock import Clock
from pplx_gateway.emulator.server import EmulatorServer
from pplx_gateway.receipts import Receipt
from pplx_gateway.settings import Secret
from pplx_gateway.transport import Transport
from pplx_gateway.upstreams.api.keys import Key, KeyPool
from pplx_gateway.upstreams.api.operations import Calls, Operations, operations
from pplx_gateway.upstreams.api.patience import ApiOptions
from pplx_gateway.upstreams.api.runner import Runner
from pplx_gateway.upstreams.api.wire import Wire
from pplx_gateway.upstreams.faults import Faults

Json = dict[str, Any]


class Rig:
    """`noted` are the receipts in the order in which they came."""

    def __init__(self, does: Operations, url: str, client: httpx2.AsyncClient) -> None:
        self.does = does
        self.url = url
        self.noted: list[Receipt] = []
        self._client = client

    def note(self, receipt: Receipt) -> None:
        self.noted.append(receipt)

    async def script(self, path: str, *answers: Mapping[str, object]) -> None:
        form = {"path": path, "answers": list(answers)}
        reply = await self._client.post(f"{self.url}/_emulator/script", json=form)
        assert reply.status_code == 200, reply.text

    async def requests(self, path: str = "*") -> list[Json]:
        reply = await self._client.get(f"{self.url}/_emulator/requests", params={"path": path})
        found: list[Json] = reply.json()["requests"]
        return found

    async def wait_for_batch(self, batch_id: str, status: str) -> None:
        params = {"id": batch_id, "status": status, "timeout": "10"}
        reply = await self._client.get(f"{self.url}/_emulator/batches", params=params)
        assert reply.status_code == 200, reply.text

    async def post(self, path: str, body: Json, *, key: str) -> bytes:
        """Straight to the emulator."""
        headers = {"authorization": f"Bearer {key}"}
        return (await self._client.post(self.url + path, json=body, headers=headers)).content

    async def fetch(self, url: str) -> bytes:
        return (await self._client.get(url)).content


@contextlib.asynccontextmanager
async def running(*secrets: str, models: tuple[str, ...] = ("*",)) -> AsyncGenerator[Rig, None]:
    """Keys are called `key-1` and so on."""
    clock = Clock(50)
    async with EmulatorServer(clock, pace_seconds=0.0, background_seconds=0.0, cancel_seconds=0.0) as emulator:
        names = [f"key-{number}" for number in range(1, len(secrets) + 1)]
        keys = [
            Key(name=name, secret=Secret(secret), origin="file", models=models)
            for name, secret in zip(names, secrets, strict=True)
        ]
        transport, pool = Transport(clock), KeyPool(clock, keys)

        def faults(key: Key) -> Faults:
            return Faults("The Perplexity API", key.label, pool.secrets, clock)

        options, wire = ApiOptions(), Wire(emulator.url)
        calls = Calls(transport, wire, pool, faults, clock=clock, options=options)
        runner = Runner(transport, wire, faults, clock=clock, options=options)
        async with httpx2.AsyncClient(timeout=30, trust_env=False) as client:
            yield Rig(operations(calls, runner), emulator.url, client)
        await transport.close()
