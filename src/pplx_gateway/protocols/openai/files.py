"""`/v1/files`: files that callers keep here, to name them in questions. They never leave before a question does."""

from contextlib import aclosing
from typing import Any, Literal
from urllib.parse import quote

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Message, Receive, Scope, Send

from pplx_gateway.errors import FileNotFound, GatewayError, InvalidRequest
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.openai.encoding import encode
from pplx_gateway.protocols.openai.upload import BATCH, PURPOSES, Upload
from pplx_gateway.store import StoredFile
from pplx_gateway.store.files import Order
from pplx_gateway.web import headers, replies
from pplx_gateway.web.body import body_parts
from pplx_gateway.web.forms import FormReader
from pplx_gateway.web.leaving import CallerLeft
from pplx_gateway.web.limits import FILES_PATH, FORM_BYTES, file_too_large

MOST_LISTED = 10_000
_LISTED_PURPOSES = (*PURPOSES, BATCH)
_ORDERS: tuple[Order, ...] = ("asc", "desc")


class UploadForm(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of the form beside its file, for the description of the interface; upload.py reads them.

    `expires_after[anchor]` is `created_at`, `expires_after[seconds]` from 3600 to 2592000; without them a file stays
    until it is deleted."""

    purpose: Literal["assistants", "fine-tune", "vision", "user_data", "evals"]
    expires_after_anchor: Literal["created_at"] | None = msgspec.field(default=None, name="expires_after[anchor]")
    expires_after_seconds: int | None = msgspec.field(default=None, name="expires_after[seconds]")


class FileInfo(msgspec.Struct, frozen=True, kw_only=True):
    """`bytes` is the size; times are seconds since the epoch."""

    id: str
    object: str
    bytes: int
    created_at: int
    expires_at: int | None
    filename: str
    purpose: str
    status: str


class FileList(msgspec.Struct, frozen=True, kw_only=True):
    object: str
    data: list[FileInfo]
    first_id: str | None
    last_id: str | None
    has_more: bool


class FileDeleted(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    object: str
    deleted: bool


class FileRoutes:
    """Every caller sees its own files alone."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def routes(self) -> list[BaseRoute]:
        return [
            Route(FILES_PATH, self, methods=["GET", "POST"]),
            Route(f"{FILES_PATH}/{{id}}", self.one, methods=["GET", "DELETE"]),
            Route(f"{FILES_PATH}/{{id}}/content", self.content, methods=["GET"]),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "POST":
            await self._create(scope, receive, send)
        else:
            response = await self.every(Request(scope, receive))
            await response(scope, receive, send)

    async def every(self, request: Request) -> Response:
        """Raises InvalidRequest."""
        query = request.query_params
        purpose, after = query.get("purpose") or None, query.get("after") or None
        if purpose is not None and purpose not in _LISTED_PURPOSES:
            raise InvalidRequest(f"'purpose' must be one of: {', '.join(_LISTED_PURPOSES)}.", param="purpose")
        page = await self._gateway.files.page(
            _caller(request), purpose=purpose, order=_order(query.get("order")), limit=_limit(query.get("limit")),
            after=after,
        )  # fmt: skip
        if page is None:
            raise InvalidRequest("There is no file with the id of 'after'.", param="after")
        listed = [_info(file) for file in page.files]
        ends = (listed[0].id, listed[-1].id) if listed else (None, None)
        return _json(FileList(object="list", data=listed, first_id=ends[0], last_id=ends[1], has_more=page.has_more))

    async def one(self, request: Request) -> Response:
        """Raises FileNotFound."""
        file = await self._find(request)
        if request.method != "DELETE":
            return _json(_info(file))
        await self._gateway.files.delete(file)
        return _json(FileDeleted(id=file.id, object="file", deleted=True))

    async def content(self, request: Request) -> Response:
        """The bytes, as nothing that a browser would show or run. Raises FileNotFound."""
        file = await self._find(request)
        data = await self._gateway.files.read(file)
        if data is None:
            raise _no_such_file()
        told = {
            "x-content-type-options": "nosniff",
            "content-disposition": f"attachment; filename*=utf-8''{quote(file.filename, safe='')}",
        }
        return Response(data, media_type="application/octet-stream", headers=told)

    async def _find(self, request: Request) -> StoredFile:
        file = await self._gateway.files.find(_caller(request), request.path_params["id"])
        if file is None:
            raise _no_such_file()
        return file

    async def _create(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The upload's border: whoever is refused before the end of the body is told at once, and the connection
        closes."""
        body = _Body(receive)
        try:
            upload, file = await self._receive(scope, body)
        except CallerLeft:
            scope["state"]["facts"]["left"] = True
        except GatewayError as error:
            scope["state"]["facts"]["error"] = error.code
            if body.left:
                await replies.send_error_and_close(receive, send, error)
            else:
                await replies.send_error(send, error)
        else:
            dropped = [(b"x-pplx-dropped", headers.names(upload.unknown))] if upload.unknown else []
            await replies.send_json(send, encode(_info(file)), dropped)

    async def _receive(self, scope: Scope, receive: Receive) -> tuple[Upload, StoredFile]:
        settings = self._gateway.settings
        form = FormReader((headers.first(scope, b"content-type") or b"").decode("latin-1"))
        most = settings.max_file_bytes
        parts = body_parts(
            receive,
            self._gateway.clock,
            limit=most + FORM_BYTES,
            wait_seconds=settings.body_timeout_seconds,
            refusal=file_too_large(most),
        )
        files, caller = self._gateway.files, scope["state"]["caller"]
        upload = Upload(files, caller, form, length=_length(scope), most_bytes=most)
        async with upload, aclosing(parts):
            async for part in parts:
                for event in form.feed(part):
                    await upload.take(event)
            form.close()
            return upload, await upload.keep()


class _Body:
    """A `receive` that knows whether there is more to come."""

    def __init__(self, receive: Receive) -> None:
        self.left = True
        self._receive = receive

    async def __call__(self) -> Message:
        message = await self._receive()
        self.left = bool(message.get("more_body"))
        return message


def _info(file: StoredFile) -> FileInfo:
    return FileInfo(
        id=file.id,
        object="file",
        bytes=file.size,
        created_at=file.created_at,
        expires_at=file.expires_at,
        filename=file.filename,
        purpose=file.purpose,
        status="processed",
    )


def _caller(request: Request) -> str:
    caller: str = request.scope["state"]["caller"]
    return caller


def _length(scope: Scope) -> int | None:
    told = headers.first(scope, b"content-length")
    return int(told) if told is not None and told.isdigit() else None


def _order(text: str | None) -> Order:
    for order in _ORDERS:
        if order == (text or "desc"):
            return order
    raise InvalidRequest(f"'order' must be one of: {', '.join(_ORDERS)}.", param="order")


def _limit(text: str | None) -> int:
    if not text:
        return MOST_LISTED
    if text.isascii() and text.isdigit() and len(text) <= len(str(MOST_LISTED)) and 1 <= int(text) <= MOST_LISTED:
        return int(text)
    raise InvalidRequest(f"'limit' must be a whole number from 1 to {MOST_LISTED}.", param="limit")


def _no_such_file() -> FileNotFound:
    """The same for a file of somebody else's."""
    return FileNotFound("There is no file with this id.", param="id")


def _json(value: Any) -> Response:
    return Response(encode(value), media_type="application/json")
