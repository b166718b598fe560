"""`/v1/files`: what batches read and write (docs/wire-agent.md 7)."""

import uuid
from typing import Any, Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from pplx_gateway.emulator.agent.desk import Desk
from pplx_gateway.emulator.agent.errors import ApiError, not_found
from pplx_gateway.emulator.agent.forms import read_form
from pplx_gateway.emulator.agent.paging import by_id, one_of
from pplx_gateway.emulator.stage import Stage

KEPT_SECONDS = 30 * 86_400
Purpose = Literal["batch", "batch_output"]


class StoredFile(msgspec.Struct, frozen=True, kw_only=True):
    """Times are seconds since the epoch."""

    id: str
    key: str
    filename: str
    purpose: Purpose
    content: bytes
    created_at: int

    @property
    def expires_at(self) -> int:
        return self.created_at + KEPT_SECONDS

    def view(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": "file",
            "bytes": len(self.content),
            "created_at": self.created_at,
            "expires_at": self.expires_at,
            "filename": self.filename,
            "purpose": self.purpose,
        }


class Files:
    """The files of all keys, and the endpoints. Each key sees its own alone."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._desk = Desk(stage)
        self._files: dict[str, StoredFile] = {}

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/v1/files", self.create, methods=["POST"]),
            Route("/v1/files", self.list, methods=["GET"]),
            Route("/v1/files/{file_id}", self.retrieve, methods=["GET"]),
            Route("/v1/files/{file_id}", self.delete, methods=["DELETE"]),
            Route("/v1/files/{file_id}/content", self.content, methods=["GET"]),
        ]

    def add(self, key: str, filename: str, purpose: Purpose, content: bytes) -> StoredFile:
        file = StoredFile(
            id=f"file-{uuid.uuid4().hex}",
            key=key,
            filename=filename,
            purpose=purpose,
            content=content,
            created_at=int(self._stage.clock.now()),
        )
        self._files[file.id] = file
        return file

    def find(self, file_id: str, key: str) -> StoredFile | None:
        """The file, if it is `key`'s and has not expired."""
        file = self._files.get(file_id)
        kept = file is not None and file.key == key and file.expires_at > self._stage.clock.now()
        return file if kept else None

    async def create(self, request: Request) -> Response:
        key = self._desk.key(request)
        form = await read_form(request, known=("purpose",))
        if form.fields.get("purpose") != "batch":
            raise ApiError(400, 'purpose must be "batch"', "invalid_parameter", param="purpose")
        return self._desk.answer(self.add(key, form.filename or "upload", "batch", form.content).view())

    async def list(self, request: Request) -> Response:
        key = self._desk.key(request)
        query = request.query_params
        purpose = one_of(query, "purpose", ("batch", "batch_output"))
        found = [file for file_id in self._files if (file := self.find(file_id, key))]
        wanted = [file for file in found if purpose in (None, file.purpose)]
        if one_of(query, "order", ("asc", "desc")) != "asc":
            wanted.reverse()
        return self._desk.answer(by_id(wanted, query, lambda file: file.id, StoredFile.view))

    async def retrieve(self, request: Request) -> Response:
        return self._desk.answer(self._asked_for(request).view())

    async def delete(self, request: Request) -> Response:
        file = self._asked_for(request)
        del self._files[file.id]
        return self._desk.answer({"id": file.id, "object": "file", "deleted": True})

    async def content(self, request: Request) -> Response:
        headers = dict(self._desk.meter.headers())
        return Response(self._asked_for(request).content, 200, headers, "application/octet-stream")

    def _asked_for(self, request: Request) -> StoredFile:
        file = self.find(request.path_params["file_id"], self._desk.key(request))
        if file is None:
            raise not_found()
        return file
