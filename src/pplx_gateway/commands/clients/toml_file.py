"""An entry in Codex's TOML file: put in, changed and taken out, with every other byte left as it is.

Tables are found by their head lines. Whether that was right is proved afterwards: the standard library must read the
new text as the old one with this entry alone changed.
"""

import json
import re
import tomllib
from typing import Any

Entry = dict[str, object]

_HEAD = re.compile(r"^[ \t]*(\[[^\r\n]*\])[ \t]*(?:#[^\r\n]*)?\r?$", re.MULTILINE)
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class TomlFile:
    def __init__(self, table: str) -> None:
        self._table = table

    def entry(self, text: str, name: str) -> object | None:
        """Raises ValueError."""
        servers = _read(text).get(self._table, {})
        if not isinstance(servers, dict):
            raise ValueError(f"'{self._table}' is no table")  # noqa: TRY004 - a file's fault
        found: object | None = servers.get(name)
        return found

    def with_entry(self, text: str, name: str, entry: Entry) -> str:
        """Raises ValueError."""
        before = self.entry(text, name)
        if before == entry:
            return text
        bare = text if before is None else self.without_entry(text, name)
        newline = "\r\n" if "\r\n" in text else "\n"
        gap = "" if not bare.strip() else newline if bare.endswith("\n") else newline * 2
        changed = bare + gap + self.shown(name, entry).replace("\n", newline) + newline
        self._prove(text, changed, name, entry)
        return changed

    def without_entry(self, text: str, name: str) -> str:
        """Raises ValueError."""
        if self.entry(text, name) is None:
            return text
        heads = [(found.start(), _path(found[1])) for found in _HEAD.finditer(text)]
        ends = [*(start for start, _ in heads[1:]), len(text)]
        changed = text
        for (start, path), end in reversed(list(zip(heads, ends, strict=True))):
            if path[:2] == [self._table, name]:
                changed = _without_gap(changed[:start]) + changed[end:]
        self._prove(text, changed, name, None)
        return changed

    def shown(self, name: str, entry: Entry) -> str:
        head = f"{self._table}.{name if _BARE.fullmatch(name) else json.dumps(name)}"
        plain = {key: value for key, value in entry.items() if not isinstance(value, dict)}
        lines = [f"[{head}]", *(f"{key} = {_value(value)}" for key, value in plain.items())]
        for key, value in entry.items():
            if isinstance(value, dict):
                lines += ["", f"[{head}.{key}]", *(f"{inner} = {_value(given)}" for inner, given in value.items())]
        return "\n".join(lines)

    def _prove(self, text: str, changed: str, name: str, entry: Entry | None) -> None:
        """Raises ValueError if more or less than the entry differs."""
        wanted, found = _read(text), _read(changed)
        servers: dict[str, Any] = {key: value for key, value in wanted.get(self._table, {}).items() if key != name}
        if entry is not None:
            servers[name] = entry
        wanted[self._table] = servers
        if not servers and self._table not in found:
            del wanted[self._table]
        if wanted != found:
            raise ValueError(f"the table '{self._table}' is written in a way that cannot be changed line by line")


def _read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(str(error)) from None


def _path(head: str) -> list[str]:
    """The names in a table's head; none for a list of tables, or for what only looks like a head."""
    try:
        found: Any = tomllib.loads(head)
    except tomllib.TOMLDecodeError:
        return []
    path: list[str] = []
    while isinstance(found, dict) and len(found) == 1:
        (name, found), *_ = found.items()
        path.append(name)
    return path if found == {} else []


def _without_gap(text: str) -> str:
    """Without the one blank line that stood before a table."""
    for gap in ("\r\n\r\n", "\n\n"):
        if text.endswith(gap):
            return text[: len(text) - len(gap) // 2]
    return text


def _value(value: object) -> str:
    """Strings and lists of strings are written as in JSON, which TOML reads the same way."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
