"""Failures as Perplexity's clients know them: the upstream's status kept, and its number as `code`."""

import json
import socket
from pathlib import Path
from typing import Any, cast

import perplexity
import pytest

from tests.perplexity.calling import Caller, Sdk, SyncSdk, native_error, openai_error, running_caller
from tests.rig import API_KEY

SEARCH = "/perplexity/search"
ASK = {"query": "tides"}


def _error(status: int, **headers: str) -> dict[str, Any]:
    body = json.dumps({"error": {"message": f"told with {status}", "type": "word", "code": status}})
    return {"status": status, "headers": {"content-type": "application/json", **headers}, "steps": [{"bytes": body}]}


def error_of(failure: perplexity.APIStatusError) -> dict[str, Any]:
    body = cast(dict[str, Any], failure.body)
    error: dict[str, Any] = body["error"]
    return error


CLASSES: dict[int, type[perplexity.APIStatusError]] = {
    400: perplexity.BadRequestError,
    402: perplexity.APIStatusError,
    404: perplexity.NotFoundError,
    409: perplexity.ConflictError,
    413: perplexity.APIStatusError,
    422: perplexity.UnprocessableEntityError,
    424: perplexity.APIStatusError,
    429: perplexity.RateLimitError,
    500: perplexity.InternalServerError,
    503: perplexity.InternalServerError,
}


@pytest.mark.parametrize("status", CLASSES)
async def test_a_status_of_the_upstream_is_the_sdks_exception(status: int, sdk: Sdk, caller: Caller) -> None:
    await caller.rig.script("/search", *[_error(status)] * 5)
    with pytest.raises(CLASSES[status]) as failed:
        await sdk.do(lambda client: client.search.create(query="tides"))
    assert failed.value.status_code == status
    error = error_of(failed.value)
    assert error["code"] == status
    assert f"told with {status}" in error["message"] or status == 402


@pytest.mark.parametrize("status", [401, 403])
async def test_a_credential_of_ours_is_not_the_callers_concern(status: int, sdk: Sdk, caller: Caller) -> None:
    await caller.rig.script("/search", _error(status))
    with pytest.raises(perplexity.InternalServerError) as failed:
        await sdk.do(lambda client: client.search.create(query="tides"))
    assert failed.value.status_code == 502
    assert error_of(failed.value)["type"] == "upstream_auth"
    assert failed.value.response.headers["x-should-retry"] == "false"


async def test_a_wrong_key_of_the_gateway_is_an_authentication_error(caller: Caller) -> None:
    sdk = SyncSdk(caller.mirror, key="wrong")
    with pytest.raises(perplexity.AuthenticationError) as failed:
        await sdk.do(lambda client: client.search.create(query="tides"))
    assert error_of(failed.value)["code"] == 401
    await sdk.close()


async def test_a_key_without_leave_is_a_permission_error(caller: Caller) -> None:
    sdk = SyncSdk(caller.mirror, key=await caller.new_key("chat only", models=["sonar"]))
    with pytest.raises(perplexity.PermissionDeniedError) as failed:
        await sdk.do(lambda client: client.search.create(query="tides"))
    assert error_of(failed.value)["code"] == 403
    assert await caller.rig.requests("/search") == []
    await sdk.close()


async def test_a_client_without_patience_gives_up_and_the_upstream_is_left(sdk: Sdk, caller: Caller) -> None:
    await caller.rig.script("/search", {"steps": [], "delay": 600})
    with pytest.raises(perplexity.APITimeoutError):
        await sdk.do(lambda client: client.with_options(timeout=1.0).search.create(query="tides"))
    await caller.rig.wait("/search", closed=True)


async def test_where_nobody_listens_it_is_a_connection_error(sdk: Sdk) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens at it
        astray = type(sdk)(f"http://127.0.0.1:{taken.getsockname()[1]}/perplexity")
        with pytest.raises(perplexity.APIConnectionError):
            await astray.do(lambda client: client.search.create(query="tides"))
        await astray.close()


async def test_a_page_in_place_of_an_answer_keeps_its_status(sdk: Sdk, caller: Caller) -> None:
    with pytest.raises(perplexity.InternalServerError) as failed:
        await sdk.do(lambda client: client.search.create(query="fault:upstream_html tides"))
    assert failed.value.status_code in (502, 503, 504)
    assert "<" not in error_of(failed.value)["message"]


async def test_an_answer_that_breaks_off_is_an_error(sdk: Sdk) -> None:
    with pytest.raises(perplexity.InternalServerError):
        await sdk.do(lambda client: client.search.create(query="fault:midstream_drop tides"))


async def test_a_throttle_carries_its_wait(tmp_path: Path) -> None:
    async with running_caller(tmp_path, factor=50.0) as caller:
        await caller.rig.script("/search", *[_error(429, **{"retry-after": "7"})] * 5)
        reply = await caller.post(SEARCH, ASK)
    native_error(reply, 429)
    assert reply.headers["retry-after"] == "7"


async def test_a_post_that_may_have_been_billed_is_sent_once(caller: Caller) -> None:
    await caller.rig.script("/search", _error(500))
    native_error(await caller.post(SEARCH, ASK), 500)
    assert len(await caller.rig.requests("/search")) == 1


@pytest.mark.parametrize("path", ["/perplexity/v1/nothing", "/perplexity", "/perplexity/v1/files/x/y/z"])
async def test_an_unknown_path_of_the_mirror_is_told_in_its_dialect(caller: Caller, path: str) -> None:
    native_error(await caller.get(path), 404)


