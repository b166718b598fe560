from pathlib import Path

import pytest

from pplx_gateway.environment import env_example, load, settings_table, settings_table_markdown
from pplx_gateway.settings import Settings, SettingsError


def read(**given: str) -> Settings:
    return load(given, None).settings


def test_nothing_given_means_the_defaults() -> None:
    assert read() == Settings()
    assert (Settings().default_model, Settings().port, Settings().api_version) == ("gpt", 8892, "2.18")


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("DEFAULT_MODEL=sonnet\nACCOUNT_TYPE=max\nPPLX_COOKIE='a$b${c}'\n")
    settings = load({"DEFAULT_MODEL": "grok", "ACCOUNT_TYPE": " "}, file).settings
    assert (settings.default_model, settings.account_type) == ("grok", "max")
    assert settings.cookie is not None
    assert settings.cookie.reveal() == "a$b${c}"


@pytest.mark.parametrize("value", ["", "  ", "your_api_key_here", "<your key>", "changeme"])
def test_a_blank_or_placeholder_counts_as_unset(value: str) -> None:
    loaded = load({"PERPLEXITY_API_KEY": value}, None)
    assert loaded.settings.perplexity_api_key is None
    assert bool(loaded.notes) == bool(value.strip())


def test_a_secret_is_trimmed_and_never_printed() -> None:
    settings = read(PERPLEXITY_API_KEY=" pplx-SECRET ")
    assert settings.perplexity_api_key is not None
    assert settings.perplexity_api_key.reveal() == "pplx-SECRET"
    assert "SECRET" not in repr(settings) + str(settings)


def test_a_secret_may_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("pplx-file\n")
    settings = read(PERPLEXITY_API_KEY_FILE=str(file))
    assert settings.perplexity_api_key is not None
    assert settings.perplexity_api_key.reveal() == "pplx-file"
    with pytest.raises(SettingsError, match="PPLX_COOKIE_FILE"):
        read(PPLX_COOKIE_FILE=str(tmp_path / "missing"))


@pytest.mark.parametrize(("word", "truth"), [("1", True), ("ON", True), ("no", False), ("false", False)])
def test_yes_and_no_have_several_words(word: str, truth: bool) -> None:
    assert read(PPLX_ALLOW_SPENDING=word).allow_spending is truth


@pytest.mark.parametrize(
    "given",
    [
        {"PPLX_PROXY_PORT": "x"},
        {"PPLX_UPSTREAMS": "session,else"},
        {"PPLX_UPSTREAMS": ","},
        {"PPLX_CITATION_MARKS": "bold"},
        {"PPLX_ALLOW_OPEN": "perhaps"},
        {"PPLX_PROXY_HOST": "0.0.0.0"},
        {"PPLX_API_URL": "http://api.example"},
        {"PPLX_SESSION_URL": "ftp://127.0.0.1"},
        {"PPLX_CLOCK_FACTOR": "2"},
        {"PPLX_STORE_BYTES": "1000"},
        {"PPLX_STORE_DAYS": "-1"},
    ],
)
def test_a_setting_that_cannot_be_used_is_named(given: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match=next(iter(given))):
        load(given, None)


def test_an_open_address_needs_a_key_or_leave() -> None:
    assert read(PPLX_PROXY_HOST="0.0.0.0", PPLX_PROXY_API_KEY="k" * 20).host == "0.0.0.0"
    assert read(PPLX_PROXY_HOST="0.0.0.0", PPLX_ALLOW_OPEN="1").allow_open


def test_a_setting_without_effect_yet_is_told() -> None:
    assert any("USER_AGENT" in note for note in load({"USER_AGENT": "mine"}, None).notes)


def test_every_setting_has_a_row_and_a_line_in_the_example() -> None:
    table, example = settings_table_markdown(), env_example()
    for row in settings_table():
        assert f"`{row.env.name}`" in table
        assert f"#{row.env.name}=" in example
    assert load({}, None).settings == Settings()


def test_the_example_filled_with_its_own_defaults_is_the_defaults(tmp_path: Path) -> None:
    lines = [line.removeprefix("#") for line in env_example().splitlines() if line.startswith("#") and "=" in line]
    file = tmp_path / ".env"
    file.write_text("\n".join(line for line in lines if " " not in line.split("=")[0]))
    assert load({}, file).settings == Settings()


def test_every_old_name_is_still_read() -> None:
    old = """PPLX_COOKIE PPLX_PROXY_API_KEY ACCOUNT_TYPE DEFAULT_MODEL PPLX_PROXY_PORT KEEPALIVE_HOURS
    PROBE_INTERVAL_HOURS NTFY_TOPIC NTFY_URL NTFY_COOLDOWN_SECS PUBLIC_URL PPLX_API_VERSION PPLX_IMPERSONATE
    COOKIE_MAX_AGE_HOURS FLARESOLVERR_URL LOG_LEVEL USER_AGENT"""
    assert set(old.split()) <= {row.env.name for row in settings_table()}
