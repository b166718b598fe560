"""Settings of the session's life, and what a start says of those that cannot be used."""

import json
from pathlib import Path

import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.environment import load
from pplx_gateway.opening.session import session_options
from pplx_gateway.settings import Settings, SettingsError
from pplx_gateway.upstreams.session.cookies import NAME
from pplx_gateway.upstreams.session.options import LOOKUP_TIMEOUTS
from tests.test_commands import ask, program, refusal


def test_the_defaults() -> None:
    settings = Settings()
    assert (settings.keepalive_hours, settings.cookie_max_age_hours, settings.ntfy_cooldown_secs) == (
        6.0,
        168.0,
        3600.0,
    )
    assert (settings.ntfy_topic, settings.ntfy_url) == (None, "https://ntfy.sh")
    assert (settings.account_type, settings.public_health) == (None, False)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("KEEPALIVE_HOURS", "0"),
        ("KEEPALIVE_HOURS", "-1"),
        ("KEEPALIVE_HOURS", "often"),
        ("NTFY_URL", "ntfy.example"),
        ("NTFY_URL", "ftp://ntfy.example"),
        ("ACCOUNT_TYPE", "gold"),
    ],
)
def test_what_cannot_be_used_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name):
        load({name: value}, None)


def test_settings_of_the_old_proxy_are_not_called_without_effect() -> None:
    given = {"KEEPALIVE_HOURS": "3", "COOKIE_MAX_AGE_HOURS": "24", "NTFY_TOPIC": "t", "NTFY_COOLDOWN_SECS": "60"}
    assert load(given, None).notes == ()


def test_the_clocks_factor_does_not_make_the_wire_faster() -> None:
    settings = Settings(keepalive_hours=3, cookie_max_age_hours=24)
    usual = session_options(settings, Clock())
    assert (usual.keepalive_seconds, usual.cookie_max_age_seconds) == (3 * 3600, 24 * 3600)
    assert (usual.lookup_timeouts, usual.hold_seconds) == (LOOKUP_TIMEOUTS, 10.0)
    fast = session_options(settings, Clock(1000.0))
    assert min(each for each in fast.lookup_timeouts if each) == 2000.0
    assert fast.hold_seconds == 2000.0


async def test_a_start_names_the_setting_and_never_repeats_a_secret(tmp_path: Path) -> None:
    told = await refusal("serve", "--port", "0", folder=tmp_path, PPLX_COOKIE="two words SECRET")
    assert "PPLX_COOKIE" in told
    assert "SECRET" not in told
    told = await refusal("serve", "--port", "0", folder=tmp_path, PPLX_COOKIE="c" * 30, NTFY_TOPIC="not a topic SECRET")
    assert "NTFY_TOPIC" in told
    assert "SECRET" not in told


async def test_the_demo_takes_over_no_cookie_from_the_working_directory(tmp_path: Path) -> None:
    file = tmp_path / ".cookie_cache.json"
    file.write_text(json.dumps({NAME: "emulator-max-expired-real"}))
    async with program("demo", "--port", "0", folder=tmp_path) as demo:
        assert ask(demo.url, model="gpt")["object"] == "chat.completion"
        await demo.stop()
