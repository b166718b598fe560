"""The paths by which the owner rules, for openapi.py."""

from typing import Any

from pplx_gateway.web import openapi_callers, openapi_keys, openapi_standing
from pplx_gateway.web.admin import RefreshedCookie
from pplx_gateway.web.admin_files import KeptFiles, RemovedFile
from pplx_gateway.web.openapi_answers import RULED, STORE, UPSTREAM, Schemas, json
from pplx_gateway.web.openapi_files import FILE_ID, LISTING

TYPES = (RefreshedCookie, KeptFiles, RemovedFile, *openapi_keys.TYPES, *openapi_callers.TYPES, *openapi_standing.TYPES)

_PASTED = "A bare value, a Cookie header, a JSON map, or a browser's export; whole or in pieces."
_REFUSED = {
    "400": "There is no cookie in it, or nobody is signed in with it (`cookie_refused`). The old one was kept.",
    "404": "There is no session upstream here.",
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
        "responses": {"200": json(schema[KeptFiles], "Found.")},
        "refusals": {**STORE, **RULED, "400": "A parameter is wrong."},
    }


def _remove(schema: Schemas) -> dict[str, Any]:
    return {
        "summary": "Remove a file, whosever it is.",
        "operationId": "removeFile",
        "parameters": [FILE_ID],
        "responses": {"200": json(schema[RemovedFile], "Done.")},
        "refusals": {**STORE, **RULED, "404": "No such file."},
    }


def _refresh(schema: Schemas) -> dict[str, Any]:
    token = {"description": _PASTED, "type": ["string", "object", "array"]}
    body = {"type": "object", "required": ["session_token"], "properties": {"session_token": token}}
    taken = {"application/json": {"schema": body}, "text/plain": {"schema": {"type": "string", "description": _PASTED}}}
    return {
        "summary": "Put a new session cookie in place of the old one, once Perplexity has said that it is good.",
        "operationId": "refreshCookie",
        "requestBody": {"required": True, "content": taken},
        "responses": {"200": json(schema[RefreshedCookie], "It is good, and in use.")},
        "refusals": {**UPSTREAM, **RULED, **_REFUSED},
    }
