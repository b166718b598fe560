"""The pages behind an answer, numbered as its citation marks count (docs/wire-session.md 2.4).

A mark `[n]` is the n-th entry of `web_results`, counted from 1; rows of `sources_answer_mode` name their number
themselves. An entry that cannot be read keeps its number, so that the others keep theirs.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import Any

from msgspec import Raw

from pplx_gateway.answer import Source
from pplx_gateway.upstreams.session.frames import parse
from pplx_gateway.upstreams.session.oddities import Oddities

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


class SourceList:
    def __init__(self, oddities: Oddities) -> None:
        self._oddities = oddities
        self._held: dict[int, Source] = {}
        self._entries: list[Raw] = []  # from number 1 on, what the sources in place were read from
        self._listed = False  # a list whose order is that of the marks has been seen
        self._unnumbered: list[Mapping[str, Any]] = []

    def results(self, entries: Any) -> list[Source]:
        """From a `web_results` list, of entries or their JSON; the newest list holds. Gives what is new or changed."""
        if not isinstance(entries, list) or not entries:
            return []
        self._listed = True
        if not isinstance(entries[0], Raw):
            return self._take(enumerate(entries, 1))
        known, beyond = self._entries[: len(entries)], self._entries[len(entries) :]
        if entries == known:
            return []
        pairs = enumerate(zip_longest(entries, known), 1)
        found = self._take((number, entry) for number, (entry, before) in pairs if entry != before)
        self._entries = [*entries, *beyond]
        return found

    def rows(self, rows: Any) -> list[Source]:
        """From the rows of `sources_answer_mode`. A row without a number waits for `unlisted`."""
        numbered: list[tuple[int, Any]] = []
        for row in rows if isinstance(rows, list) else []:
            page = row.get("web_result") if isinstance(row, dict) else None
            number = row.get("citation") if isinstance(row, dict) else None
            if isinstance(number, int) and number > 0:
                numbered.append((number, page))
            elif isinstance(page, dict):
                self._unnumbered.append(page)
            else:
                self._oddities.note("source_row")
        return self._take(numbered)

    def unlisted(self, pages: Sequence[Mapping[str, Any]]) -> list[Source]:
        """Pages whose place nobody named, in their order; only where there is no better list."""
        return [] if self._listed else self._take(enumerate(pages, 1))

    def rest(self) -> list[Source]:
        """At the end: rows without a number, where nothing else gave a source."""
        return [] if self._held else self._take(enumerate(self._unnumbered, 1))

    def _take(self, entries: Any) -> list[Source]:
        changed = []
        self._entries = []
        for number, entry in entries:
            source = self._source(number, parse(entry) if isinstance(entry, Raw) else entry)
            if source is not None and self._held.get(number) != source:
                self._held[number] = source
                changed.append(source)
        return changed

    def _source(self, number: int, entry: Any) -> Source | None:
        url = entry.get("url") if isinstance(entry, dict) else None
        if not isinstance(url, str) or not url:
            self._oddities.note("source")
            return None
        return Source(
            id=number,
            url=url,
            title=_text(entry.get("name")) or _text(entry.get("title")),
            snippet=_text(entry.get("snippet")),
            date=_date(_text(entry.get("timestamp"))),
            kind="attachment" if entry.get("is_attachment") is True else "web",
        )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


@lru_cache(maxsize=512)
def _date(timestamp: str) -> str | None:
    """Cached, since lists come again and again."""
    found = _DATE.match(timestamp)
    return found[0] if found else None
