"""The chat route on the running app."""

import asyncio
import json
import logging
from typing import Any

import pytest
from openai import APIError, AsyncOpenAI, BadRequestError, InternalServerError, RateLimitError

from pplx_gateway.answer import Batch, Finished, ReasoningDelta, SearchStep, Started, TextDelta, ToolCall, Warned
from pplx_gateway.errors import QuotaExhausted, RateLimited, UpstreamTruncated
from pplx_gateway.gateway import Gateway
from tests.openai import reading
from tests.openai.fakes import KEY, LEIE, SCHELDT, FakeUpstream, gateway
from tests.web.calling import ASK, calling, error

TEXT = "The Leie[1] meets the Scheldt[2]."
PROMPT = ASK["messages"][0]["content"]


def on(*steps: Any, name: str = "api", **settings: Any) -> tuple[FakeUpstream, Gateway]:
    upstream = FakeUpstream(name, steps)
    return upstream, gateway(upstream, **settings)


async def test_a_whole_answer_comes_as_one_object() -> None:
    async with calling() as caller:
        reply = await caller.ask()
    found = reading.reply(reply.content)
    message = found["choices"][0]["message"]
    assert reply.status_code == 200
    assert reply.headers["content-type"] == "application/json"
    assert message["content"] == TEXT
    assert [TEXT[a["start_index"] : a["end_index"]] for a in (m["url_citation"] for m in message["annotations"])] == [
        "[1]",
        "[2]",
    ]
    assert found["citations"] == [LEIE.url, SCHELDT.url]
    assert (reply.headers["x-pplx-requested-model"], reply.headers["x-pplx-upstream"]) == ("sonar", "api")


async def test_a_stream_is_whole_and_ends_with_done() -> None:
    async with calling() as caller:
        reply = await caller.stream(stream_options={"include_usage": True})
    found = reading.chunks(reply.content)
    assert reading.payloads(reply.content)[-1] == "[DONE]"
    assert reading.joined(found)["content"] == TEXT
    assert reading.finish(found)["citations"] == [LEIE.url, SCHELDT.url]
    assert found[-1]["usage"]["total_tokens"] == 29
    assert reply.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert reply.headers["cache-control"] == "no-cache, no-transform"
    assert reply.headers["x-accel-buffering"] == "no"
    assert reply.headers["x-pplx-upstream"] == "api"
    assert reply.headers["x-request-id"].startswith("req_")


@pytest.mark.parametrize("stream", [None, False])
async def test_stream_null_and_false_are_not_streamed(stream: bool | None) -> None:
    async with calling() as caller:
        assert (await caller.ask({**ASK, "stream": stream})).json()["object"] == "chat.completion"


async def test_a_request_without_a_model_goes_to_the_default() -> None:
    async with calling() as caller:
        assert (await caller.ask({"messages": ASK["messages"]})).headers["x-pplx-requested-model"] == "sonar"


async def test_the_upstream_gets_the_question_and_an_opaque_caller() -> None:
    upstream, served = on([TextDelta("Yes."), Finished(reason="stop")])
    async with calling(served) as caller:
        await caller.ask({**ASK, "search_recency_filter": "week"})
    (question,) = upstream.asked
    assert question.model == "sonar"
    assert question.search.recency == "week"
    assert upstream.callers == ["owner"]


# the SDK


@pytest.fixture
def sdk_options() -> dict[str, Any]:
    return {"api_key": KEY, "max_retries": 0, "_strict_response_validation": True}


async def test_the_openai_sdk_gets_an_answer(sdk_options: dict[str, Any]) -> None:
    async with calling() as caller, AsyncOpenAI(base_url=caller.url + "/v1", **sdk_options) as client:
        answer = await client.chat.completions.create(model="sonar", messages=[{"role": "user", "content": PROMPT}])
    assert answer.choices[0].message.content == TEXT
    assert answer._request_id is not None
    assert answer._request_id.startswith("req_")


