"""The running program with several keys, before an emulator that says what each is good for."""

import contextlib
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

import httpx2

from tests.keys.files import write
from tests.rig import AGENT, KEY, Reply, Rig, bearer, running

ADMIN = "/admin/keys"
ASK = {"model": "sonar", "messages": [{"role": "user", "content": "Which two rivers meet in Ghent?"}]}


def value(name: str) -> str:
    return f"pplx-{name}-SECRET-KEY"


@contextlib.asynccontextmanager
async def gateway(folder: Path, *keys: dict[str, Any], **settings: Any) -> AsyncGenerator[Rig, None]:
    """`keys` stand in config.json; without any there is no such file."""
    if keys:
        write(folder, *keys)
    chosen = {"order": ("api",), "perplexity_api_key": None, **settings}
    async with running(folder, **chosen) as rig:
        yield rig
        assert "-SECRET-KEY" not in rig.log.getvalue()


async def states(rig: Rig, **found: object) -> None:
    """What each key is good for from now on."""
    reply = await rig.client.post(
        f"{rig.emulator_url}/_emulator/keys", json={value(name): state for name, state in found.items()}
    )
    assert reply.status_code == 200, reply.text


async def used(rig: Rig, path: str = AGENT) -> list[str]:
    """The names of the keys that questions came with, in order."""
    tokens = [
        request["headers"]["authorization"] for request in await rig.requests(path) if request["method"] == "POST"
    ]
    return [token.removeprefix("Bearer pplx-").removesuffix("-SECRET-KEY") for token in tokens]


async def counted(rig: Rig) -> Counter[str]:
    return Counter(await used(rig))


async def ask(rig: Rig, *, key: str | None = None, **fields: Any) -> Reply:
    return await rig.chat({**ASK, **fields}, headers={"x-pplx-key-name": key} if key else None)


async def admin(rig: Rig, method: str, path: str = ADMIN, body: object = None) -> httpx2.Response:
    reply = await rig.client.request(method, rig.url + path, json=body, headers=bearer(KEY))
    assert "SECRET" not in reply.text
    return reply


async def listed(rig: Rig) -> Mapping[str, dict[str, Any]]:
    reply = await admin(rig, "GET")
    assert (reply.status_code, reply.headers["cache-control"]) == (200, "no-store")
    return {key["name"]: key for key in reply.json()["keys"]}
