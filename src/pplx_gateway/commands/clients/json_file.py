"""An entry in a client's JSON file: put in, changed and taken out, with every other byte left as it is."""

import json
import re

from pplx_gateway.commands.clients.json_tree import JsonError, Member, Node, parse

Entry = dict[str, object]


class JsonFile:
    """`table`: the name of the object that holds the servers."""

    def __init__(self, table: str) -> None:
        self._table = table

    def entry(self, text: str, name: str) -> object | None:
        """What stands there. Raises ValueError for a file that cannot be understood."""
        table = self._servers(_root(text))
        member = table.member(name) if table else None
        return member.value.value if member else None

    def with_entry(self, text: str, name: str, entry: Entry) -> str:
        """Raises ValueError."""
        if not text.removeprefix("\ufeff").strip():
            return text.removesuffix("\n") + _dumped({self._table: {name: entry}}, "  ", "\n") + "\n"
        root = _root(text)
        table = self._servers(root)
        if table is None:
            return _inserted(text, root, self._table, {name: entry})
        member = table.member(name)
        if member is None:
            return _inserted(text, table, name, entry)
        if member.value.value == entry:
            return text
        unit, newline = _unit(text), _newline(text)
        drawn = json.dumps(entry, ensure_ascii=False)
        if "\n" in text[member.value.start : member.value.end]:
            drawn = _indented(_dumped(entry, unit, newline), _indent_at(text, member.start), newline)
        return text[: member.value.start] + drawn + text[member.value.end :]

    def without_entry(self, text: str, name: str) -> str:
        """Raises ValueError."""
        table = self._servers(_root(text))
        member = table.member(name) if table else None
        return text if table is None or member is None else _removed(text, table, member)

    def shown(self, name: str, entry: Entry) -> str:
        return _dumped({self._table: {name: entry}}, "  ", "\n")

    def _servers(self, root: Node) -> Node | None:
        member = root.member(self._table)
        if member is None:
            return None
        if member.value.members is None:
            raise ValueError(f"'{self._table}' is no object")
        return member.value


def _root(text: str) -> Node:
    if not text.removeprefix("\ufeff").strip():
        return Node(0, 0, {}, ())
    root = parse(text)
    if root.members is None:
        raise JsonError("an object is missing", text, root.start)
    return root


def _inserted(text: str, parent: Node, name: str, value: object) -> str:
    """Behind the last member, and behind a comment that belongs to that."""
    close = parent.end - 1
    inside = text[parent.start + 1 : close]
    last = parent.members[-1] if parent.members else None
    if last is not None and "\n" not in inside:
        pair = f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
        return f"{text[: last.value.end]}, {pair}{text[last.value.end if last.comma is None else last.comma + 1 :]}"
    unit, newline = _unit(text), _newline(text)
    outer = _indent_at(text, parent.start)
    inner = _indent_at(text, last.start) if last else outer + unit
    pair = f"{inner}{json.dumps(name)}: {_indented(_dumped(value, unit, newline), inner, newline)}"
    if last is None:
        ending = "" if "\n" in inside else newline + outer
        at = parent.start + 1 + len(inside.rstrip())
        return f"{text[:at]}{newline}{pair}{ending}{text[at:]}"
    at = parent.start + 1 + len(inside.rstrip())
    if last.comma is not None:
        return f"{text[:at]}{newline}{pair},{text[at:]}"
    return f"{text[: last.value.end]},{text[last.value.end : at]}{newline}{pair}{text[at:]}"


def _removed(text: str, parent: Node, member: Member) -> str:
    """With its comma, or with that before it where it is the last."""
    members = parent.members or ()
    place = members.index(member)
    before = text[: member.start]
    start = len(before.rstrip(" \t\r\n"))
    end = member.value.end if member.comma is None else member.comma + 1
    previous = members[place - 1] if place else None
    if member.comma is None and previous is not None and previous.comma is not None:
        return text[: previous.comma] + text[previous.comma + 1 : start] + text[end:]
    return text[:start] + text[end:]


def _dumped(value: object, unit: str, newline: str) -> str:
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", newline)


def _indented(text: str, indent: str, newline: str) -> str:
    return text.replace(newline, newline + indent)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    """The first indent there is."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "


def _indent_at(text: str, at: int) -> str:
    """Of the line on which `at` stands."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]
