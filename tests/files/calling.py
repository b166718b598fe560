"""What callers send to `/v1/files`, and what they name in questions."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path
from typing import Any

import httpx2

from tests.rig import KEY, Rig, bearer, check_error, running

FILES = "/v1/files"
AFAR = {"x-forwarded-for": "192.0.2.1"}  # by way of a proxy: not from the gateway's own machine


class Caller:
    """One caller of a gateway's files; every error is held against the one error shape."""

    def __init__(self, url: str, key: str | None = KEY, headers: Mapping[str, str] | None = None) -> None:
        sent = {**bearer(key), **(headers or {})}
        self.client = httpx2.AsyncClient(base_url=url, headers=sent, timeout=60, trust_env=False, verify=False)

    async def __aenter__(self) -> "Caller":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.aclose()

    async def upload(
        self, data: bytes, filename: str = "cat.png", kind: str = "image/png", **fields: str
    ) -> httpx2.Response:
        """`purpose` is user_data unless `fields` say otherwise; a blank value leaves it out."""
        sent = {"purpose": "user_data", **fields}
        told = {name.replace("__", "[") + ("]" if "__" in name else ""): v for name, v in sent.items() if v}
        return checked(await self.client.post(FILES, data=told, files={"file": (filename, data, kind)}))

    async def post(self, content: bytes, **headers: str) -> httpx2.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return checked(await self.client.post(FILES, content=content, headers=named))

    async def get(self, path: str = "", **params: str) -> httpx2.Response:
        return checked(await self.client.get(FILES + path, params=params))

    async def delete(self, file_id: str) -> httpx2.Response:
        return checked(await self.client.delete(f"{FILES}/{file_id}"))

    async def listed(self, **params: str) -> list[str]:
        """The ids in the order of the answer."""
        return [file["id"] for file in (await self.get(**params)).json()["data"]]


def checked(reply: httpx2.Response) -> httpx2.Response:
    if reply.status_code >= 400:
        check_error(reply.json())
    return reply


def error(reply: httpx2.Response) -> dict[str, Any]:
    found: dict[str, Any] = reply.json()["error"]
    return found


@contextlib.asynccontextmanager
async def calling(folder: Path, **settings: Any) -> AsyncGenerator[tuple[Rig, Caller], None]:
    async with (
        running(folder, **settings) as rig,
        Caller(rig.url, getattr(settings.get("api_key"), "reveal", lambda: KEY)()) as caller,
    ):
        yield rig, caller


async def eventually(holds: Callable[[], bool], seconds: float = 10) -> None:
    """Returns as soon as `holds()`, which nothing but looking can tell."""
    async with asyncio.timeout(seconds):
        while True:
            if holds():
                return
            await asyncio.sleep(0.01)
