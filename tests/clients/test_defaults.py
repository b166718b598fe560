"""What clients send by default works on both upstreams, and whatever an upstream leaves out is told."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cases.scripts import W_BASE, Step, ask_text, session_steps
from tests.clients.bodies import EVERYTHING, QUESTION, USER, WITH_USAGE, Json, Sent
from tests.rig import AGENT, ASK_PATH, KEY, Reply, Rig, Stream, running

MODELS = {"session": "session/gpt", "api": "api/sonar"}
PATHS = {"session": ASK_PATH, "api": AGENT}
every_upstream = pytest.mark.parametrize("upstream", MODELS)


def told(reply: Reply | Stream) -> set[str]:
    return set(filter(None, reply.headers.get("x-pplx-dropped", "").replace(" ", "").split(",")))


def strings(value: object) -> Iterator[str]:
    """Every text in a body that reached an upstream, the session's envelope unpacked."""
    match value:
        case str():
            unpacked = json.loads(value) if value.startswith('{"instructions"') else None
            yield from [value] if unpacked is None else strings(unpacked)
        case Mapping():
            for item in value.values():
                yield from strings(item)
        case list():
            for item in value:
                yield from strings(item)


def texts(sent: Sent, role: str) -> list[str]:
    found = [message for message in sent.body["messages"] if message["role"] == role]
    return [
        part if isinstance(part, str) else part["text"]
        for message in found
        for part in ([message["content"]] if isinstance(message["content"], str) else message["content"])
    ]


def check_sent(request: Json, sent: Sent, dropped: frozenset[str]) -> None:
    """All that the user said, and all system text that was not told as left out, is in what the upstream got."""
    got = "\n".join(strings(request))
    for text in texts(sent, "user"):
        assert text in got, text
    if "system" not in dropped:
        for text in [*texts(sent, "system"), *texts(sent, "developer")]:
            assert text in got, text


def check_answer(content: str, calls: list[Json], sent: Sent) -> None:
    if sent.answers == "call":
        assert [call["function"]["name"] for call in calls] == ["tide_table"]
        assert json.loads(calls[0]["function"]["arguments"]) == {"port": "Ostend"}
        return
    assert not calls
    assert content.strip()
    if sent.answers == "json":
        assert isinstance(json.loads(content), dict)


def check_usage(usage: Mapping[str, Any], upstream: str) -> None:
    assert usage["prompt_tokens"] + usage["completion_tokens"] == usage["total_tokens"] > 0
    assert usage.get("estimated", False) is (upstream == "session")


def check_chunks(stream: Stream) -> None:
    """One fact a chunk, since some clients look no further, and each where the clients that read it look for it."""
    roles = [delta["role"] for delta in stream.deltas if "role" in delta]
    assert roles == ["assistant"]
    assert stream.deltas[0]["content"] == ""
    for chunk in stream.chunks:
        facts = [key for choice in chunk["choices"] for key in choice["delta"] if key != "role"]
        assert len(facts) <= 1, chunk
        assert not (chunk["choices"] and chunk.get("usage")), chunk
    assert set(stream.finish["choices"][0]["delta"]) <= {"annotations"}
    beside_text = [c.get("citations") for c in stream.chunks for d in c["choices"] if "content" in d["delta"]]
    if "citations" in stream.finish and stream.content:
        assert next(filter(None, beside_text)) == stream.finish["citations"]


async def check_plain(rig: Rig, body: Json, sent: Sent, upstream: str) -> Reply:
    reply = await rig.chat(body, headers=sent.headers)
    assert reply.status == 200, reply.json
    message = reply.json["choices"][0]["message"]
    check_answer(message["content"] or "", message.get("tool_calls", []), sent)
    check_usage(reply.json["usage"], upstream)
    return reply


async def check_streamed(rig: Rig, body: Json, sent: Sent, upstream: str) -> Stream:
    stream = await rig.stream(body, headers=sent.headers)
    assert stream.status == 200, stream.raw
    assert stream.error is None, stream.error
    calls = [call for delta in stream.deltas for call in delta.get("tool_calls", [])]
    check_answer(stream.content, calls, sent)
    check_chunks(stream)
    counted = [chunk["usage"] for chunk in stream.chunks if chunk.get("usage")]
    assert len(counted) == ("stream_options" in body)
    for usage in counted:
        check_usage(usage, upstream)
    if sent.reads_first_chunk:
        assert stream.chunks[0]["citations"] == stream.finish["citations"]
    return stream


@every_upstream
@pytest.mark.parametrize("sent", EVERYTHING.values(), ids=EVERYTHING)
async def test_what_a_client_sends_by_default_is_answered(tmp_path: Path, sent: Sent, upstream: str) -> None:
    body = {**sent.body, "model": MODELS[upstream]}
    dropped = sent.session if upstream == "session" else sent.api
    async with running(tmp_path, unsupported=sent.policy) as rig:
        replies: list[Reply | Stream] = []
        if sent.plain is not None:
            replies.append(await check_plain(rig, {**body, **sent.plain}, sent, upstream))
        if sent.streamed is not None:
            replies.append(await check_streamed(rig, {**body, **sent.streamed}, sent, upstream))
        assert [told(reply) for reply in replies] == [dropped] * len(replies)
        requests = await rig.requests(PATHS[upstream])
        assert len(requests) == len(replies)
        for request in requests:
            check_sent(request["json"], sent, dropped)


BY_PROMPT = {name: sent for name, sent in EVERYTHING.items() if sent.prompts}


