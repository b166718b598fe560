"""The paths of uploaded files, for openapi.py."""

from typing import Any

from pplx_gateway.protocols.openai.batch_files import PURPOSES as BATCH_PURPOSES
from pplx_gateway.protocols.openai.file_objects import FileDeleted, FileInfo, FileList
from pplx_gateway.protocols.openai.files import MOST_LISTED, UploadForm
from pplx_gateway.protocols.openai.upload import PURPOSES
from pplx_gateway.web.openapi_answers import PIN, STORE, UPSTREAM, Schemas, binary, json, query

TYPES = (FileInfo, FileList, FileDeleted, UploadForm)

FILE_ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
LISTING = query(
    {
        "purpose": {"type": "string", "enum": [*PURPOSES, *BATCH_PURPOSES]},
        "order": {"type": "string", "enum": ["asc", "desc"], "default": "desc"},
        "limit": {"type": "integer", "minimum": 1, "maximum": MOST_LISTED, "default": MOST_LISTED},
        "after": {"type": "string", "description": "The id of the last file of the page before."},
    }
)
_ABSENT = {"404": "No such file of yours."}
_WRONG = {"400": "A parameter is wrong."}


def add_file(schemas: dict[str, Any]) -> None:
    """The form's file, which no struct holds."""
    form = schemas[UploadForm.__name__]
    form["properties"]["file"] = {"type": "string", "format": "binary"}
    form["required"] = [*form["required"], "file"]


def paths(schema: Schemas) -> dict[str, Any]:
    return {
        "/v1/files": {"get": _list(schema), "post": _create(schema)},
        "/v1/files/{id}": {
            "get": _one("Tell about one file.", "retrieveFile", schema[FileInfo]),
            "delete": _one("Delete a file.", "deleteFile", schema[FileDeleted]),
        },
        "/v1/files/{id}/content": {"get": _content()},
    }


def _list(schema: Schemas) -> dict[str, Any]:
    return {
        "summary": "List your uploaded files, and behind them those of batches.",
        "operationId": "listFiles",
        "parameters": LISTING,
        "responses": {"200": json(schema[FileList], "Found.")},
        "refusals": {**UPSTREAM, **_WRONG},
    }


def _create(schema: Schemas) -> dict[str, Any]:
    return {
        "summary": "Upload a file, to name it by its id in questions.",
        "operationId": "createFile",
        "parameters": [PIN],
        "requestBody": {"required": True, "content": {"multipart/form-data": {"schema": schema[UploadForm]}}},
        "responses": {"200": json(schema[FileInfo], "Kept.")},
        "refusals": {
            **UPSTREAM,
            **STORE,
            "400": "The form, the name, the purpose or the type is wrong, or the file is empty.",
            "413": "The file is too large, or there is no room left for it.",
        },
    }


def _one(summary: str, operation: str, found: dict[str, Any]) -> dict[str, Any]:
    return {
        "summary": summary,
        "operationId": operation,
        "parameters": [FILE_ID],
        "responses": {"200": json(found, "Done.")},
        "refusals": {**UPSTREAM, **_ABSENT},
    }


def _content() -> dict[str, Any]:
    return {
        "summary": "The bytes of a file.",
        "operationId": "downloadFile",
        "parameters": [FILE_ID],
        "responses": {"200": binary()},
        "refusals": {**UPSTREAM, **_ABSENT},
    }
