"""The ledger of real processes: what was written before a kill is there after it; of two workers nothing is lost."""

from decimal import Decimal
from pathlib import Path

import httpx2

from pplx_gateway.store import Database
from pplx_gateway.store.ledger import Choice, LedgerRows
from tests.cases.scripts import agent_steps
from tests.ledger.asking import ask
from tests.life.programs import Emulator, killed
from tests.life.waiting import until
from tests.rig import AGENT, KEY, SSE_HEADERS, bearer
from tests.test_commands import Program, program


def settings(emulator_url: str) -> dict[str, str]:
    return {
        "PPLX_SESSION_URL": emulator_url,
        "PPLX_API_URL": emulator_url,
        "PPLX_PROXY_API_KEY": KEY,
        "PPLX_UPSTREAMS": "api",
        "PERPLEXITY_API_KEY": "pplx-test",
        "PPLX_STORE_DAYS": "0",
    }


async def chat(client: httpx2.AsyncClient, gateway: Program) -> str:
    reply = await client.post(f"{gateway.url}/v1/chat/completions", json=ask(), headers=bearer(KEY))
    assert reply.status_code == 200, reply.text
    return str(reply.headers["x-request-id"])


async def total(client: httpx2.AsyncClient, gateway: Program) -> tuple[int, Decimal]:
    found = (await client.get(f"{gateway.url}/admin/usage", headers=bearer(KEY))).json()["total"]
    return found["requests"], Decimal(repr(found["cost"]))


async def test_what_was_written_before_a_kill_is_there_after_it(tmp_path: Path, emulator: Emulator) -> None:
    environ = settings(emulator.url)
    await emulator.script(AGENT, {"headers": SSE_HEADERS, "steps": agent_steps(), "repeat": "forever"})
    async with program("serve", "--port", "0", folder=tmp_path, **environ) as gateway:
        asked = await chat(emulator.client, gateway)
        database = await Database.open(tmp_path / "data" / "gateway.sqlite")

        async def written() -> bool:
            return bool([row for row in await LedgerRows(database).recent(Choice(), limit=1) if row.entry.id == asked])

        await until(written)  # behind the request's back, and without a report that would hurry it
        await database.close()
        await killed(gateway)
    async with program("serve", "--port", "0", folder=tmp_path, **environ) as gateway:
        assert await total(emulator.client, gateway) == (1, Decimal("0.00503"))
        await gateway.stop()


async def test_a_stop_writes_what_there_is(tmp_path: Path, emulator: Emulator) -> None:
    environ = settings(emulator.url)
    await emulator.script(AGENT, {"headers": SSE_HEADERS, "steps": agent_steps(), "repeat": "forever"})
    async with program("serve", "--port", "0", folder=tmp_path, **environ) as gateway:
        for _ in range(20):
            await chat(emulator.client, gateway)
        await gateway.stop()
    async with program("serve", "--port", "0", folder=tmp_path, **environ) as gateway:
        assert await total(emulator.client, gateway) == (20, Decimal("0.1006"))
        await gateway.stop()


async def test_two_workers_write_one_ledger(tmp_path: Path, emulator: Emulator) -> None:
    environ = settings(emulator.url)
    await emulator.script(AGENT, {"headers": SSE_HEADERS, "steps": agent_steps(), "repeat": "forever"})
    async with program("serve", "--port", "0", "--workers", "2", folder=tmp_path, **environ) as gateway:
        for _ in range(12):  # a connection each, so that both workers get some
            async with httpx2.AsyncClient(timeout=30, trust_env=False) as client:
                await chat(client, gateway)

        async def whole() -> bool:
            async with httpx2.AsyncClient(timeout=30, trust_env=False) as client:
                return await total(client, gateway) == (12, Decimal("0.06036"))

        await until(whole)
        await gateway.stop()
