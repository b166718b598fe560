"""Streams and failures: bytes cut anywhere, silence, and an upstream that fails in every way there is."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from tests.cases.asking import PATHS
from tests.cases.scripts import A_BASE, CLEANED, TEXT, W_BASE, Step, agent_events, agent_steps, session_steps, sse
from tests.cases.test_assembly import patched
from tests.cases.test_failures import CHALLENGE, HTML_401, ONLY_SEARCHED, RUN_FAILED, html, page
from tests.cases.test_framing import PINGS, STREAMS, WORLD, writes
from tests.responses.asking import ASK, BOTH, PATH, WAYS, Json, Said, answered, ask
from tests.responses.calling import SSE
from tests.rig import AGENT, ASK_PATH, KEY, Rig, bearer, running

BEGUN = {"api": agent_steps()[:7], "session": session_steps()[:4]}
"""Some text of an answer, but not its end."""


async def kept(rig: Rig, said: Said) -> Json:
    reply = await rig.get(f"{PATH}/{said.response['id']}")
    assert reply.status == 200
    found: Json = reply.json
    return found


async def check_failure(rig: Rig, said: Said, *, streamed: bool, status: int, code: str) -> None:
    """An HTTP answer where nothing was said before, else a failed response that is kept as one."""
    if said.status != 200:
        assert (said.status, said.error["code"]) == (status, code)
        return
    assert streamed
    assert said.types[-1] == "response.failed"
    assert said.response["error"]["type"] == code
    assert said.response["error"]["code"] == "server_error"
    assert await kept(rig, said) == said.response


# what a stream is

A_TYPES = [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.annotation.added",
    "response.output_text.annotation.added",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
]


def with_one_delta(types: list[str]) -> list[str]:
    """How many there are is chance: what comes in one read goes out as one."""
    delta = "response.output_text.delta"
    return [kind for before, kind in pairwise(["", *types]) if (before, kind) != (delta, delta)]


async def test_the_events_come_in_their_order(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        await rig.script(AGENT, agent_steps())
        said, _ = await answered(rig, {"model": "api/sonar"}, streamed=True)
        assert with_one_delta(said.types) == A_TYPES
        await rig.script(ASK_PATH, session_steps())
        said, _ = await answered(rig, {"model": "session/sonar"}, streamed=True)
        assert with_one_delta(said.types) == A_TYPES
        assert said.text == CLEANED


@BOTH
async def test_a_stream_says_what_a_stream_must(tmp_path: Path, upstream: str) -> None:
    async with running(tmp_path, order=(upstream,)) as rig:
        said, _ = await answered(rig, {}, streamed=True)
    assert said.headers["content-type"].startswith("text/event-stream")
    assert said.headers["cache-control"] == "no-cache, no-transform"
    assert said.headers["x-accel-buffering"] == "no"
    assert said.headers["x-request-id"].startswith("req_")
    assert (said.headers["x-pplx-upstream"], said.headers["x-pplx-requested-model"]) == (upstream, "sonar")


@BOTH
async def test_each_write_to_the_caller_is_whole_events(tmp_path: Path, upstream: str) -> None:
    async with running(tmp_path, order=(upstream,)) as rig:
        sent = {**ASK, "stream": True}
        async with rig.client.stream("POST", rig.url + PATH, json=sent, headers=bearer(KEY)) as reply:
            parts = [part async for part in reply.aiter_raw()]
    assert all(part.endswith(b"\n\n") for part in parts)


# bytes


@BOTH
async def test_letters_cut_at_any_byte_stay_whole(tmp_path: Path, upstream: str) -> None:
    path, make = STREAMS[upstream]
    whole = make()
    places = [place for place in range(1, len(whole)) if whole[place] & 0xC0 == 0x80]
    async with running(tmp_path, order=(upstream,)) as rig:
        for place in places:
            await rig.script(path, writes(whole[:place], whole[place:]))
            said, _ = await answered(rig, {"store": False}, streamed=True)
            assert said.text == WORLD, place
        await rig.script(path, writes(*(whole[place : place + 1] for place in range(len(whole)))))
        said, _ = await answered(rig, {"store": False}, streamed=True)
        assert said.text == WORLD


@WAYS
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
async def test_any_line_end_and_any_event_name_give_the_same_answer(
    tmp_path: Path, newline: str, streamed: bool
) -> None:
    async with running(tmp_path) as rig:
        for name in (None, "message", "response.output_text.delta"):
            told = "".join(sse(event, newline=newline, name=name) for event in A_BASE)
            await rig.script(AGENT, [{"bytes": "\ufeff" + told}])
            said, _ = await answered(rig, {"model": "api/sonar"}, streamed=streamed)
            assert said.text == TEXT
        told = "".join(sse(frame, newline=newline, name="message") for frame in W_BASE)
        await rig.script(ASK_PATH, [{"bytes": f"{told}event: end_of_stream{newline}data: {{}}{newline}{newline}"}])
        said, _ = await answered(rig, {"model": "session/sonar"}, streamed=streamed)
        assert said.text == CLEANED


@WAYS
async def test_halves_of_a_letter_meet_over_two_deltas(tmp_path: Path, streamed: bool) -> None:
    text = "".join(sse(event) for event in agent_events("HALF1", "HALF2"))
    text = text.replace('"delta": "HALF1"', '"delta": "\\ud83d"').replace('"delta": "HALF2"', '"delta": "\\udeb2"')
    async with running(tmp_path, order=("api",)) as rig:
        await rig.script(AGENT, [{"bytes": text.replace("HALF1HALF2", "\\ud83d\\udeb2")}])
        said, _ = await answered(rig, {}, streamed=streamed)
        assert said.text == "🚲"


@WAYS
async def test_pings_of_the_upstream_reach_nobody(tmp_path: Path, streamed: bool) -> None:
    steps = agent_steps()
    async with running(tmp_path, order=("api",)) as rig:
        await rig.script(AGENT, [*steps[:7], *({"bytes": ping} for ping in PINGS), *steps[7:]])
        said, _ = await answered(rig, {}, streamed=streamed)
        assert said.text == TEXT
        assert "keepalive" not in json.dumps(said.events)


async def test_silence_is_bridged_by_comments_between_events(tmp_path: Path) -> None:
    steps = agent_steps()
    async with running(tmp_path, order=("api",), factor=100.0) as rig:
        await rig.script(AGENT, [*steps[:6], {"sleep": 40.0}, *steps[6:]])
        sent = {**ASK, "stream": True}
        reply = await rig.client.post(rig.url + PATH, json=sent, headers=bearer(KEY))
    assert reply.content.count(b": keep-alive\n") >= 2
    assert b": keep-alive\n\n" not in reply.content
    assert reply.content.endswith(b"data: [DONE]\n\n")


@WAYS
async def test_an_answer_of_patches_alone_is_whole(tmp_path: Path, streamed: bool) -> None:
    begun: Json = {"progress": "IN_PROGRESS", "chunks": ["The Le"], "chunk_starting_offset": 0}
    ended: Json = {"status": "COMPLETED", "final": True, "final_sse_message": True}
    frames = [
        patched({"op": "replace", "path": "", "value": begun}),
        patched({"op": "add", "path": "/chunks/1", "value": "ie flows n"}),
        patched({"op": "add", "path": "/chunks/2", "value": "orth."}, **ended),
    ]
    async with running(tmp_path, order=("session",)) as rig:
        await rig.script(ASK_PATH, session_steps(frames))
        said, _ = await answered(rig, {}, streamed=streamed)
        assert said.text == "The Leie flows north."


# failures


@BOTH
@WAYS
@pytest.mark.parametrize("ending", ["end", "cut", "abort"])
async def test_an_upstream_that_stops_without_a_verdict_is_no_success(
    tmp_path: Path, upstream: str, streamed: bool, ending: str
) -> None:
    broken: list[Step] = [*BEGUN[upstream], {ending: True}]
    async with running(tmp_path, order=(upstream,)) as rig:
        await rig.script(PATHS[upstream], broken)
        said = await ask(rig, {}, streamed=streamed)
        await check_failure(rig, said, streamed=streamed, status=502, code="upstream_truncated")
        if streamed:
            deltas = [event["delta"] for event in said.events if "delta" in event]
            assert "".join(deltas).startswith("The Leie")
            assert said.response["output"] == []
            again = await ask(rig, {"previous_response_id": said.response["id"]})
            assert (again.status, again.error["code"]) == (400, "previous_response_not_found")


FAILURES: list[tuple[str, object, int, str]] = [
    ("api", page(200, json.dumps(RUN_FAILED)), 502, "upstream_error"),
    ("api", page(200, json.dumps(ONLY_SEARCHED)), 502, "empty_answer"),
    ("api", page(200, ""), 502, "empty_answer"),
    ("api", html(401, HTML_401), 502, "upstream_auth"),
    ("api", page(402, '{"error":{"message":"no credit","type":"billing","code":402}}'), 402, "insufficient_quota"),
    ("api", page(502, ""), 502, "upstream_error"),
    ("api", page(500, '{"detail":"nope"}'), 502, "upstream_error"),
    ("api", page(500, '{"error":"nope"}'), 502, "upstream_error"),
    ("api", page(500, '{"message":"nope"}'), 502, "upstream_error"),
    ("api", html(524, "<html><title>A timeout occurred</title></html>"), 502, "upstream_error"),
    ("api", page(301, "", location="https://login.example/"), 502, "upstream_error"),
    ("api", html(200, "<html>hello</html>"), 502, "upstream_error"),
    ("session", html(403, CHALLENGE, cf_mitigated="challenge"), 503, "session_blocked"),
    ("session", html(200, CHALLENGE, cf_mitigated="challenge"), 503, "session_blocked"),
    ("session", session_steps([*W_BASE[:2], {**W_BASE[-1], "blocks": []}]), 502, "empty_answer"),
]


@WAYS
@pytest.mark.parametrize("background", [False, True], ids=["foreground", "background"])
async def test_every_failure_has_its_own_name(tmp_path: Path, streamed: bool, background: bool) -> None:
    """In the foreground it is an HTTP answer; in the background the response's own end."""
    async with running(tmp_path) as rig:
        for upstream, answer, status, code in FAILURES:
            await rig.script(PATHS[upstream], answer)  # type: ignore[arg-type]
            before = len(await rig.requests(PATHS[upstream]))
            said = await ask(rig, {"model": f"{upstream}/sonar", "background": background}, streamed=streamed)
            if not background:
                assert (said.status, said.error["code"]) == (status, code), (answer, said)
                assert len(await rig.requests(PATHS[upstream])) == before + 1
                assert (said.headers.get("x-should-retry") == "false") is (code in _NOT_AGAIN)
                continue
            found = await kept(rig, said)
            while found["status"] in ("queued", "in_progress"):
                found = await kept(rig, said)
            assert (found["status"], found["error"]["type"]) == ("failed", code), answer
            assert "<" not in found["error"]["message"]


