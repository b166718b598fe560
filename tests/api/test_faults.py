from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pplx_gateway.errors import (
    GatewayError,
    InsufficientQuota,
    InvalidRequest,
    ModelNotFound,
    RateLimited,
    TooLarge,
    UpstreamAuth,
    UpstreamError,
)
from pplx_gateway.transport import Headers
from pplx_gateway.upstreams.faults import MAX_MESSAGE_CHARACTERS, REDACTED, Faults, wait_seconds
from tests.api.fakes import FakeClock

NOW = 1_800_000_000.0
KEY = "pplx-SECRET"
PAGE = b"<html><head><title>401 Authorization Required</title></head><body><hr>openresty</body></html>"


def faults() -> Faults:
    return Faults("The Perplexity API", "PERPLEXITY_API_KEY", lambda: (KEY,), FakeClock(NOW))


def error_of(status: int, body: bytes | Any = b"", **headers: str) -> GatewayError:
    data = body if isinstance(body, bytes) else msgspec.json.encode(body)
    items = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return faults().of_response(status, Headers(items), data)


def wait(**headers: str) -> float | None:
    return wait_seconds(Headers(tuple((name.replace("_", "-"), value) for name, value in headers.items())), NOW)


SHAPES = [
    {"error": {"message": "nope", "type": "invalid_request", "code": 400}},
    {"error": {"message": "nope", "code": None, "param": None}},
    {"error": "nope"},
    {"detail": "nope"},
    {"detail": {"message": "nope"}},
    {"message": "nope"},
    "nope",
    b"nope",
    b"\xef\xbb\xbf nope\r\n",
]


@pytest.mark.parametrize("body", SHAPES)
def test_the_words_are_found_in_every_shape(body: Any) -> None:
    assert error_of(400, body).message == "nope"


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"[]", b"null", b"[" * 100_000, {"error": {"message": 5}}, {"error": None}]
)
def test_an_error_without_words_still_says_what_happened(body: Any) -> None:
    assert error_of(500, body).message.startswith("The Perplexity API answered HTTP 500")


def test_a_validation_list_names_the_field() -> None:
    body = {"detail": [{"loc": ["body", "query"], "msg": "field required", "type": "missing"}, "odd"]}
    error = error_of(422, body)
    assert isinstance(error, InvalidRequest)
    assert (error.message, error.param) == ("query: field required", "query")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, InvalidRequest),
        (401, UpstreamAuth),
        (402, InsufficientQuota),
        (403, UpstreamAuth),
        (404, ModelNotFound),
        (413, TooLarge),
        (422, InvalidRequest),
        (424, UpstreamError),
        (429, RateLimited),
        (409, UpstreamError),
        (500, UpstreamError),
        (502, UpstreamError),
        (524, UpstreamError),
    ],
)
def test_the_status_decides(status: int, kind: type[GatewayError]) -> None:
    # the type in the body says something else, and that is not believed
    error = error_of(status, {"error": {"message": "m", "type": "whatever", "code": "400"}})
    assert type(error) is kind
    if isinstance(error, UpstreamError):
        assert error.upstream_status == status


def test_our_credential_is_named_and_not_tried_again() -> None:
    for body in (PAGE, b"", {"detail": "bad key"}):
        error = error_of(401, body)
        assert isinstance(error, UpstreamAuth)
        assert "PERPLEXITY_API_KEY" in error.message
        assert error.retry is False


def test_a_redirect_is_named_and_its_target_is_not() -> None:
    error = error_of(301, b"<a href='https://login.example'>here</a>", location="https://login.example")
    assert type(error) is UpstreamError
    assert "redirect" in error.message
    assert "login" not in error.message


def test_an_unknown_model_is_a_404() -> None:
    error = error_of(400, {"error": {"message": "model x is not supported", "type": "invalid_model", "code": 400}})
    assert isinstance(error, ModelNotFound)
    assert error.param == "model"


@pytest.mark.parametrize("body", [b"", PAGE])
def test_a_404_without_words_points_at_the_address(body: bytes) -> None:
    error = error_of(404, body)
    assert type(error) is UpstreamError
    assert "base URL" in error.message


@pytest.mark.parametrize("status", [401, 429])
def test_a_spent_balance_is_recognised_under_other_statuses(status: int) -> None:
    assert isinstance(error_of(status, {"error": {"message": "m", "type": "insufficient_quota"}}), InsufficientQuota)
    words = {"error": {"message": "You exceeded your current quota, please check your plan"}}
    assert isinstance(error_of(status, words), InsufficientQuota)


def test_a_web_page_leaves_its_headline_and_nothing_else() -> None:
    error = error_of(502, b"<!DOCTYPE html><html><title>Bad <b>gateway</b></title><p>Your IP: 10.0.0.1</p></html>")
    assert error.message == "The Perplexity API answered HTTP 502: a web page (Bad gateway)"
    assert error_of(502, b" <p>x</p>").message == "The Perplexity API answered HTTP 502: a web page"
    assert type(error_of(400, PAGE)) is UpstreamError


