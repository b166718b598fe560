import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pplx_gateway.caller_keys import CallerKey, Limits, digest_of, hint_of, is_one, is_whole, new_secret


def test_a_secret_is_long_random_and_whole() -> None:
    secrets = {new_secret() for _ in range(200)}
    assert len(secrets) == 200
    for secret in secrets:
        assert re.fullmatch(r"pplxgw-[0-9A-Za-z]{49}", secret)
        assert is_one(secret.encode())
        assert is_whole(secret.encode())
        assert secret.endswith(hint_of(secret))


def test_every_slip_of_a_finger_is_seen() -> None:
    secret = new_secret()
    for place in range(len("pplxgw-"), len(secret)):
        other = "x" if secret[place] != "x" else "y"
        assert not is_whole(f"{secret[:place]}{other}{secret[place + 1 :]}".encode())
        assert not is_whole(f"{secret[:place]}{secret[place + 1 :]}".encode())
    assert not is_whole(secret[:-1].encode())
    assert not is_whole(f"{secret}0".encode())


@given(st.binary(max_size=80))
def test_whatever_is_presented_is_looked_at_without_a_fault(presented: bytes) -> None:
    assert not is_whole(presented)
    assert len(digest_of(presented)) == 32


def key(*models: str, upstreams: tuple[str, ...] = ()) -> CallerKey:
    limits = Limits(models=models, upstreams=upstreams)  # type: ignore[arg-type]  # literals of a test
    return CallerKey(id="key_1", name="phone", hint="abcd", created_at=0.0, limits=limits)


@pytest.mark.parametrize(
    ("models", "requested", "allowed"),
    [
        ((), "whatever", True),
        (("sonar",), "sonar", True),
        (("sonar",), "api/sonar", True),
        (("sonar",), "session/sonar", True),
        (("sonar",), "sonar-pro", False),
        (("sonar",), "perplexity/sonar", False),
        (("sonar*",), "sonar-pro", True),
        (("openai/*",), "openai/gpt-6-luna", True),
        (("openai/*",), "api/openai/gpt-6-luna", True),
        (("openai/*",), "xai/grok-4.7", False),
        (("api/sonar",), "api/sonar", True),
        (("api/sonar",), "sonar", False),
        (("*",), "router", True),
    ],
)
def test_models_are_allowed_by_name_or_pattern(models: tuple[str, ...], requested: str, allowed: bool) -> None:
    assert key(*models).allows_model(requested) is allowed


def test_a_key_ends_when_its_time_has_come() -> None:
    ending = CallerKey(id="k", name="n", hint="h", created_at=0.0, expires_at=10.0)
    assert (ending.status(9.9), ending.status(10.0)) == ("active", "expired")
    revoked = CallerKey(id="k", name="n", hint="h", created_at=0.0, revoked_at=5.0)
    assert revoked.status(9.0) == "revoked"


def test_limits_keep_money_exact() -> None:
    assert Limits(cost_per_day=Decimal("0.1")).cost_per_day == Decimal("0.1")
