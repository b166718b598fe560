"""Every way to fail, as this protocol tells it: over HTTP, within a stream, and by layers that know nothing of it."""

import asyncio
from typing import Any, NamedTuple

import httpx2
import pytest

from pplx_gateway.answer import ReasoningDelta, Started, TextDelta
from pplx_gateway.capabilities import Feature, Support
from pplx_gateway.errors import (
    AuthenticationFailed,
    EmptyAnswer,
    GatewayError,
    InsufficientQuota,
    InvalidRequest,
    ModelNotAllowed,
    ModelNotFound,
    QuotaExhausted,
    RateLimited,
    SessionBlocked,
    SessionExpired,
    StoreUnavailable,
    TooLarge,
    ToolProtocolError,
    UpstreamAuth,
    UpstreamError,
    UpstreamTimeout,
    UpstreamTruncated,
)
from tests.anthropic.asking import Json, body
from tests.anthropic.readings import check_broken, check_error, check_stream, events
from tests.openai.fakes import EVERYTHING, KEY, WHOLE, FakeUpstream, Step, gateway
from tests.web.calling import Caller, calling

MESSAGES = "/v1/messages"
HEADERS = {"x-api-key": KEY, "anthropic-version": "2023-06-01"}


DEEP = (
    b'{"model":"sonar","max_tokens":1,"messages":[{"role":"user","content":"x"}],"tools":['
    + b'{"a":' * 200
    + b"1"
    + b"}" * 200
    + b"]}"
)


class Row(NamedTuple):
    status: int
    type: str
    retry: str | None
    after: str | None = None


ROWS: dict[str, tuple[GatewayError, Row]] = {
    "upstream credential bad": (UpstreamAuth("x"), Row(502, "api_error", "false")),
    "balance gone upstream": (InsufficientQuota("x"), Row(402, "billing_error", "false")),
    "model not allowed": (ModelNotAllowed("x"), Row(403, "permission_error", None)),
    "unknown model": (ModelNotFound("x"), Row(404, "not_found_error", None)),
    "request malformed": (InvalidRequest("x", param="turns"), Row(400, "invalid_request_error", None)),
    "too large": (TooLarge("x"), Row(413, "request_too_large", None)),
    "quota gone": (QuotaExhausted("x"), Row(429, "rate_limit_error", "false")),
    "throttled": (RateLimited("x", retry_after=7), Row(429, "rate_limit_error", None, "7")),
    "function protocol broken": (ToolProtocolError("x"), Row(502, "api_error", "false")),
    "challenge page": (SessionBlocked("x"), Row(503, "api_error", "false")),
    "cookie dead": (SessionExpired("x"), Row(503, "api_error", "false")),
    "upstream failed": (UpstreamError("x", upstream_status=500), Row(502, "api_error", "true")),
    "upstream overloaded": (UpstreamError("x", upstream_status=503), Row(502, "overloaded_error", "true")),
    "upstream without a verdict": (UpstreamTruncated("x"), Row(502, "api_error", "true")),
    "nothing in the answer": (EmptyAnswer("x"), Row(502, "api_error", "true")),
    "too slow": (UpstreamTimeout("x"), Row(504, "timeout_error", "true")),
    "store broken": (StoreUnavailable("x"), Row(503, "overloaded_error", "true")),
    "our own key refused": (AuthenticationFailed("x"), Row(401, "authentication_error", None)),
    "a defect": (RuntimeError("secret"), Row(500, "api_error", None)),  # type: ignore[dict-item]
}


async def ask(caller: Caller, **fields: Any) -> httpx2.Response:
    return await caller.ask(body(**fields), HEADERS, MESSAGES)


