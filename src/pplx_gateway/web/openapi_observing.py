"""The paths that show what is counted, and what is unknown on the wire, for openapi.py."""

from typing import Any

from pplx_gateway.web.admin_wire import CaptureReport, WireReport
from pplx_gateway.web.openapi_answers import RULED, STORE, Schemas, json

TYPES = (WireReport, CaptureReport)

MEDIA_TYPES = ("text/plain", "application/openmetrics-text")
_REFUSED = {**STORE, **RULED}


def paths(schema: Schemas) -> dict[str, Any]:
    capture = json(schema[CaptureReport], "How it stands now.")
    return {
        "/metrics": {"get": _metrics()},
        "/admin/wire": {
            "get": {
                "summary": "What the upstreams sent that this release does not know, and the capture of its shape.",
                "operationId": "getWire",
                "responses": {"200": json(schema[WireReport], "Found.")},
                "refusals": _REFUSED,
            }
        },
        "/admin/wire/capture": {
            "post": {
                "summary": "Keep the shape of the next answer's part that holds something unknown.",
                "operationId": "armCapture",
                "responses": {"200": capture},
                "refusals": _REFUSED,
            },
            "delete": {
                "summary": "Forget the capture, or wait for none any more.",
                "operationId": "clearCapture",
                "responses": {"200": capture},
                "refusals": _REFUSED,
            },
        },
    }


def _metrics() -> dict[str, Any]:
    return {
        "summary": "Everything that is counted, for Prometheus; as OpenMetrics for whoever asks for that.",
        "operationId": "getMetrics",
        "responses": {
            "200": {
                "description": "The page.",
                "content": {media_type: {"schema": {"type": "string"}} for media_type in MEDIA_TYPES},
            }
        },
        "refusals": RULED,
    }