async def test_the_openai_sdk_streams(sdk_options: dict[str, Any]) -> None:
    async with calling() as caller, AsyncOpenAI(base_url=caller.url + "/v1/", **sdk_options) as client:
        stream = await client.chat.completions.create(
            model="sonar", messages=[{"role": "user", "content": PROMPT}], stream=True
        )
        texts = [chunk.choices[0].delta.content or "" async for chunk in stream]
    assert "".join(texts) == TEXT


async def test_the_sdks_stream_helper_builds_the_message(sdk_options: dict[str, Any]) -> None:
    call = ToolCall(call_id="call_1", name="get_weather", arguments='{"city":"Lyon"}')
    _, served = on([ReasoningDelta("Hm.")], [TextDelta("Wait."), call], [Finished(reason="tool_calls")])
    tool: Any = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}
    ask: Any = {"model": "sonar", "messages": [{"role": "user", "content": PROMPT}], "tools": [tool]}
    async with (
        calling(served) as caller,
        AsyncOpenAI(base_url=caller.url + "/v1", **sdk_options) as client,
        client.chat.completions.stream(**ask) as stream,
    ):
        answer = await stream.get_final_completion()
    message = answer.choices[0].message
    assert message.content == "Wait."
    assert message.tool_calls
    assert message.tool_calls[0].function.arguments == '{"city":"Lyon"}'
    assert answer.choices[0].finish_reason == "tool_calls"


async def test_the_sdk_raises_its_own_errors(sdk_options: dict[str, Any]) -> None:
    _, served = on(QuotaExhausted("Nothing is left."))
    async with calling(served) as caller, AsyncOpenAI(base_url=caller.url + "/v1", **sdk_options) as client:
        ask: Any = {"model": "sonar", "messages": [{"role": "user", "content": PROMPT}]}
        with pytest.raises(RateLimitError, match="Nothing is left") as quota:
            await client.chat.completions.create(**ask, stream=True)
        with pytest.raises(BadRequestError) as wrong:
            await client.chat.completions.create(**ask, temperature=5)
    assert (quota.value.code, quota.value.type) == ("quota_exhausted", "insufficient_quota")
    assert wrong.value.param == "temperature"


async def test_the_sdk_does_not_repeat_what_must_not_be_repeated(sdk_options: dict[str, Any]) -> None:
    upstream, served = on(QuotaExhausted("Nothing is left."))
    options = {**sdk_options, "max_retries": 2}
    async with calling(served) as caller, AsyncOpenAI(base_url=caller.url + "/v1", **options) as client:
        with pytest.raises(RateLimitError):
            await client.chat.completions.create(model="sonar", messages=[{"role": "user", "content": PROMPT}])
    assert len(upstream.asked) == 1


async def test_the_sdk_raises_when_a_stream_fails_on_its_way(sdk_options: dict[str, Any]) -> None:
    _, served = on([TextDelta("The Leie ")], UpstreamTruncated("Cut."))
    async with calling(served) as caller, AsyncOpenAI(base_url=caller.url + "/v1", **sdk_options) as client:
        stream = await client.chat.completions.create(
            model="sonar", messages=[{"role": "user", "content": PROMPT}], stream=True
        )
        with pytest.raises(APIError, match="Cut") as caught:
            async for _ in stream:
                pass
    assert caught.value.code == "upstream_truncated"


async def test_the_sdk_reads_past_comments(sdk_options: dict[str, Any]) -> None:
    silence = asyncio.Event()
    _, served = on([TextDelta("The ")], silence, [TextDelta("Leie."), Finished(reason="stop")], factor=500)
    async with calling(served) as caller, AsyncOpenAI(base_url=caller.url + "/v1", **sdk_options) as client:
        stream = await client.chat.completions.create(
            model="sonar", messages=[{"role": "user", "content": PROMPT}], stream=True
        )
        asyncio.get_running_loop().call_later(0.2, silence.set)
        texts = [chunk.choices[0].delta.content or "" async for chunk in stream]
    assert "".join(texts) == "The Leie."


