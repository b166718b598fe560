"""Runs live apart from their connections: background, cancel, replay, what is kept and for whom."""

import uuid
from collections.abc import Iterator

import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.emulator.threads import serving
from tests.emulator.caller import GHENT, Caller, Json, read_until, text_of

ENDLESS = "slow: Which pages tell of bridges?"
TERMINAL = "the run is already terminal and cannot be cancelled"


@pytest.fixture(scope="module")
def emulator() -> Iterator[Caller]:
    """Here a slow answer takes longer than any test, and everything else no time at all."""
    with serving(Clock(50), pace_seconds=0.0, background_seconds=0.0, cancel_seconds=0.0, slow_seconds=1e9) as url:
        yield Caller(url)


def started(caller: Caller, question: str, **fields: object) -> str:
    """The id of a run in the background that is in progress."""
    run = caller.answer(question, background=True, **fields)
    assert run["status"] == "queued"
    caller.wait_for_run(run["id"], "in_progress")
    return str(run["id"])


def cancel(caller: Caller, run_id: str) -> Json:
    reply = caller.send("POST", f"/v1/agent/{run_id}/cancel")
    assert reply.status == 200, reply.body
    return dict(reply.json)


def test_a_background_run_is_queued_at_once_and_completes_by_itself(caller: Caller) -> None:
    run = caller.answer(GHENT, effort="medium", background=True)
    assert (run["status"], run["output"], run["usage"], run["model"]) == ("queued", [], None, "medium")
    caller.wait_for_run(run["id"], "completed")
    done = caller.send("GET", f"/v1/responses/{run['id']}").json
    assert (done["status"], done["model"]) == ("completed", "openai/gpt-6-sol")
    assert "Leie" in text_of(done)
    assert done["usage"]["cost"]["total_cost"] > 0


def test_a_run_in_progress_shows_partial_output_and_no_usage(caller: Caller) -> None:
    run_id = started(caller, ENDLESS, effort="medium")
    caller.send("GET", f"/v1/agent/{run_id}")
    partial = caller.send("GET", f"/v1/agent/{run_id}").json
    assert (partial["status"], partial["model"], partial["usage"]) == ("in_progress", "medium", None)
    assert {item["type"] for item in partial["output"]} <= {"search_results", "fetch_url_results"}
    assert partial["output"]
    cancel(caller, run_id)


def test_a_cancelled_run_says_cancelling_and_then_is_cancelled(caller: Caller) -> None:
    run_id = started(caller, ENDLESS, effort="low")
    assert cancel(caller, run_id) == {"response_id": run_id, "status": "cancelling"}
    caller.wait_for_run(run_id, "cancelled")
    run = caller.send("GET", f"/v1/agent/{run_id}").json
    assert run["error"] == {"code": "cancelled", "message": "cancelled", "type": "cancelled"}
    assert run["incomplete_details"] == {"reason": "cancelled"}
    assert (run["model"], run["usage"]) == ("low", None)
    assert run["output"]


def test_cancelling_a_finished_or_unknown_run_is_the_same_400(caller: Caller) -> None:
    done = caller.answer(GHENT)["id"]
    for run_id in (done, f"resp_{uuid.uuid4()}", "resp_t1", "nonsense"):
        reply = caller.send("POST", f"/v1/responses/{run_id}/cancel")
        assert (reply.status, reply.error["message"]) == (400, TERMINAL)


def test_a_foreground_run_goes_on_when_its_caller_leaves_and_can_be_cancelled(caller: Caller) -> None:
    body = {"model": "perplexity/sonar", "input": ENDLESS, "stream": True}
    with caller.raw("POST", "/v1/agent", body) as connection:
        head = read_until(connection, b'"response.output_text.delta"').decode()
    run_id = head.split('"id":"', 1)[1].split('"', 1)[0]
    caller.wait("path=/v1/agent&closed=1")
    assert caller.wait_for_run(run_id, "in_progress")["cancelling"] is False
    cancel(caller, run_id)
    caller.wait_for_run(run_id, "cancelled")


def test_a_caller_who_leaves_a_plain_request_is_seen_and_the_run_goes_on(caller: Caller) -> None:
    with caller.raw("POST", "/v1/agent", {"model": "perplexity/sonar", "input": f"{ENDLESS} (plain)"}):
        caller.wait("path=/v1/agent")
    caller.wait("path=/v1/agent&closed=1")
    runs = caller.send("GET", "/_emulator/runs?status=in_progress").json["runs"]
    (run,) = [run for run in runs if run["question"].endswith("(plain)")]
    cancel(caller, run["id"])


def test_a_followed_stream_tells_of_the_cancelling(caller: Caller) -> None:
    body = {"model": "perplexity/sonar", "input": ENDLESS, "stream": True}
    with caller.raw("POST", "/v1/agent", body) as connection:
        head = read_until(connection, b'"response.output_text.delta"').decode()
        cancel(caller, head.split('"id":"', 1)[1].split('"', 1)[0])
        tail = read_until(connection, b"0\r\n\r\n").decode()
    assert '"type":"response.cancelled"' in tail
    assert "response.completed" not in tail