@pytest.mark.parametrize("path", [SEARCH, "/search", "/v1/search", "/v1/contextualizedembeddings"])
async def test_the_web_layers_refusals_are_told_in_the_dialect_of_the_path(caller: Caller, path: str) -> None:
    wrong_method = await caller.get(path)
    native_error(wrong_method, 405)
    assert wrong_method.headers["allow"] == "POST"
    native_error(await caller.post(path, ASK, key=None), 401)
    native_error(await caller.send("POST", path, content=bytes(33 << 20)), 413)
    native_error(await caller.post(path, ASK, headers={"content-encoding": "gzip"}), 415)
    native_error(await caller.post(path, ASK, headers={"host": "elsewhere.example"}), 403)


@pytest.mark.parametrize("path", ["/v1/embeddings", "/v1/batches", "/v1/files", "/v1/nothing", "/v1/skills"])
async def test_openais_paths_keep_words_as_codes(caller: Caller, path: str) -> None:
    openai_error(await caller.send("GET" if path != "/v1/embeddings" else "POST", path, key=None), 401)


async def test_several_methods_of_a_path_are_all_allowed(caller: Caller) -> None:
    reply = await caller.send("PATCH", "/perplexity/v1/files")
    native_error(reply, 405)
    assert set(reply.headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}


async def test_without_a_key_for_the_api_the_way_out_is_named(tmp_path: Path) -> None:
    async with running_caller(tmp_path, order=("session",)) as caller:
        for path in (
            SEARCH,
            "/perplexity/v1/embeddings",
            "/perplexity/v1/decisions",
            "/perplexity/v1/browser/sessions",
        ):
            body: Any = {"/perplexity/v1/embeddings": {"model": "pplx-embed-v1-4b", "input": "a"}}.get(path, ASK)
            if path.endswith("decisions"):
                question = {"type": "noul", "instructions": "?"}
                body = {"model": "pplx-decider-v1-27b", "state": "s", "questions": {"a": question}}
            if path.endswith("sessions"):
                body = {}
            error = native_error(await caller.post(path, body), 502)
            assert "PERPLEXITY_API_KEY" in error["message"]


async def test_the_upstreams_ids_and_limits_are_carried_over(caller: Caller) -> None:
    reply = await caller.post(SEARCH, ASK)
    (sent,) = await caller.rig.requests("/search")
    assert reply.status_code == 200
    assert reply.headers["x-pplx-upstream"] == "api"
    assert reply.headers["x-pplx-upstream-request-id"]
    assert int(reply.headers["x-ratelimit-limit"]) > 0
    assert sent["headers"]["authorization"] == f"Bearer {API_KEY}"


CHAT: dict[str, Any] = {"model": "api/sonar", "messages": [{"role": "user", "content": "tides"}]}
FAILING: dict[str, tuple[str, dict[str, Any]]] = {
    "/v1/chat/completions": ("/v1/agent", CHAT),
    "/v1/responses": ("/v1/agent", {"model": "api/sonar", "input": "tides"}),
    "/v1/messages": ("/v1/agent", {**CHAT, "max_tokens": 9}),
    "/perplexity/chat/completions": ("/v1/agent", CHAT),
    "/v1/agent": ("/v1/agent", {"model": "perplexity/sonar", "input": "tides"}),
    "/v1/embeddings": ("/v1/embeddings", {"model": "pplx-embed-v1-4b", "input": "tides"}),
    SEARCH: ("/search", ASK),
}


async def test_the_upstreams_id_of_a_request_that_it_refused_is_told_in_every_dialect(caller: Caller) -> None:
    for path, (upstream, body) in FAILING.items():
        for status in (400, 402, 500):
            await caller.rig.script(upstream, _error(status, **{"x-request-id": f"id-of-{status}"}))
            failed = await caller.post(path, body)
            assert failed.status_code >= 400
            assert failed.headers["x-pplx-upstream-request-id"] == f"id-of-{status}", path
            assert failed.headers["x-request-id"].startswith("req_")
    await caller.rig.script("/search", _error(400, **{"x-request-id": "a\u00e9" + "b" * 200}))
    strange = await caller.post(SEARCH, ASK)
    assert len(strange.headers["x-pplx-upstream-request-id"]) <= 140
    ours = await caller.post(SEARCH, {"query": 1})
    assert "x-pplx-upstream-request-id" not in ours.headers


async def test_a_thing_that_the_upstream_does_not_know_is_told_with_its_id(caller: Caller) -> None:
    made = (await caller.upload("/perplexity/v1/files", b"{}\n")).json()
    path = f"/v1/files/{made['id']}"
    await caller.rig.script(path, _error(404, **{"x-request-id": "id-of-404"}))
    failed = await caller.get(f"/perplexity{path}")
    assert native_error(failed, 404)["type"] == "not_found"
    assert failed.headers["x-pplx-upstream-request-id"] == "id-of-404"


async def test_a_version_too_many_in_the_address_is_folded(caller: Caller) -> None:
    for path in ("/perplexity/v1/v1/search", "/perplexity/v1/v1/v1/search", "//perplexity/v1//v1/search/"):
        assert (await caller.post(path, ASK)).status_code == 200
    listed = await caller.get("/perplexity/v1/v1/models")
    assert listed.status_code == 200
    native_error(await caller.get("/perplexity/v1/v1/nothing"), 404)