# failures


@pytest.mark.parametrize("stream", [True, False])
async def test_a_failure_before_anything_visible_is_an_http_error(stream: bool) -> None:
    _, served = on([Started()], RateLimited("Slow down.", retry_after=3))
    async with calling(served) as caller:
        reply = await caller.ask({**ASK, "stream": stream})
    assert reply.status_code == 429
    assert error(reply)["code"] == "rate_limit_exceeded"
    assert reply.headers["retry-after"] == "3"
    assert reply.headers["content-type"] == "application/json"


async def test_a_failure_after_text_is_an_error_frame_and_nothing_that_looks_whole() -> None:
    _, served = on([TextDelta("The Leie ")], UpstreamTruncated("Cut."))
    async with calling(served) as caller:
        reply = await caller.stream()
    texts = reading.payloads(reply.content)
    assert reply.status_code == 200
    assert json.loads(texts[-1]) == {
        "error": {"message": "Cut.", "type": "api_error", "param": None, "code": "upstream_truncated"}
    }
    assert "[DONE]" not in texts
    assert all(chunk["choices"][0]["finish_reason"] is None for chunk in reading.chunks(reply.content))


async def test_a_failure_after_text_is_an_http_error_where_nothing_was_streamed() -> None:
    _, served = on([TextDelta("The Leie ")], UpstreamTruncated("Cut."))
    async with calling(served) as caller:
        reply = await caller.ask()
    assert reply.status_code == 502
    assert error(reply)["code"] == "upstream_truncated"
    assert reply.headers["x-should-retry"] == "true"


@pytest.mark.parametrize("stream", [True, False])
async def test_an_upstream_that_ends_without_a_verdict_is_a_failure(stream: bool) -> None:
    _, served = on([TextDelta("The Leie ")])
    async with calling(served) as caller:
        reply = await caller.ask({**ASK, "stream": stream})
    assert b"upstream_truncated" in reply.content
    assert b"[DONE]" not in reply.content


@pytest.mark.parametrize("stream", [True, False])
async def test_a_defect_is_a_plain_500_and_its_words_stay_out_of_the_log(
    stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    _, served = on(KeyError(PROMPT))
    with caplog.at_level(logging.DEBUG, "pplx_gateway"):
        async with calling(served) as caller:
            reply = await caller.ask({**ASK, "stream": stream})
    assert reply.status_code == 500
    assert error(reply)["code"] == "internal_error"
    (record,) = [record for record in caplog.records if record.getMessage() == "defect"]
    assert "KeyError" in vars(record)["where"]
    assert "fakes.py" in vars(record)["where"]
    assert PROMPT not in "".join(str(vars(record)) for record in caplog.records)
    assert PROMPT not in reply.text


async def test_an_upstream_that_fails_after_its_answer_does_not_spoil_it(caplog: pytest.LogCaptureFixture) -> None:
    _, served = on([TextDelta("Yes."), Finished(reason="stop")], UpstreamTruncated("Late."))
    with caplog.at_level(logging.WARNING, "pplx_gateway"):
        async with calling(served) as caller:
            reply = await caller.stream()
            await caller.get("/health")
    assert reading.payloads(reply.content)[-1] == "[DONE]"
    assert [record.getMessage() for record in caplog.records] == ["failed after the answer"]


async def test_a_file_above_the_limit_is_a_413_and_the_connection_goes_on() -> None:
    file = {"type": "file", "file": {"filename": "a.pdf", "file_data": "JVBERi0" + "A" * (28 << 20) + "="}}
    async with calling() as caller, caller.socket() as socket:
        await socket.ask({**ASK, "messages": [{"role": "user", "content": [file]}]})
        status, headers, body = await socket.response()
        await socket.ask()
        assert (await socket.response())[0] == 200
    assert status == 413
    assert "connection" not in headers
    assert json.loads(body)["error"]["param"] == "messages[0].content[0].file.file_data"


async def test_a_defect_after_text_is_an_error_frame() -> None:
    _, served = on([TextDelta("The Leie ")], ZeroDivisionError())
    async with calling(served) as caller:
        texts = reading.payloads((await caller.stream()).content)
    assert json.loads(texts[-1])["error"]["code"] == "internal_error"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "invalid_json"),
        (b"{", "invalid_json"),
        (b'{"a":NaN}', "invalid_json"),
        (b'{"model":"sonar",}', "invalid_json"),
        (b"\xff\xfe", "invalid_json"),
        (b'{"messages":[{"role":"user","content":"\xe2\x82"}]}', "invalid_json"),
        (b'{"messages":[{"role":"user","content":"\\ud800"}]}', "invalid_json"),
        (b"\x1f\x8b\x08\x00", "invalid_json"),
        (b"[" * 100_000, "invalid_request"),
        (b'{"a":' * 50_000, "invalid_json"),
        (b"[]", "invalid_request"),
        (b"null", "invalid_request"),
        (b'"x"', "invalid_request"),
        (b"{}", "invalid_request"),
    ],
)
async def test_a_body_that_is_no_request_is_a_400(body: bytes, code: str) -> None:
    upstream, served = on()
    async with calling(served) as caller:
        reply = await caller.ask(body)
    assert reply.status_code == 400
    assert error(reply)["code"] == code
    assert not upstream.asked


