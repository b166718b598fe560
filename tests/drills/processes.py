"""Emulator and gateway as processes, for drills that kill, starve and measure them."""

import contextlib
import re
from collections.abc import AsyncGenerator, Iterable, Mapping
from pathlib import Path
from typing import Any

import httpx2

from tests.rig import KEY, SSE_HEADERS, bearer
from tests.test_commands import Program, program

Json = dict[str, Any]


class Upstream:
    """The emulator as a process."""

    def __init__(self, url: str, client: httpx2.AsyncClient) -> None:
        self.url = url
        self._client = client

    async def script(self, path: str, steps: Iterable[Mapping[str, object]], **more: object) -> None:
        answer = {"headers": SSE_HEADERS, "steps": list(steps), **more}
        reply = await self._client.post(f"{self.url}/_emulator/script", json={"path": path, "answers": [answer]})
        assert reply.status_code == 200, reply.text

    async def requests(self, path: str) -> list[Json]:
        reply = await self._client.get(f"{self.url}/_emulator/requests", params={"path": path})
        found: list[Json] = reply.json()["requests"]
        return found

    async def wait(self, path: str, **params: str) -> None:
        """Until what `params` say has happened at `path`."""
        sent = {"path": path, "timeout": "30", **params}
        assert (await self._client.get(f"{self.url}/_emulator/wait", params=sent)).status_code == 200


class Running:
    """The gateway as a process, and a client of it that holds the owner's key."""

    def __init__(self, process: Program, upstream: Upstream, folder: Path) -> None:
        self.program = process
        self.upstream = upstream
        self.store = folder / "data" / "gateway.sqlite"
        self.client = httpx2.AsyncClient(base_url=process.url, headers=bearer(KEY), timeout=60, trust_env=False)

    @property
    def pid(self) -> int:
        return self.program.process.pid

    def resident_bytes(self) -> int:
        """What it holds of the machine's memory now."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found
        return int(found[1]) << 10


@contextlib.asynccontextmanager
async def emulator(folder: Path) -> AsyncGenerator[Upstream, None]:
    async with (
        program("emulator", folder=folder) as process,
        httpx2.AsyncClient(timeout=60, trust_env=False) as client,
    ):
        yield Upstream(process.url, client)
        await process.stop()


@contextlib.asynccontextmanager
async def gateway(folder: Path, upstream: Upstream, *options: str, **environ: str) -> AsyncGenerator[Running, None]:
    """Both upstreams, the owner's key KEY, and its data in `folder/data`."""
    given = {
        "PPLX_PROXY_API_KEY": KEY,
        "PERPLEXITY_API_KEY": "pplx-test",
        "PPLX_COOKIE": "emulator-max-cookie",
        "ACCOUNT_TYPE": "max",
        "PPLX_API_URL": upstream.url,
        "PPLX_SESSION_URL": upstream.url,
        **environ,
    }
    async with program("serve", "--port", "0", *options, folder=folder, **given) as process:
        running = Running(process, upstream, folder)
        try:
            yield running
        finally:
            await running.client.aclose()
        if process.process.returncode is None:
            await process.stop()
