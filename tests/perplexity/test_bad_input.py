"""What is wrong is refused here, by name, before anything is sent that could be billed."""

from typing import Any

import pytest

from tests.emulator_api.making import image, png
from tests.perplexity.calling import Caller, native_error

EMBED = {"model": "pplx-embed-v1-0.6b", "input": ["a river"]}
CONTEXT = {"model": "pplx-embed-context-v1-0.6b", "input": [["a river"]]}
NOUL = {"type": "noul", "instructions": "Is it wet?"}
DECIDE = {"model": "pplx-decider-v1-27b", "state": "A river", "questions": {"wet": NOUL}}
BATCH = {"endpoint": "/v1/responses", "completion_window": "24h", "input_file_id": "file-none"}


def _search(param: str | None, **fields: object) -> Any:
    return pytest.param("/search", {"query": "tides", **fields}, param, id=f"search {fields}"[:60])


def _decide(param: str | None, **fields: object) -> Any:
    return pytest.param("/v1/decisions", {**DECIDE, **fields}, param, id=f"decisions {fields}"[:60])


def _asked(param: str, question: object) -> Any:
    return _decide(param, questions={"wet": question})


BAD = [
    _search("query", query=""),
    _search("query[1]", query=["tides", "  "]),
    _search("query", query=[]),
    _search("query", query=["a"] * 6),
    _search("query", query=7),
    _search("max_results", max_results=21),
    _search("max_results", max_results=0),
    _search("max_results", max_results="many"),
    _search("max_tokens", max_tokens=1_000_001),
    _search("search_context_size", search_context_size="low", max_tokens=100),
    _search("search_type", search_type="deep"),
    _search("search_mode", search_mode="news"),
    _search("country", country="Belgium"),
    _search("search_domain_filter", search_domain_filter=["a.example", "-b.example"]),
    _search("search_domain_filter", search_domain_filter=["no domain"]),
    _search("search_domain_filter", search_domain_filter=[f"d{n}.example" for n in range(21)]),
    _search("search_language_filter", search_language_filter=["english"]),
    _search("search_recency_filter", search_recency_filter="fortnight"),
    _search("search_recency_filter", search_recency_filter="week", search_after_date_filter="01/31/2026"),
    _search("search_after_date_filter", search_after_date_filter="31/01/2026"),
    _search("search_after_date_filter", search_after_date_filter="02/01/2026", search_before_date_filter="01/01/2026"),
    _search("last_updated_after_filter", last_updated_after_filter="yesterday"),
    _search("published_after", published_after="01/01/2026", search_after_date_filter="01/01/2026"),
    _search("max_result", max_result=3),
    ("/search", {"max_results": 3}, "query"),
    ("/search", [], None),
    ("/v1/embeddings", {**EMBED, "model": "text-embedding-3-small"}, "model"),
    ("/v1/embeddings", {**EMBED, "model": "pplx-embed-context-v1-4b"}, "model"),
    ("/v1/embeddings", {**EMBED, "input": []}, "input"),
    ("/v1/embeddings", {**EMBED, "input": ["a", " "]}, "input[1]"),
    ("/v1/embeddings", {**EMBED, "input": [[1, 2]]}, "input[0]"),
    ("/v1/embeddings", {**EMBED, "dimensions": 100}, "dimensions"),
    ("/v1/embeddings", {**EMBED, "dimensions": 2048}, "dimensions"),
    ("/v1/embeddings", {**EMBED, "encoding_format": "float"}, "encoding_format"),
    ("/v1/embeddings", {**EMBED, "user": "me"}, "user"),
    ("/v1/contextualizedembeddings", {**CONTEXT, "input": [["a"], []]}, "input[1]"),
    ("/v1/contextualizedembeddings", {**CONTEXT, "input": [["a", ""]]}, "input[0][1]"),
    ("/v1/contextualizedembeddings", {**CONTEXT, "input": ["a"]}, "input[0]"),
    ("/v1/contextualizedembeddings", {**CONTEXT, "model": "pplx-embed-v1-4b"}, "model"),
    _decide("model", model="gpt-6-luna"),
    _decide("questions", questions={}),
    _decide("questions", questions=[NOUL]),
    _decide("state", state=7),
    _decide("temperature", temperature=0),
    _asked("questions.wet", "Is it wet?"),
    _asked("questions.wet.type", {"type": "predicate", "instructions": "?"}),
    _asked("questions.wet.words", {**NOUL, "words": 3}),
    _asked("questions.wet", {"type": "noul"}),
    _asked("questions.wet.criteria", {"type": "choice"}),
    _asked("questions.wet.criteria", {"type": "choice", "criteria": {}}),
    _asked("questions.wet.criteria", {"type": "choice", "criteria": {str(n): None for n in range(256)}}),
    _asked("questions.wet.criteria", {"type": "score", "criteria": [str(n) for n in range(11)]}),
    _decide("state", state=image(png(8, 8))),
    _decide("state", state=[image(png(8, 8))] * 9),
    _decide("state", state=[image(png(2048, 1100))]),
    ("/v1/batches", {**BATCH, "endpoint": "/v1/chat/completions"}, "endpoint"),
    ("/v1/batches", {**BATCH, "completion_window": "1h"}, "completion_window"),
    ("/v1/batches", BATCH, "input_file_id"),
    ("/v1/batches", {**BATCH, "metadata": {"a": 1}}, "metadata[...]"),
    ("/v1/batches", {"endpoint": "/v1/responses"}, "input_file_id"),
    ("/v1/browser/sessions", {"headless": True}, "headless"),
]


