"""A client of the session half that sends what the page sends."""

from typing import Any
from uuid import uuid4

import httpx2

from tests.emulator_session.reader import Reader, frames_of

ASK = "/rest/sse/perplexity_ask"
COOKIE = "__Secure-next-auth.session-token"
APP_HEADERS = {"x-app-apiclient": "default", "x-app-apiversion": "2.18"}
PRO = "emulator-pro"
QUESTION = "Which two rivers meet in Ghent?"


def ask_body(query: str, **params: Any) -> dict[str, Any]:
    """The smallest body that works, with `params` over it; a value of `...` leaves the field out."""
    usual = {
        "version": "2.18",
        "source": "default",
        "mode": "copilot",
        "model_preference": "gpt56_terra",
        "search_focus": "internet",
        "sources": ["web"],
        "language": "en-US",
        "is_incognito": False,
        "frontend_uuid": str(uuid4()),
        "frontend_context_uuid": str(uuid4()),
        "last_backend_uuid": None,
        "attachments": [],
    }
    chosen = {key: value for key, value in (usual | params).items() if value is not ...}
    return {"query_str": query, "params": chosen}


class Page:
    """One browser: its cookies are what `token` says, and nothing that the emulator sets is kept."""

    def __init__(self, client: httpx2.AsyncClient, token: str | None = PRO, *, name: str = COOKIE) -> None:
        self.client = client
        self.token = token
        self.name = name

    def headers(self, extra: dict[str, str] | None = None) -> dict[str, str]:
        cookie = {} if self.token is None else {"cookie": f"{self.name}={self.token}"}
        return {**APP_HEADERS, **cookie, **(extra or {})}

    async def get(self, path: str, **params: str) -> httpx2.Response:
        return await self.client.get(path, params=params, headers=self.headers())

    async def post(self, path: str, body: object) -> httpx2.Response:
        return await self.client.post(path, json=body, headers=self.headers())

    async def ask(self, query: str, **params: Any) -> httpx2.Response:
        return await self.post(ASK, ask_body(query, **params))

    async def frames(self, query: str, **params: Any) -> list[dict[str, Any]]:
        reply = await self.ask(query, **params)
        assert reply.status_code == 200, reply.text
        assert reply.headers["content-type"] == "text/event-stream"
        return frames_of(reply.content)

    async def read(self, query: str, **params: Any) -> Reader:
        """The whole answer; fails if it did not complete."""
        reader = Reader().read(await self.frames(query, **params))
        assert reader.merged["status"] == "COMPLETED", reader.merged
        return reader

    async def cut(self, query: str, **params: Any) -> bytes:
        """What came of a stream whose connection broke; fails if it did not."""
        body = bytearray()
        try:
            async with self.client.stream("POST", ASK, json=ask_body(query, **params), headers=self.headers()) as reply:
                async for data in reply.aiter_raw():
                    body += data
        except httpx2.RemoteProtocolError:
            return bytes(body)
        raise AssertionError("the stream ended cleanly")

    async def left(self) -> dict[str, Any]:
        quota: dict[str, Any] = (await self.get("/rest/rate-limit/all")).json()
        return quota