@pytest.mark.parametrize(("error", "row"), ROWS.values(), ids=ROWS)
async def test_each_error_has_its_type_and_its_hint(error: GatewayError, row: Row) -> None:
    async with calling(gateway(FakeUpstream("api", [error]))) as caller:
        whole, streamed = [await ask(caller, stream=streamed) for streamed in (False, True)]
    for reply in (whole, streamed):
        assert reply.status_code == row.status
        found = check_error(reply.json())
        assert found["type"] == row.type
        assert "secret" not in found["message"]
        assert reply.headers.get("x-should-retry") == row.retry
        assert reply.headers.get("retry-after") == row.after
        assert reply.json()["request_id"] == reply.headers["request-id"] == reply.headers["x-request-id"]
    if error.__class__ is InvalidRequest:
        assert whole.json()["error"]["message"] == "messages: x"


@pytest.mark.parametrize(("error", "row"), ROWS.values(), ids=ROWS)
async def test_a_stream_that_has_begun_ends_with_the_error(error: GatewayError, row: Row) -> None:
    steps: list[Step] = [[Started()], [TextDelta("The ")], error]
    async with calling(gateway(FakeUpstream("api", steps))) as caller:
        reply = await ask(caller, stream=True)
    assert reply.status_code == 200
    assert check_broken(reply.content)["type"] == row.type
    assert events(reply.content)[-1]["request_id"] == reply.headers["request-id"]


async def test_an_upstream_that_ends_without_a_verdict_is_no_success() -> None:
    async with calling(gateway(FakeUpstream("api", [[TextDelta("The ")]]))) as caller:
        whole, streamed = await ask(caller), await ask(caller, stream=True)
    assert (whole.status_code, check_error(whole.json())["type"]) == (502, "api_error")
    check_broken(streamed.content)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "JSON"),
        (b"{", "JSON"),
        (b"[]", "body"),
        (b"\xff{}", "UTF-8"),
        (DEEP, "nested"),
        (b"null", "body"),
    ],
)
async def test_what_is_no_request_is_refused_in_words(content: bytes, said: str) -> None:
    async with calling() as caller:
        for path in (MESSAGES, f"{MESSAGES}/count_tokens"):
            reply = await caller.ask(content, HEADERS, path)
            assert reply.status_code == 400
            found = check_error(reply.json())
            assert found["type"] == "invalid_request_error"
            assert said in found["message"]


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"max_tokens": None}, "max_tokens"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "audio"}]}]}, "messages[0].content[0].type"),
        ({"tools": [{"type": "bash_20250124", "name": "bash"}]}, "tools[0].type"),
        ({"top_k": 3}, "top_k"),
        ({"model": "claude-nothing-9"}, "claude-nothing-9"),
        ({"model": " "}, "model"),
    ],
)
async def test_the_message_names_what_is_wrong(fields: Json, named: str) -> None:
    upstream = FakeUpstream("api", support={**EVERYTHING, Feature.TOP_K: Support.REFUSED})
    async with calling(gateway(upstream)) as caller:
        reply = await ask(caller, **fields)
    assert reply.status_code in (400, 404)
    assert named in check_error(reply.json())["message"]
    assert not upstream.asked


WEB: dict[str, tuple[Json, int, str]] = {
    "no key": ({"headers": {"anthropic-version": "2023-06-01"}}, 401, "authentication_error"),
    "a wrong key": ({"headers": {"x-api-key": "wrong"}}, 401, "authentication_error"),
    "no such path": ({"path": "/v1/messages/nothing"}, 404, "not_found_error"),
    "a wrong method": ({"method": "GET"}, 405, "invalid_request_error"),
    "batches": ({"path": "/v1/messages/batches"}, 400, "invalid_request_error"),
    "one batch": ({"path": "/v1/messages/batches/msgbatch_1", "method": "GET"}, 400, "invalid_request_error"),
    "too large": ({"content": b"x" * 70_000}, 413, "request_too_large"),
    "compressed": ({"headers": {"x-api-key": KEY, "content-encoding": "gzip"}}, 415, "invalid_request_error"),
    "another origin": ({"headers": {"x-api-key": KEY, "origin": "https://a.example"}}, 403, "permission_error"),
    "another host": ({"headers": {"x-api-key": KEY, "host": "a.example"}}, 403, "permission_error"),
    "a path of anthropic's": ({"path": "/v1/complete"}, 404, "not_found_error"),
    "a model that is not there": ({"path": "/v1/models/claude-nothing", "method": "GET"}, 404, "not_found_error"),
    "without /v1": ({"path": "/messages", "content": b"{"}, 400, "invalid_request_error"),
    "the endpoint as base": ({"path": "/v1/messages/v1/messages", "content": b"{"}, 400, "invalid_request_error"),
}


