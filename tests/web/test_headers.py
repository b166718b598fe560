import pytest
from hypothesis import given
from hypothesis import strategies as st

from pplx_gateway.web import headers


@given(st.text())
def test_any_text_becomes_a_harmless_value(text: str) -> None:
    value = headers.safe(text)
    assert value.isascii()
    assert value.decode().isprintable() or value == b""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("gpt", b"gpt"),
        ("a, b", b"a, b"),
        ("größe", b"gr%C3%B6%C3%9Fe"),
        ("a\r\nX: 1", b"a%0D%0AX: 1"),
        ("\ud800", b"?"),
    ],
)
def test_plain_text_stays_and_the_rest_is_encoded(text: str, value: bytes) -> None:
    assert headers.safe(text) == value


def test_long_values_and_lists_are_cut_visibly() -> None:
    assert headers.safe("x" * 100, 10) == b"xxxxxxx..."
    assert headers.names(["a", "b"]) == b"a, b"
    assert headers.names([str(n) for n in range(100)]).endswith(b", 39, ...")


def test_headers_are_found() -> None:
    scope = {"headers": [(b"a", b"1"), (b"b", b"2"), (b"a", b"3")]}
    assert headers.first(scope, b"a") == b"1"
    assert headers.first(scope, b"c") is None
    assert headers.every(scope, b"a") == [b"1", b"3"]
