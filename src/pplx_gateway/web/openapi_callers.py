"""The paths of callers' keys and of what they use, for openapi_admin.py."""

from typing import Any

from pplx_gateway.protocols.openai.errors import ErrorBody
from pplx_gateway.web.admin_caller_keys import (
    CallerKeyEdit,
    ChangedCallerKey,
    MadeCallerKey,
    NewCallerKey,
    ShownCallerKeys,
)
from pplx_gateway.web.admin_requests import RequestList
from pplx_gateway.web.admin_usage import OwnUsage, UsageReport
from pplx_gateway.web.usage_query import DIMENSIONS

TYPES = (
    NewCallerKey,
    CallerKeyEdit,
    ShownCallerKeys,
    MadeCallerKey,
    ChangedCallerKey,
    UsageReport,
    OwnUsage,
    RequestList,
)

Schemas = dict[type, dict[str, Any]]

_ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
_ERRORS = {
    "400": "A field or parameter is wrong.",
    "403": "Only the owner rules.",
    "404": "No such key.",
    "503": "The store fails.",
}
_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}


def paths(schema: Schemas) -> dict[str, Any]:
    keys: dict[str, Any] = {
        "get": _operation(schema, "List the callers' keys, without their secrets.", "listCallerKeys", ShownCallerKeys),
        "post": _operation(schema, "Make a key. Its secret is shown once.", "makeCallerKey", MadeCallerKey, "201"),
    }
    key: dict[str, Any] = {
        "parameters": [_ID],
        "get": _operation(schema, "One key.", "getCallerKey", ChangedCallerKey),
        "patch": _operation(schema, "Change a key's name, limits or end.", "changeCallerKey", ChangedCallerKey),
        "delete": _operation(schema, "Revoke a key, for good.", "revokeCallerKey", ChangedCallerKey),
    }
    keys["post"]["requestBody"] = _body(schema[NewCallerKey])
    key["patch"]["requestBody"] = _body(schema[CallerKeyEdit])
    usage = _operation(schema, "What was used and what it cost, in groups.", "getUsage", UsageReport)
    own = _operation(schema, "What the caller itself has used, and its budget.", "getOwnUsage", OwnUsage)
    requests = _operation(schema, "Requests one by one, the newest first.", "listRequests", RequestList)
    by = _query("group_by", f"Of {', '.join(DIMENSIONS)}, separated by commas, or none. Else day.")
    page = [_query("limit", "At most 500.", _NUMBER), _query("before", "`next` of the page before.", _NUMBER)]
    failed = _query("error", "A code, or 1 for every failure.")
    return {
        "/admin/caller-keys": keys,
        "/admin/caller-keys/{id}": key,
        "/admin/usage": {"get": {**usage, "parameters": [*_FILTERS, *_OWNERS, by]}},
        "/admin/requests": {"get": {**requests, "parameters": [*_FILTERS, *_OWNERS, *page, failed]}},
        "/v1/usage": {"get": {**own, "parameters": [*_FILTERS, by]}},
    }


def _query(name: str, about: str, kind: dict[str, str] = _TEXT) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": about, "schema": kind}


_FILTERS = (
    _query("from", "A day, an ISO 8601 time, or seconds since the epoch."),
    _query("to", "The same; not included, but for a day, which is."),
    _query("model", "What answered, or was asked for where nothing answered."),
    _query("upstream", "session or api."),
)
_OWNERS = (_query("caller", "`owner`, or the id of a caller's key."), _query("key", "The owner's key that paid."))


def _operation(schema: Schemas, summary: str, name: str, result: type, good: str = "200") -> dict[str, Any]:
    refused = {status: {"description": about, "content": _json(schema[ErrorBody])} for status, about in _ERRORS.items()}
    done = {good: {"description": "Done.", "content": _json(schema[result])}}
    return {"summary": summary, "operationId": name, "responses": {**done, **refused}}


def _body(found: dict[str, Any]) -> dict[str, Any]:
    return {"required": True, "content": _json(found)}


def _json(found: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": found}}
