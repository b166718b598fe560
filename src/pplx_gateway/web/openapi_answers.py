"""What every operation may answer besides its own results: what the layers around the routes say, in the dialect of the
path. For openapi.py."""

from collections.abc import Callable
from typing import Any

from pplx_gateway.protocols.anthropic.errors import AnthropicErrorBody
from pplx_gateway.protocols.openai.errors import ErrorBody
from pplx_gateway.protocols.openai.pinning import HEADER as PIN_HEADER
from pplx_gateway.protocols.perplexity.errors import PerplexityErrorBody
from pplx_gateway.web.authentication import is_admin, is_public
from pplx_gateway.web.faces import face_of
from pplx_gateway.web.permission import FREE
from pplx_gateway.web.reply_headers import OF_ANSWERS, OF_ERRORS, OF_OPERATIONS

TYPES: tuple[type, ...] = (ErrorBody, PerplexityErrorBody, AnthropicErrorBody)

Schemas = dict[type, dict[str, Any]]

QUESTION = {
    "400": "A field is wrong, or the upstream cannot honour it; the error names it.",
    "402": "The balance at the API, or the budget of the caller's key, is spent.",
    "403": "The model is not in your plan or not the key's to ask, or the Host or Origin is not allowed.",
    "404": "No such model, or no such file.",
    "413": "The body is too large, or there is no room left to keep it.",
    "429": "A quota is gone (x-should-retry: false) or requests come too fast (Retry-After).",
    "502": "The upstream failed, or refused the gateway's own key.",
    "503": "The session is expired or blocked, or the store fails.",
    "504": "The upstream took too long.",
}
"""Of what asks an upstream a question."""
UPSTREAM = {status: QUESTION[status] for status in ("402", "429", "502", "503", "504")}
"""Of what an upstream keeps, or is looked up there."""
STORE = {"503": "The store fails."}
RULED = {"403": "Only the owner rules; a gateway without a key is ruled from its own machine alone."}

_EVERYWHERE = {
    "403": "The Host or Origin is not allowed, or the key may not do this.",
    "413": "The body is too large.",
    "415": "The body is compressed.",
    "500": "A defect of the gateway. Its log tells more.",
}
_KNOWN_CALLERS = {"401": "The gateway's key is missing or wrong."}
_READING = {"400": "The body is wrong; the error names the field.", "408": "The body did not come to its end in time."}
_ASKING = {
    "402": "The budget of the caller's key is spent.",
    "429": "The caller's key asks too often (Retry-After).",
    "503": "The store fails.",
}
"""What callers' keys are refused before anything is spent (permission.py)."""
_PASSED_ON = {
    "4XX": "What the upstream said, with its status.",
    "5XX": "What the upstream said, with its status.",
}
_SHAPES: dict[str, Callable[[Schemas], dict[str, Any]]] = {
    "openai": lambda schema: schema[ErrorBody],
    "perplexity": lambda schema: schema[PerplexityErrorBody],
    "anthropic": lambda schema: schema[AnthropicErrorBody],
    "either": lambda schema: {"anyOf": [schema[ErrorBody], schema[AnthropicErrorBody]]},
}
"""`either`: the caller's headers tell which."""
_OF_FAILURES = {"x-request-id": OF_ANSWERS["x-request-id"], **OF_OPERATIONS, **OF_ERRORS}
_HEADERS = {**OF_ANSWERS, **OF_OPERATIONS, **OF_ERRORS}

SECURITY: list[dict[str, list[str]]] = [{"bearer": []}, {"x-api-key": []}]
PIN = {
    "name": PIN_HEADER,
    "in": "header",
    "description": "Which of the owner's keys for the Perplexity API is to pay.",
    "schema": {"type": "string"},
}


def json(found: dict[str, Any], about: str) -> dict[str, Any]:
    """One answer."""
    return {"description": about, "content": {"application/json": {"schema": found}}}


def events(*data: dict[str, Any], done: bool = False) -> dict[str, Any]:
    """The schema of each event of a stream; its data has one of the forms `data`, in JSON. `done`: the last event of a
    stream that succeeded is [DONE]."""
    inner = data[0] if len(data) == 1 else {"anyOf": list(data)}
    text = {"type": "string", "contentMediaType": "application/json", "contentSchema": inner}
    return {
        "type": "object",
        "description": "One event.",
        "required": ["data"],
        "properties": {"event": {"type": "string"}, "data": {"anyOf": [text, {"const": "[DONE]"}]} if done else text},
    }


def binary() -> dict[str, Any]:
    return {
        "description": "The bytes.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }


def query(parameters: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"name": name, "in": "query", "schema": kind} for name, kind in parameters.items()]


def headers() -> dict[str, Any]:
    """For the document's components."""
    return {name: {"description": about, "schema": {"type": "string"}} for name, about in _HEADERS.items()}


def told(names: dict[str, str]) -> dict[str, Any]:
    """An answer's headers."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def complete(paths: dict[str, Any], schema: Schemas) -> tuple[dict[str, Any], dict[str, Any]]:
    """The paths, and what stands in the components' `responses` for them. Operations tell their failures as words by
    status (`refusals`); here they get their form, and those of the layers are added."""
    failures = _Failures(schema)
    whole = {
        path: {method: _whole(path, method, call, failures) for method, call in calls.items()}
        for path, calls in paths.items()
    }
    return whole, failures.shared


class _Failures:
    """`shared` holds each answer once, by a name; operations refer to it."""

    def __init__(self, schema: Schemas) -> None:
        self.shared: dict[str, Any] = {}
        self._schema = schema
        self._names: dict[tuple[str, str], list[str]] = {}

    def refer(self, dialect: str, status: str, about: str) -> dict[str, str]:
        texts = self._names.setdefault((dialect, status), [])
        if about not in texts:
            texts.append(about)
        place = texts.index(about)
        name = f"{dialect}-{status}" + (f"-{place + 1}" if place else "")
        if name not in self.shared:
            shape = _SHAPES[dialect](self._schema)
            self.shared[name] = {**json(shape, about), "headers": told(_OF_FAILURES)}
        return {"$ref": f"#/components/responses/{name}"}


def _whole(path: str, method: str, call: dict[str, Any], failures: _Failures) -> dict[str, Any]:
    refused = {**_of_layers(path, method, call), **call.get("refusals", {})}
    told_so = {status: failures.refer(_dialect(path), status, about) for status, about in sorted(refused.items())}
    rest = {name: value for name, value in call.items() if name not in ("refusals", "responses")}
    security = {"security": [{}, *SECURITY]} if is_public(path) else {}
    return {**rest, **security, "responses": {**call["responses"], **told_so}}


def _of_layers(path: str, method: str, call: dict[str, Any]) -> dict[str, str]:
    found = {**_EVERYWHERE}
    if not is_public(path):
        found |= _KNOWN_CALLERS
    if "requestBody" in call:
        found |= _READING
    if method in ("post", "put") and not path.endswith(FREE) and not is_admin(path):
        found |= _ASKING
    if face_of(path).protocol == "perplexity":
        found |= _PASSED_ON
    return found


def _dialect(path: str) -> str:
    face = face_of(path)
    return "either" if face.operation == "models" and face.protocol == "openai" else face.protocol
