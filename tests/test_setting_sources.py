from pathlib import Path

import pytest

from pplx_gateway.environment import load, settings_table
from pplx_gateway.setting_sources import MASK, ToldSetting, told_settings
from pplx_gateway.settings import Secret, Settings


def told(settings: Settings, dotenv: Path | None = None, **environ: str) -> dict[str, ToldSetting]:
    return {row.name: row for row in told_settings(settings, environ, dotenv)}


def test_nothing_given_is_told_as_the_defaults() -> None:
    rows = told(Settings())
    assert list(rows) == [row.env.name for row in settings_table()]
    assert {row.source for row in rows.values()} == {"default"}
    assert not any(row.changed for row in rows.values())
    assert (rows["PPLX_PROXY_PORT"].value, rows["PPLX_COOKIE"].value) == ("8892", "")


def test_every_source_is_told_and_the_first_that_has_a_value_wins(tmp_path: Path) -> None:
    key, dotenv = tmp_path / "key", tmp_path / ".env"
    key.write_text("pplx-SECRET-1\n")
    dotenv.write_text(f"DEFAULT_MODEL=sonnet\nACCOUNT_TYPE=max\nPERPLEXITY_API_KEY_FILE={key}\nPPLX_COOKIE=SECRET-2\n")
    environ = {"DEFAULT_MODEL": "grok", "KEEPALIVE_HOURS": "3"}
    rows = told(load(environ, dotenv).settings, dotenv, **environ)
    sources = {name: row.source for name, row in rows.items() if row.source != "default"}
    assert sources == {
        "DEFAULT_MODEL": "environment",
        "KEEPALIVE_HOURS": "environment",
        "ACCOUNT_TYPE": ".env",
        "PPLX_COOKIE": ".env",
        "PERPLEXITY_API_KEY": "file",
    }
    assert rows["DEFAULT_MODEL"].value == "grok"
    assert rows["PERPLEXITY_API_KEY"].variable == "PERPLEXITY_API_KEY_FILE"
    assert rows["PERPLEXITY_API_KEY"].value == rows["PPLX_COOKIE"].value == MASK
    assert "SECRET" not in repr(rows)


def test_an_option_of_the_command_is_told_as_given_at_the_start() -> None:
    rows = told(Settings(port=1234, perplexity_api_key=Secret("pplx-SECRET")), PPLX_PROXY_PORT="8000")
    assert (rows["PPLX_PROXY_PORT"].source, rows["PPLX_PROXY_PORT"].value) == ("start", "1234")
    assert rows["PERPLEXITY_API_KEY"].source == "start"


@pytest.mark.parametrize("now", ["not a number", "7"])
def test_what_was_changed_after_the_start_is_not_told_as_what_holds(tmp_path: Path, now: str) -> None:
    dotenv = tmp_path / ".env"
    dotenv.write_text(f"KEEPALIVE_HOURS={now}\n")
    rows = told(Settings(keepalive_hours=3.0), dotenv)
    assert (rows["KEEPALIVE_HOURS"].source, rows["KEEPALIVE_HOURS"].value) == ("start", "3")


def test_a_value_that_is_the_default_is_told_with_its_source() -> None:
    row = told(Settings(), ACCOUNT_TYPE="", DEFAULT_MODEL="gpt")["DEFAULT_MODEL"]
    assert (row.source, row.changed) == ("environment", False)


def test_a_secrets_file_that_is_gone_fails_nothing(tmp_path: Path) -> None:
    settings = Settings(cookie=Secret("SECRET"))
    row = told(settings, PPLX_COOKIE_FILE=str(tmp_path / "gone"))["PPLX_COOKIE"]
    assert (row.source, row.value) == ("start", MASK)
