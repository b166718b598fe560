"""Failures of the upstream: each with its own code, none that looks like success, none that blames the wrong thing."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cases.scripts import (
    A_BASE,
    ASK,
    CHUNKS,
    TEXT,
    W_BASE,
    Json,
    Step,
    agent_events,
    agent_steps,
    session_steps,
    sse,
)
from tests.rig import AGENT, ASK_PATH, COOKIE, Rig, running

CHALLENGE = (
    "<!DOCTYPE html><html><head><title>Just a moment...</title></head><body><script>window._cf_chl_opt={};</script>"
)
HTML_401 = "<html><center><h1>401 Authorization Required</h1></center><hr>openresty</html>"
RUN_FAILED: Json = {
    "id": "r",
    "object": "response",
    "status": "failed",
    "error": {"message": "model overloaded"},
    "output": [],
}
ONLY_SEARCHED: Json = {
    "id": "r",
    "object": "response",
    "status": "completed",
    "output": [{"type": "search_results", "results": []}],
}


def page(status: int, body: str, **headers: str) -> Json:
    """A whole answer that is not a stream."""
    told = {"content-type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
    return {"status": status, "headers": told, "steps": [{"bytes": body}] if body else []}


def html(status: int, body: str, **headers: str) -> Json:
    return page(status, body, content_type="text/html; charset=UTF-8", **headers)


async def error_of(rig: Rig, body: Json, *, streamed: bool) -> tuple[int, dict[str, Any]]:
    """Status and error of a chat that must fail before its first byte."""
    if not streamed:
        reply = await rig.chat(body)
        return reply.status, reply.error
    stream = await rig.stream(body)
    assert stream.error is not None
    return stream.status, stream.error


@pytest.mark.parametrize("ending", ["end", "cut", "abort"])
async def test_an_upstream_that_stops_without_a_verdict_is_no_success(api: Rig, ending: str) -> None:
    broken: list[Step] = [*agent_steps()[:7], {ending: True}]
    await api.script(AGENT, broken, broken)
    stream = await api.stream(ASK)
    assert stream.content == "The Leie[1] meets "
    assert stream.error is not None
    assert stream.error["code"] == "upstream_truncated"
    reply = await api.chat(ASK)
    assert (reply.status, reply.error["code"]) == (502, "upstream_truncated")


@pytest.mark.parametrize("ending", ["end", "cut", "abort"])
async def test_a_session_that_stops_without_a_verdict_is_no_success(session: Rig, ending: str) -> None:
    broken: list[Step] = [*session_steps()[:4], {ending: True}]
    await session.script(ASK_PATH, broken, broken)
    stream = await session.stream(ASK)
    assert stream.content.startswith("The Leie meets the Scheldt")
    assert stream.error is not None
    assert stream.error["code"] == "upstream_truncated"
    reply = await session.chat(ASK)
    assert (reply.status, reply.error["code"]) == (502, "upstream_truncated")


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("form", ["json", "stream"])
async def test_a_failed_run_inside_a_200_is_an_error_with_its_message(api: Rig, streamed: bool, form: str) -> None:
    told: Json = {"type": "response.failed", "sequence_number": 1, "response": RUN_FAILED}
    answer = page(200, json.dumps(RUN_FAILED)) if form == "json" else agent_steps([told])
    await api.script(AGENT, answer)
    status, error = await error_of(api, ASK, streamed=streamed)
    assert status == 502
    assert "model overloaded" in error["message"]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("answer", [page(200, json.dumps(ONLY_SEARCHED)), page(200, "")])
async def test_an_answer_with_nothing_in_it_is_an_error(api: Rig, streamed: bool, answer: Json) -> None:
    await api.script(AGENT, answer)
    status, error = await error_of(api, ASK, streamed=streamed)
    assert (status, error["code"]) == (502, "empty_answer")


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_session_answer_with_nothing_in_it_is_an_error(session: Rig, streamed: bool) -> None:
    last = {**W_BASE[-1], "blocks": []}
    await session.script(ASK_PATH, session_steps([*W_BASE[:2], last]))
    status, error = await error_of(session, ASK, streamed=streamed)
    assert (status, error["code"]) == (502, "empty_answer")


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_failed_frame_is_an_error_and_its_text_no_answer(session: Rig, streamed: bool) -> None:
    failed = {
        "backend_uuid": "b-1",
        "status": "FAILED",
        "error_code": "GENERIC_FAILED_RESPONSE",
        "text": "Something failed",
        "final": True,
        "final_sse_message": True,
    }
    await session.script(ASK_PATH, session_steps([failed]))
    status, error = await error_of(session, ASK, streamed=streamed)
    assert status == 502
    assert "Something failed" in error["message"]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("status", [403, 200, 503])
async def test_a_challenge_page_is_blocked_and_says_nothing_about_the_cookie(
    session: Rig, streamed: bool, status: int
) -> None:
    await session.script(ASK_PATH, html(status, CHALLENGE, cf_mitigated="challenge"))
    told, error = await error_of(session, ASK, streamed=streamed)
    assert (told, error["code"]) == (503, "session_blocked")
    assert "PPLX_IMPERSONATE" in error["message"]
    assert "PPLX_COOKIE" not in error["message"]
    assert len(await session.requests(ASK_PATH)) == 1
    await session.stream(ASK)
    assert COOKIE in (await session.requests(ASK_PATH))[-1]["headers"]["cookie"]


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        (html(401, HTML_401), 502, "upstream_auth"),
        (page(403, '{"error":{"message":"no","type":"forbidden","code":403}}'), 502, "upstream_auth"),
        (page(402, '{"error":{"message":"no credit","type":"billing","code":402}}'), 402, "insufficient_quota"),
        (page(502, ""), 502, "upstream_error"),
        (page(500, '{"detail":"nope"}'), 502, "upstream_error"),
        (page(500, '{"error":"nope"}'), 502, "upstream_error"),
        (page(500, '{"detail":[{"loc":["a"],"msg":"nope","type":"x"}]}'), 502, "upstream_error"),
        (page(500, '{"message":"nope"}'), 502, "upstream_error"),
        (html(524, "<html><title>A timeout occurred</title></html>"), 502, "upstream_error"),
        (page(301, "", location="https://login.example/"), 502, "upstream_error"),
        (page(200, "{not json"), 502, "upstream_error"),
        (html(200, "<html>hello</html>"), 502, "upstream_error"),
        (page(400, '{"error":{"message":"no such model","type":"invalid_model","code":400}}'), 404, "model_not_found"),
    ],
)
async def test_every_shape_of_an_api_error_becomes_one_shape(api: Rig, answer: Json, status: int, code: str) -> None:
    await api.script(AGENT, answer, answer)
    for streamed in (False, True):
        told, error = await error_of(api, ASK, streamed=streamed)
        assert (told, error["code"]) == (status, code)
    posts = [request for request in await api.requests(AGENT) if request["method"] == "POST"]
    assert len(posts) == 2, "a question that may have been billed is not asked again"


async def test_a_bad_credential_names_the_setting_and_is_not_the_callers_401(api: Rig) -> None:
    await api.script(AGENT, html(401, HTML_401))
    reply = await api.chat(ASK)
    assert (reply.status, reply.error["code"]) == (502, "upstream_auth")
    assert "PERPLEXITY_API_KEY" in reply.error["message"]
    assert reply.headers["x-should-retry"] == "false"


@pytest.mark.parametrize(
    ("headers", "told"), [({}, None), ({"retry_after": "3"}, "3"), ({"retry_after": "86400"}, None)]
)
async def test_a_throttle_that_lasts_is_a_429_with_a_sane_wait(
    tmp_path: Path, headers: dict[str, str], told: str | None
) -> None:
    limited = page(429, '{"error":{"message":"slow down","type":"rate","code":429}}', **headers)
    async with running(tmp_path, order=("api",), factor=50.0) as rig:
        await rig.script(AGENT, {**limited, "repeat": "forever"})
        reply = await rig.chat(ASK)
        attempts = len(await rig.requests(AGENT))
    assert (reply.status, reply.error["code"]) == (429, "rate_limit_exceeded")
    assert attempts <= 3
    if told is not None:
        assert reply.headers["retry-after"] == told
    assert 0 < int(reply.headers.get("retry-after", "1")) <= 120


@pytest.mark.parametrize("order", [("session", "api"), ("api", "session")])
async def test_throttling_never_starts_a_paid_call(tmp_path: Path, order: tuple[str, str]) -> None:
    limited = page(429, '{"error":{"message":"slow down"}}')
    async with running(tmp_path, order=order, factor=50.0) as rig:
        await rig.script(ASK_PATH, {**limited, "repeat": "forever"})
        replies = await asyncio.gather(*(rig.post({**ASK, "stream": False}) for _ in range(20)))
        assert {reply.status for reply in replies} == {429}
        assert await rig.requests(f"{AGENT}*") == []


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_quota_that_is_gone_is_told_so_that_nobody_repeats(session: Rig, streamed: bool) -> None:
    gone = {
        "backend_uuid": "e3",
        "status": "failed",
        "error_code": "FREE_TIER_RATE_LIMITED",
        "experience": "upgrade",
        "text": "Limit reached",
        "final_sse_message": True,
    }
    await session.script(ASK_PATH, session_steps([gone]))
    reply = await session.post({**ASK, "stream": streamed})
    assert (reply.status, reply.error["type"], reply.error["code"]) == (429, "insufficient_quota", "quota_exhausted")
    assert reply.headers["x-should-retry"] == "false"


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("silence", ["before the answer", "within the answer"])
@pytest.mark.parametrize("upstream", ["api", "session"])
async def test_patience_ends_as_a_timeout(tmp_path: Path, streamed: bool, silence: str, upstream: str) -> None:
    path, steps = (AGENT, agent_steps()) if upstream == "api" else (ASK_PATH, session_steps())
    shown = 7 if upstream == "api" else 3
    answer: Json = {
        "headers": {"content-type": "text/event-stream"},
        "steps": [*steps[:shown], {"sleep": 4000.0}],
        "delay": 4000.0 if silence == "before the answer" else 0.0,
    }
    async with running(tmp_path, order=(upstream,), factor=400.0) as rig:
        await rig.script(path, {**answer, "repeat": "forever"})
        if streamed:
            stream = await rig.stream(ASK)
            assert stream.error is not None
            assert stream.error["code"] == "upstream_timeout"
        else:
            reply = await rig.chat(ASK)
            assert (reply.status, reply.error["code"]) == (504, "upstream_timeout")
        (request,) = [r for r in await rig.wait(path, closed=True) if r["method"] == "POST"]
    assert request["closed_early"]


@pytest.mark.parametrize("streamed", [False, True])
async def test_nine_silent_minutes_of_research_are_waited_for(tmp_path: Path, streamed: bool) -> None:
    steps = agent_steps()
    async with running(tmp_path, order=("api",), factor=200.0) as rig:
        await rig.script(AGENT, [*steps[:5], {"sleep": 540.0}, *steps[5:]])
        body = {**ASK, "model": "sonar-deep-research"}
        if streamed:
            stream = await rig.stream(body)
            assert stream.content == TEXT
            assert stream.comments >= 10
        else:
            assert (await rig.chat(body)).content == TEXT
        assert len([r for r in await rig.requests(AGENT) if r["method"] == "POST"]) == 1


async def test_a_run_cut_by_its_limit_ends_with_length_and_its_usage(api: Rig) -> None:
    events = agent_events("The Leie", status="incomplete")
    response = events[-1]["response"]
    assert isinstance(response, dict)
    events[-1] = {**events[-1], "response": {**response, "incomplete_details": {"reason": "max_output_tokens"}}}
    await api.script(AGENT, agent_steps(events))
    stream = await api.stream({**ASK, "stream_options": {"include_usage": True}})
    assert stream.content == "The Leie"
    assert stream.finish["choices"][0]["finish_reason"] == "length"
    assert stream.chunks[-1]["usage"]["total_tokens"] == 29


async def test_text_before_an_error_frame_stays_and_the_error_ends_it(session: Rig) -> None:
    failed = {"backend_uuid": "b-1", "status": "FAILED", "final": True, "final_sse_message": True, "blocks": []}
    await session.script(ASK_PATH, session_steps([*W_BASE[:3], failed]))
    stream = await session.stream(ASK)
    assert stream.content == CHUNKS[0].replace("[1]", "")
    assert stream.error is not None


@pytest.mark.parametrize("upstream", ["api", "session"])
async def test_an_upstream_that_is_not_there_is_unreachable(tmp_path: Path, upstream: str) -> None:
    nowhere = "http://127.0.0.1:1"
    async with running(tmp_path, order=(upstream,), api_url=nowhere, session_url=nowhere) as rig:
        reply = await rig.chat(ASK)
    assert (reply.status, reply.error["code"]) == (502, "upstream_error")


async def test_the_upstreams_words_cannot_carry_the_key_out(api: Rig) -> None:
    await api.script(AGENT, page(400, '{"error":{"message":"bad key pplx-SECRET-KEY given","code":400}}'))
    reply = await api.chat(ASK)
    assert "SECRET" not in json.dumps(reply.json)


async def test_bare_error_events_fail_a_stream(api: Rig) -> None:
    told: Json = {"type": "error", "sequence_number": 7, "message": "engine gave up", "code": "x"}
    await api.script(AGENT, agent_steps([*A_BASE[:7], told]))
    stream = await api.stream(ASK)
    assert stream.error is not None
    assert "engine gave up" in stream.error["message"]
    await api.script(AGENT, [*agent_steps(A_BASE[:7]), {"bytes": sse({"error": {"message": "gone"}}, name="error")}])
    again = await api.stream(ASK)
    assert again.error is not None
