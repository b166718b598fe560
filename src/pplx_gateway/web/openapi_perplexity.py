"""The paths of what is no question, in both dialects, for openapi.py."""

from collections.abc import Iterable
from typing import Any

from pplx_gateway.protocols.openai import batches as openai_batches
from pplx_gateway.protocols.openai import decisions as openai_decisions
from pplx_gateway.protocols.openai import embeddings as openai_embeddings
from pplx_gateway.protocols.openai.file_objects import FileInfo
from pplx_gateway.protocols.perplexity.batches import NativeBatchRequest
from pplx_gateway.protocols.perplexity.browser import SessionRequest
from pplx_gateway.protocols.perplexity.decisions import DecisionsRequest
from pplx_gateway.protocols.perplexity.embeddings import (
    ContextualizedEmbeddingsReply,
    ContextualizedEmbeddingsRequest,
    EmbeddingsReply,
    NativeEmbeddingsRequest,
)
from pplx_gateway.protocols.perplexity.lists import MOST, USUAL, NativeList
from pplx_gateway.protocols.perplexity.models import ModelEntries
from pplx_gateway.protocols.perplexity.routes import addresses
from pplx_gateway.protocols.perplexity.search import SearchRequest
from pplx_gateway.protocols.perplexity.skills import EXPECTED, SkillList
from pplx_gateway.web.openapi_answers import PIN, UPSTREAM, Schemas, binary, json, query, told
from pplx_gateway.web.openapi_files import FILE_ID
from pplx_gateway.web.reply_headers import OF_OPERATIONS

TYPES: tuple[type, ...] = (
    openai_embeddings.EmbeddingsRequest,
    openai_embeddings.EmbeddingList,
    openai_decisions.DecisionRequest,
    openai_decisions.DecisionReply,
    openai_batches.BatchRequest,
    openai_batches.BatchObject,
    openai_batches.BatchList,
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
    SessionRequest,
)
Given = type | dict[str, Any]
"""A struct, or a schema."""

STRICT: tuple[type, ...] = (
    SearchRequest,
    NativeEmbeddingsRequest,
    ContextualizedEmbeddingsRequest,
    DecisionsRequest,
    NativeBatchRequest,
    SessionRequest,
)
"""Bodies that take no key that they do not know."""

_REFUSED = {
    **UPSTREAM,
    "400": "A field is wrong; the error names it.",
    "404": "No such thing of yours, or no such model.",
    "409": "It was changed in the meantime, or is another caller's.",
}
_ID = [FILE_ID]
_FORM = {"type": "object", "required": ["file"], "properties": {"file": {"type": "string", "format": "binary"}}}
_UPLOAD = {
    "type": "object",
    "required": ["file", "purpose"],
    "properties": {"file": {"type": "string", "format": "binary"}, "purpose": {"const": "batch"}},
}
_AS_TOLD: dict[str, Any] = {"type": "object", "description": "As the upstream tells it."}
_PAGES: dict[str, Any] = {**_AS_TOLD, "required": ["results"], "properties": {"results": {"type": "array"}}}
_ONCE = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "One word starts one batch only.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}
_LIMIT = {"type": "integer", "minimum": 1, "maximum": MOST, "default": USUAL}
_ORDER = {"type": "string", "enum": ["asc", "desc"], "default": "desc"}
_PAGE = query({"limit": _LIMIT, "after": {"type": "string"}})
_ORDERED = query({"order": _ORDER})
_PURPOSE = {"type": "string", "enum": ["batch", "batch_output"]}


class Description:
    def __init__(self, schema: Schemas) -> None:
        self._schema = schema

    def post(self, summary: str, name: str, taken: type, given: Given, *more: dict[str, Any]) -> dict[str, Any]:
        return {"post": {**self._call(summary, name, given, [PIN, *more]), "requestBody": self._taken(taken)}}

    def either(self, call: dict[str, Any], taken: type, given: Given) -> dict[str, Any]:
        """The same call, where another body gets another answer."""
        post = call["post"]
        body = _either(post["requestBody"], self._taken(taken))
        answer = _either(post["responses"]["200"], self._given(given))
        return {"post": {**post, "requestBody": body, "responses": {"200": answer}}}

    def form(self, method: str, summary: str, name: str, form: dict[str, Any], *more: dict[str, Any]) -> dict[str, Any]:
        body = {"required": True, "content": {"multipart/form-data": {"schema": form}}}
        pin = [PIN] if method == "post" else []
        return {method: {**self._call(summary, name, _AS_TOLD, [*pin, *more]), "requestBody": body}}

    def call(self, method: str, summary: str, name: str, given: Given, *more: dict[str, Any]) -> dict[str, Any]:
        return {method: self._call(summary, name, given, more)}

    def bytes(self, summary: str, name: str, *more: dict[str, Any]) -> dict[str, Any]:
        return {"get": {**self._call(summary, name, _AS_TOLD, more), "responses": {"200": binary()}}}

    def nothing(self, method: str, summary: str, name: str, *more: dict[str, Any]) -> dict[str, Any]:
        done = {"204": {"description": "Done."}}
        return {method: {**self._call(summary, name, _AS_TOLD, more), "responses": done}}

    def _call(self, summary: str, name: str, given: Given, more: Iterable[dict[str, Any]]) -> dict[str, Any]:
        return {
            "summary": summary,
            "operationId": name,
            "parameters": list(more),
            "responses": {"200": self._given(given)},
            "refusals": _REFUSED,
        }

    def _given(self, given: Given) -> dict[str, Any]:
        shown = self._schema[given] if isinstance(given, type) else given
        return {**json(shown, "Done."), "headers": told(OF_OPERATIONS)}

    def _taken(self, taken: type) -> dict[str, Any]:
        return {"required": True, "content": _json(self._schema[taken])}