def test_a_replay_gives_the_events_above_the_cursor(caller: Caller) -> None:
    events = caller.stream(GHENT)
    run_id = events[0]["response"]["id"]
    for path in ("/v1/responses", "/v1/agent"):
        replay = caller.send("GET", f"{path}/{run_id}?stream=true&starting_after=4")
        assert replay.headers["content-type"] == "text/event-stream"
        assert replay.events == events[5:]
    assert caller.send("GET", f"/v1/agent/{run_id}?stream=true").events == events


def test_a_replay_goes_on_live(caller: Caller) -> None:
    run_id = started(caller, ENDLESS)
    with caller.raw("GET", f"/v1/agent/{run_id}?stream=true") as connection:
        read_until(connection, b'"response.output_text.delta"')
        cancel(caller, run_id)
        assert b'"response.cancelled"' in read_until(connection, b"0\r\n\r\n")


def test_a_run_that_was_not_streamed_can_be_replayed(caller: Caller) -> None:
    run_id = caller.answer(GHENT)["id"]
    events = caller.send("GET", f"/v1/agent/{run_id}?stream=true&starting_after=0").events
    assert events[0]["sequence_number"] == 1
    assert events[-1]["type"] == "response.completed"


@pytest.mark.parametrize(
    "query",
    [
        "stream=true&starting_after=9999",
        "starting_after=1",
        "stream=maybe",
        "stream=true&starting_after=-1",
        "format=long",
    ],
)
def test_a_bad_or_expired_cursor_is_a_400(caller: Caller, query: str) -> None:
    run_id = caller.answer(GHENT)["id"]
    assert caller.send("GET", f"/v1/agent/{run_id}?{query}").status == 400


def test_both_formats_are_taken(caller: Caller) -> None:
    run_id = caller.answer(GHENT)["id"]
    assert caller.send("GET", f"/v1/agent/{run_id}?format=short").json["id"] == run_id


def test_unknown_ids_are_not_found_and_malformed_ones_refused(caller: Caller) -> None:
    missing = caller.send("GET", f"/v1/responses/resp_{uuid.uuid4()}")
    assert (missing.status, missing.error["message"]) == (404, "resource not found")
    assert caller.send("GET", "/v1/responses/resp_nonsense").status == 400
    assert caller.send("GET", f"/v1/responses/resp_{uuid.uuid4()}/files").status == 404


def test_a_run_that_is_not_stored_is_hidden_but_can_be_continued(caller: Caller) -> None:
    first = caller.answer(GHENT, store=False)
    assert first["store"] is False
    assert caller.send("GET", f"/v1/agent/{first['id']}").status == 404
    second = caller.answer("And the longer one?", previous_response_id=first["id"])
    assert "rivers meet Ghent" in text_of(second), "the answer refers to the question before"


def test_runs_belong_to_their_key(caller: Caller) -> None:
    run_id, other = caller.answer(GHENT)["id"], caller.with_key("pplx-other")
    assert other.send("GET", f"/v1/agent/{run_id}").status == 404
    assert other.send("POST", f"/v1/agent/{run_id}/cancel").status == 400
    reply = other.ask("And then?", previous_response_id=run_id)
    assert (reply.status, reply.error["message"]) == (400, "invalid request")


def test_only_a_completed_run_can_be_continued(caller: Caller) -> None:
    run_id = started(caller, ENDLESS)
    for unfit in (run_id, f"resp_{uuid.uuid4()}", "../x"):
        reply = caller.ask("And then?", previous_response_id=unfit)
        assert (reply.status, reply.error["message"]) == (400, "invalid request")
    cancel(caller, run_id)


def test_a_finished_run_lists_no_files(caller: Caller) -> None:
    run_id = caller.answer(GHENT)["id"]
    assert caller.send("GET", f"/v1/responses/{run_id}/files").json == {"object": "list", "data": []}


def test_a_background_stream_begins_queued(caller: Caller) -> None:
    events = caller.stream(GHENT, background=True)
    assert events[0]["response"]["status"] == "queued"
    assert events[1]["response"]["status"] == "in_progress"
    assert events[-1]["type"] == "response.completed"


def test_earlier_turns_are_remembered_within_one_request(caller: Caller) -> None:
    turns = [
        {"role": "user", "content": "How tall is the Zugspitze?"},
        {"role": "assistant", "content": "2,962 m."},
        {"role": "user", "content": "And what is its glacier like?"},
    ]
    assert "Zugspitze" in text_of(caller.answer(turns))


def test_system_text_alone_is_answered(caller: Caller) -> None:
    turn = {"type": "message", "role": "system", "content": "Give a title for: rivers of Ghent"}
    assert text_of(caller.answer([turn])) == "Rivers of Ghent"


def test_images_and_files_are_told_of(caller: Caller) -> None:
    parts = [
        {"type": "input_text", "text": "What is this?"},
        {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="},
    ]
    answer = text_of(caller.answer([{"role": "user", "content": parts}]))
    assert "image/png" in answer
    assert "a.pdf" in answer
