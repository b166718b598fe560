"""The paths by which the owner rules, for openapi.py."""

from typing import Any

from pplx_gateway.protocols.openai.errors import ErrorBody
from pplx_gateway.web import openapi_callers, openapi_keys, openapi_standing
from pplx_gateway.web.admin import RefreshedCookie
from pplx_gateway.web.admin_files import KeptFiles, RemovedFile
from pplx_gateway.web.openapi_files import FILE_ID, LISTING

TYPES = (RefreshedCookie, KeptFiles, RemovedFile, *openapi_keys.TYPES, *openapi_callers.TYPES, *openapi_standing.TYPES)

Schemas = dict[type, dict[str, Any]]

_PASTED = "A bare value, a Cookie header, a JSON map, or a browser's export; whole or in pieces."
_REFUSED = {
    "400": "There is no cookie in it, or nobody is signed in with it (`cookie_refused`). The old one was kept.",
    "403": "A gateway without a key is ruled from its own machine alone.",
    "502": "Perplexity could not say whether it is good. The old one was kept.",
    "503": "A challenge page stands before the check, or the store fails. The old one was kept.",
}


def paths(schema: Schemas) -> dict[str, Any]:
    return {
        "/admin/refresh-cookie": {"post": _refresh(schema)},
        "/admin/files": {"get": _files(schema)},
        "/admin/files/{id}": {"delete": _remove(schema)},
        **openapi_keys.paths(schema),
        **openapi_callers.paths(schema),
        **openapi_standing.paths(schema),
    }


def _files(schema: Schemas) -> dict[str, Any]:
    return {
        "summary": "List the uploaded files of all callers, and the room that they take.",
        "operationId": "listAllFiles",
        "parameters": LISTING,
        "responses": {
            "200": _json(schema[KeptFiles], "Found."),
            "400": _json(schema[ErrorBody], "A parameter is wrong."),
            "403": _json(schema[ErrorBody], _REFUSED["403"]),
        },
    }


def _remove(schema: Schemas) -> dict[str, Any]:
    return {
        "summary": "Remove a file, whosever it is.",
        "operationId": "removeFile",
        "parameters": [FILE_ID],
        "responses": {
            "200": _json(schema[RemovedFile], "Done."),
            "403": _json(schema[ErrorBody], _REFUSED["403"]),
            "404": _json(schema[ErrorBody], "No such file."),
        },
    }


def _refresh(schema: Schemas) -> dict[str, Any]:
    token = {"description": _PASTED, "type": ["string", "object", "array"]}
    body = {"type": "object", "required": ["session_token"], "properties": {"session_token": token}}
    taken = {"application/json": {"schema": body}, "text/plain": {"schema": {"type": "string", "description": _PASTED}}}
    refused = {status: _json(schema[ErrorBody], about) for status, about in _REFUSED.items()}
    good = _json(schema[RefreshedCookie], "It is good, and in use.")
    return {
        "summary": "Put a new session cookie in place of the old one, once Perplexity has said that it is good.",
        "operationId": "refreshCookie",
        "requestBody": {"required": True, "content": taken},
        "responses": {"200": good, **refused},
    }


def _json(found: dict[str, Any], about: str) -> dict[str, Any]:
    return {"description": about, "content": {"application/json": {"schema": found}}}
