"""The files of batches as `/v1/files` shows them: the api upstream keeps them, not this gateway."""

from collections.abc import AsyncIterable, Awaitable
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, TypeVar

from starlette.types import Scope

from pplx_gateway.errors import FileNotFound, NotFound
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.kept import files
from pplx_gateway.protocols.kept.things import Part, Things, read
from pplx_gateway.protocols.openai.file_objects import FileInfo
from pplx_gateway.store import StoredFile
from pplx_gateway.store.records import Order

PURPOSES = files.PURPOSES
MOST_LISTED = 100

T = TypeVar("T")


class FilePage(NamedTuple):
    files: list[FileInfo]
    has_more: bool
    warnings: list[str]


class BatchFiles:
    """Everything raises GatewayError, FileNotFound among them."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def hand_on(self, file: StoredFile, caller: str, key_name: str | None) -> FileInfo:
        """A file that has arrived here goes to where batches read it, and stays there alone."""
        try:
            content = await self._gateway.files.read(file)
            native = await files.upload(self._gateway, caller, content or b"", file.filename, key_name)
        finally:
            await self._gateway.files.delete(file)
        return read(native.body, FileInfo)

    async def has(self, caller: str, file_id: str) -> bool:
        return await self._gateway.ownership.find("file", file_id, caller) is not None

    async def any(self, caller: str) -> bool:
        page = await self._gateway.ownership.page("file", caller, limit=1)
        return bool(page and page.things)

    async def one(self, caller: str, file_id: str) -> FileInfo:
        return read((await self._found(files.one(self._gateway, caller, file_id))).body, FileInfo)

    async def delete(self, caller: str, file_id: str) -> None:
        await self._found(files.delete(self._gateway, caller, file_id))

    async def page(self, caller: str, *, limit: int, after: str | None, order: Order, purpose: str = "") -> FilePage:
        part = Part(min(limit, MOST_LISTED), after, order, purpose)
        shown = await files.listed(self._gateway, caller, part)
        return FilePage([read(entry.body, FileInfo) for entry in shown.entries], shown.has_more, shown.warnings)

    async def content(self, gateway: Gateway, scope: Scope) -> AbstractAsyncContextManager[AsyncIterable[bytes]]:
        found = Things(gateway, scope["state"]["caller"]).find("file", scope["path_params"]["id"])
        return gateway.operations.files.content(await self._found(found))

    async def _found(self, looking: Awaitable[T]) -> T:
        try:
            return await looking
        except NotFound as error:
            raise FileNotFound(error.message, param="id") from None
