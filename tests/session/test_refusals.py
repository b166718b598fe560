"""Responses that are no answer stream (docs/wire-session.md 2.7, 7.1)."""

import pytest

from pplx_gateway.errors import (
    GatewayError,
    InsufficientQuota,
    QuotaExhausted,
    RateLimited,
    SessionBlocked,
    SessionExpired,
    UpstreamAuth,
    UpstreamError,
)
from pplx_gateway.transport.exchange import Headers
from pplx_gateway.upstreams.session.failures import AnswerFailed, RequestRefused
from pplx_gateway.upstreams.session.refusals import Page, looks_like_page, refusal
from tests.session.fakes import HTML, JSON
from tests.session.playing import clean

CHALLENGE = b"<!DOCTYPE html><title>Just a moment...</title><script>window._cf_chl_opt={};</script>"
NOW = 1_790_000_000.0


def error(status: int, body: bytes = b"", *headers: tuple[str, str]) -> GatewayError:
    return refusal(Page(status, Headers(headers), body), NOW, clean)


@pytest.mark.parametrize("status", [200, 403, 429, 503])
@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (CHALLENGE, HTML),
        (b"", (("cf-mitigated", "challenge"),)),
        (b"<html><head><title>Attention Required! | Cloudflare</title>", HTML),
        (b"<html><body><script src='/cdn-cgi/challenge-platform/h/b'>", ()),
    ],
)
def test_a_challenge_is_blocked_whatever_its_status(
    status: int, body: bytes, headers: tuple[tuple[str, str], ...]
) -> None:
    found = error(status, body, *headers)
    assert type(found) is SessionBlocked
    assert "\n" not in found.message
    assert "<" not in found.message
    assert "PPLX_IMPERSONATE" in found.message
    assert "not about the cookie" in found.message
    assert found.retry is False


@pytest.mark.parametrize(
    ("status", "body", "headers", "kind"),
    [
        (401, b"", JSON, SessionExpired),
        (401, b"<html>sign in", HTML, SessionExpired),
        (403, b'{"detail": "no"}', JSON, UpstreamAuth),
        (403, b"{}", JSON, UpstreamAuth),
        (403, b"<html><title>Access denied</title>", HTML, SessionBlocked),
        (400, b'{"detail": "bad version"}', JSON, RequestRefused),
        (400, b'{"error_code": "ENTRY_DELETED"}', JSON, AnswerFailed),
        (400, b'{"detail": {"error_code": "ENTRY_EXPIRED"}}', JSON, AnswerFailed),
        (402, b"", (), InsufficientQuota),
        (404, b"", (), UpstreamError),
        (413, b"", (), UpstreamError),
        (429, b"", (), RateLimited),
        (429, b"<html>too many", HTML, RateLimited),
        (429, b'{"error_code": "PRO_QUOTA_EXCEEDED"}', JSON, QuotaExhausted),
        (500, b'{"error": "text"}', JSON, UpstreamError),
        (502, b"", (), UpstreamError),
        (524, b"<html>cloudflare: a timeout occurred", HTML, UpstreamError),
        (200, b"<html>Welcome", HTML, UpstreamError),
        (200, b'{"detail": [{"msg": "odd"}]}', JSON, UpstreamError),
        (301, b"", (("location", "https://www.perplexity.ai/login?next=/"),), SessionExpired),
        (302, b"", (("location", "/auth/signin"),), SessionExpired),
        (301, b"", (("location", "https://www.perplexity.ai/rest/sse"),), UpstreamError),
        (307, b"", (), UpstreamError),
    ],
)
def test_each_refusal_has_its_error(
    status: int, body: bytes, headers: tuple[tuple[str, str], ...], kind: type[GatewayError]
) -> None:
    found = error(status, body, *headers)
    assert type(found) is kind
    assert found.status != 401
    assert "<" not in found.message
    assert found.message == " ".join(found.message.split())


def test_words_of_the_site_are_told() -> None:
    assert "bad version" in error(400, b'{"detail": "bad version"}', *JSON).message
    assert "PPLX_API_VERSION" in error(400).message
    assert "text" in error(500, b'{"error": "text"}', *JSON).message
    assert "HTTP 524" in error(524).message


def test_the_status_is_kept_for_those_who_show_it() -> None:
    found = error(503, b"", *JSON)
    assert isinstance(found, UpstreamError)
    assert found.upstream_status == 503


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("3", 3.0), ("86400", 120.0), ("soon", None), ("Mon, 21 Sep 2026 14:13:30 GMT", 10.0), (None, None)],
)
def test_retry_after_is_read(value: str | None, seconds: float | None) -> None:
    headers = (("retry-after", value),) if value else ()
    assert error(429, b"", *headers).retry_after == seconds


def test_the_word_cloudflare_alone_is_no_challenge() -> None:
    found = error(500, b'{"error": "behind cloudflare"}', ("server", "cloudflare"), ("cf-ray", "1"), *JSON)
    assert type(found) is UpstreamError


@pytest.mark.parametrize(
    ("data", "page"), [(b"<html>", True), (b"\xef\xbb\xbf\r\n <!D", True), (b"event:", False), (b"", False)]
)
def test_a_page_is_known_by_its_first_bytes(data: bytes, page: bool) -> None:
    assert looks_like_page(data) is page