_NOT_AGAIN = ("upstream_auth", "insufficient_quota", "session_blocked")


@WAYS
async def test_a_failed_frame_is_an_error_and_its_text_no_answer(tmp_path: Path, streamed: bool) -> None:
    failed: Json = {"backend_uuid": "b-1", "status": "FAILED", "error_code": "GENERIC_FAILED_RESPONSE", "final": True}
    failed |= {"text": "Something failed", "final_sse_message": True}
    async with running(tmp_path, order=("session",)) as rig:
        await rig.script(ASK_PATH, session_steps([failed]))
        said = await ask(rig, {}, streamed=streamed)
        assert (said.status, "Something failed" in said.error["message"]) == (502, True)
        await rig.script(ASK_PATH, session_steps([*W_BASE[:3], {**failed, "blocks": []}]))
        said = await ask(rig, {}, streamed=streamed)
        assert said.status == (200 if streamed else 502)
        await check_failure(rig, said, streamed=streamed, status=502, code="upstream_error")


@pytest.mark.parametrize("told", [None, "3", "86400", "Wed, 21 Oct 2065 07:28:00 GMT"])
async def test_a_throttle_that_lasts_is_a_429_with_a_sane_wait(tmp_path: Path, told: str | None) -> None:
    headers = {} if told is None else {"retry_after": told}
    limited = page(429, '{"error":{"message":"slow down","type":"rate","code":429}}', **headers)
    async with running(tmp_path, order=("api",), factor=50.0) as rig:
        await rig.script(AGENT, {**limited, "repeat": "forever"})
        for streamed in (False, True):
            said = await ask(rig, {}, streamed=streamed)
            assert (said.status, said.error["code"]) == (429, "rate_limit_exceeded")
            assert 0 < int(said.headers.get("retry-after", "120")) <= 120
            assert said.headers.get("retry-after") == "3" or told != "3"
        assert len(await rig.requests(AGENT)) <= 6


