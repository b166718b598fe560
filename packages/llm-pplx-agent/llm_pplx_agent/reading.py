"""Parsers for what streams in. None of them does any input or output, and none minds where the pieces are cut."""

import json
import re

from pplx_agent_mcp import Fields, clean

_LINE_END = re.compile(rb"\r\n|\r|\n")
_MARK = b"\xef\xbb\xbf"


class EventReader:
    """Server-sent events: bytes in, the JSON objects of their `data` out.

    The objects tell themselves what they are, so names of events are passed over, and so is all that is no JSON object:
    pings, `[DONE]`. `feed(b"")` is the end, and gives what was not ended by a blank line.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._returned = False
        self._begun = False

    def feed(self, content: bytes) -> list[Fields]:
        if not content:
            lines, self._rest = [self._rest, b""], b""
        else:
            if self._returned and content.startswith(b"\n"):  # the second half of a line end
                content = content[1:]
            self._returned = content.endswith(b"\r")
            *lines, self._rest = _LINE_END.split(self._rest + content)
        return [event for line in lines if (event := self._take(line)) is not None]

    def _take(self, line: bytes) -> Fields | None:
        if not self._begun:
            line, self._begun = line.removeprefix(_MARK), True
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        if line:
            return None
        data, self._data = b"\n".join(self._data), []
        try:
            found = json.loads(data.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None


class HalfJoiner:
    """Joins surrogate halves that came in two pieces, each of which was valid JSON by itself."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, text: str) -> str:
        text, self._half = self._half + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return clean(text)

    def close(self) -> str:
        half, self._half = self._half, ""
        return clean(half)


class ThinkSplitter:
    """Splits a `<think>` block off the start of an answer, where some models write their reasoning.

    Gives (reasoning, answer). The block is given once it is closed; one that nothing closes is reasoning to the end.
    """

    _OPENER, _CLOSER = "<think>", "</think>"

    def __init__(self) -> None:
        self._held = ""
        self._feed = self._before

    def feed(self, text: str) -> tuple[str, str]:
        return self._feed(text)

    def close(self) -> tuple[str, str]:
        held, self._held = self._held, ""
        return (held, "") if self._feed == self._inside else ("", held)

    def _before(self, text: str) -> tuple[str, str]:
        self._held += text
        start = self._held.lstrip()
        if len(start) < len(self._OPENER) and self._OPENER.startswith(start):
            return "", ""
        held, self._held = self._held, ""
        if not start.startswith(self._OPENER):
            self._feed = self._behind
            return "", held
        self._feed = self._inside
        return self._inside(start.removeprefix(self._OPENER))

    def _inside(self, text: str) -> tuple[str, str]:
        self._held += text
        thought, closer, answer = self._held.partition(self._CLOSER)
        if not closer:
            return "", ""
        self._held = ""
        self._feed = self._blank
        return thought, self._blank(answer)[1]

    def _blank(self, text: str) -> tuple[str, str]:
        text = text.lstrip()
        if text:
            self._feed = self._behind
        return "", text

    def _behind(self, text: str) -> tuple[str, str]:
        return "", text
