"""Scripts in, records out."""

import base64

import pytest

from tests.emulator.caller import GHENT, Caller, read_until

HELLO = {"steps": [{"bytes": "hello"}]}


def test_scripted_answers_are_used_first_in_first_out_and_once_each(caller: Caller) -> None:
    caller.script(
        "/anything", {"status": 201, "steps": [{"bytes": "one"}]}, {"status": 202, "steps": [{"bytes": "two"}]}
    )
    replies = [caller.send("GET", "/anything") for _ in range(3)]
    assert [(reply.status, reply.body) for reply in replies[:2]] == [(201, b"one"), (202, b"two")]
    assert replies[2].status == 404


def test_an_answer_repeats_as_often_as_it_says_or_for_ever(caller: Caller) -> None:
    caller.script("/twice", {**HELLO, "repeat": 2})
    caller.script("/always", {**HELLO, "repeat": "forever"})
    assert [caller.send("GET", "/twice").status for _ in range(3)] == [200, 200, 404]
    assert {caller.send("GET", "/always").status for _ in range(5)} == {200}
    assert caller.send("GET", "/_emulator/state").json["scripts"] == {"/always": "forever"}


def test_an_exact_path_comes_before_a_pattern_and_the_method_counts(caller: Caller) -> None:
    caller.script("/x/*", {"steps": [{"bytes": "pattern"}], "repeat": "forever"})
    caller.script("/x/y", {"steps": [{"bytes": "exact"}], "repeat": "forever"}, method="post")
    assert caller.send("POST", "/x/y", {}).body == b"exact"
    assert caller.send("GET", "/x/y").body == b"pattern"
    assert caller.send("GET", "/z").status == 404


def test_headers_repeat_and_base64_steps_carry_any_bytes(caller: Caller) -> None:
    wild = bytes(range(256))
    steps = [{"base64": base64.b64encode(wild).decode()}, {"end": True}]
    caller.script("/wild", {"headers": {"set-cookie": ["a=1", "b=2"], "x-one": "1"}, "steps": steps})
    reply = caller.send("GET", "/wild")
    assert reply.body == wild
    assert reply.headers.get_all("set-cookie") == ["a=1", "b=2"]
    assert reply.headers["x-one"] == "1"


def test_deleting_the_script_brings_back_the_emulators_own_answers(caller: Caller) -> None:
    caller.script("/v1/models", {**HELLO, "repeat": "forever"})
    assert caller.send("GET", "/v1/models").body == b"hello"
    caller.send("DELETE", "/_emulator/script")
    assert caller.send("GET", "/v1/models").json["object"] == "list"


@pytest.mark.parametrize(
    ("form", "word"),
    [
        (b"{", "truncated"),
        (b"[]", "object"),
        ({"answers": [HELLO]}, "path"),
        ({"path": "no-slash", "answers": [HELLO]}, "path"),
        ({"path": "/x", "answers": []}, "answers"),
        ({"path": "/x", "answers": [{"steps": [{"bytes": "a", "end": True}]}]}, "exactly one"),
        ({"path": "/x", "answers": [{"steps": [{}]}]}, "exactly one"),
        ({"path": "/x", "answers": [{"steps": [{"jump": 1}]}]}, "jump"),
        ({"path": "/x", "answers": [{"steps": [{"sleep": -1}]}]}, "sleep"),
        ({"path": "/x", "answers": [{"steps": [{"base64": "?"}]}]}, "base64"),
        ({"path": "/x", "answers": [{"repeat": 0}]}, "repeat"),
        ({"path": "/x", "answers": [{"repeat": "often"}]}, "repeat"),
        ({"path": "/x", "answers": [{"status": 99}]}, "status"),
        ({"path": "/x", "answers": [{"headers": {"a b": "1"}}]}, "header"),
        ({"path": "/x", "answers": [{"headers": {"a": "1\r\nb: 2"}}]}, "header"),
        (b"[" * 100_000, "object"),
    ],
)
def test_a_script_that_makes_no_sense_is_a_400_that_says_why(caller: Caller, form: object, word: str) -> None:
    reply = caller.send("POST", "/_emulator/script", form)
    assert reply.status == 400
    assert word in reply.json["error"]
    assert caller.send("GET", "/_emulator/state").json["scripts"] == {}