@WAYS
@pytest.mark.parametrize("silence", ["before the answer", "within the answer"])
@BOTH
async def test_patience_ends_as_a_timeout(tmp_path: Path, upstream: str, silence: str, streamed: bool) -> None:
    delay = 4000.0 if silence == "before the answer" else 0.0
    async with running(tmp_path, order=(upstream,), factor=400.0) as rig:
        answer = {"headers": SSE, "steps": [*BEGUN[upstream], {"sleep": 4000.0}], "delay": delay, "repeat": "forever"}
        await rig.script(PATHS[upstream], answer)
        said = await ask(rig, {}, streamed=streamed)
        await check_failure(rig, said, streamed=streamed, status=504, code="upstream_timeout")
        assert (await rig.wait(PATHS[upstream], closed=True))[-1]["closed_early"]


@WAYS
async def test_nine_silent_minutes_of_research_are_waited_for(tmp_path: Path, streamed: bool) -> None:
    steps = agent_steps()
    async with running(tmp_path, order=("api",), factor=400.0) as rig:
        await rig.script(AGENT, [*steps[:5], {"sleep": 540.0}, *steps[5:]])
        said, _ = await answered(rig, {"model": "sonar-deep-research"}, streamed=streamed)
        assert said.text == TEXT


@WAYS
async def test_what_a_limit_cuts_is_incomplete_with_its_usage(tmp_path: Path, streamed: bool) -> None:
    events = agent_events("The Leie", status="incomplete")
    response = events[-1]["response"]
    assert isinstance(response, dict)
    events[-1] = {**events[-1], "response": {**response, "incomplete_details": {"reason": "max_output_tokens"}}}
    async with running(tmp_path, order=("api",)) as rig:
        await rig.script(AGENT, agent_steps(events))
        said = await ask(rig, {"max_output_tokens": 5}, streamed=streamed)
        assert said.response["status"] == "incomplete"
        assert said.response["incomplete_details"] == {"reason": "max_output_tokens"}
        assert said.items("message")[0]["status"] == "incomplete"
        assert said.response["usage"]["total_tokens"] == 29
        assert (await rig.requests(AGENT))[0]["json"]["max_output_tokens"] == 16
        assert "raised to 16" in said.headers["x-pplx-warnings"]
        assert (await answered(rig, {"previous_response_id": said.response["id"]}))[0].text


