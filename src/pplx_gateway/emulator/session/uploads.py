"""Slots for files, and the service that reads documents (docs/wire-session.md 5)."""

from pathlib import PurePosixPath
from typing import Annotated

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

from pplx_gateway.emulator.script import Bytes
from pplx_gateway.emulator.session.account import Account
from pplx_gateway.emulator.session.entry import new_id
from pplx_gateway.emulator.session.faults import CHALLENGE
from pplx_gateway.emulator.session.frames import END_OF_STREAM, Frame, Json, encode
from pplx_gateway.emulator.session.state import State, Upload
from pplx_gateway.emulator.session.storage import ROOT
from pplx_gateway.emulator.session.streaming import STREAM_HEADERS
from pplx_gateway.emulator.session.table import Refused, Row, body_of, member_of

POLICY_SECONDS = 300.0
LARGEST_BYTES = 50 << 20
MOST_FILES = 30
# Names of files that fail: the part of the name, and what is said of it.
_REFUSED = "refused"
_UNREADABLE = "unreadable"
_TOO_LONG = "toolong"


class Wanted(msgspec.Struct, frozen=True):
    """A file that wants a slot."""

    filename: Annotated[str, msgspec.Meta(min_length=1)]
    content_type: Annotated[str, msgspec.Meta(pattern="^[^/]+/[^/]+$")]
    source: str
    file_size: Annotated[int, msgspec.Meta(ge=0)]
    force_image: bool = False
    skip_parsing: bool = False


class Batch(msgspec.Struct, frozen=True):
    files: Annotated[dict[str, Wanted], msgspec.Meta(min_length=1, max_length=MOST_FILES)]


class Subscription(msgspec.Struct, frozen=True):
    file_uuids: Annotated[list[str], msgspec.Meta(min_length=1)]


class Uploads:
    def __init__(self, state: State) -> None:
        self._state = state

    def table(self) -> list[Row]:
        return [
            Row("POST", "/rest/uploads/batch_create_upload_urls", self.batch),
            Row("POST", "/rest/uploads/create_upload_url", self.single),
            Row("POST", "/rest/sse/attachment_processing/subscribe", self.subscribe),
        ]

    async def batch(self, request: Request) -> Response:
        account = member_of(request, self._state)
        wanted = (await body_of(request, Batch)).files
        return JSONResponse({"results": {name: self._slot(request, account, file) for name, file in wanted.items()}})

    async def single(self, request: Request) -> Response:
        account = member_of(request, self._state)
        return JSONResponse(self._slot(request, account, await body_of(request, Wanted)))

    def _slot(self, request: Request, account: Account, file: Wanted) -> Json:
        if account.tier == "free" or "noupload" in account.words:
            return _no_slot(rate_limited=True)
        if file.file_size > LARGEST_BYTES:
            return _no_slot(error="File is too large")
        if _REFUSED in file.filename:
            return _no_slot(error="File type is not supported")
        upload = self._upload(str(request.base_url), account, file)
        self._state.uploads.put(upload.file_uuid, upload)
        bucket = str(request.base_url).rstrip("/") + ROOT
        return {
            "s3_bucket_url": bucket,
            "s3_object_url": upload.url,
            "fields": upload.fields,
            "file_uuid": upload.file_uuid,
            "rate_limited": False,
            "error": None,
        }

    def _upload(self, base_url: str, account: Account, file: Wanted) -> Upload:
        file_uuid = new_id()
        name = PurePosixPath(file.filename.replace("\\", "/")).name
        key = f"web/direct-files/attachments/{account.user_id}/{file_uuid}/{name}"
        older = "cloudinary" in account.words and file.content_type.startswith("image/")
        return Upload(
            file_uuid=file_uuid,
            owner=account.key,
            filename=name,
            content_type=file.content_type,
            size=file.file_size,
            key=key,
            url=base_url.rstrip("/") + ROOT + key,
            expires=self._state.stage.clock.monotonic() + POLICY_SECONDS,
            fields=_image_fields(key) if older else _fields(key, file),
        )

    async def subscribe(self, request: Request) -> ASGIApp:
        """One event for each document, as soon as it was read."""
        account = member_of(request, self._state)
        if "nodocs" in account.words:
            raise Refused(CHALLENGE)
        file_uuids = (await body_of(request, Subscription)).file_uuids
        events = [self._processed(account, file_uuid) for file_uuid in file_uuids]
        writes = [Bytes(encode(event)) for event in events]
        return self._state.stage.play([*writes, Bytes(END_OF_STREAM)], headers=STREAM_HEADERS)

    def _processed(self, account: Account, file_uuid: str) -> Frame:
        upload = self._state.uploads.get(file_uuid)
        there = upload is not None and upload.owner == account.key and upload.arrived
        success = there and upload is not None and _UNREADABLE not in upload.filename
        too_long = there and upload is not None and _TOO_LONG in upload.filename
        if upload is not None:
            upload.processed = success and not too_long
        return {
            "file_uuid": file_uuid,
            "success": success,
            "s3_url": upload.url if upload is not None and success else None,
            "token_limit_exceeded": too_long,
            "final_sse_message": False,
        }


def _no_slot(*, rate_limited: bool = False, error: str | None = None) -> Json:
    return {
        "s3_bucket_url": None,
        "s3_object_url": None,
        "fields": None,
        "file_uuid": None,
        "rate_limited": rate_limited,
        "error": error,
    }


def _fields(key: str, file: Wanted) -> dict[str, str]:
    return {
        "acl": "private",
        "Content-Type": file.content_type,
        "key": key,
        "policy": "ZW11bGF0ZWQ=",
        "signature": "emulated",
        "AWSAccessKeyId": "EMULATED",
        "x-amz-security-token": "emulated",
        "tagging": "<Tagging><TagSet></TagSet></Tagging>",
        "x-amz-meta-is_text_only": "false",
    }


def _image_fields(key: str) -> dict[str, str]:
    """What the older image host wanted."""
    return {"api_key": "1", "timestamp": "1", "key": key, "signature": "emulated", "type": "private"}
