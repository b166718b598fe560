"""The paths that tell the owner how the gateway stands, for openapi_admin.py."""

from typing import Any

from pplx_gateway.store.quota_history import KEPT_DAYS
from pplx_gateway.web.admin_quota import USUAL_DAYS, QuotaReport
from pplx_gateway.web.admin_report import StandingReport
from pplx_gateway.web.admin_settings import ToldSettings
from pplx_gateway.web.openapi_answers import RULED, STORE, Schemas, json, query

TYPES = (QuotaReport, ToldSettings, StandingReport)

_DAYS = query({"days": {"type": "integer", "minimum": 1, "maximum": KEPT_DAYS, "default": USUAL_DAYS}})
_CHECKS = query({"checks": {"type": "string", "enum": ["0", "1"], "description": "1: look for what is wrong, too."}})
_WRONG = {"400": "A parameter is wrong."}
_NO_SESSION = {**_WRONG, "404": "There is no session upstream here."}


def paths(schema: Schemas) -> dict[str, Any]:
    quota = _read(schema, "What is left of the plan, and each reading of it.", "getQuota", QuotaReport, _NO_SESSION)
    settings = _read(schema, "Every setting, and where its value comes from.", "listSettings", ToldSettings)
    report = _read(schema, "How the gateway stands, as text to show to others.", "getReport", StandingReport, _WRONG)
    return {
        "/admin/quota": {"get": {**quota, "parameters": _DAYS}},
        "/admin/settings": {"get": settings},
        "/admin/report": {"get": {**report, "parameters": _CHECKS}},
    }


def _read(schema: Schemas, summary: str, name: str, result: type, more: dict[str, str] | None = None) -> dict[str, Any]:
    refused = {**STORE, **RULED, **(more or {})}
    return {
        "summary": summary,
        "operationId": name,
        "responses": {"200": json(schema[result], "Found.")},
        "refusals": refused,
    }