async def test_a_byte_order_mark_is_passed_over() -> None:
    async with calling() as caller:
        assert (await caller.ask(b"\xef\xbb\xbf" + json.dumps(ASK).encode())).status_code == 200


async def test_an_unknown_model_is_a_404_with_the_nearest_ids() -> None:
    upstream, served = on()
    async with calling(served) as caller:
        reply = await caller.ask({**ASK, "model": "sonnar"})
        retired = await caller.ask({**ASK, "model": "llama-3.1-sonar-small-128k-online"})
    assert (reply.status_code, error(reply)["code"], error(reply)["param"]) == (404, "model_not_found", "model")
    assert "sonar" in error(reply)["message"]
    assert "retired" in error(retired)["message"]
    assert not upstream.asked


# capabilities


async def test_what_the_upstream_cannot_honour_is_refused_by_name() -> None:
    upstream = FakeUpstream("session", support={})
    async with calling(gateway(upstream)) as caller:
        reply = await caller.ask({**ASK, "model": "gpt", "temperature": 0.2})
    assert reply.status_code == 400
    assert (error(reply)["code"], error(reply)["param"]) == ("unsupported_parameter", "temperature")
    assert not upstream.asked


async def test_by_policy_it_is_dropped_and_told_in_headers_and_body() -> None:
    upstream = FakeUpstream("session", support={})
    async with calling(gateway(upstream, unsupported="drop")) as caller:
        plain = await caller.ask({**ASK, "model": "gpt", "temperature": 0.2, "stop": "x", "größe\n": 1})
        stream = await caller.stream(model="gpt", temperature=0.2)
    assert plain.headers["x-pplx-dropped"] == "temperature, stop, gr%C3%B6%C3%9Fe%0A"
    assert "temperature" in plain.headers["x-pplx-warnings"]
    assert plain.json()["pplx"]["dropped"] == ["temperature", "stop", "größe\n"]
    assert stream.headers["x-pplx-dropped"] == "temperature"
    assert reading.finish(reading.chunks(stream.content))["pplx"]["dropped"] == ["temperature"]
    assert upstream.asked[0].sampling.temperature is None


async def test_a_very_long_list_of_dropped_fields_fits_a_header() -> None:
    async with calling() as caller:
        reply = await caller.ask({**ASK, **{f"unknown_{n}_" + "x" * 500: 1 for n in range(500)}})
    assert reply.status_code == 200
    assert len(reply.headers["x-pplx-dropped"]) < 4000
    assert reply.headers["x-pplx-dropped"].endswith("...")


