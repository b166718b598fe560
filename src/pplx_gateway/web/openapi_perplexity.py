"""The paths of what is no question, in both dialects, for openapi.py."""

from typing import Any

from pplx_gateway.protocols.openai import batches as openai_batches
from pplx_gateway.protocols.openai import decisions as openai_decisions
from pplx_gateway.protocols.openai import embeddings as openai_embeddings
from pplx_gateway.protocols.openai.errors import ErrorBody
from pplx_gateway.protocols.openai.file_objects import FileInfo
from pplx_gateway.protocols.perplexity.batches import NativeBatchRequest
from pplx_gateway.protocols.perplexity.decisions import DecisionsRequest
from pplx_gateway.protocols.perplexity.embeddings import (
    ContextualizedEmbeddingsReply,
    ContextualizedEmbeddingsRequest,
    EmbeddingsReply,
    NativeEmbeddingsRequest,
)
from pplx_gateway.protocols.perplexity.errors import PerplexityErrorBody
from pplx_gateway.protocols.perplexity.lists import MOST, USUAL, NativeList
from pplx_gateway.protocols.perplexity.models import ModelEntries
from pplx_gateway.protocols.perplexity.search import SearchRequest
from pplx_gateway.protocols.perplexity.skills import EXPECTED, SkillList
from pplx_gateway.web.openapi_files import FILE_ID, Schemas
from pplx_gateway.web.reply_headers import OF_OPERATIONS

TYPES: tuple[type, ...] = (
    openai_embeddings.EmbeddingsRequest,
    openai_embeddings.EmbeddingList,
    openai_decisions.DecisionRequest,
    openai_decisions.DecisionReply,
    openai_batches.BatchRequest,
    openai_batches.BatchObject,
    openai_batches.BatchList,
    PerplexityErrorBody,
    SearchRequest,
    NativeEmbeddingsRequest,
    EmbeddingsReply,
    ContextualizedEmbeddingsRequest,
    ContextualizedEmbeddingsReply,
    DecisionsRequest,
    ModelEntries,
    NativeBatchRequest,
    NativeList,
    SkillList,
)

_ERRORS = {
    "400": "A field is wrong; `param` names it.",
    "401": "The gateway's key is missing or wrong.",
    "402": "The balance at the API, or the budget of the caller's key, is spent.",
    "403": "The caller's key has no leave for it.",
    "404": "No such thing of yours, or no such model.",
    "429": "Requests come too fast (Retry-After).",
    "502": "The upstream failed, or refused the gateway's own key.",
    "503": "The store fails.",
    "504": "The upstream took too long.",
}
_ID = [FILE_ID]
_FORM = {"type": "object", "required": ["file"], "properties": {"file": {"type": "string", "format": "binary"}}}
_UPLOAD = {
    "type": "object",
    "required": ["file", "purpose"],
    "properties": {"file": {"type": "string", "format": "binary"}, "purpose": {"const": "batch"}},
}
_AS_TOLD: dict[str, Any] = {"type": "object", "description": "As the upstream tells it."}
_ONCE = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "One word starts one batch only.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}
_LIMIT = {"type": "integer", "minimum": 1, "maximum": MOST, "default": USUAL}
_ORDER = {"type": "string", "enum": ["asc", "desc"], "default": "desc"}
_PURPOSE = {"type": "string", "enum": ["batch", "batch_output"]}


class Description:
    """`errors` is the shape of a dialect's errors."""

    def __init__(self, schema: Schemas, errors: type) -> None:
        self._schema = schema
        self._errors = schema[errors]

    def post(self, summary: str, name: str, taken: type, given: type | None, *more: dict[str, Any]) -> dict[str, Any]:
        body = {"required": True, "content": _json(self._schema[taken])}
        return {"post": {**self._call(summary, name, given, more), "requestBody": body}}

    def form(self, method: str, summary: str, name: str, form: dict[str, Any], *more: dict[str, Any]) -> dict[str, Any]:
        body = {"required": True, "content": {"multipart/form-data": {"schema": form}}}
        return {method: {**self._call(summary, name, None, more), "requestBody": body}}

    def call(self, method: str, summary: str, name: str, given: type | None, *more: dict[str, Any]) -> dict[str, Any]:
        return {method: self._call(summary, name, given, more)}

    def bytes(self, summary: str, name: str, *more: dict[str, Any]) -> dict[str, Any]:
        binary = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
        call = self._call(summary, name, None, more)
        return {
            "get": {**call, "responses": {**call["responses"], "200": {"description": "Bytes.", "content": binary}}}
        }

    def nothing(self, method: str, summary: str, name: str, *more: dict[str, Any]) -> dict[str, Any]:
        call = self._call(summary, name, None, more)
        responses = {status: told for status, told in call["responses"].items() if status != "200"}
        return {method: {**call, "responses": {"204": {"description": "Done."}, **responses}}}

    def _call(self, summary: str, name: str, given: type | None, more: tuple[dict[str, Any], ...]) -> dict[str, Any]:
        shown = self._schema[given] if given else _AS_TOLD
        told = {header: {"description": about, "schema": {"type": "string"}} for header, about in OF_OPERATIONS.items()}
        errors = {code: {"description": about, "content": _json(self._errors)} for code, about in _ERRORS.items()}
        return {
            "summary": summary,
            "operationId": name,
            "parameters": list(more),
            "responses": {"200": {"description": "Done.", "headers": told, "content": _json(shown)}, **errors},
        }


