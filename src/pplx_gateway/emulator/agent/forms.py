"""Uploads: the one file of a multipart form, and nothing in the form that the API does not know."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from starlette.requests import Request

from pplx_gateway.emulator.agent.errors import ApiError
from pplx_gateway.emulator.agent.strictness import MAX_BODY_BYTES
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.web.forms import Field, FileBegin, FileBytes, FormReader


class Form(NamedTuple):
    """`filename` is "" where the form gave none."""

    filename: str
    content: bytes
    fields: Mapping[str, str]


async def read_form(request: Request, known: Collection[str] = ()) -> Form:
    """The form with its part `file`, and fields that are all `known`. Raises ApiError 400 and 413."""
    body = await request.body()
    if len(body) > MAX_BODY_BYTES:
        raise ApiError(413, "request body exceeds 32 MiB", "payload_too_large")
    try:
        reader = FormReader(request.headers.get("content-type", ""))
        events = reader.feed(body)
        reader.close()
    except InvalidRequest as error:
        raise ApiError(400, f"invalid multipart form: {error.message}") from error
    fields = {event.name: event.value for event in events if isinstance(event, Field)}
    files = [event for event in events if isinstance(event, FileBegin)]
    for name in (*fields, *(file.name for file in files)):
        if name not in (*known, "file"):
            raise ApiError(400, f'unknown form field "{name}"', param=name)
    if len(files) != 1 or "file" in fields:
        raise ApiError(400, "file is required, once and as a file", param="file")
    content = b"".join(event.data for event in events if isinstance(event, FileBytes))
    if not content:
        raise ApiError(400, "file is empty", param="file")
    return Form(files[0].filename, content, fields)
