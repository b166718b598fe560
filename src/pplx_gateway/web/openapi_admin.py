"""The paths by which the owner rules, for openapi.py."""

from typing import Any

from pplx_gateway.protocols.openai.errors import ErrorBody
from pplx_gateway.web.admin import RefreshedCookie

TYPES = (RefreshedCookie,)

Schemas = dict[type, dict[str, Any]]

_PASTED = "A bare value, a Cookie header, a JSON map, or a browser's export; whole or in pieces."
_REFUSED = {
    "400": "There is no cookie in it, or nobody is signed in with it (`cookie_refused`). The old one was kept.",
    "403": "A gateway without a key is ruled from its own machine alone.",
    "502": "Perplexity could not say whether it is good. The old one was kept.",
    "503": "A challenge page stands before the check, or the store fails. The old one was kept.",
}


def paths(schema: Schemas) -> dict[str, Any]:
    return {"/admin/refresh-cookie": {"post": _refresh(schema)}}


def _refresh(schema: Schemas) -> dict[str, Any]:
    token = {"description": _PASTED, "type": ["string", "object", "array"]}
    body = {"type": "object", "required": ["session_token"], "properties": {"session_token": token}}
    taken = {"application/json": {"schema": body}, "text/plain": {"schema": {"type": "string", "description": _PASTED}}}
    refused = {
        status: {"description": about, "content": {"application/json": {"schema": schema[ErrorBody]}}}
        for status, about in _REFUSED.items()
    }
    good = {
        "description": "It is good, and in use.",
        "content": {"application/json": {"schema": schema[RefreshedCookie]}},
    }
    return {
        "summary": "Put a new session cookie in place of the old one, once Perplexity has said that it is good.",
        "operationId": "refreshCookie",
        "requestBody": {"required": True, "content": taken},
        "responses": {"200": good, **refused},
    }
