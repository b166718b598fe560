"""The paths of the owner's keys for the API, for openapi_admin.py."""

from typing import Any

from pplx_gateway.protocols.openai.errors import ErrorBody
from pplx_gateway.upstreams.api.keys.edits import KeyEdit
from pplx_gateway.upstreams.api.keys.form import KeyForm
from pplx_gateway.web.admin_keys import ChangedKey, RemovedKey, ShownKeys

TYPES = (ShownKeys, ChangedKey, RemovedKey, KeyForm, KeyEdit)

Schemas = dict[type, dict[str, Any]]

_NAME = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
_ERRORS = {
    "400": "A field is wrong.",
    "403": "A gateway without a key is ruled from its own machine alone.",
    "404": "No such key, or no api upstream.",
    "503": "The store fails.",
}


def paths(schema: Schemas) -> dict[str, Any]:
    listed = _operation(schema, "List the keys for the Perplexity API, without their values.", "listKeys", ShownKeys)
    added = _operation(schema, "Add a key.", "addKey", ChangedKey, KeyForm, good="201")
    edited = _operation(schema, "Change a key, and try it anew.", "editKey", ChangedKey, KeyEdit)
    removed = _operation(schema, "Remove a key.", "removeKey", RemovedKey)
    return {
        "/admin/keys": {"get": listed, "post": added},
        "/admin/keys/{name}": {"parameters": [_NAME], "patch": edited, "delete": removed},
    }


def _operation(
    schema: Schemas, summary: str, name: str, result: type, form: type | None = None, *, good: str = "200"
) -> dict[str, Any]:
    taken = {"requestBody": {"required": True, "content": _json(schema[form])}} if form else {}
    refused = {status: {"description": about, "content": _json(schema[ErrorBody])} for status, about in _ERRORS.items()}
    return {
        "summary": summary,
        "operationId": name,
        **taken,
        "responses": {good: {"description": "Done.", "content": _json(schema[result])}, **refused},
    }


def _json(found: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": found}}
