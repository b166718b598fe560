"""The paths that tell the owner how the gateway stands, for openapi_admin.py."""

from typing import Any

from pplx_gateway.protocols.openai.errors import ErrorBody
from pplx_gateway.web.admin_quota import QuotaReport
from pplx_gateway.web.admin_report import StandingReport
from pplx_gateway.web.admin_settings import ToldSettings

TYPES = (QuotaReport, ToldSettings, StandingReport)

Schemas = dict[type, dict[str, Any]]

_DAYS = {"name": "days", "in": "query", "description": "From 1 to 90; else 30.", "schema": {"type": "integer"}}
_REFUSED = {"403": "Only the owner rules.", "503": "The store fails."}
_NO_SESSION = {"400": "A parameter is wrong.", "404": "There is no session upstream here."}


def paths(schema: Schemas) -> dict[str, Any]:
    quota = _read(schema, "What is left of the plan, and each reading of it.", "getQuota", QuotaReport, _NO_SESSION)
    settings = _read(schema, "Every setting, and where its value comes from.", "listSettings", ToldSettings)
    report = _read(schema, "How the gateway stands, as text to show to others.", "getReport", StandingReport)
    return {
        "/admin/quota": {"get": {**quota, "parameters": [_DAYS]}},
        "/admin/settings": {"get": settings},
        "/admin/report": {"get": report},
    }


def _read(schema: Schemas, summary: str, name: str, result: type, more: dict[str, str] | None = None) -> dict[str, Any]:
    refused = {**_REFUSED, **(more or {})}
    errors = {status: _json(schema[ErrorBody], about) for status, about in sorted(refused.items())}
    return {"summary": summary, "operationId": name, "responses": {"200": _json(schema[result], "Found."), **errors}}


def _json(found: dict[str, Any], about: str) -> dict[str, Any]:
    return {"description": about, "content": {"application/json": {"schema": found}}}