def paths(schema: Schemas) -> dict[str, Any]:
    return {**_openai(Description(schema, ErrorBody)), **_native(Description(schema, PerplexityErrorBody))}


def _openai(say: Description) -> dict[str, Any]:
    return {
        "/v1/embeddings": say.post(
            "Texts to vectors of length 1.",
            "createEmbedding",
            openai_embeddings.EmbeddingsRequest,
            openai_embeddings.EmbeddingList,
        ),
        "/v1/decisions": say.post(
            "Ask a decider up to 400 questions about one input.",
            "createDecision",
            openai_decisions.DecisionRequest,
            openai_decisions.DecisionReply,
        ),
        "/v1/batches": {
            **say.post("Start a batch.", "createBatch", openai_batches.BatchRequest, openai_batches.BatchObject, _ONCE),
            **say.call("get", "List your batches.", "listBatches", openai_batches.BatchList, *_query(limit=_LIMIT)),
        },
        "/v1/batches/{id}": say.call("get", "One batch.", "retrieveBatch", openai_batches.BatchObject, *_ID),
        "/v1/batches/{id}/cancel": say.call("post", "Stop a batch.", "cancelBatch", openai_batches.BatchObject, *_ID),
    }


def _native(say: Description) -> dict[str, Any]:
    context = say.post(
        "Chunks of documents to vectors, each in its document's light.",
        "contextualizedEmbeddings",
        ContextualizedEmbeddingsRequest,
        ContextualizedEmbeddingsReply,
    )
    search = say.post("Search for pages, without an answer.", "search", SearchRequest, None)
    embed = say.post("Texts to vectors, packed.", "nativeEmbeddings", NativeEmbeddingsRequest, EmbeddingsReply)
    found = {
        "/search": search,
        "/v1/contextualizedembeddings": context,
        "/perplexity/search": search,
        "/perplexity/v1/contextualizedembeddings": context,
        "/perplexity/v1/embeddings": embed,
        "/perplexity/v1/decisions": say.post("Ask a decider.", "nativeDecisions", DecisionsRequest, None),
        "/perplexity/v1/models": say.call("get", "What can be asked for, with prices.", "nativeModels", ModelEntries),
        **_files(say),
        **_batches(say),
        **_skills(say),
        "/perplexity/v1/browser/sessions": say.call("post", "Open a browser in the cloud.", "openBrowser", None),
        "/perplexity/v1/browser/sessions/{id}": say.nothing("delete", "Close it.", "closeBrowser", *_ID),
    }
    return {path: _named_once(call, path) for path, call in found.items()}


def _files(say: Description) -> dict[str, Any]:
    listing = _query(limit=_LIMIT, after={"type": "string"}, order=_ORDER, purpose=_PURPOSE)
    return {
        "/perplexity/v1/files": {
            **say.form("post", "Upload a file for a batch.", "uploadBatchFile", _UPLOAD),
            **say.call("get", "List your files of batches.", "listBatchFiles", NativeList, *listing),
        },
        "/perplexity/v1/files/{id}": {
            **say.call("get", "One file.", "retrieveBatchFile", FileInfo, *_ID),
            **say.call("delete", "Delete a file.", "deleteBatchFile", None, *_ID),
        },
        "/perplexity/v1/files/{id}/content": say.bytes("The bytes of a file.", "downloadBatchFile", *_ID),
    }


def _batches(say: Description) -> dict[str, Any]:
    listing = _query(limit=_LIMIT, after={"type": "string"})
    return {
        "/perplexity/v1/batches": {
            **say.post("Start a batch.", "nativeCreateBatch", NativeBatchRequest, None, _ONCE),
            **say.call("get", "List your batches.", "nativeListBatches", NativeList, *listing),
        },
        "/perplexity/v1/batches/{id}": say.call("get", "One batch.", "nativeRetrieveBatch", None, *_ID),
        "/perplexity/v1/batches/{id}/cancel": say.call("post", "Stop a batch.", "nativeCancelBatch", None, *_ID),
    }


def _skills(say: Description) -> dict[str, Any]:
    one = "/perplexity/v1/skills/{id}"
    listing = _query(limit=_LIMIT, page_token={"type": "string"})
    revision = _query(revision={"type": "string"})
    expected = [{**each, "required": True} for each in _query(**{EXPECTED: {"type": "string"}})]
    return {
        "/perplexity/v1/skills": {
            **say.form("post", "Add a skill, as a ZIP file.", "createSkill", _FORM),
            **say.call("get", "List your skills.", "listSkills", SkillList, *listing),
        },
        one: {
            **say.call("get", "One skill.", "retrieveSkill", None, *_ID, *revision),
            **say.form("put", "Give a skill another revision.", "updateSkill", _FORM, *_ID, *expected),
            **say.nothing("delete", "Delete a skill.", "deleteSkill", *_ID, *expected),
        },
        f"{one}/download": say.call("get", "Where the bundle is.", "downloadSkill", None, *_ID, *revision),
        f"{one}/revisions": say.call("get", "Its revisions.", "listSkillRevisions", None, *_ID, *listing),
    }


def _named_once(call: dict[str, Any], path: str) -> dict[str, Any]:
    """No two operations have one name, also where one is found at several addresses."""
    mirrored = path.startswith("/perplexity")
    return {
        method: {**about, "operationId": about["operationId"] + ("" if mirrored else "AtRoot")}
        for method, about in call.items()
    }


def _query(**parameters: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"name": name, "in": "query", "schema": kind} for name, kind in parameters.items()]


def _json(found: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": found}}
