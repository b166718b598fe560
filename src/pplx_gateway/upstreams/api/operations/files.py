"""Files of batches (docs/wire-agent.md 7)."""

from collections.abc import AsyncIterable
from contextlib import AbstractAsyncContextManager

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.multipart import form
from pplx_gateway.operations import Native, Owned, Slice
from pplx_gateway.upstreams.api.operations.calls import Calls, owned_path, query

PATH = "/v1/files"
NAMES = ("files",)
"""What an allow-list calls it."""


class ApiFiles:
    """A FileStore (operations.py)."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def upload(self, content: bytes, filename: str, key_name: str | None = None) -> Native:
        if not content:
            raise InvalidRequest("The file is empty.", param="file")
        made = form({"purpose": "batch"}, filename, content, "application/jsonl")
        answered = await self._calls.paid(PATH, made.body, NAMES, key_name, content=made.content_type)
        return answered.native("id")

    async def files(self, part: Slice, key_name: str) -> Native:
        asked = {"after": part.cursor, "limit": part.limit, "order": part.order, "purpose": part.purpose}
        return (await self._calls.get(PATH + query(asked), key_name)).native()

    async def file(self, file: Owned) -> Native:
        return (await self._calls.get(owned_path(PATH, file), file.key_name)).native("id")

    async def delete_file(self, file: Owned) -> Native:
        return (await self._calls.send("DELETE", owned_path(PATH, file), file.key_name)).native("id")

    def content(self, file: Owned) -> AbstractAsyncContextManager[AsyncIterable[bytes]]:
        return self._calls.stream(owned_path(PATH, file, "/content"), file.key_name)