@pytest.mark.parametrize("order", [("session", "api"), ("api", "session")])
async def test_throttling_never_starts_a_paid_call(tmp_path: Path, order: tuple[str, str]) -> None:
    async with running(tmp_path, order=order, factor=50.0) as rig:
        await rig.script(ASK_PATH, {**page(429, '{"error":{"message":"slow down"}}'), "repeat": "forever"})
        for streamed in (False, True):
            assert (await ask(rig, {}, streamed=streamed)).status == 429
        assert await rig.requests(f"{AGENT}*") == []


@WAYS
async def test_models_that_are_gone_or_never_were_are_told_with_the_nearest(tmp_path: Path, streamed: bool) -> None:
    async with running(tmp_path) as rig:
        for name in ("llama-3.1-sonar-small-128k-online", "sonar-reasoning", "r1-1776"):
            said = await ask(rig, {"model": name}, streamed=streamed)
            assert (said.status, said.error["code"], "retired" in said.error["message"]) == (
                404,
                "model_not_found",
                True,
            )
        said = await ask(rig, {"model": "gpt-4o"}, streamed=streamed)
        assert (said.status, said.error["code"], said.error["param"]) == (404, "model_not_found", "model")
        assert (await ask(rig, {"model": None}, streamed=streamed)).status == 200
        assert (await ask(rig, {"model": "perplexity/sonar-pro"}, streamed=streamed)).status == 200