def session_says(text: str) -> list[Step]:
    """A stream of the session's whose answer is `text`, in two pieces."""
    half = len(text) // 2
    pieces = [text[:half], text[half:]]
    frame: Json = {"backend_uuid": "b-1", "status": "PENDING"}
    parts = [{**frame, "blocks": [ask_text([piece], number)]} for number, piece in enumerate(pieces)]
    last = {**W_BASE[-1], "blocks": [ask_text(pieces, 0, progress="DONE", answer=text)]}
    return session_steps([W_BASE[0], *parts, last])


@pytest.mark.parametrize("sent", BY_PROMPT.values(), ids=BY_PROMPT)
async def test_a_format_is_asked_of_the_session_in_words_and_the_client_gets_plain_json(
    dropping: Rig, sent: Sent
) -> None:
    answer = {"port": "Ostend", "note": "A fence\n```\nand a [1] stay what they are."}
    steps = session_says(f"```json\n{json.dumps(answer, indent=2)}\n```")
    await dropping.script(ASK_PATH, steps, steps)
    body = {**sent.body, "model": MODELS["session"]}
    replies = (await dropping.chat(body), await dropping.stream({**body, **(sent.streamed or {})}))
    for reply in replies:
        assert json.loads(reply.content) == answer
        assert "format" in reply.headers["x-pplx-warnings"]
    for request in await dropping.requests(ASK_PATH):
        instructions = json.loads(request["json"]["query_str"])["instructions"]
        assert "one JSON object" in instructions[-1]
        assert ("tide" in json.dumps(sent.body["response_format"])) is ('"port"' in instructions[-1])


ALWAYS_LIMIT = {
    name: sent
    for name, sent in EVERYTHING.items()
    if sent.policy == "drop" and (sent.session | sent.prompts) - {"system"}
}


@pytest.mark.parametrize("sent", ALWAYS_LIMIT.values(), ids=ALWAYS_LIMIT)
async def test_without_the_policy_the_session_names_what_it_cannot_honour(both: Rig, sent: Sent) -> None:
    body = {**sent.body, "model": MODELS["session"]}
    reply = await both.chat(body, headers=sent.headers)
    assert reply.status == 400
    assert reply.error["param"].partition("[")[0] in sent.session | sent.prompts
    assert await both.requests(ASK_PATH) == []


NEUTRAL: tuple[Json, ...] = (
    {"n": 1},
    {"temperature": 1},
    {"temperature": 1.0, "top_p": 1.0},
    {"temperature": None, "top_p": None, "max_tokens": None, "seed": None, "stop": None, "user": None},
    {"presence_penalty": 0, "frequency_penalty": 0.0},
    {"stop": []},
    {"logit_bias": {}},
    {"logprobs": False, "top_logprobs": None},
    {"tools": [], "tool_choice": "auto"},
    {"tools": None, "tool_choice": "none", "parallel_tool_calls": True},
    {"response_format": {"type": "text"}},
    {"modalities": ["text"], "audio": None},
    {"reasoning_effort": None, "verbosity": "medium"},
    {"store": False, "metadata": {}, "user": ""},
    {"service_tier": "auto"},
    {"functions": [], "function_call": "auto"},
    {"stream_options": None},
)


@every_upstream
async def test_values_that_ask_for_nothing_pass_without_a_word(both: Rig, upstream: str) -> None:
    for fields in NEUTRAL:
        body = {"messages": [USER], "model": MODELS[upstream], **fields}
        for reply in (await both.chat(body), await both.stream(body)):
            assert reply.status == 200, (fields, reply)
            assert told(reply) == set(), fields
            assert "x-pplx-warnings" not in reply.headers, fields
            assert QUESTION in "".join(strings((await both.requests(PATHS[upstream]))[-1]["json"]))


@every_upstream
async def test_side_calls_go_to_the_helper(dropping: Rig, upstream: str) -> None:
    """Nothing marks a title or a tag but its model; the helper answers without a search that is paid apart."""
    for name, sent in EVERYTHING.items():
        if not name.startswith("Open WebUI, ") or sent.streamed is not None:
            continue
        reply = await dropping.chat({**sent.body, "model": f"{upstream}/helper"}, headers=sent.headers)
        assert reply.status == 200, reply.json
        assert reply.content.strip()
        request = (await dropping.requests(PATHS[upstream]))[-1]["json"]
        if upstream == "api":
            assert request["max_tool_calls"] == 0
            assert request["max_output_tokens"] >= 16
        else:
            assert request["params"]["model_preference"] == "pplx_pro"


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": f"bearer {KEY}"},
        {"authorization": "", "x-api-key": KEY},
        {"authorization": f"Bearer {KEY}", "api-key": "another", "x-api-key": "another"},
        {
            "accept": "*/*",
            "accept-encoding": "gzip, deflate, br, zstd",
            "content-type": "application/json; charset=utf-8",
        },
        {"x-request-id": "mine" * 99, "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
        {"accept": "text/event-stream", "cache-control": "no-cache"},
        {"http-referer": "https://app.example", "x-title": "An app", "x-stainless-retry-count": "2"},
    ],
)
@every_upstream
async def test_headers_that_clients_send_are_no_obstacle(both: Rig, upstream: str, headers: dict[str, str]) -> None:
    body = {"messages": [USER], "model": MODELS[upstream], **WITH_USAGE}
    key = None if headers.get("authorization") == "" else KEY
    sent = {name: value for name, value in headers.items() if value}
    reply = await both.post({**body, "stream_options": None}, headers=sent, key=key)
    assert reply.status == 200, reply.json
    assert reply.headers["x-request-id"] != headers.get("x-request-id")
    if key is not None:
        stream = await both.stream(body, headers=sent)
        assert stream.done
