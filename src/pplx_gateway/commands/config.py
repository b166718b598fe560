"""`pplx-gateway config`: every setting, its value, and where that comes from. Secrets never show."""

import argparse
import os
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

import msgspec

from pplx_gateway import environment
from pplx_gateway.commands.door import data_folder
from pplx_gateway.commands.exits import CommandFailed, Exit
from pplx_gateway.commands.screen import document, line, table, tell
from pplx_gateway.setting_sources import MASK, ToldSetting, told_settings
from pplx_gateway.settings import Settings, SettingsError


def run(options: argparse.Namespace) -> Exit:
    """Raises CommandFailed where the settings cannot be used, after they were shown; and for a name that is none."""
    problem = None
    notes: tuple[str, ...] = ()
    try:
        settings, notes = environment.load()
        told = told_settings(settings)
    except SettingsError as error:
        problem = str(error)
        told = _as_far_as_they_go()
    rows = [_row(setting) for setting in _wanted(told, options)]
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


def _wanted(told: Sequence[ToldSetting], options: argparse.Namespace) -> list[ToldSetting]:
    """Raises CommandFailed."""
    pattern = (options.pattern or "").upper()
    found = [setting for setting in told if pattern in setting.name]
    if not found:
        nearest = max((setting.name for setting in told), key=lambda name: _likeness(pattern, name))
        raise CommandFailed(
            f"No setting's name holds '{options.pattern}'.",
            Exit.NOT_FOUND,
            cure=f"The nearest is {nearest}. All of them: pplx-gateway config",
        )
    return [setting for setting in found if setting.source != "default" or not options.changed]


def _likeness(word: str, name: str) -> float:
    """People leave the prefix out."""
    return max(SequenceMatcher(None, word, form).ratio() for form in (name, name.removeprefix("PPLX_")))


def _as_far_as_they_go() -> list[ToldSetting]:
    """Of settings that cannot be used: those that can be read, and the others as they were given."""
    given = environment.variables()
    values: dict[str, Any] = {}
    wrong = set()
    for row in environment.settings_table():
        try:
            value = environment.value_of(row, given, [])
        except SettingsError:
            wrong.add(row.env.name)
        else:
            values |= {} if value is None else {row.field: value}
    return [
        _as_given(setting, given) if setting.name in wrong else setting for setting in told_settings(Settings(**values))
    ]


def _as_given(setting: ToldSetting, given: Mapping[str, str]) -> ToldSetting:
    raw = given.get(setting.variable, "")
    source = "environment" if os.environ.get(setting.variable, "").strip() else ".env"
    return msgspec.structs.replace(setting, value=MASK if setting.secret else raw, source=source)


def _row(setting: ToldSetting) -> dict[str, str]:
    value = "set, not shown" if setting.value == MASK else setting.value or "unset"
    source = f"file named by {setting.variable}" if setting.source == "file" else setting.source
    if setting.source != "default" and not setting.changed:
        source = f"{source} (the default, too)"
    return {"setting": setting.name, "value": value, "from": source, "about": setting.about}
