"""`pplx-gateway config`: every setting, its value, and where that comes from. Secrets never show."""

import argparse
import os
from collections.abc import Mapping

from pplx_gateway import environment
from pplx_gateway.commands.door import data_folder
from pplx_gateway.commands.exits import CommandFailed, Exit
from pplx_gateway.commands.screen import document, line, table, tell
from pplx_gateway.settings import Secret, Settings, SettingsError

DEFAULT = "default"


def run(options: argparse.Namespace) -> Exit:
    """Raises CommandFailed where the settings cannot be used, after they were shown."""
    problem = None
    notes: tuple[str, ...] = ()
    settings: Settings | None = None
    try:
        settings, notes = environment.load()
    except SettingsError as error:
        problem = str(error)
    rows = [row for row in _rows(settings) if _wanted(row, options)]
    if options.json:
        document({"settings": rows, "data_folder": data_folder(), "problem": problem, "notes": notes})
    else:
        table(("setting", "value", "from"), [list(row.values())[:3] for row in rows])
        line(f"Data folder: {data_folder()}")
        for note in notes:
            tell(note)
    if problem is not None:
        raise CommandFailed(problem, Exit.USAGE)
    return Exit.OK


def _wanted(row: dict[str, str], options: argparse.Namespace) -> bool:
    if options.changed and row["from"] == DEFAULT:
        return False
    return (options.pattern or "").upper() in row["setting"].upper()


def _rows(settings: Settings | None) -> list[dict[str, str]]:
    """`settings` None = they cannot be used; then what was given is shown as it is."""
    given, dotenv = environment.variables(), environment.variables({})
    rows = []
    for row in environment.settings_table():
        name = row.env.name
        source = _source(name, dotenv, secret=row.secret)
        value = getattr(settings, row.field) if settings else given.get(name, row.default)
        if settings and value == row.default and source != DEFAULT:
            source = f"{source} (the default, too)" if value is not None else f"{source}, a placeholder: unset"
        rows.append(
            {"setting": name, "value": _shown(value, secret=row.secret), "from": source, "about": row.env.about}
        )
    return rows


def _source(name: str, dotenv: Mapping[str, str], *, secret: bool) -> str:
    """The process environment comes before `.env`, a variable before the file that another one names."""
    for variable in (name, f"{name}_FILE") if secret else (name,):
        where = "environment" if os.environ.get(variable, "").strip() else ".env" if variable in dotenv else ""
        if where:
            return where if variable == name else f"file named by {variable} ({where})"
    return DEFAULT


def _shown(value: object, *, secret: bool) -> str:
    if value is None or value == "":
        return "unset"
    if secret or isinstance(value, Secret):
        return "set, not shown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ",".join(map(str, value)) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)