def test_markup_control_characters_and_length_are_cleaned_away() -> None:
    error = error_of(400, {"error": {"message": "a <b>bold</b>\r\nclaim\u2028\x1b[0m 1 < 2 and 2 > 1 " + "x" * 9999}})
    assert error.message.startswith("a bold claim [0m 1 < 2 and 2 > 1 xxx")
    assert len(error.message) == MAX_MESSAGE_CHARACTERS
    assert error.message.endswith("…")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 429, 500])
@pytest.mark.parametrize("pattern", ["%s", "key %s!", "x" * (MAX_MESSAGE_CHARACTERS - 5) + "%s", "<title>%s</title>"])
def test_an_echoed_key_is_not_shown(status: int, pattern: str) -> None:
    for body in (pattern % KEY, {"error": {"message": pattern % KEY, "param": KEY}}, {"detail": [{"msg": KEY}]}):
        error = error_of(status, body.encode() if isinstance(body, str) else body)
        assert KEY not in error.message
        assert KEY[:8] not in error.message
        assert KEY not in str(error.param)


def test_somebody_elses_key_is_not_shown_either() -> None:
    message = error_of(400, {"error": f"bad key pplx-{'a1' * 24} for pplx-embed-v1-0.6b"}).message
    assert message == f"bad key {REDACTED} for pplx-embed-v1-0.6b"


def test_a_native_place_becomes_the_field_that_callers_know() -> None:
    def param(native: str) -> str | None:
        return error_of(400, {"error": {"message": "m", "param": native}}).param

    assert param("tools[0].filters.search_recency_filter") == "search_recency_filter"
    assert param("tools[0].max_results") == "max_results"
    assert param("temperature") == "temperature"
    assert param("") is None


# -------------------------------------------------------------------------------- waiting


def test_retry_after_in_every_form() -> None:
    date = format_datetime(datetime.fromtimestamp(NOW + 30, UTC), usegmt=True)
    past = format_datetime(datetime.fromtimestamp(NOW - 30, UTC), usegmt=True)
    assert wait(retry_after="3") == 3
    assert wait(retry_after="0.25") == 0.25
    assert wait(retry_after=date) == 30
    assert wait(retry_after=past) == 0
    assert wait(retry_after="86400") == 120
    for nonsense in ("soon", "", "-1", "nan", "inf", "1e999"):
        assert wait(retry_after=nonsense) is None


def test_a_reset_time_stands_in_for_retry_after() -> None:
    assert wait(x_ratelimit_reset=str(NOW + 7)) == 7
    assert wait(x_ratelimit_reset=str(NOW - 7)) == 0
    assert wait(x_ratelimit_reset=str((NOW + 9) * 1000)) == 9
    assert wait(x_ratelimit_reset="4") == 4
    assert wait(x_ratelimit_reset=str(NOW + 9999)) == 120
    assert wait(retry_after="2", x_ratelimit_reset="9") == 2
    assert wait(retry_after="soon", x_ratelimit_reset="9") == 9
    assert wait() is None


def test_a_throttle_carries_its_wait() -> None:
    assert error_of(429, b"", retry_after="3").retry_after == 3
    assert error_of(429, b"<html>slow down</html>", retry_after="3").retry_after == 3
    assert error_of(429).retry_after is None
    assert error_of(503, b"", retry_after="3").retry_after == 3


# -------------------------------------------------------------------------------- runs


def test_a_failed_run_keeps_its_words() -> None:
    error = faults().of_run({"message": f"model overloaded {KEY}", "code": "overloaded"}, "otherwise")
    assert type(error) is UpstreamError
    assert error.message == f"model overloaded {REDACTED}"


@pytest.mark.parametrize("nothing", [None, {}, {"message": ""}, [], 5, ""])
def test_a_run_that_failed_without_words_gets_some(nothing: object) -> None:
    assert faults().of_run(nothing, "otherwise").message == "otherwise"


def test_a_numeric_code_of_a_run_counts_as_a_status() -> None:
    assert isinstance(faults().of_run({"message": "m", "code": 429}, ""), RateLimited)
    assert isinstance(faults().of_run({"error": {"message": "m", "code": "402"}}, ""), InsufficientQuota)
    assert type(faults().of_run({"message": "m", "code": 7}, "")) is UpstreamError
    assert type(faults().of_run({"message": "m", "code": True}, "")) is UpstreamError


@given(st.integers(300, 599), st.binary(max_size=80))
def test_no_body_breaks_it(status: int, body: bytes) -> None:
    error = error_of(status, body)
    assert error.message
    assert "\n" not in error.message
