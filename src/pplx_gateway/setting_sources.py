"""Each setting as it is now and where that comes from, for people. No secret's value stands in it."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from pplx_gateway.environment import Setting, kind_of, plain, settings_table, value_of, variables
from pplx_gateway.settings import Secret, Settings, SettingsError

# start: neither the environment nor `.env` says so now. An option of the command did, or they said so at the start.
Source = Literal["default", "environment", ".env", "file", "start"]
MASK = "(set)"


class ToldSetting(msgspec.Struct, frozen=True, kw_only=True):
    """`value` and `default` as they would be written into `.env`, "" = unset; of a secret only whether it is set.
    `source` is "file" for a secret that `variable`, NAME_FILE, leads to."""

    name: str
    variable: str
    about: str
    takes: str
    value: str
    default: str
    secret: bool
    source: Source

    @property
    def changed(self) -> bool:
        return self.value != self.default


def told_settings(
    settings: Settings, environ: Mapping[str, str] | None = None, dotenv: Path | None = Path(".env")
) -> list[ToldSetting]:
    """All of them, in the table's order. Reads `dotenv`, and the files that hold secrets."""
    environ = os.environ if environ is None else environ
    given = variables(environ, dotenv)
    return [_told(row, getattr(settings, row.field), environ, given) for row in settings_table()]


def _told(row: Setting, value: object, environ: Mapping[str, str], given: Mapping[str, str]) -> ToldSetting:
    name = row.env.name
    by_file = row.secret and not given.get(name, "").strip()
    variable = f"{name}_FILE" if by_file and given.get(f"{name}_FILE") else name
    return ToldSetting(
        name=name,
        variable=variable,
        about=row.env.about,
        takes=kind_of(row),
        value=_shown(value),
        default=plain(row.default),
        secret=row.secret,
        source=_source(row, value, variable, environ, given),
    )


def _source(row: Setting, value: object, variable: str, environ: Mapping[str, str], given: Mapping[str, str]) -> Source:
    try:
        found = value_of(row, given, [])
    except SettingsError:
        found = None  # it was changed, or its file removed, after the start
    if found is not None and _bare(found) == _bare(value):
        if variable != row.env.name:
            return "file"
        return "environment" if environ.get(variable, "").strip() else ".env"
    return "default" if value == row.default else "start"


def _shown(value: object) -> str:
    return MASK if isinstance(value, Secret) else plain(value)


def _bare(value: object) -> object:
    return value.reveal() if isinstance(value, Secret) else value