@pytest.mark.parametrize(("request_", "status", "kind"), WEB.values(), ids=WEB)
async def test_the_web_layer_speaks_the_protocol_too(request_: Json, status: int, kind: str) -> None:
    sent = {"path": MESSAGES, "method": "POST", "headers": HEADERS, "content": b"{}", **request_}
    async with calling(gateway(max_body_bytes=65_536)) as caller:
        reply = await caller.client.request(
            sent["method"], caller.url + sent["path"], headers=sent["headers"], content=sent["content"]
        )
    assert reply.status_code == status, reply.text
    assert check_error(reply.json())["type"] == kind
    assert reply.headers["request-id"] == reply.json()["request_id"]


@pytest.mark.parametrize("path", ["/v1/models/claude-nothing", "/v1/nothing"])
async def test_callers_of_another_protocol_get_errors_of_theirs(path: str) -> None:
    async with calling() as caller:
        reply = await caller.get(path)
    assert reply.status_code == 404
    assert set(reply.json()) == {"error"}


async def test_silence_is_broken_by_comments_before_the_message_and_by_pings_within_it() -> None:
    begin, end = asyncio.Event(), asyncio.Event()
    steps: list[Step] = [[Started()], begin, [TextDelta("The ")], end, *WHOLE[2:]]
    served = gateway(FakeUpstream("api", steps), keep_alive_seconds=0.02)
    raw = b""
    async with (
        calling(served) as caller,
        caller.client.stream("POST", caller.url + MESSAGES, json=body(stream=True), headers=HEADERS) as reply,
    ):
        async for data in reply.aiter_raw():
            raw += data
            if raw.count(b": keep-alive\n") == 2:
                begin.set()
            if raw.count(b"event: ping\n") == 4:
                end.set()
    assert raw.startswith(b": keep-alive\n")
    assert b": keep-alive" not in raw[raw.index(b"event: message_start") :]
    check_stream(raw.replace(b": keep-alive\n", b""))


async def test_a_caller_who_leaves_ends_the_upstreams_work() -> None:
    upstream = FakeUpstream("api", [[TextDelta("The ")], asyncio.Event()])
    async with calling(gateway(upstream)) as caller:
        async with caller.client.stream(
            "POST", caller.url + MESSAGES, json=body(stream=True), headers=HEADERS
        ) as reply:
            async for _ in reply.aiter_raw():
                break
        await asyncio.wait_for(upstream.closed.wait(), 10)


async def test_another_upstream_takes_over_before_anything_is_shown() -> None:
    spent = FakeUpstream("session", [[Started()], QuotaExhausted("x")])
    async with calling(gateway(spent, FakeUpstream("api"))) as caller:
        whole, streamed = await ask(caller), await ask(caller, stream=True)
    for reply in (whole, streamed):
        assert reply.status_code == 200
        assert (reply.headers["x-pplx-upstream"], reply.headers["x-pplx-failover"]) == ("api", "quota_exhausted")
    assert check_stream(streamed.content)["pplx"]["failover"] == "quota_exhausted"


async def test_none_takes_over_once_a_thought_was_shown() -> None:
    spent = FakeUpstream("session", [[ReasoningDelta("Hm.")], QuotaExhausted("x")])
    async with calling(gateway(spent, FakeUpstream("api"))) as caller:
        reply = await ask(caller, stream=True, thinking={"type": "adaptive"})
    assert check_broken(reply.content)["type"] == "rate_limit_error"
