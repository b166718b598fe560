"""The paths of uploaded files, for openapi.py."""

from typing import Any

from pplx_gateway.protocols.openai.errors import ErrorBody
from pplx_gateway.protocols.openai.file_objects import FileDeleted, FileInfo, FileList
from pplx_gateway.protocols.openai.files import MOST_LISTED, UploadForm

TYPES = (FileInfo, FileList, FileDeleted, UploadForm)

Schemas = dict[type, dict[str, Any]]

FILE_ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
_PARAMETERS = {
    "purpose": {"type": "string"},
    "order": {"type": "string", "enum": ["asc", "desc"], "default": "desc"},
    "limit": {"type": "integer", "minimum": 1, "maximum": MOST_LISTED, "default": MOST_LISTED},
    "after": {"type": "string", "description": "The id of the last file of the page before."},
}
LISTING = [{"name": name, "in": "query", "schema": kind} for name, kind in _PARAMETERS.items()]
_ABSENT = "No such file of yours."


def paths(schema: Schemas) -> dict[str, Any]:
    return {
        "/v1/files": {"get": _list(schema), "post": _create(schema)},
        "/v1/files/{id}": {
            "get": _one("Tell about one file.", "retrieveFile", schema[FileInfo], schema),
            "delete": _one("Delete a file.", "deleteFile", schema[FileDeleted], schema),
        },
        "/v1/files/{id}/content": {"get": _content(schema)},
    }


def _list(schema: Schemas) -> dict[str, Any]:
    return {
        "summary": "List your uploaded files.",
        "operationId": "listFiles",
        "parameters": LISTING,
        "responses": {"200": _json(schema[FileList], "Found."), "400": _error(schema, "A parameter is wrong.")},
    }


def _create(schema: Schemas) -> dict[str, Any]:
    file = {"type": "object", "required": ["file"], "properties": {"file": {"type": "string", "format": "binary"}}}
    form = {"multipart/form-data": {"schema": {"allOf": [schema[UploadForm], file]}}}
    return {
        "summary": "Upload a file, to name it by its id in questions.",
        "operationId": "createFile",
        "requestBody": {"required": True, "content": form},
        "responses": {
            "200": _json(schema[FileInfo], "Kept."),
            "400": _error(schema, "The form, the name, the purpose or the type is wrong, or the file is empty."),
            "413": _error(schema, "The file is too large, or there is no room left for it."),
            "503": _error(schema, "The disk or the store fails."),
        },
    }


def _one(summary: str, operation: str, found: dict[str, Any], schema: Schemas) -> dict[str, Any]:
    return {
        "summary": summary,
        "operationId": operation,
        "parameters": [FILE_ID],
        "responses": {"200": _json(found, "Done."), "404": _error(schema, _ABSENT)},
    }


def _content(schema: Schemas) -> dict[str, Any]:
    binary = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    return {
        "summary": "The bytes of a file.",
        "operationId": "downloadFile",
        "parameters": [FILE_ID],
        "responses": {"200": {"description": "The bytes.", "content": binary}, "404": _error(schema, _ABSENT)},
    }


def _json(found: dict[str, Any], about: str) -> dict[str, Any]:
    return {"description": about, "content": {"application/json": {"schema": found}}}


def _error(schema: Schemas, about: str) -> dict[str, Any]:
    return _json(schema[ErrorBody], about)
