"""Faults on demand, asked for in the question."""

import json
import time

import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.emulator.threads import serving
from pplx_gateway.emulator.words import FAULTS
from tests.emulator.caller import GHENT, WEATHER, Caller, calls_of, read_all, text_of

SEARCHED = {"tools": [{"type": "web_search"}], "tool_choice": {"type": "web_search"}}


@pytest.mark.parametrize(
    ("name", "status", "kind"),
    [
        ("upstream_429", 429, "request_rate_limit_exceeded"),
        ("upstream_401", 401, "invalid_api_key"),
        ("upstream_402", 402, "insufficient_credits"),
        ("upstream_500", 500, "internal_error"),
        ("logged_out", 401, "invalid_api_key"),
        ("quota_gone", 402, "insufficient_credits"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_some_faults_are_json_errors(caller: Caller, name: str, status: int, kind: str, stream: bool) -> None:
    reply = caller.ask(f"fault:{name} {GHENT}", stream=stream)
    assert (reply.status, reply.error["type"], reply.error["code"]) == (status, kind, status)
    assert (reply.headers.get("retry-after") == "1") == (status == 429)


def test_an_html_page_stands_where_json_belongs(caller: Caller) -> None:
    reply = caller.ask(f"fault:upstream_html {GHENT}", stream=True)
    assert reply.status == 502
    assert reply.headers["content-type"].startswith("text/html")
    assert b"<html>" in reply.body


def test_a_timeout_is_silence_that_ends_after_the_hold(caller: Caller) -> None:
    body = {"model": "perplexity/sonar", "input": f"fault:upstream_timeout {GHENT}"}
    with caller.raw("POST", "/v1/agent", body) as connection:
        connection.settimeout(0.2)
        with pytest.raises(TimeoutError):
            connection.recv(1)
    caller.wait("path=/v1/agent&closed=1")


def test_a_held_request_ends_as_a_proxys_page() -> None:
    with serving(Clock(), hold_seconds=0.05) as url:
        reply = Caller(url).ask(f"fault:upstream_timeout {GHENT}")
    assert (reply.status, reply.headers["content-type"]) == (504, "text/html")


def test_broken_json_has_status_200(caller: Caller) -> None:
    plain = caller.ask(f"fault:upstream_bad_json {GHENT}")
    assert plain.status == 200
    with pytest.raises(json.JSONDecodeError):
        json.loads(plain.body)
    streamed = caller.ask(f"fault:upstream_bad_json {GHENT}", stream=True).body.decode()
    *whole, broken = streamed.removesuffix("\n\n").split("\n\n")
    assert all(json.loads(frame.removeprefix("data: ")) for frame in whole)
    with pytest.raises(json.JSONDecodeError):
        json.loads(broken.removeprefix("data: "))


def test_a_drop_breaks_the_stream_after_some_text_and_the_run_is_lost(caller: Caller) -> None:
    body = {"model": "perplexity/sonar", "input": f"fault:midstream_drop {GHENT}", "stream": True}
    with caller.raw("POST", "/v1/agent", body) as connection:
        answer = read_all(connection)
    assert b"response.output_text.delta" in answer
    assert b"response.completed" not in answer
    assert not answer.endswith(b"0\r\n\r\n")
    run_id = answer.decode().split('"id":"', 1)[1].split('"', 1)[0]
    assert caller.send("GET", f"/v1/agent/{run_id}").status == 404


def test_a_drop_of_a_plain_answer_falls_short_of_the_promised_length(caller: Caller) -> None:
    body = {"model": "perplexity/sonar", "input": f"fault:midstream_drop {GHENT}"}
    with caller.raw("POST", "/v1/agent", body) as connection:
        head, _, got = read_all(connection).partition(b"\r\n\r\n")
    promised = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.startswith(b"content-length"))
    assert 0 < len(got) < promised


def test_an_error_in_the_stream_follows_some_text(caller: Caller) -> None:
    events = caller.stream(f"fault:midstream_error {GHENT}")
    assert events[-2]["type"] == "response.output_text.delta"
    assert events[-1]["type"] == "response.failed"
    assert events[-1]["error"]["message"]
    assert events[-1]["response"]["status"] == "failed"


def test_a_failed_run_is_a_200_for_those_who_do_not_stream(caller: Caller) -> None:
    response = caller.answer(f"fault:midstream_error {GHENT}")
    assert response["status"] == "failed"
    assert response["error"]["message"]


def test_an_empty_answer_has_sources_and_no_word(caller: Caller) -> None:
    response = caller.answer(f"fault:empty {GHENT}", **SEARCHED)
    assert response["status"] == "completed"
    assert [item["type"] for item in response["output"]] == ["search_results"]


def test_another_model_serves_than_the_one_asked_for(caller: Caller) -> None:
    assert caller.answer(f"fault:substituted {GHENT}", model="openai/gpt-6-astra")["model"] == "openai/gpt-6-luna"


def test_bad_arguments_come_in_three_kinds(caller: Caller) -> None:
    (broken,) = calls_of(caller.answer("fault:tool_bad_json How is Lyon?", tools=[WEATHER]))
    with pytest.raises(json.JSONDecodeError):
        json.loads(broken["arguments"])
    (unfit,) = calls_of(caller.answer("fault:tool_bad_arguments How is Lyon?", tools=[WEATHER]))
    assert not isinstance(json.loads(unfit["arguments"])["city"], str)
    (unknown,) = calls_of(caller.answer("fault:tool_unknown_name How is Lyon?", tools=[WEATHER]))
    assert unknown["name"] == "no_such_function"


def test_faults_are_honoured_where_a_function_would_be_called(caller: Caller) -> None:
    called = {"tools": [WEATHER], "tool_choice": "required"}
    events = caller.stream("fault:midstream_error How is Lyon?", **called)
    assert [event["type"] for event in events[-2:]] == ["response.output_item.done", "response.failed"]
    assert caller.answer("fault:midstream_error How is Lyon?", **called)["status"] == "failed"
    body = {"model": "perplexity/sonar", "input": "fault:midstream_drop How is Lyon?", "stream": True, **called}
    with caller.raw("POST", "/v1/agent", body) as connection:
        dropped = read_all(connection)
    broken = caller.ask("fault:upstream_bad_json How is Lyon?", stream=True, **called).body
    for answer in (dropped, broken):
        assert b'"get_weather"' in answer
        assert b"response.completed" not in answer
    assert caller.answer("fault:empty How is Lyon?", **called)["output"] == []


def test_an_unknown_fault_is_answered_with_the_list(caller: Caller) -> None:
    answer = text_of(caller.answer(f"fault:earthquake {GHENT}"))
    assert all(f"fault:{name}" in answer for name in FAULTS)


def test_a_slow_answer_takes_its_time_between_chunks(caller: Caller) -> None:
    begun = time.monotonic()
    events = caller.stream(f"slow: {GHENT}")
    took = time.monotonic() - begun
    assert events[-1]["type"] == "response.completed"
    assert took > 0.09, "five clock seconds are a tenth of a second here"


def test_slow_and_a_fault_go_together(caller: Caller) -> None:
    assert caller.stream(f"slow: fault:midstream_error {GHENT}")[-1]["type"] == "response.failed"


def test_searches_fail_on_demand_too(caller: Caller) -> None:
    assert caller.send("POST", "/search", {"query": "fault:upstream_429 tides"}).status == 429


def test_the_control_words_are_not_part_of_the_question(caller: Caller) -> None:
    assert "Leie" in text_of(caller.answer(f"slow: {GHENT}"))