def paths(schema: Schemas) -> dict[str, Any]:
    say = Description(schema)
    found = _openai(say)
    for path, call in _native(say).items():
        found |= dict.fromkeys(addresses(path), call)
    return found


def _openai(say: Description) -> dict[str, Any]:
    decide = say.post(
        "Ask a decider up to 400 questions about one input. A body with `state` is Perplexity's own.",
        "createDecision",
        openai_decisions.DecisionRequest,
        openai_decisions.DecisionReply,
    )
    return {
        "/v1/embeddings": say.post(
            "Texts to vectors of length 1.",
            "createEmbedding",
            openai_embeddings.EmbeddingsRequest,
            openai_embeddings.EmbeddingList,
        ),
        "/v1/decisions": say.either(decide, DecisionsRequest, _AS_TOLD),
        "/v1/batches": {
            **say.post("Start a batch.", "createBatch", openai_batches.BatchRequest, openai_batches.BatchObject, _ONCE),
            **say.call("get", "List your batches.", "listBatches", openai_batches.BatchList, *_PAGE),
        },
        "/v1/batches/{id}": say.call("get", "One batch.", "retrieveBatch", openai_batches.BatchObject, *_ID),
        "/v1/batches/{id}/cancel": say.call("post", "Stop a batch.", "cancelBatch", openai_batches.BatchObject, *_ID),
    }


def _native(say: Description) -> dict[str, Any]:
    """By the API's paths without `/v1`."""
    return {
        "/search": say.post("Search for pages, without an answer.", "search", SearchRequest, _PAGES),
        "/contextualizedembeddings": say.post(
            "Chunks of documents to vectors, each in its document's light.",
            "contextualizedEmbeddings",
            ContextualizedEmbeddingsRequest,
            ContextualizedEmbeddingsReply,
        ),
        "/embeddings": say.post(
            "Texts to vectors, packed.", "nativeEmbeddings", NativeEmbeddingsRequest, EmbeddingsReply
        ),
        "/decisions": say.post("Ask a decider.", "nativeDecisions", DecisionsRequest, _AS_TOLD),
        "/models": say.call("get", "What can be asked for, with prices.", "nativeModels", ModelEntries),
        **_files(say),
        **_batches(say),
        **_skills(say),
        "/browser/sessions": _browser(say),
        "/browser/sessions/{id}": say.nothing("delete", "Close it.", "closeBrowser", *_ID),
    }


def _browser(say: Description) -> dict[str, Any]:
    """Its body may be left out."""
    opened = say.post("Open a browser in the cloud.", "openBrowser", SessionRequest, _AS_TOLD)["post"]
    return {"post": {**opened, "requestBody": {**opened["requestBody"], "required": False}}}


def _files(say: Description) -> dict[str, Any]:
    listing = query({"limit": _LIMIT, "after": {"type": "string"}, "order": _ORDER, "purpose": _PURPOSE})
    return {
        "/files": {
            **say.form("post", "Upload a file for a batch.", "uploadBatchFile", _UPLOAD),
            **say.call("get", "List your files of batches.", "listBatchFiles", NativeList, *listing),
        },
        "/files/{id}": {
            **say.call("get", "One file.", "retrieveBatchFile", FileInfo, *_ID),
            **say.call("delete", "Delete a file.", "deleteBatchFile", _AS_TOLD, *_ID),
        },
        "/files/{id}/content": say.bytes("The bytes of a file.", "downloadBatchFile", *_ID),
    }


def _batches(say: Description) -> dict[str, Any]:
    return {
        "/batches": {
            **say.post("Start a batch.", "nativeCreateBatch", NativeBatchRequest, _AS_TOLD, _ONCE),
            **say.call("get", "List your batches.", "nativeListBatches", NativeList, *_PAGE, *_ORDERED),
        },
        "/batches/{id}": say.call("get", "One batch.", "nativeRetrieveBatch", _AS_TOLD, *_ID),
        "/batches/{id}/cancel": say.call("post", "Stop a batch.", "nativeCancelBatch", _AS_TOLD, *_ID),
    }


def _skills(say: Description) -> dict[str, Any]:
    one = "/skills/{id}"
    listing = query({"limit": _LIMIT, "page_token": {"type": "string"}})
    revision = query({"revision": {"type": "string"}})
    expected = [{**each, "required": True} for each in query({EXPECTED: {"type": "string", "minLength": 1}})]
    return {
        "/skills": {
            **say.form("post", "Add a skill, as a ZIP file.", "createSkill", _FORM),
            **say.call("get", "List your skills.", "listSkills", SkillList, *listing, *_ORDERED),
        },
        one: {
            **say.call("get", "One skill.", "retrieveSkill", _AS_TOLD, *_ID, *revision),
            **say.form("put", "Give a skill another revision.", "updateSkill", _FORM, *_ID, *expected),
            **say.nothing("delete", "Delete a skill.", "deleteSkill", *_ID, *expected),
        },
        f"{one}/download": say.call("get", "Where the bundle is.", "downloadSkill", _AS_TOLD, *_ID, *revision),
        f"{one}/revisions": say.call("get", "Its revisions.", "listSkillRevisions", _AS_TOLD, *_ID, *listing),
    }


def _either(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    return {
        **one,
        "content": _json({"anyOf": [each["content"]["application/json"]["schema"] for each in (one, other)]}),
    }


def _json(found: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": found}}
