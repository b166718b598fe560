"""The storage behind uploads and reports, as another host plays it: signed addresses, and no word of the session.

It refuses with 400 whatever carries a cookie or a header of the session: those must never be sent to storage
(docs/wire-session.md 5).
"""

import re
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from pplx_gateway.emulator.session.state import State, Upload

ROOT = "/emulator-storage/"
_FOREIGN = ("x-perplexity-", "x-app-", "x-pplx-")
_BOUNDARY = re.compile(r'^multipart/form-data\s*;.*?boundary="?([^";,]+)"?', re.IGNORECASE)
_NAME = re.compile(r'(?<![a-z])name="((?:[^"\\]|\\.)*)"', re.IGNORECASE)


class Part(NamedTuple):
    name: str
    content_type: str | None
    data: bytes


class BadForm(ValueError):
    """A form that storage would not take; the message says why."""


class Storage:
    def __init__(self, state: State) -> None:
        self._state = state

    def routes(self) -> list[BaseRoute]:
        return [
            Route(ROOT, self.post, methods=["POST"]),
            Route(ROOT + "{path:path}", self.get, methods=["GET"]),
        ]

    async def post(self, request: Request) -> Response:
        try:
            check_foreign(request)
            parts = parse_form(request.headers.get("content-type", ""), await request.body())
            upload = self._upload(parts)
        except BadForm as error:
            return _xml(400, "MalformedPOSTRequest", str(error))
        if upload is None or upload.expires < self._state.stage.clock.monotonic():
            return _xml(403, "AccessDenied", "Invalid according to Policy")
        upload.arrived = True
        if "api_key" in upload.fields:
            return JSONResponse({"secure_url": upload.attachment, "public_id": upload.key, "bytes": upload.size})
        return Response(status_code=204, headers={"location": upload.url})

    def _upload(self, parts: list[Part]) -> Upload | None:
        """The slot that a form belongs to; None if there is none. Raises BadForm where the form is not the slot's."""
        *fields, file = parts
        told = [(part.name, part.data.decode("utf-8", "replace")) for part in fields]
        upload = next((found for found in self._state.uploads if found.key == dict(told).get("key")), None)
        if file.name != "file":
            raise BadForm("The last part must be named file")
        if upload is None:
            return None
        if told != list(upload.fields.items()):
            raise BadForm("The fields are not those of the slot, in its order")
        if file.content_type != upload.content_type:
            raise BadForm("The content type of the file is not that of the slot")
        if len(file.data) != upload.size:
            raise BadForm("The file is not as long as the slot")
        return upload

    async def get(self, request: Request) -> Response:
        """A report, or 404."""
        try:
            check_foreign(request)
        except BadForm as error:
            return _xml(400, "InvalidRequest", str(error))
        data = self._state.assets.get(request.path_params["path"])
        if data is None:
            return _xml(404, "NoSuchKey", "The specified key does not exist")
        return Response(data, media_type="text/markdown; charset=utf-8")


def check_foreign(request: Request) -> None:
    """Raises BadForm if the request carries anything of the session."""
    for name in request.headers:
        if name in ("cookie", "authorization") or name.startswith(_FOREIGN):
            raise BadForm(f"The header {name} does not belong here")


def parse_form(content_type: str, body: bytes) -> list[Part]:
    """The parts of a multipart form in their order; at least one. Raises BadForm."""
    found = _BOUNDARY.match(content_type)
    if found is None:
        raise BadForm("The body is not multipart/form-data with a boundary")
    delimiter = b"--" + found[1].encode()
    pieces = (b"\r\n" + body).split(b"\r\n" + delimiter)
    if len(pieces) < 3 or not pieces[-1].startswith(b"--"):
        raise BadForm("The form has no part or no end")
    return [_part(piece) for piece in pieces[1:-1]]


def _part(piece: bytes) -> Part:
    head, parted, data = piece.partition(b"\r\n\r\n")
    if not parted:
        raise BadForm("A part has no headers")
    lines = dict(line.split(":", 1) for line in head.decode("utf-8", "replace").strip().split("\r\n") if ":" in line)
    headers = {name.strip().lower(): value.strip() for name, value in lines.items()}
    name = _NAME.search(headers.get("content-disposition", ""))
    if name is None:
        raise BadForm("A part has no name")
    return Part(name[1], headers.get("content-type"), data)


def _xml(status: int, code: str, message: str) -> Response:
    body = f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code><Message>{message}</Message></Error>'
    return Response(body, status, media_type="application/xml")
