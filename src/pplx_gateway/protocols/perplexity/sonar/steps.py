"""The way to an answer as Sonar told it: a list of whole steps, each a thought, a search with what it found, or pages
that were read.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from pplx_gateway.answer import AnswerEvent, ReasoningDelta, SearchStep, Source, Sources
from pplx_gateway.protocols.openai.chat_objects import SearchResult, search_results


class WebSearchDetails(msgspec.Struct, frozen=True, kw_only=True):
    search_keywords: list[str]
    search_results: list[SearchResult]


class Page(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    url: str


class FetchDetails(msgspec.Struct, frozen=True, kw_only=True):
    contents: list[Page]


class ReasoningStep(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    thought: str
    type: Literal["web_search", "fetch_url_content"] | None = None
    web_search: WebSearchDetails | None = None
    fetch_url_content: FetchDetails | None = None


class ReasoningSteps:
    """`feed` gives the steps that an event has completed. A search waits for what it finds, a thought for the end of
    its line; `close` gives what still waits."""

    def __init__(self) -> None:
        self.whole: list[ReasoningStep] = []
        self._thought = ""
        self._search: SearchStep | None = None
        self._found: dict[int, Source] = {}
        self._titles: dict[str, str] = {}

    def feed(self, event: AnswerEvent) -> list[ReasoningStep]:
        before = len(self.whole)
        match event:
            case ReasoningDelta(text):
                self._end_search()
                self._think(text)
            case SearchStep():
                self.close()
                self._step(event)
            case Sources(sources):
                self._titles.update((source.url, source.title) for source in sources)
                if self._search is not None:
                    self._found.update((source.id, source) for source in sources)
            case _:
                pass
        return self.whole[before:]

    def close(self) -> list[ReasoningStep]:
        before = len(self.whole)
        self._end_search()
        if thought := self._thought.strip():
            self.whole.append(ReasoningStep(thought=thought))
        self._thought = ""
        return self.whole[before:]

    def _think(self, text: str) -> None:
        lines, newline, rest = (self._thought + text).rpartition("\n")
        self._thought = rest
        if newline and (thought := lines.strip()):
            self.whole.append(ReasoningStep(thought=thought))

    def _step(self, step: SearchStep) -> None:
        if step.queries:
            self._search = step
        elif step.urls:
            self.whole.append(read_step(step.text, step.urls, self._titles))
        elif thought := step.text.strip():
            self.whole.append(ReasoningStep(thought=thought))

    def _end_search(self) -> None:
        if self._search is not None:
            self.whole.append(search_step(self._search.text, self._search.queries, search_results(self._found)))
            self._search, self._found = None, {}


def search_step(thought: str, queries: Iterable[str], found: list[SearchResult]) -> ReasoningStep:
    asked = list(queries)
    return ReasoningStep(
        thought=thought.strip() or f"Searching: {'; '.join(asked)}",
        type="web_search",
        web_search=WebSearchDetails(search_keywords=asked, search_results=found),
    )


def read_step(thought: str, urls: Iterable[str], titles: Mapping[str, str]) -> ReasoningStep:
    pages = [Page(title=titles.get(url, ""), url=url) for url in urls]
    return ReasoningStep(
        thought=thought.strip() or f"Reading: {'; '.join(page.url for page in pages)}",
        type="fetch_url_content",
        fetch_url_content=FetchDetails(contents=pages),
    )