async def test_warnings_of_the_upstream_reach_headers_of_both_forms() -> None:
    warned = Warned("The limit was raised to 16.", left_out="max_tokens")
    _, served = on([warned], [TextDelta("Yes."), Finished(reason="stop")])
    async with calling(served) as caller:
        plain, stream = await caller.ask(), await caller.stream()
    assert plain.headers["x-pplx-warnings"] == stream.headers["x-pplx-warnings"] == "The limit was raised to 16."
    assert plain.headers["x-pplx-dropped"] == stream.headers["x-pplx-dropped"] == "max_tokens"
    assert plain.json()["pplx"]["warnings"] == ["The limit was raised to 16."]


async def test_streamed_usage_of_the_session_can_be_refused() -> None:
    upstream = FakeUpstream("session")
    async with calling(gateway(upstream, stream_usage="refuse")) as caller:
        options = {"stream_options": {"include_usage": True}}
        refused = await caller.stream(model="gpt", **options)
        assert (await caller.stream(model="gpt")).status_code == 200
        assert (await caller.ask({**ASK, "model": "gpt", **options})).status_code == 200
    assert error(refused)["param"] == "stream_options.include_usage"


async def test_failover_is_told_in_headers_and_body() -> None:
    session = FakeUpstream("session", [[Started()], QuotaExhausted("Nothing is left.")])
    served = gateway(session, FakeUpstream("api"))
    async with calling(served) as caller:
        plain, stream = await caller.ask(), await caller.stream()
    for reply in (plain, stream):
        assert reply.headers["x-pplx-failover"] == "quota_exhausted"
        assert reply.headers["x-pplx-upstream"] == "api"
    assert plain.json()["pplx"] == {
        "upstream": "api",
        "served_model": "perplexity/sonar",
        "failover": "quota_exhausted",
    }
    assert reading.joined(reading.chunks(stream.content))["content"] == TEXT


async def test_search_steps_are_shown_when_thought_was_asked_for() -> None:
    step = SearchStep(kind="search", queries=("rivers of Ghent",))
    _, served = on([step], [TextDelta("Yes."), Finished(reason="stop")])
    async with calling(served) as caller:
        shown = await caller.ask({**ASK, "thinking": True})
        hidden = await caller.ask()
    assert shown.json()["choices"][0]["message"]["reasoning_content"] == "Searching: rivers of Ghent\n"
    assert "reasoning_content" not in hidden.json()["choices"][0]["message"]


# silence


async def test_a_silent_stream_gets_comments_between_events() -> None:
    silence = asyncio.Event()
    _, served = on([TextDelta("The ")], silence, [TextDelta("Leie."), Finished(reason="stop")], factor=200)
    async with calling(served) as caller, caller.socket() as socket:
        await socket.ask({**ASK, "stream": True})
        await socket.until(b": keep-alive\n\r\n")
        await socket.until(b": keep-alive\n\r\n")
        silence.set()
        rest = await socket.until(b"[DONE]\n\n\r\n0\r\n\r\n")
    assert b"Leie." in rest
    assert b": ping" not in rest


