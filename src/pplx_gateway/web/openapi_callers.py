"""The paths of callers' keys and of what they use, for openapi_admin.py."""

from typing import Any

from pplx_gateway.web.admin_caller_keys import (
    CallerKeyEdit,
    ChangedCallerKey,
    MadeCallerKey,
    NewCallerKey,
    ShownCallerKeys,
)
from pplx_gateway.web.admin_requests import MOST_REQUESTS, USUAL_REQUESTS, RequestList
from pplx_gateway.web.admin_usage import OwnUsage, UsageReport
from pplx_gateway.web.openapi_answers import RULED, STORE, Schemas, json
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

_ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
_WRONG = {"400": "A parameter is wrong."}
_ABSENT = {"400": "A field is wrong.", "404": "No such key."}
_TEXT = {"type": "string"}
_NUMBER = {"type": "integer", "minimum": 0}
_LIMIT = {"type": "integer", "minimum": 1, "maximum": MOST_REQUESTS, "default": USUAL_REQUESTS}


def paths(schema: Schemas) -> dict[str, Any]:
    return {
        "/admin/caller-keys": {"get": _list(schema), "post": _make(schema)},
        "/admin/caller-keys/{id}": _one(schema),
        **_reports(schema),
    }


def _list(schema: Schemas) -> dict[str, Any]:
    about = "List the callers' keys, without their secrets."
    return _operation(about, "listCallerKeys", schema[ShownCallerKeys], RULED)


def _make(schema: Schemas) -> dict[str, Any]:
    made = _operation("Make a key. Its secret is shown once.", "makeCallerKey", schema[MadeCallerKey], RULED, "201")
    return {**made, "requestBody": _body(schema[NewCallerKey])}


def _one(schema: Schemas) -> dict[str, Any]:
    shown, refused = schema[ChangedCallerKey], {**RULED, **_ABSENT}
    changed = _operation("Change a key's name, limits or end.", "changeCallerKey", shown, refused)
    calls = {
        "get": _operation("One key.", "getCallerKey", shown, refused),
        "patch": {**changed, "requestBody": _body(schema[CallerKeyEdit])},
        "delete": _operation("Revoke a key, for good.", "revokeCallerKey", shown, refused),
    }
    return {method: {**call, "parameters": [_ID]} for method, call in calls.items()}


def _reports(schema: Schemas) -> dict[str, Any]:
    refused = {**RULED, **_WRONG}
    usage = _operation("What was used and what it cost, in groups.", "getUsage", schema[UsageReport], refused)
    own = _operation("What the caller itself has used, and its budget.", "getOwnUsage", schema[OwnUsage], _WRONG)
    requests = _operation("Requests one by one, the newest first.", "listRequests", schema[RequestList], refused)
    by = _query("group_by", f"Of {', '.join(DIMENSIONS)}, separated by commas, or none. Else day.")
    page = [_query("limit", "", _LIMIT), _query("before", "`next` of the page before.", _NUMBER)]
    failed = _query("error", "A code, or 1 for every failure.")
    return {
        "/admin/usage": {"get": {**usage, "parameters": [*_FILTERS, *_OWNERS, by]}},
        "/admin/requests": {"get": {**requests, "parameters": [*_FILTERS, *_OWNERS, *page, failed]}},
        "/v1/usage": {"get": {**own, "parameters": [*_FILTERS, by]}},
    }


def _query(name: str, about: str, kind: dict[str, Any] = _TEXT) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": about, "schema": kind}


_FILTERS = (
    _query("from", "A day, an ISO 8601 time, or seconds since the epoch."),
    _query("to", "The same; not included, but for a day, which is."),
    _query("model", "What answered, or was asked for where nothing answered."),
    _query("upstream", "session or api."),
)
_OWNERS = (_query("caller", "`owner`, or the id of a caller's key."), _query("key", "The owner's key that paid."))


def _operation(
    summary: str, name: str, result: dict[str, Any], refused: dict[str, str], good: str = "200"
) -> dict[str, Any]:
    done = {good: json(result, "Done.")}
    return {"summary": summary, "operationId": name, "responses": done, "refusals": {**STORE, **refused}}


def _body(found: dict[str, Any]) -> dict[str, Any]:
    return {"required": True, "content": {"application/json": {"schema": found}}}
