"""The paths of models, as callers and as the owner see them, for openapi.py."""

from typing import Any

from pplx_gateway.protocols.anthropic.models import MOST_LISTED, ModelInfo, ModelPage
from pplx_gateway.protocols.anthropic.versions import HEADER
from pplx_gateway.protocols.openai.models import ModelList, ModelObject
from pplx_gateway.web.admin_models import ModelMap, ModelUpdate, StartedDiscovery, UpdatedModels
from pplx_gateway.web.openapi_answers import STORE, UPSTREAM, Schemas, json, query

STRICT = (ModelUpdate,)
TYPES: tuple[type, ...] = (
    ModelList,
    ModelObject,
    ModelPage,
    ModelInfo,
    ModelMap,
    ModelUpdate,
    UpdatedModels,
    StartedDiscovery,
)

_ID = {
    "name": "id",
    "in": "path",
    "required": True,
    "description": "It may contain slashes, as they are.",
    "schema": {"type": "string"},
}
_VERSION = {
    "name": HEADER,
    "in": "header",
    "description": "Where it stands there, whatever it says, the answer is Anthropic's.",
    "schema": {"type": "string"},
}
_PAGE = query(
    {
        "limit": {"type": "integer", "minimum": 1, "maximum": MOST_LISTED, "default": MOST_LISTED},
        "after_id": {"type": "string"},
        "before_id": {"type": "string"},
    }
)
_WAIT = query({"wait": {"type": "string", "description": "1: the answer comes with the report, after minutes."}})
_NO_SESSION = {"404": "There is no session upstream here."}


def paths(schema: Schemas) -> dict[str, Any]:
    return {
        "/v1/models": {"get": _every(schema)},
        "/v1/models/{id}": {"get": _one(schema)},
        "/admin/models": {"get": _map(schema)},
        "/admin/update-models": {"post": _update(schema)},
        "/admin/discover-models": {"post": _discover(schema)},
    }


def _every(schema: Schemas) -> dict[str, Any]:
    return {
        "summary": "List the models that are served now. Pages are Anthropic's alone.",
        "operationId": "listModels",
        "parameters": [_VERSION, *_PAGE],
        "responses": {"200": json({"anyOf": [schema[ModelList], schema[ModelPage]]}, "Found.")},
        "refusals": {"400": "A parameter is wrong."},
    }


def _one(schema: Schemas) -> dict[str, Any]:
    return {
        "summary": "One model.",
        "operationId": "retrieveModel",
        "parameters": [_ID, _VERSION],
        "responses": {"200": json({"anyOf": [schema[ModelObject], schema[ModelInfo]]}, "Found.")},
        "refusals": {"404": "No such model."},
    }


def _map(schema: Schemas) -> dict[str, Any]:
    return {
        "summary": "The session's models, and where each entry comes from.",
        "operationId": "getModelMap",
        "responses": {"200": json(schema[ModelMap], "Found.")},
        "refusals": {**_NO_SESSION, **STORE},
    }


def _update(schema: Schemas) -> dict[str, Any]:
    return {
        "summary": "Change the session's models: all changes, or none.",
        "operationId": "updateModels",
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema[ModelUpdate]}}},
        "responses": {"200": json(schema[UpdatedModels], "Done.")},
        "refusals": {**_NO_SESSION, **STORE},
    }


def _discover(schema: Schemas) -> dict[str, Any]:
    return {
        "summary": "Look which of the session's models answer, and what came after those that do not.",
        "operationId": "discoverModels",
        "parameters": _WAIT,
        "responses": {
            "200": json(schema[StartedDiscovery], "Done, with its report."),
            "202": json(schema[StartedDiscovery], "Begun, or under way elsewhere."),
        },
        "refusals": {**_NO_SESSION, **UPSTREAM},
    }
