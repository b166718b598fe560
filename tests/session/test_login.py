"""Is anybody signed in: asked once in an interval, and only a clear word counts (docs/wire-session.md 3)."""

import asyncio

import pytest

from pplx_gateway.errors import SessionExpired
from pplx_gateway.settings import Secret
from pplx_gateway.upstreams.session.cookies import NAME, Credentials
from pplx_gateway.upstreams.session.login import SESSION_PATH, Login
from pplx_gateway.upstreams.session.options import SessionOptions
from tests.session.fakes import HTML, JSON, SIGNED_IN, SIGNED_OUT, FakeTransport, HandClock, Played

VALID = Played([SIGNED_IN], headers=JSON)
EXPIRED = Played([SIGNED_OUT], headers=JSON)


def login(page: Played | None) -> tuple[Login, FakeTransport, HandClock, Credentials]:
    clock = HandClock()
    way_out = FakeTransport(clock, pages={SESSION_PATH: page} if page else {})
    credentials = Credentials(Secret("T"))
    return Login(way_out, clock, credentials, SessionOptions()), way_out, clock, credentials


@pytest.mark.parametrize(
    ("page", "state"),
    [
        (VALID, "valid"),
        (EXPIRED, "expired"),
        (Played([b'{"user": {}}'], headers=JSON), "expired"),
        (Played([b'{"user": null}'], headers=JSON), "expired"),
        (Played([SIGNED_OUT], status=403, headers=JSON), "unknown"),
        (Played([b"<html>Just a moment..."], headers=HTML), "unknown"),
        (Played([b"{}"], status=503, headers=JSON), "unknown"),
        (Played([b"[]"], headers=JSON), "unknown"),
        (Played([b""], headers=JSON), "unknown"),
        (None, "unknown"),
    ],
)
async def test_only_an_empty_session_means_expired(page: Played | None, state: str) -> None:
    asker, *_ = login(page)
    assert await asker.state() == state
    assert asker.known_expired is (state == "expired")
    if state == "expired":
        with pytest.raises(SessionExpired, match="PPLX_COOKIE") as raised:
            await asker.require()
        assert NAME in raised.value.message
    else:
        await asker.require()


async def test_the_site_is_asked_once_in_an_interval_whoever_wants_to_know() -> None:
    asker, way_out, clock, _ = login(VALID)
    await asyncio.gather(*(asker.state() for _ in range(5)))
    clock.seconds += 299
    await asker.state()
    assert way_out.paths() == [SESSION_PATH]
    clock.seconds += 2
    await asker.state()
    assert way_out.paths() == [SESSION_PATH] * 2


async def test_a_new_cookie_is_asked_about_at_once() -> None:
    asker, way_out, _, credentials = login(EXPIRED)
    assert await asker.state() == "expired"
    await credentials.replace(Secret("T2"))
    assert not asker.known_expired
    way_out.pages[SESSION_PATH] = VALID
    assert await asker.state() == "valid"
    assert way_out.looked_up[1].headers["cookie"] == f"{NAME}=T2"


async def test_the_check_renews_the_cookie_and_a_logged_out_one_does_not() -> None:
    renewing = (*JSON, ("set-cookie", f"{NAME}=NEW; Path=/"))
    asker, way_out, _, credentials = login(Played([SIGNED_IN], headers=renewing))
    await asker.state()
    assert credentials.cookie() == f"{NAME}=NEW"
    await asker.state()
    assert len(way_out.looked_up) == 1
    out, _, _, kept = login(Played([SIGNED_OUT], headers=renewing))
    await out.state()
    assert kept.cookie() == f"{NAME}=T"


async def test_the_check_is_sent_as_the_page_sends_it() -> None:
    asker, way_out, _, _ = login(VALID)
    await asker.state()
    (sent,) = way_out.looked_up
    assert sent.url == "https://www.perplexity.ai/api/auth/session"
    assert sent.headers["accept"] == "application/json"
    assert sent.headers["sec-fetch-mode"] == "cors"
