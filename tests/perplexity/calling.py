"""Perplexity's SDK, and plain HTTP, against the running gateway."""

import asyncio
import contextlib
import inspect
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import httpx
import httpx2
from perplexity import AsyncPerplexity, Perplexity

from tests.rig import KEY, Rig, bearer, running

MIRROR = "/perplexity"
Use = Callable[[Any], Any]
Json = dict[str, Any]


class Caller:
    """Plain HTTP. Paths are those of the gateway."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.mirror = rig.url + MIRROR

    async def send(
        self,
        method: str,
        path: str,
        *,
        json: object = None,
        content: bytes | None = None,
        files: Any = None,
        data: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        key: str | None = KEY,
    ) -> httpx2.Response:
        return await self.rig.client.request(
            method,
            self.rig.url + path,
            json=json,
            content=content,
            files=files,
            data=data,
            headers={**bearer(key), **(headers or {})},
        )

    async def post(self, path: str, json: object, **more: Any) -> httpx2.Response:
        return await self.send("POST", path, json=json, **more)

    async def get(self, path: str, **more: Any) -> httpx2.Response:
        return await self.send("GET", path, **more)

    async def upload(self, path: str, content: bytes, *, purpose: str = "batch", **more: Any) -> httpx2.Response:
        return await self.send("POST", path, files={"file": ("in.jsonl", content)}, data={"purpose": purpose}, **more)

    async def emulated(self, path: str) -> None:
        """Waits for what the emulator says at `path`."""
        reply = await self.rig.client.get(self.rig.emulator_url + path)
        assert reply.status_code == 200, reply.text

    async def new_key(self, name: str, **limits: Any) -> str:
        """A key of another caller."""
        reply = await self.post("/admin/caller-keys", {"name": name, **limits})
        assert reply.status_code == 201, reply.text
        secret: str = reply.json()["secret"]
        return secret


@contextlib.asynccontextmanager
async def running_caller(folder: Path, **settings: Any) -> AsyncGenerator[Caller, None]:
    async with running(folder, **{"order": ("api",), **settings}) as rig:
        yield Caller(rig)
        await rig.check()


def native_error(reply: httpx2.Response, status: int) -> Json:
    """The error of a reply in Perplexity's shape."""
    assert reply.status_code == status, reply.text
    body = reply.json()
    assert set(body) == {"error"}
    error: Json = body["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["code"] == status
    assert error["message"]
    assert reply.headers["x-request-id"].startswith("req_")
    return error


def openai_error(reply: httpx2.Response, status: int) -> Json:
    assert reply.status_code == status, reply.text
    error: Json = reply.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert isinstance(error["code"], str)
    return error


class Sdk(Protocol):
    """Both clients behind one face: `use` is given the client. A `strict` one takes only what its types say."""

    def __init__(self, url: str, *, key: str = KEY, strict: bool = True) -> None: ...

    async def do(self, use: Use) -> Any: ...

    async def close(self) -> None: ...


class SyncSdk:
    def __init__(self, url: str, *, key: str = KEY, strict: bool = True) -> None:
        self._client = Perplexity(
            api_key=key,
            base_url=url,
            max_retries=0,
            http_client=httpx.Client(trust_env=False),
            _strict_response_validation=strict,
        )

    async def do(self, use: Use) -> Any:
        return await asyncio.to_thread(use, self._client)

    async def close(self) -> None:
        await asyncio.to_thread(self._client.close)


class AsyncSdk:
    def __init__(self, url: str, *, key: str = KEY, strict: bool = True) -> None:
        self._client = AsyncPerplexity(
            api_key=key,
            base_url=url,
            max_retries=0,
            http_client=httpx.AsyncClient(trust_env=False),
            _strict_response_validation=strict,
        )

    async def do(self, use: Use) -> Any:
        return await use(self._client)

    async def close(self) -> None:
        await self._client.close()


async def bytes_of(response: Any) -> bytes:
    """Those of a downloaded file, from either client."""
    read = await asyncio.to_thread(response.read)
    found: bytes = await read if inspect.isawaitable(read) else read
    return found
