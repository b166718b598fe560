import pytest

from pplx_gateway.transport.heads import HeadReader


def read(*lines: bytes) -> HeadReader:
    reader = HeadReader()
    for line in lines:
        reader.feed(line)
    return reader


def test_a_head_is_complete_at_the_empty_line() -> None:
    reader = HeadReader()
    assert [reader.feed(line) for line in (b"HTTP/1.1 200 OK\r\n", b"A: b\r\n", b"\r\n")] == [False, False, True]
    assert reader.complete
    assert reader.status == 200
    assert list(reader.headers.items) == [("a", "b")]


def test_http2_status_lines_have_no_reason() -> None:
    assert read(b"HTTP/2 404 \r\n", b"\r\n").status == 404


@pytest.mark.parametrize("status", [b"100", b"103"])
def test_informational_blocks_are_passed_over(status: bytes) -> None:
    reader = read(b"HTTP/1.1 " + status + b" Soon\r\n", b"Link: early\r\n", b"\r\n")
    assert not reader.complete
    for line in (b"HTTP/1.1 200 OK\r\n", b"A: b\r\n", b"\r\n"):
        reader.feed(line)
    assert reader.status == 200
    assert list(reader.headers.items) == [("a", "b")]


def test_trailers_change_nothing() -> None:
    reader = read(b"HTTP/1.1 200 OK\r\n", b"A: b\r\n", b"\r\n")
    assert not any(reader.feed(line) for line in (b"Trailer: late\r\n", b"\r\n"))
    assert list(reader.headers.items) == [("a", "b")]


def test_repeats_keep_their_order() -> None:
    reader = read(b"HTTP/1.1 200 OK\r\n", b"Set-Cookie: a=1\r\n", b"X: y\r\n", b"SET-COOKIE:b=2\r\n", b"\r\n")
    assert reader.headers.all("set-cookie") == ["a=1", "b=2"]
    assert reader.headers.get("set-cookie") == "a=1"
    assert reader.headers.get("nothing") is None


def test_folded_lines_are_joined() -> None:
    reader = read(b"HTTP/1.1 200 OK\r\n", b"A: one\r\n", b"  two\r\n", b"\tthree\r\n", b"\r\n")
    assert reader.headers.get("a") == "one two three"


def test_bytes_above_ascii_are_latin_1() -> None:
    assert read(b"HTTP/1.1 200 OK\r\n", b"A: caf\xe9\r\n", b"\r\n").headers.get("a") == "caf\u00e9"
