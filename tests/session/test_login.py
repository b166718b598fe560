"""Is anybody signed in: the site's word on one token, and only a clear word counts (docs/wire-session.md 3)."""

from typing import Any

import msgspec
import pytest

from pplx_gateway.settings import Secret
from pplx_gateway.upstreams.session.cookies import NAME
from pplx_gateway.upstreams.session.login import SESSION_PATH, Login, tier_of
from pplx_gateway.upstreams.session.options import SessionOptions
from tests.session.fakes import HTML, JSON, SIGNED_IN, SIGNED_OUT, FakeTransport, HandClock, Played

CHALLENGE = b"<!DOCTYPE html><html><head><title>Just a moment...</title></head></html>"


def login(page: Played | None) -> tuple[Login, FakeTransport]:
    way_out = FakeTransport(HandClock(), pages={SESSION_PATH: page} if page else {})
    return Login(way_out, SessionOptions()), way_out


@pytest.mark.parametrize(
    ("page", "state"),
    [
        (Played([SIGNED_IN], headers=JSON), "valid"),
        (Played([SIGNED_OUT], headers=JSON), "expired"),
        (Played([b'{"user": {}}'], headers=JSON), "expired"),
        (Played([b'{"user": null}'], headers=JSON), "expired"),
        (Played([b" null\n"], headers=JSON), "expired"),
        (Played([CHALLENGE], headers=HTML), "blocked"),
        (Played([CHALLENGE], status=403, headers=HTML), "blocked"),
        (Played([b"<html>no"], status=403, headers=HTML), "blocked"),
        (Played([SIGNED_IN], headers=(*JSON, ("cf-mitigated", "challenge"))), "blocked"),
        (Played([SIGNED_OUT], status=403, headers=JSON), "unknown"),
        (Played([SIGNED_OUT], status=401, headers=JSON), "unknown"),
        (Played([SIGNED_OUT], status=429, headers=JSON), "unknown"),
        (Played([b"{}"], status=503, headers=JSON), "unknown"),
        (Played([b"<html>Down for maintenance"], headers=HTML), "unknown"),
        (Played([b"<html>{}"], headers=JSON), "unknown"),
        (Played([b"[]"], headers=JSON), "unknown"),
        (Played([b"{"], headers=JSON), "unknown"),
        (Played([b""], headers=JSON), "unknown"),
        (None, "unknown"),
    ],
)
async def test_four_states_are_told_apart(page: Played | None, state: str) -> None:
    asker, _ = login(page)
    assert (await asker.ask(Secret("T"))).state == state


async def test_the_check_is_sent_as_the_page_sends_it() -> None:
    asker, way_out = login(Played([SIGNED_IN], headers=JSON))
    await asker.ask(Secret("T"))
    (sent,) = way_out.looked_up
    assert sent.url == "https://www.perplexity.ai/api/auth/session"
    assert sent.headers["accept"] == "application/json"
    assert sent.headers["sec-fetch-mode"] == "cors"
    assert sent.headers["cookie"] == f"{NAME}=T"


async def test_only_a_good_session_renews_the_token() -> None:
    renewing = (*JSON, ("set-cookie", f"{NAME}=NEW; Path=/"))
    renewed = (await login(Played([SIGNED_IN], headers=renewing))[0].ask(Secret("T"))).renewed
    assert renewed is not None
    assert renewed.reveal() == "NEW"
    for page in (Played([SIGNED_OUT], headers=renewing), Played([SIGNED_IN], status=500, headers=renewing)):
        assert (await login(page)[0].ask(Secret("T"))).renewed is None


@pytest.mark.parametrize(
    ("user", "tier"),
    [
        ({"subscription_tier": "max", "payment_tier": "paid"}, "max"),
        ({"subscription_tier": "pro", "payment_tier": "max"}, "max"),
        ({"subscription_tier": "pro", "subscription_status": "none"}, "pro"),
        ({"subscription_tier": "unheard_of", "payment_tier": "paid", "subscription_status": "trialing"}, "pro"),
        ({"subscription_tier": "enterprise_pro"}, "pro"),
        ({"subscription_tier": "none", "payment_tier": "free", "subscription_status": "none"}, "free"),
        ({"subscription_tier": None}, "free"),
        ({"subscription_tier": "unheard_of", "payment_tier": "paid", "subscription_status": "ended"}, None),
        ({"subscription_status": "active"}, None),
        ({"id": "u-1"}, None),
    ],
)
async def test_the_plan_is_read_from_the_user(user: dict[str, Any], tier: str | None) -> None:
    assert tier_of(user) == tier
    body = msgspec.json.encode({"user": {"id": "u-1", **user}})
    assert (await login(Played([body], headers=JSON))[0].ask(Secret("T"))).tier == tier