@pytest.mark.parametrize(("path", "body", "param"), BAD)
async def test_a_mistake_is_named(caller: Caller, path: str, body: object, param: str | None) -> None:
    reply = await caller.post(f"/perplexity{path}", body)
    error = native_error(reply, 404 if param == "model" else 400)
    assert error["param"] == param
    assert await caller.rig.requests("*") == []


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"[" * 5000, b'{"query": "\xed\xa0\x80"}', b"null", b"7"])
@pytest.mark.parametrize("path", ["/search", "/v1/embeddings", "/v1/decisions", "/v1/batches"])
async def test_what_is_no_json_object_is_a_400(caller: Caller, path: str, body: bytes) -> None:
    native_error(await caller.send("POST", f"/perplexity{path}", content=body), 400)


async def test_uploads_need_a_file_and_the_purpose(caller: Caller) -> None:
    path = "/perplexity/v1/files"
    assert native_error(await caller.upload(path, b"{}", purpose="assistants"), 400)["param"] == "purpose"
    assert native_error(await caller.upload(path, b""), 400)["param"] == "file"
    assert native_error(await caller.send("POST", path, data={"purpose": "batch"}), 400)["param"] is None
    alone = await caller.send("POST", path, files={"purpose": (None, "batch")})
    assert native_error(alone, 400)["param"] == "file"
    more = await caller.send("POST", path, files={"file": ("a", b"{}"), "colour": (None, "red")})
    assert native_error(more, 400)["param"] == "colour"
    nameless = await caller.send("POST", path, files={"file": ("a", b"{}")})
    assert native_error(nameless, 400)["param"] == "purpose"
    native_error(await caller.post(path, {"purpose": "batch"}), 400)


async def test_a_file_that_is_too_large_is_a_413(caller: Caller) -> None:
    error = native_error(await caller.upload("/perplexity/v1/files", bytes(21 << 20)), 413)
    assert "PPLX_MAX_FILE_BYTES" in error["message"]


@pytest.mark.parametrize(
    ("path", "param"),
    [
        ("/v1/files?limit=0", "limit"),
        ("/v1/files?limit=101", "limit"),
        ("/v1/files?order=up", "order"),
        ("/v1/files?purpose=vision", "purpose"),
        ("/v1/files?after=file-none", "after"),
        ("/v1/batches?limit=x", "limit"),
        ("/v1/batches?after=batch-none", "after"),
        ("/v1/skills?limit=-1", "limit"),
        ("/v1/skills?page_token=none", "after"),
    ],
)
async def test_wrong_parameters_of_lists_are_named(caller: Caller, path: str, param: str) -> None:
    assert native_error(await caller.get(f"/perplexity{path}"), 400)["param"] == param


@pytest.mark.parametrize("name", ["files", "batches", "skills"])
async def test_what_is_not_there_is_a_404(caller: Caller, name: str) -> None:
    for thing in ("none", "%2e%2e", "..%2Ffiles", "a" * 3000):
        native_error(await caller.get(f"/perplexity/v1/{name}/{thing}"), 404)
    assert await caller.rig.requests("*") == []


async def test_a_revision_must_be_named_to_change_a_skill(caller: Caller) -> None:
    for method in ("PUT", "DELETE"):
        error = native_error(await caller.send(method, "/perplexity/v1/skills/none"), 400)
        assert error["param"] == "expected_revision"


@pytest.mark.parametrize("word", ["", "a" * 256, "a\tb"])
async def test_a_word_that_is_no_idempotency_key_is_refused(caller: Caller, word: str) -> None:
    headers = {"idempotency-key": word}
    error = native_error(await caller.post("/perplexity/v1/batches", BATCH, headers=headers), 400)
    assert error["param"] == "Idempotency-Key"


async def test_a_key_that_is_pinned_must_be_there(caller: Caller) -> None:
    error = native_error(await caller.post("/search", {"query": "a"}, headers={"x-pplx-key-name": "other"}), 400)
    assert error["param"] == "x-pplx-key-name"