def test_every_request_is_recorded_whole(caller: Caller) -> None:
    caller.send("POST", "/v1/agent?a=1&b=2", {"model": "perplexity/sonar", "input": GHENT}, headers={"x-mark": "7"})
    caller.send("POST", "/elsewhere", b"\xff\x00")
    asked, odd = caller.requests()
    assert (asked["method"], asked["path"], asked["query"]) == ("POST", "/v1/agent", "a=1&b=2")
    assert asked["headers"]["x-mark"] == "7"
    assert asked["headers"]["authorization"] == "Bearer pplx-test"
    assert asked["json"] == {"model": "perplexity/sonar", "input": GHENT}
    assert (asked["status"], asked["ended"], asked["closed_early"]) == (200, True, False)
    assert (odd["json"], base64.b64decode(odd["base64"]), odd["status"]) == (None, b"\xff\x00", 404)


def test_records_are_found_by_path_and_method_and_can_be_cleared(caller: Caller) -> None:
    caller.send("GET", "/v1/models")
    caller.send("GET", "/other")
    caller.send("POST", "/other", {})
    assert [request["path"] for request in caller.requests("path=/v1/*")] == ["/v1/models"]
    assert [request["method"] for request in caller.requests("path=/other&method=POST")] == ["POST"]
    caller.send("DELETE", "/_emulator/requests")
    assert caller.requests() == []


def test_repeated_request_headers_are_all_recorded(caller: Caller) -> None:
    with caller.raw("GET", "/v1/models") as connection:
        read_until(connection, b"\r\n\r\n")
    caller.wait("path=/v1/models")
    (request,) = caller.requests()
    assert ["authorization", "Bearer pplx-test"] in request["raw_headers"]


def test_a_caller_who_leaves_is_seen_and_can_be_waited_for(caller: Caller) -> None:
    caller.script("/v1/agent", {"steps": [{"bytes": "first"}, {"sleep": 100_000}, {"bytes": "never"}]})
    with caller.raw("POST", "/v1/agent", {"model": "perplexity/sonar", "input": GHENT}) as connection:
        read_until(connection, b"first")
        assert caller.send("GET", "/_emulator/wait?path=/v1/agent&closed=1&timeout=0").status == 408
    (request,) = caller.wait("path=/v1/agent&closed=1")
    assert request["closed_early"]
    assert not request["ended"]
    assert request["closed_at"] >= request["time"]


def test_a_caller_who_leaves_before_the_first_byte_is_seen_too(caller: Caller) -> None:
    caller.script("/silent", {"delay": 100_000, "steps": []})
    with caller.raw("GET", "/silent"):
        caller.wait("path=/silent")
    (request,) = caller.wait("path=/silent&closed=1")
    assert request["status"] is None


def test_a_caller_who_leaves_in_the_middle_of_the_own_body_is_recorded(caller: Caller) -> None:
    with caller.raw("POST", "/v1/agent", None) as connection:
        read_until(connection, b"\r\n\r\n")
        connection.sendall(b"POST /half HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n12345")
        read_until(connection, b"}}")
    (request,) = caller.wait("path=/half&closed=1")
    assert request["closed_early"]


def test_waiting_ends_by_itself_when_nothing_comes(caller: Caller) -> None:
    reply = caller.send("GET", "/_emulator/wait?path=/never&timeout=0.05")
    assert (reply.status, reply.json) == (408, {"requests": []})
    assert caller.send("GET", "/_emulator/wait?path=/never&timeout=soon").status == 400


def test_waiting_counts(caller: Caller) -> None:
    caller.send("GET", "/v1/models")
    assert caller.send("GET", "/_emulator/wait?path=/v1/models&count=2&timeout=0.05").status == 408
    caller.send("GET", "/v1/models")
    assert len(caller.wait("path=/v1/models&count=2")) == 2


def test_the_state_tells_clock_and_open_requests(caller: Caller) -> None:
    caller.script("/open", {"delay": 100_000})
    assert caller.send("GET", "/_emulator/state").json["open_requests"] == 0
    with caller.raw("GET", "/open"):
        caller.wait("path=/open")
        state = caller.send("GET", "/_emulator/state").json
    assert (state["clock_factor"], state["open_requests"]) == (50, 1)
    assert {"scripts", "runs", "session", "now"} <= state.keys()


def test_a_script_does_not_make_the_api_less_strict(caller: Caller) -> None:
    caller.script("/v1/agent", HELLO)
    refused = caller.ask(GHENT, user="u1")
    assert (refused.status, refused.error["param"]) == (400, "user")
    assert caller.requests()[-1]["refusal"] == 'invalid request body: json: unknown field "user"'
    assert caller.ask(GHENT).body == b"hello"


def test_a_script_may_ask_for_leniency(caller: Caller) -> None:
    caller.script("/v1/agent", {**HELLO, "strict": False})
    assert caller.ask(GHENT, user="u1").body == b"hello"
