"""Reads JSON, with comments and trailing commas as editors allow them, and knows where everything stands.

No I/O: text in, a tree of places out. The strict reader of the standard library has the last word on each value.
"""

import json
import re
from typing import NamedTuple

_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_PLAIN = re.compile(r"-?[0-9][0-9.eE+-]*|true|false|null")


class JsonError(ValueError):
    """`place`: line and column, from 1."""

    def __init__(self, what: str, text: str, at: int) -> None:
        row = text.count("\n", 0, at) + 1
        super().__init__(f"{what} in line {row}, column {at - (text.rfind(chr(10), 0, at) + 1) + 1}")


class Member(NamedTuple):
    """`start` is that of its key; `comma`: where the comma after it stands, None = there is none."""

    key: str
    start: int
    value: "Node"
    comma: int | None


class Node(NamedTuple):
    """`text[start:end]` is the value. `members`: of an object; None for anything else."""

    start: int
    end: int
    value: object
    members: tuple[Member, ...] | None = None

    def member(self, key: str) -> Member | None:
        """The last one of that name, as readers take it."""
        found = [member for member in self.members or () if member.key == key]
        return found[-1] if found else None


def parse(text: str) -> Node:
    """Raises JsonError."""
    reader = _Reader(text)
    try:
        node = reader.value(reader.blank(len(text) - len(text.removeprefix("\ufeff"))))
    except RecursionError:
        raise JsonError("too many levels", text, 0) from None
    end = reader.blank(node.end)
    if end != len(text):
        raise JsonError("something stands behind the end", text, end)
    return node


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text

    def blank(self, at: int) -> int:
        """Behind blanks and comments."""
        found = _BLANK.match(self._text, at)
        return found.end() if found else at

    def value(self, at: int) -> Node:
        letter = self._text[at : at + 1]
        if letter == "{":
            return self._object(at)
        if letter == "[":
            return self._array(at)
        pattern = _STRING if letter == '"' else _PLAIN
        found = pattern.match(self._text, at)
        if found is None:
            raise JsonError("a value is missing", self._text, at)
        try:
            return Node(at, found.end(), json.loads(found[0]))
        except ValueError:
            raise JsonError("this is no value", self._text, at) from None

    def _object(self, start: int) -> Node:
        members: list[Member] = []
        at = self.blank(start + 1)
        while not self._text.startswith("}", at):
            key = self.value(at)
            if not isinstance(key.value, str) or key.members is not None:
                raise JsonError("a name in quotes is missing", self._text, at)
            colon = self.blank(key.end)
            if not self._text.startswith(":", colon):
                raise JsonError("a colon is missing", self._text, colon)
            value = self.value(self.blank(colon + 1))
            comma, next_at = self._comma(value.end, "}")
            members.append(Member(key.value, at, value, comma))
            at = next_at
        found = {member.key: member.value.value for member in members}
        return Node(start, at + 1, found, tuple(members))

    def _array(self, start: int) -> Node:
        items: list[object] = []
        at = self.blank(start + 1)
        while not self._text.startswith("]", at):
            item = self.value(at)
            items.append(item.value)
            _, at = self._comma(item.end, "]")
        return Node(start, at + 1, items)

    def _comma(self, end: int, closing: str) -> tuple[int | None, int]:
        """Where the comma after a value stands, and where the next one or the end does."""
        at = self.blank(end)
        if self._text.startswith(",", at):
            return at, self.blank(at + 1)
        if not self._text.startswith(closing, at):
            raise JsonError(f"a comma or {closing} is missing", self._text, at)
        return None, at
