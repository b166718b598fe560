"""A key as the owner writes it, in config.json or through the admin API, made into a Key."""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from pplx_gateway.settings import Secret
from pplx_gateway.upstreams.api.keys.key import EVERYTHING, Key, Origin

REFERENCE = "env."
MOST_NAME_CHARACTERS = 64
MOST_WEIGHT = 1_000_000.0
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = re.compile(rf"[A-Za-z0-9._-][A-Za-z0-9 ._-]{{0,{MOST_NAME_CHARACTERS - 1}}}")
_VALUE = re.compile(r"[\x21-\x7e]+")

Lookup = Callable[[str], str | None]
"""The value of an environment variable."""


class BadKey(ValueError):
    """`field` is the one that is wrong; the message names the way out, and no value of a key."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class KeyForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`value` is the key itself, or `env.NAME`."""

    name: str
    value: str
    models: tuple[str, ...] = (EVERYTHING,)
    weight: float = 1.0
    enabled: bool = True

    def __repr__(self) -> str:
        return f"KeyForm(name={self.name!r})"

    @property
    def literal(self) -> bool:
        return not self.value.startswith(REFERENCE)


def made(form: KeyForm, lookup: Lookup, origin: Origin) -> Key:
    """A value that the environment does not have makes a key that cannot be used. Raises BadKey."""
    check(form)
    variable = None if form.literal else form.value.removeprefix(REFERENCE)
    value = form.value if variable is None else lookup(variable)
    if value is not None:
        _check_value(value, variable)
    return Key(
        name=form.name,
        secret=Secret(value) if value is not None else None,
        origin=origin,
        reference=None if form.literal else form.value,
        models=form.models,
        weight=form.weight,
        enabled=form.enabled,
        reason=None if value is not None else f"{variable} is not set",
    )


def check(form: KeyForm) -> None:
    """Raises BadKey."""
    if not _NAME.fullmatch(form.name):
        raise BadKey(
            "name", f"must have 1 to {MOST_NAME_CHARACTERS} letters, digits, dots, hyphens, underscores or spaces"
        )
    if not form.literal and not _VARIABLE.fullmatch(form.value.removeprefix(REFERENCE)):
        raise BadKey("value", "must be a key, or env.NAME with the name of a variable")
    if form.literal and not form.value.strip():
        raise BadKey("value", "is empty: give the key, or env.NAME")
    if not form.models or any(not name.strip() for name in form.models):
        raise BadKey("models", 'must name models, or be ["*"] for all of them')
    if not 0 <= form.weight <= MOST_WEIGHT:  # false for what is no number, too
        raise BadKey("weight", f"must be from 0 (only when asked for by name) to {MOST_WEIGHT:g}")


def _check_value(value: str, variable: str | None) -> None:
    if not _VALUE.fullmatch(value):
        where = f": {variable} holds some" if variable else ""
        raise BadKey("value", f"holds characters that no key has, such as blanks{where}")


def environment(environ: Mapping[str, str] | None = None, known: Mapping[str, Secret | None] | None = None) -> Lookup:
    """Looks among the settings' own secrets (`known`, by variable), then in the environment, then in the file that
    NAME_FILE names. Blank counts as unset."""
    given = os.environ if environ is None else environ

    def lookup(name: str) -> str | None:
        secret = (known or {}).get(name)
        return (secret.reveal() if secret else "") or given.get(name, "").strip() or _from_file(given, name) or None

    return lookup


def _from_file(environ: Mapping[str, str], name: str) -> str:
    path = environ.get(f"{name}_FILE", "").strip()
    try:
        return Path(path).read_text(encoding="utf-8").strip() if path else ""
    except (OSError, UnicodeDecodeError):
        return ""
