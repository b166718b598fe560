"""One gateway or two over one data folder, with an account that has so many Pro searches left."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import httpx2

from pplx_gateway.clock import Clock
from pplx_gateway.opening import open_gateway
from pplx_gateway.settings import Secret, Settings
from pplx_gateway.web.app import create_app
from tests.rig import ASK_PATH, KEY, Reply, Rig, running
from tests.running import serve

LOOKS = 1500
QUOTA = "/rest/rate-limit/all"
STATUS = "/rest/rate-limit/status"


def account(words: str) -> Secret:
    return Secret(f"emulator-{words}")


@contextlib.asynccontextmanager
async def session(folder: Path, words: str = "pro", **settings: Any) -> AsyncGenerator[Rig, None]:
    """The session alone, its plan as the site tells it."""
    chosen: dict[str, Any] = {"cookie": account(words), "account_type": None, "notices": True, **settings}
    async with running(folder, order=("session",), **chosen) as rig:
        yield rig


async def eventually(look: Callable[[], Awaitable[bool]]) -> None:
    """Looks again and again until `look` says yes."""
    for _ in range(LOOKS):
        if await look():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it never came to pass")


async def health_shows(rig: Rig, **wanted: object) -> None:
    async def look() -> bool:
        shown = (await rig.get("/health")).json
        return all(shown[name] == value for name, value in wanted.items())

    await eventually(look)


@contextlib.asynccontextmanager
async def beside(rig: Rig, folder: Path, words: str = "pro", **settings: Any) -> AsyncGenerator[Rig, None]:
    """Another worker on the same data and the same upstream."""
    clock = Clock()
    chosen: dict[str, Any] = {
        "api_key": Secret(KEY),
        "upstreams": ("session",),
        "cookie": account(words),
        "session_url": rig.emulator_url,
        "data_dir": folder,
        **settings,
    }
    gateway = await open_gateway(Settings(**chosen), clock)
    async with serve(create_app(gateway)) as url:
        other = Rig(rig.emulator, url, rig.log)
        yield other
        await other.close()
    await gateway.close()


def asking(text: str, model: str = "gpt", **more: object) -> dict[str, object]:
    return {"model": model, "messages": [{"role": "user", "content": text}], **more}


async def asked(rig: Rig) -> list[str]:
    """The upstream ids that were asked, in order."""
    return [body["params"]["model_preference"] for body in await bodies(rig, ASK_PATH)]


async def bodies(rig: Rig, path: str) -> list[dict[str, Any]]:
    return [request["json"] for request in await rig.requests(path)]


async def control(rig: Rig, **change: object) -> Any:
    async with httpx2.AsyncClient(trust_env=False) as client:
        reply = await client.post(f"{rig.emulator_url}/_emulator/session", json=change)
    assert reply.status_code == 200, reply.text
    return reply.json()


async def discover(rig: Rig) -> Any:
    reply = await rig.post({}, path="/admin/discover-models?wait=1")
    assert reply.status == 200, reply.json
    return reply.json["report"]


async def update(rig: Rig, models: Mapping[str, object], **more: object) -> Reply:
    return await rig.post({"models": models, **more}, path="/admin/update-models")


async def entries(rig: Rig) -> dict[str, Any]:
    found: dict[str, Any] = (await rig.get("/admin/models")).json["models"]
    return found


async def listed(rig: Rig) -> set[str]:
    return {model["id"] for model in (await rig.get("/v1/models")).json["data"]}


def page(document: object) -> str:
    """JSON as a browser shows it."""
    text = json.dumps(document).replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return f'<html><head><meta name="color-scheme" content="light dark"></head><body><pre>{text}</pre></body></html>'
