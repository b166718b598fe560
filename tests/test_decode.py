import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pplx_gateway.decode import MAX_DEPTH, decode, unknown_keys
from pplx_gateway.errors import InvalidJson, InvalidRequest


class Turn(msgspec.Struct):
    role: str
    content: str


class Request(msgspec.Struct):
    model: str
    messages: list[Turn]
    tools: list[dict[str, object]] | None = None


def nested(depth: int) -> bytes:
    return b'{"model":"m","messages":[],"tools":[{"a":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}]}"


@pytest.mark.parametrize(
    "body", [b"", b"{", b'{"a":NaN}', b'{"model":"m","messages":[],}', b"\xff\xfe", b'{"model":"\xc3', b"\x1f\x8b\x08"]
)
def test_bytes_that_are_no_json_are_invalid_json(body: bytes) -> None:
    with pytest.raises(InvalidJson):
        decode(body, Request)


@pytest.mark.parametrize("body", [b"[]", b"null", b'"x"', b"5", b"[" * 100_000])
def test_a_body_that_is_no_object_is_an_invalid_request(body: bytes) -> None:
    with pytest.raises(InvalidRequest) as caught:
        decode(body, Request)
    assert caught.value.param is None


def test_an_error_names_the_path_of_the_field() -> None:
    with pytest.raises(InvalidRequest) as caught:
        decode(b'{"model":"m","messages":[{"role":"user","content":1}]}', Request)
    assert caught.value.param == "messages[0].content"
    assert "messages[0].content" in caught.value.message


def test_a_missing_field_is_named_with_its_path() -> None:
    with pytest.raises(InvalidRequest) as caught:
        decode(b'{"model":"m","messages":[{"role":"user"}]}', Request)
    assert caught.value.param == "messages[0].content"


def test_a_field_that_is_not_known_is_named_where_none_may_be_unknown() -> None:
    class Strict(msgspec.Struct, forbid_unknown_fields=True):
        a: int = 0

    class Outer(msgspec.Struct):
        inner: Strict

    for name in ("b", "`", "a\nb"):
        with pytest.raises(InvalidRequest) as caught:
            decode(msgspec.json.encode({"inner": {name: 1}}), Outer)
        assert caught.value.param == f"inner.{name}"
        assert caught.value.message.isprintable()


@pytest.mark.parametrize("depth", [MAX_DEPTH, 200, 2000, 50_000])
def test_a_deep_schema_is_refused_by_the_name_of_its_field(depth: int) -> None:
    with pytest.raises(InvalidJson) as caught:
        decode(nested(depth), Request)
    assert caught.value.param == "tools"


def test_an_unknown_field_that_is_deep_is_refused_too() -> None:
    with pytest.raises(InvalidJson) as caught:
        decode(b'{"a":' * 50_000, Request)
    assert caught.value.param == "a"


def test_many_shallow_brackets_are_fine() -> None:
    turns = [{"role": "user", "content": "x[0] {y}" * 50}] * 300
    assert len(decode(msgspec.json.encode({"model": "m", "messages": turns}), Request).messages) == 300


def test_a_lone_surrogate_is_refused_and_a_zero_character_passes() -> None:
    for text in (rb"\ud800", rb"x\udc00y", rb"\\\udBFF", rb"\ud83d\ud83d\udeb2"):
        with pytest.raises(InvalidJson, match="surrogate without its partner"):
            decode(b'{"model":"' + text + b'","messages":[]}', Request)
    for whole in (rb"\ud83d\udeb2", rb"\\ud800"):
        with pytest.raises(InvalidJson, match="truncated"):
            decode(b'{"model":"' + whole + b'","messages":[', Request)
    assert decode(b'{"model":"a\\u0000b","messages":[]}', Request).model == "a\0b"


def test_a_byte_order_mark_is_ignored() -> None:
    body = b'\xef\xbb\xbf{"model":"m","messages":[],"odd":1}'
    assert decode(body, Request).model == "m"
    assert unknown_keys(body, Request) == ("odd",)


@given(st.binary(max_size=60))
def test_any_bytes_give_a_value_or_an_invalid_request(body: bytes) -> None:
    try:
        assert isinstance(decode(body, Request), Request)
    except InvalidRequest as error:
        assert error.message