async def test_silence_before_the_first_text_begins_the_response() -> None:
    silence = asyncio.Event()
    _, served = on([Started()], silence, UpstreamTruncated("Cut."), factor=200)
    async with calling(served) as caller, caller.socket() as socket:
        await socket.ask({**ASK, "stream": True})
        head = await socket.until(b"\r\n\r\n")
        await socket.until(b": keep-alive\n\r\n")
        silence.set()
        rest = await socket.until(b"0\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    assert b"text/event-stream" in head
    assert b'data: {"error":{"message":"Cut."' in rest
    assert b"finish_reason" not in rest
    assert b"[DONE]" not in rest


async def test_the_body_ends_right_after_done() -> None:
    async with calling() as caller, caller.socket() as socket:
        await socket.ask({**ASK, "stream": True})
        await socket.until(b"[DONE]\n\n\r\n")
        assert await socket.reader.readexactly(5) == b"0\r\n\r\n"


async def test_each_batch_is_one_write() -> None:
    batches: list[Batch] = [[TextDelta("a"), TextDelta("b"), TextDelta("c")], [TextDelta("d"), Finished(reason="stop")]]
    _, served = on(*batches)
    async with calling(served) as caller, caller.socket() as socket:
        await socket.ask({**ASK, "stream": True})
        await socket.until(b"\r\n\r\n")
        sizes = []
        while (size := int(await socket.until(b"\r\n"), 16)) > 0:
            frames = (await socket.reader.readexactly(size + 2))[:-2]
            assert frames.endswith(b"\n\n")
            sizes.append(frames.count(b"data: "))
    assert sizes == [2, 3]  # the role, the text; the text, the finish chunk, [DONE]


# leaving


async def until_closed(upstream: FakeUpstream) -> None:
    async with asyncio.timeout(1):
        await upstream.closed.wait()


@pytest.mark.parametrize("stream", [True, False])
async def test_a_caller_who_leaves_before_any_byte_ends_the_upstreams_work(
    stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    upstream, served = on([Started()], asyncio.Event())
    with caplog.at_level(logging.INFO, "pplx_gateway"):
        async with calling(served) as caller:
            async with caller.socket() as socket:
                await socket.ask({**ASK, "stream": stream})
                await upstream.reached.wait()
            await until_closed(upstream)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    line = vars(caplog.records[-1])
    assert (line["status"], line["left"]) == (499, True)


async def test_a_caller_who_leaves_in_the_middle_ends_the_upstreams_work() -> None:
    upstream, served = on([TextDelta("The ")], asyncio.Event())
    async with calling(served) as caller:
        async with caller.socket() as socket:
            await socket.ask({**ASK, "stream": True})
            await socket.until(b"The ")
        await until_closed(upstream)


async def test_a_caller_who_reads_nothing_holds_the_upstream_back_and_can_leave() -> None:
    produced = 0

    def count() -> None:
        nonlocal produced
        produced += 1

    piece: Batch = [TextDelta("x" * 50_000)]
    steps: list[Any] = [step for _ in range(2000) for step in (piece, count)]
    upstream, served = on(*steps, [Finished(reason="stop")])
    async with calling(served) as caller:
        async with caller.socket() as socket:
            await socket.ask({**ASK, "stream": True})
            await socket.until(b"\r\n\r\n")
            before = -1
            while before != produced:  # until it stands still
                before = produced
                await asyncio.sleep(0.1)
            assert 0 < produced < 1500
        await until_closed(upstream)
    assert produced < 1500


async def test_the_next_request_on_the_connection_works_after_a_stream() -> None:
    async with calling() as caller, caller.socket() as socket:
        await socket.ask({**ASK, "stream": True})
        await socket.until(b"0\r\n\r\n")
        await socket.ask()
        status, _, body = await socket.response()
    assert status == 200
    assert reading.reply(body)["choices"][0]["message"]["content"] == TEXT


async def test_models_that_reason_show_their_steps_unasked() -> None:
    step = SearchStep(kind="plan", text="Find the rivers")
    _, served = on([step], [TextDelta("Yes."), Finished(reason="stop")])
    async with calling(served) as caller:
        reply = await caller.ask({**ASK, "model": "sonar-deep-research"})
    assert reply.json()["choices"][0]["message"]["reasoning_content"] == "Find the rivers\n"


async def test_an_upstream_failure_has_the_right_class_in_the_sdk(sdk_options: dict[str, Any]) -> None:
    _, served = on(UpstreamTruncated("Cut."))
    async with calling(served) as caller, AsyncOpenAI(base_url=caller.url, **sdk_options) as client:
        with pytest.raises(InternalServerError):
            await client.chat.completions.create(model="sonar", messages=[{"role": "user", "content": PROMPT}])
