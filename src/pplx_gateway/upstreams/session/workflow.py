"""Workflow blocks (docs/wire-session.md 2.5 D): steps with items of text, queries and sources."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pplx_gateway.answer import AnswerEvent, ReasoningDelta, SearchStep
from pplx_gateway.upstreams.session.answer_blocks import SECTION_SEPARATOR, FinalText
from pplx_gateway.upstreams.session.chunks import texts_of
from pplx_gateway.upstreams.session.letters import paired, split_last_half, whole, whole_value
from pplx_gateway.upstreams.session.oddities import Oddities
from pplx_gateway.upstreams.session.report import report_bodies

THINKING = "thinking"
ANSWER = "answer"


class Item(NamedTuple):
    """An item of text. `variant` is None in older workflows, whose every text is the answer."""

    key: str
    variant: str | None
    text: str
    growing: bool


class Workflow:
    """`live` is a LiveText; `pages` are the sources in the order in which they came; `reports` research reports."""

    def __init__(self, oddities: Oddities) -> None:
        self.pages: list[Mapping[str, Any]] = []
        self.reports: list[str] = []
        self._oddities = oddities
        self._items: list[Item] = []
        self._thought: dict[str, str] = {}
        self._seen: set[str] = set()

    def take(self, document: Any) -> list[AnswerEvent]:
        """The document as it stands now; gives the thoughts and steps that are new."""
        events: list[AnswerEvent] = []
        items: list[Item] = []
        for key, item in _items(document):
            payload = item.get("payload")
            if not isinstance(payload, dict):
                continue
            if isinstance(text := payload.get("text_payload"), dict):
                items.append(_text_item(key, item, text))
            events += self._queries(payload.get("queries_payload"))
            events += self._sources(payload.get("sources_payload"))
        self._items = items or self._items
        for found in items:
            if found.variant == THINKING:
                events += self._think(found)
        return events

    @property
    def text(self) -> str:
        """The answer as far as it can be shown: what follows a text that still grows waits."""
        parts = []
        for item in self._answers():
            parts.append(item.text)
            if item.growing:
                break
        return SECTION_SEPARATOR.join(parts)

    def mark(self) -> None:
        return None

    def since(self, _mark: object, /) -> None:
        return None

    def final(self) -> FinalText | None:
        text = SECTION_SEPARATOR.join(item.text for item in self._answers())
        return FinalText(text, authoritative=False) if text else None

    def _answers(self) -> list[Item]:
        named = [item for item in self._items if item.variant == ANSWER and item.text]
        return named or [item for item in self._items if item.variant is None and item.text]

    def _think(self, item: Item) -> list[AnswerEvent]:
        before = self._thought.get(item.key, "")
        text = whole(split_last_half(paired(item.text))[0])
        if not text.startswith(before) or text == before:
            return []
        lead = "\n\n" if not before and self._thought else ""
        self._thought[item.key] = text
        return [ReasoningDelta(lead + text[len(before) :])]

    def _queries(self, payload: Any) -> list[AnswerEvent]:
        queries = payload.get("queries") if isinstance(payload, dict) else None
        if not isinstance(queries, list):
            return []
        texts = texts_of([q.get("query") if isinstance(q, dict) else q for q in queries])
        new = self._new(texts)
        return [SearchStep(kind="search", queries=new)] if new else []

    def _sources(self, payload: Any) -> list[AnswerEvent]:
        if not isinstance(payload, dict):
            return []
        self.reports = report_bodies(payload.get("assets")) or self.reports
        sources = payload.get("sources")
        pages = [page for page in sources if isinstance(page, dict)] if isinstance(sources, list) else []
        urls = self._new(texts_of([page.get("url") for page in pages]))
        self.pages += [page for page in map(whole_value, pages) if page.get("url") in urls]
        return [SearchStep(kind="read", urls=urls)] if urls else []

    def _new(self, texts: list[str]) -> tuple[str, ...]:
        new = tuple(dict.fromkeys(text for text in map(whole, texts) if text and text not in self._seen))
        self._seen.update(new)
        return new


def _items(document: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every item with a key that stays the same from frame to frame."""
    steps = document.get("steps") if isinstance(document, dict) else None
    for step_number, step in enumerate(steps if isinstance(steps, list) else []):
        items = step.get("items") if isinstance(step, dict) else None
        for number, item in enumerate(items if isinstance(items, list) else []):
            if isinstance(item, dict):
                yield str(item.get("id") or f"{step_number}.{number}"), item


def _text_item(key: str, item: Mapping[str, Any], payload: Mapping[str, Any]) -> Item:
    """Of `text` and the joined `chunks` the longer holds, since sources disagree which of them is newer."""
    variant = payload.get("variant") or item.get("variant")
    text = payload.get("text")
    joined = paired("".join(texts_of(payload.get("chunks"))))
    plain = text if isinstance(text, str) else ""
    return Item(
        key=key,
        variant=str(variant).lower() if variant else None,
        text=plain if len(plain) >= len(joined) else joined,
        growing=payload.get("is_streaming") is True,
    )
