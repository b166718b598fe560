"""The commands as processes, for tests that kill them; and scripts/inject-cookie as a person runs it."""

import asyncio
import os
from pathlib import Path
from typing import Any

import httpx2

from pplx_gateway.upstreams.session.cookies import NAME
from tests.rig import KEY, bearer
from tests.test_commands import Program

SESSION = "/api/auth/session"
ASK = {"model": "gpt", "messages": [{"role": "user", "content": "Which two rivers meet in Ghent?"}]}
SCRIPT = Path(__file__).resolve().parent.parent.parent / "scripts" / "inject-cookie"


def settings(emulator_url: str, cookie: str | None, **more: str) -> dict[str, str]:
    """The environment of a gateway that has only its session."""
    return {
        "PPLX_SESSION_URL": emulator_url,
        "PPLX_API_URL": emulator_url,
        "PPLX_PROXY_API_KEY": KEY,
        "PPLX_UPSTREAMS": "session",
        "ACCOUNT_TYPE": "max",
        **({"PPLX_COOKIE": cookie} if cookie else {}),
        **more,
    }


async def killed(program: Program) -> None:
    """As the kernel does it: no chance to say goodbye."""
    program.process.kill()
    await program.process.wait()


async def inject(*arguments: str, stdin: bytes, **environ: str) -> tuple[int, str, str]:
    """The script's status, and what it wrote to stdout and stderr. Its environment holds nothing but what is given."""
    process = await asyncio.create_subprocess_exec(
        str(SCRIPT),
        *arguments,
        env={"PATH": os.environ["PATH"], **environ},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(stdin), 60)
    return process.returncode or 0, out.decode(), err.decode()


class Emulator:
    """The process that plays Perplexity, and what it has seen."""

    def __init__(self, url: str, client: httpx2.AsyncClient) -> None:
        self.url = url
        self.client = client

    async def requests(self, path: str) -> list[dict[str, Any]]:
        reply = await self.client.get(f"{self.url}/_emulator/requests", params={"path": path})
        found: list[dict[str, Any]] = reply.json()["requests"]
        return found

    async def tokens(self, path: str) -> list[str]:
        """With which `path` was asked, in order; pieces joined."""
        return [_token(request["headers"]["cookie"]) for request in await self.requests(path)]

    async def forget(self) -> None:
        await self.client.delete(f"{self.url}/_emulator/requests")

    async def wait(self, path: str, count: int) -> None:
        params = {"path": path, "count": str(count), "timeout": "20"}
        assert (await self.client.get(f"{self.url}/_emulator/wait", params=params)).status_code == 200

    async def script(self, path: str, *answers: dict[str, Any]) -> None:
        reply = await self.client.post(f"{self.url}/_emulator/script", json={"path": path, "answers": answers})
        assert reply.status_code == 200, reply.text

    async def accounts(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self.client.get(f"{self.url}/_emulator/state")).json()["session"][
            "accounts"
        ]
        return found

    async def rotations(self) -> int:
        return sum(account["rotations"] for account in await self.accounts())


def _token(cookie: str) -> str:
    pairs = (part.partition("=") for part in cookie.split("; "))
    return "".join(value for name, _, value in pairs if name.startswith(NAME))


def number_of(token: str) -> int:
    """How many rotations led to it."""
    return int(token.split("~")[1]) if "~" in token else 0


async def ask(client: httpx2.AsyncClient, gateway: Program) -> int:
    reply = await client.post(f"{gateway.url}/v1/chat/completions", json=ASK, headers=bearer(KEY))
    return reply.status_code
