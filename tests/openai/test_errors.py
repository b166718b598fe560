import json

import pytest

from pplx_gateway import errors
from pplx_gateway.errors import GatewayError
from pplx_gateway.protocols.openai.errors import body, frame, render


def headers(error: GatewayError) -> dict[bytes, bytes]:
    return dict(render(error).headers)


def kinds(root: type[GatewayError] = GatewayError) -> list[type[GatewayError]]:
    """The tree that errors.py draws; rooms of their own may subclass it with other arguments."""
    ours = [child for child in root.__subclasses__() if child.__module__ == errors.__name__]
    return [root, *(kind for child in ours for kind in kinds(child))]


@pytest.mark.parametrize("kind", kinds())
def test_every_error_has_four_keys_and_a_code_that_is_text(kind: type[GatewayError]) -> None:
    rendered = render(kind("It failed.", param="model"))
    found = json.loads(rendered.body)
    assert found == {"error": {"message": "It failed.", "type": kind.type, "param": "model", "code": kind.code}}
    assert isinstance(found["error"]["code"], str)
    assert rendered.status == kind.status
    assert dict(rendered.headers)[b"content-type"] == b"application/json"
    assert int(dict(rendered.headers)[b"content-length"]) == len(rendered.body)


def test_a_message_is_one_line_whatever_it_repeats() -> None:
    found = json.loads(body(errors.NotFound("There is no 'a\r\nb\u2028\u202ec\0d'.")))
    assert found["error"]["message"] == "There is no 'a  b  c d'."


def test_a_param_that_nobody_knows_is_null() -> None:
    assert json.loads(body(errors.InvalidJson("x")))["error"]["param"] is None


def test_only_a_wrong_key_asks_for_one() -> None:
    assert headers(errors.AuthenticationFailed("x"))[b"www-authenticate"] == b"Bearer"
    assert b"www-authenticate" not in headers(errors.UpstreamAuth("x"))


@pytest.mark.parametrize(
    ("seconds", "sent"), [(3, b"3"), (0, b"1"), (0.2, b"1"), (2.1, b"3"), (120, b"120"), (119.5, b"120")]
)
def test_a_sane_wait_is_sent_in_whole_seconds(seconds: float, sent: bytes) -> None:
    assert headers(errors.RateLimited("x", retry_after=seconds))[b"retry-after"] == sent


def test_a_throttle_without_a_wait_gets_one() -> None:
    assert headers(errors.RateLimited("x"))[b"retry-after"] == b"5"
    assert b"retry-after" not in headers(errors.QuotaExhausted("x"))


@pytest.mark.parametrize("seconds", [120.5, 86400])
def test_a_long_wait_stops_retries_instead(seconds: float) -> None:
    found = headers(errors.RateLimited("x", retry_after=seconds))
    assert b"retry-after" not in found
    assert found[b"x-should-retry"] == b"false"


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (errors.QuotaExhausted, b"false"),
        (errors.InsufficientQuota, b"false"),
        (errors.ToolProtocolError, b"false"),
        (errors.UpstreamAuth, b"false"),
        (errors.SessionBlocked, b"false"),
        (errors.SessionExpired, b"false"),
        (errors.EmptyAnswer, b"true"),
        (errors.UpstreamTimeout, b"true"),
        (errors.InvalidRequest, None),
        (errors.RateLimited, None),
    ],
)
def test_clients_are_told_whether_to_repeat(kind: type[GatewayError], told: bytes | None) -> None:
    assert headers(kind("x")).get(b"x-should-retry") == told


def test_a_frame_is_one_event() -> None:
    assert frame(errors.UpstreamTruncated("Cut.")) == b"data: " + body(errors.UpstreamTruncated("Cut.")) + b"\n\n"


def test_more_headers_come_along() -> None:
    assert (b"allow", b"GET") in render(errors.MethodNotAllowed("x"), [(b"allow", b"GET")]).headers
