"""`/v1/files`: files that callers keep here, to name them in questions. They never leave before a question does.

Only those of batches are handed on at once (batch_files.py).
"""

from collections.abc import Mapping
from contextlib import aclosing
from functools import partial
from typing import Any, Literal
from urllib.parse import quote

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Message, Receive, Scope, Send

from pplx_gateway.errors import FileNotFound, GatewayError, InvalidRequest
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.kept.content import ContentCall
from pplx_gateway.protocols.openai import pinning
from pplx_gateway.protocols.openai.batch_files import PURPOSES as BATCH_PURPOSES
from pplx_gateway.protocols.openai.batch_files import BatchFiles
from pplx_gateway.protocols.openai.call import Border
from pplx_gateway.protocols.openai.encoding import encode
from pplx_gateway.protocols.openai.file_objects import FileDeleted, FileInfo, file_list
from pplx_gateway.protocols.openai.paging import limit_of, order_of
from pplx_gateway.protocols.openai.upload import BATCH, PURPOSES, Upload
from pplx_gateway.protocols.operation import ByMethod
from pplx_gateway.store import Files, StoredFile
from pplx_gateway.store.files import Page
from pplx_gateway.web import headers, replies
from pplx_gateway.web.body import body_parts
from pplx_gateway.web.forms import FormReader
from pplx_gateway.web.leaving import CallerLeft
from pplx_gateway.web.limits import FILES_PATH, FORM_BYTES, file_too_large

MOST_LISTED = 10_000
_LISTED_PURPOSES = (*PURPOSES, *BATCH_PURPOSES)


class UploadForm(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of the form beside its file, for the description of the interface; upload.py reads them.

    `expires_after[anchor]` is `created_at`, `expires_after[seconds]` from 3600 to 2592000; without them a file stays
    until it is deleted. How long a file of a batch stays is the upstream's word."""

    purpose: Literal["assistants", "fine-tune", "vision", "user_data", "evals", "batch"]
    expires_after_anchor: Literal["created_at"] | None = msgspec.field(default=None, name="expires_after[anchor]")
    expires_after_seconds: int | None = msgspec.field(default=None, name="expires_after[seconds]")


class FileRoutes:
    """Every caller sees its own files alone. Those of batches are kept upstream, and stand behind the others in
    lists."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._batch_files = BatchFiles(gateway)
        self._batch_content = Border(gateway, partial(ContentCall, self._batch_files.content))

    def routes(self) -> list[BaseRoute]:
        return [
            Route(FILES_PATH, self, methods=["GET", "POST"]),
            Route(f"{FILES_PATH}/{{id}}", self.one, methods=["GET", "DELETE"]),
            Route(f"{FILES_PATH}/{{id}}/content", ByMethod({"GET": self._content}), methods=["GET"]),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "POST":
            await self._create(scope, receive, send)
        else:
            response = await self.every(Request(scope, receive))
            await response(scope, receive, send)

    async def every(self, request: Request) -> Response:
        """Raises InvalidRequest."""
        caller, query = _caller(request), request.query_params
        purpose, after = query.get("purpose") or None, query.get("after") or None
        if purpose in BATCH_PURPOSES or (purpose is None and after and await self._batch_files.has(caller, after)):
            return await self._of_batches([], caller, query, after, purpose or "")
        page = await listing(self._gateway.files, caller, query)
        listed = [_info(file) for file in page.files]
        if page.has_more or purpose is not None:
            return _json(file_list(listed, has_more=page.has_more))
        if not await self._batch_files.any(caller):
            return _json(file_list(listed, has_more=False))
        return await self._of_batches(listed, caller, query, None, "")

    async def _of_batches(
        self, before: list[FileInfo], caller: str, query: Mapping[str, str], after: str | None, purpose: str
    ) -> Response:
        """`before` are those of the same page that are kept here."""
        left = _limit(query) - len(before)
        if left == 0:
            return _json(file_list(before, has_more=True))
        page = await self._batch_files.page(
            caller, limit=left, after=after, order=order_of(query.get("order")), purpose=purpose
        )
        response = _json(file_list([*before, *page.files], has_more=page.has_more))
        if page.warnings:
            response.headers["x-pplx-warnings"] = headers.sentences(page.warnings).decode()
        return response

    async def one(self, request: Request) -> Response:
        """Raises FileNotFound."""
        caller, file_id = _caller(request), request.path_params["id"]
        file = await self._gateway.files.find(caller, file_id)
        if request.method != "DELETE":
            return _json(_info(file) if file else await self._batch_files.one(caller, file_id))
        if file is not None:
            await self._gateway.files.delete(file)
        else:
            await self._batch_files.delete(caller, file_id)
        return _json(FileDeleted(id=file_id, object="file", deleted=True))

    async def _content(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The bytes, as nothing that a browser would show or run. Raises FileNotFound."""
        file = await self._gateway.files.find(scope["state"]["caller"], scope["path_params"]["id"])
        if file is None:
            await self._batch_content(scope, receive, send)
            return
        data = await self._gateway.files.read(file)
        if data is None:
            raise no_such_file()
        told = {
            "x-content-type-options": "nosniff",
            "content-disposition": f"attachment; filename*=utf-8''{quote(file.filename, safe='')}",
        }
        await Response(data, media_type="application/octet-stream", headers=told)(scope, receive, send)

    async def _create(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The upload's border: whoever is refused before the end of the body is told at once, and the connection
        closes."""
        body = _Body(receive)
        try:
            upload, file = await self._receive(scope, body)
            info = await self._settled(file, scope)
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
            await replies.send_json(send, encode(info), dropped)

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

    async def _settled(self, file: StoredFile, scope: Scope) -> FileInfo:
        if file.purpose != BATCH:
            return _info(file)
        return await self._batch_files.hand_on(file, scope["state"]["caller"], pinning.key_name(scope))


async def listing(files: Files, caller: str | None, query: Mapping[str, str]) -> Page:
    """The page that `query` wants of the caller's files, None = of everybody's. Raises InvalidRequest."""
    purpose, after = query.get("purpose") or None, query.get("after") or None
    if purpose is not None and purpose not in _LISTED_PURPOSES:
        raise InvalidRequest(f"'purpose' must be one of: {', '.join(_LISTED_PURPOSES)}.", param="purpose")
    order = order_of(query.get("order"))
    page = await files.page(caller, purpose=purpose, order=order, limit=_limit(query), after=after)
    if page is None:
        raise InvalidRequest("There is no file with the id of 'after'.", param="after")
    return page


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


def _limit(query: Mapping[str, str]) -> int:
    return limit_of(query.get("limit"), usual=MOST_LISTED, most=MOST_LISTED)


def _length(scope: Scope) -> int | None:
    told = headers.first(scope, b"content-length")
    return int(told) if told is not None and told.isdigit() else None


def no_such_file() -> FileNotFound:
    """The same for a file of somebody else's."""
    return FileNotFound("There is no file with this id.", param="id")


def _json(value: Any) -> Response:
    return Response(encode(value), media_type="application/json")
