"""Two real workers: whichever is asked tells of both, and each line of either's log is one JSON object."""

import asyncio
import json
from pathlib import Path

import httpx2

from pplx_gateway.clock import Clock
from pplx_gateway.emulator.server import EmulatorServer
from tests.ledger.asking import QUESTION, ask
from tests.life.waiting import until
from tests.observability.scraping import scrape
from tests.rig import KEY, bearer
from tests.test_commands import program

ASKED = 10
SECRET = "pplx-SECRET-OF-WORKERS"


async def test_either_of_two_workers_tells_of_both(tmp_path: Path) -> None:
    async with EmulatorServer(Clock(), pace_seconds=0.0) as emulator:
        environ = {
            "PPLX_API_URL": emulator.url,
            "PPLX_SESSION_URL": emulator.url,
            "PPLX_PROXY_API_KEY": KEY,
            "PPLX_UPSTREAMS": "api",
            "PERPLEXITY_API_KEY": SECRET,
            "LOG_FORMAT": "json",
        }
        async with program("serve", "--port", "0", "--workers", "2", folder=tmp_path, **environ) as gateway:

            async def chat() -> None:
                async with httpx2.AsyncClient(timeout=30, trust_env=False) as client:  # a connection of its own
                    reply = await client.post(f"{gateway.url}/v1/chat/completions", json=ask(), headers=bearer(KEY))
                    assert reply.status_code == 200, reply.text

            async def whole() -> bool:
                async with httpx2.AsyncClient(timeout=30, trust_env=False) as client:
                    page = await scrape(client, gateway.url)
                asked = page.sum("requests_total", protocol="openai", operation="chat/completions")
                return (asked, page.get("workers")) == (ASKED, 2)

            await asyncio.gather(*(chat() for _ in range(ASKED)))
            for _ in range(4):  # of these some reach the one worker, some the other
                await until(whole)
            _, log = await gateway.stop()
    lines = [json.loads(line) for line in log.splitlines()]
    assert all({"time", "level", "logger", "message"} <= line.keys() for line in lines)
    assert sum(line["message"] == "request" and line["path"] == "/v1/chat/completions" for line in lines) == ASKED
    for secret in (KEY, SECRET, QUESTION):
        assert secret not in log


async def test_logs_for_people_are_lines_too(tmp_path: Path) -> None:
    environ = {"PPLX_PROXY_API_KEY": KEY, "LOG_FORMAT": "text"}
    async with program("serve", "--port", "0", folder=tmp_path, **environ) as gateway:
        async with httpx2.AsyncClient(timeout=30, trust_env=False) as client:
            await client.get(f"{gateway.url}/v1/models", headers=bearer(KEY))
        _, log = await gateway.stop()
    (line,) = [line for line in log.splitlines() if "/v1/models" in line]
    assert line.split()[1:4] == ["INFO", "pplx_gateway.access", "request"]
    assert " path=/v1/models status=" in line
    assert KEY not in log
