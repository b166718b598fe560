"""The paths of the owner's keys for the API, for openapi_admin.py."""

from typing import Any

from pplx_gateway.upstreams.api.keys.edits import KeyEdit
from pplx_gateway.upstreams.api.keys.form import KeyForm
from pplx_gateway.web.admin_keys import ChangedKey, RemovedKey, ShownKeys
from pplx_gateway.web.openapi_answers import RULED, STORE, Schemas, json

TYPES = (ShownKeys, ChangedKey, RemovedKey, KeyForm, KeyEdit)

_NAME = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
_ABSENT = {"404": "No such key, or no api upstream."}


def paths(schema: Schemas) -> dict[str, Any]:
    listed = _operation(schema, "List the keys for the Perplexity API, without their values.", "listKeys", ShownKeys)
    added = _operation(schema, "Add a key.", "addKey", ChangedKey, KeyForm, good="201")
    edited = _operation(schema, "Change a key, and try it anew.", "editKey", ChangedKey, KeyEdit)
    removed = _operation(schema, "Remove a key.", "removeKey", RemovedKey)
    return {
        "/admin/keys": {"get": listed, "post": added},
        "/admin/keys/{name}": {
            "patch": {**edited, "parameters": [_NAME]},
            "delete": {**removed, "parameters": [_NAME]},
        },
    }


def _operation(
    schema: Schemas, summary: str, name: str, result: type, form: type | None = None, *, good: str = "200"
) -> dict[str, Any]:
    body = {"required": True, "content": {"application/json": {"schema": schema[form]}}} if form else None
    return {
        "summary": summary,
        "operationId": name,
        **({"requestBody": body} if body else {}),
        "responses": {good: json(schema[result], "Done.")},
        "refusals": {**STORE, **RULED, **_ABSENT},
    }
