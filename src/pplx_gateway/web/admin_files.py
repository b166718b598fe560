"""`/admin/files`: the uploaded files of all callers, seen and removed by the owner, whose room they take."""

from typing import Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.openai.files import listing, no_such_file
from pplx_gateway.store import StoredFile
from pplx_gateway.web.admin import json_response


def routes(gateway: Gateway) -> list[BaseRoute]:
    return [
        Route("/admin/files", AdminFiles(gateway).get, methods=["GET"]),
        Route("/admin/files/{id}", AdminFile(gateway).delete, methods=["DELETE"]),
    ]


class KeptFile(msgspec.Struct, frozen=True, kw_only=True):
    """`caller`: whose it is; `bytes` is the size; `kind` a media type; times are seconds since the epoch, `expires_at`
    null = until it is deleted."""

    id: str
    caller: str
    bytes: int
    filename: str
    kind: str
    purpose: str
    created_at: int
    expires_at: int | None


class KeptFiles(msgspec.Struct, frozen=True, kw_only=True):
    """`bytes_taken`: of all files, and of the room that uploads under way have reserved. `has_more`: ask on with the
    last id as `after`."""

    files: list[KeptFile]
    has_more: bool
    bytes_taken: int
    bytes_allowed: int


class RemovedFile(msgspec.Struct, frozen=True, kw_only=True):
    status: Literal["ok"]
    removed: str


class AdminFiles:
    """Whoever's files, in the order of upload, and the room that they take."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def get(self, request: Request) -> Response:
        """Takes what GET /v1/files takes. Raises InvalidRequest."""
        files = self._gateway.files
        await files.drop_expired()
        page = await listing(files, None, request.query_params)
        return json_response(
            KeptFiles(
                files=[_kept(file) for file in page.files],
                has_more=page.has_more,
                bytes_taken=await files.taken(),
                bytes_allowed=files.most_bytes,
            )
        )


class AdminFile:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def delete(self, request: Request) -> Response:
        """Raises FileNotFound."""
        files = self._gateway.files
        file = await files.find(None, request.path_params["id"])
        if file is None:
            raise no_such_file()
        await files.delete(file)
        return json_response(RemovedFile(status="ok", removed=file.id))


def _kept(file: StoredFile) -> KeptFile:
    return KeptFile(
        id=file.id,
        caller=file.caller,
        bytes=file.size,
        filename=file.filename,
        kind=file.kind,
        purpose=file.purpose,
        created_at=file.created_at,
        expires_at=file.expires_at,
    )
