"""What a script does to the connection itself."""

import re
import time

import pytest

from tests.emulator.caller import Caller, read_all, read_until

SSE = {"headers": {"content-type": "text/event-stream"}}


def test_each_bytes_step_is_one_chunk_and_the_message_ends_cleanly(caller: Caller) -> None:
    caller.script("/s", {**SSE, "steps": [{"bytes": "data: 1\n\n"}, {"bytes": "é"}]})
    with caller.raw("GET", "/s") as connection:
        head = read_until(connection, b"\r\n\r\n")
        body = read_until(connection, b"0\r\n\r\n")
    assert b"transfer-encoding: chunked" in head
    assert body == b"9\r\ndata: 1\n\n\r\n2\r\n\xc3\xa9\r\n0\r\n\r\n"


def test_the_connection_can_be_used_again_after_a_clean_end(caller: Caller) -> None:
    caller.script("/s", {**SSE, "steps": [{"bytes": "one"}, {"end": True}]})
    with caller.raw("GET", "/s") as connection:
        read_until(connection, b"0\r\n\r\n")
        connection.sendall(b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n")
        assert read_until(connection, b"\r\n").startswith(b"HTTP/1.1 200")


def test_an_abort_resets_the_connection_after_the_written_bytes_have_left(caller: Caller) -> None:
    caller.script("/s", {**SSE, "steps": [{"bytes": "data: 1\n\n"}, {"abort": True}]})
    with caller.raw("GET", "/s") as connection:
        read_until(connection, b"9\r\ndata: 1\n\n\r\n")
        with pytest.raises(ConnectionResetError):
            read_all(connection)
    (request,) = caller.wait("path=/s&ended=1")
    assert not request["closed_early"]


def test_a_cut_closes_without_finishing_the_message(caller: Caller) -> None:
    caller.script("/s", {**SSE, "steps": [{"bytes": "data: 1\n\n"}, {"cut": True}]})
    with caller.raw("GET", "/s") as connection:
        assert read_all(connection).endswith(b"9\r\ndata: 1\n\n\r\n")
    (request,) = caller.wait("path=/s&ended=1")
    assert not request["closed_early"]


def test_an_abort_before_any_byte_still_sends_nothing_but_the_head(caller: Caller) -> None:
    caller.script("/s", {"steps": [{"abort": True}]})
    with caller.raw("GET", "/s") as connection, pytest.raises(ConnectionResetError):
        read_all(connection)


def test_a_large_write_leaves_whole_before_the_cut(caller: Caller) -> None:
    caller.script("/s", {"steps": [{"bytes": "x" * 2_000_000}, {"cut": True}]})
    with caller.raw("GET", "/s") as connection:
        assert read_all(connection).count(b"x") >= 2_000_000


def test_a_promised_length_can_be_cut_short(caller: Caller) -> None:
    caller.script("/s", {"headers": {"content-length": "100"}, "steps": [{"bytes": "short"}, {"cut": True}]})
    with caller.raw("GET", "/s") as connection:
        answer = read_all(connection)
    assert b"content-length: 100" in answer
    assert answer.endswith(b"\r\n\r\nshort")


def test_pauses_and_delays_are_clock_seconds(caller: Caller) -> None:
    caller.script("/s", {"delay": 5, "steps": [{"bytes": "a"}, {"sleep": 5}, {"bytes": "b"}]})
    begun = time.monotonic()
    assert caller.send("GET", "/s").body == b"ab"
    took = time.monotonic() - begun
    assert 0.19 < took < 5, "ten seconds of a clock that runs fifty times as fast are a fifth of a second"


def test_bytes_before_a_pause_arrive_before_it_ends(caller: Caller) -> None:
    caller.script("/s", {"steps": [{"bytes": "early"}, {"sleep": 100_000}]})
    with caller.raw("GET", "/s") as connection:
        assert read_until(connection, b"early").endswith(b"early")


def test_one_byte_a_write_gives_one_byte_a_chunk(caller: Caller) -> None:
    caller.script("/s", {"steps": [{"base64": "8A=="}, {"base64": "nw=="}, {"base64": "mg=="}, {"base64": "sg=="}]})
    with caller.raw("GET", "/s") as connection:
        read_until(connection, b"\r\n\r\n")
        body = read_until(connection, b"0\r\n\r\n")
    pieces = re.findall(rb"1\r\n(.)\r\n", body, re.DOTALL)
    assert b"".join(pieces).decode() == "🚲"
