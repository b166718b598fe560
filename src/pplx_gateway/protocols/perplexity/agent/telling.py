"""An answer as the Agent API's events, for upstreams that do not tell it so themselves (docs/wire-agent.md 2.7)."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from pplx_gateway.answer import Batch, ReasoningDelta, SearchStep, Source, Sources, TextDelta
from pplx_gateway.protocols.openai.chat_objects import SearchResult, search_results
from pplx_gateway.protocols.openai.encoding import encode
from pplx_gateway.protocols.perplexity.agent.answered import message_id
from pplx_gateway.protocols.perplexity.agent.objects import AgentItem, AgentMessage, AgentResponse, AgentSearch
from pplx_gateway.sse import encode as sse


class AgentTelling:
    """`feed` for each batch, and `end`. `first` is the response before anything has happened.

    Search results and thoughts come before the text; what is
    found later is told as it comes."""

    def __init__(self, first: AgentResponse) -> None:
        self.number = -1  # that of the last event
        self._message_id = message_id(first.id)
        self._first = first
        self._out: list[bytes] = []
        self._thinking = False
        self._thoughts = ""
        self._queries: dict[str, None] = {}
        self._sources: dict[int, Source] = {}
        self._place: int | None = None  # where the message stands, once it has begun
        self._text: list[str] = []

    def feed(self, batch: Batch) -> bytes:
        for event in batch:
            if handler := _HANDLERS.get(type(event)):
                handler(self, event)
        return self._taken()

    def end(self, response: AgentResponse) -> bytes:
        """`response` is the whole one, whose items are told as far as they were not. `status` says how it ended."""
        self._stop_thinking()
        for place, item in enumerate(self._in_order(response.output)):
            if isinstance(item, AgentMessage) and self._place is not None:
                self._close_message(item, place)
            elif not (isinstance(item, AgentSearch) and self._place == 1):
                self._say("response.output_item.added", output_index=place, item=item)
                self._say("response.output_item.done", output_index=place, item=item)
        whole = msgspec.structs.replace(response, output=self._in_order(response.output))
        if response.status == "failed":
            self._say("response.failed", error=response.error, response=whole)
        else:
            self._say(f"response.{response.status}", response=whole)
        return self._taken()

    def _in_order(self, items: tuple[AgentItem, ...]) -> tuple[AgentItem, ...]:
        """A message that began before any page was found stays the first."""
        if self._place != 0:
            return items
        return tuple(sorted(items, key=lambda item: not isinstance(item, AgentMessage)))

    def _thought(self, event: ReasoningDelta) -> None:
        self._think()
        self._thoughts += event.text

    def _step(self, event: SearchStep) -> None:
        self._think()
        thought = {"thought": event.text} if event.text else {}
        if event.queries:
            self._queries |= dict.fromkeys(event.queries)
            self._say("response.reasoning.search_queries", queries=event.queries, **thought)
        if event.urls:
            self._say("response.reasoning.fetch_url_queries", urls=event.urls, **thought)
        if event.text and not (event.queries or event.urls):
            self._thoughts += event.text + "\n"

    def _found(self, event: Sources) -> None:
        new = [source for source in event.sources if source.id not in self._sources]
        self._sources |= {source.id: source for source in event.sources}
        if new:
            self._think()
            self._say("response.reasoning.search_results", results=_results(new), usage=None)

    def _said(self, event: TextDelta) -> None:
        if not event.text:
            return
        if self._place is None:
            self._open_message()
        self._text.append(event.text)
        self._say("response.output_text.delta", **self._at, delta=event.text)

    def _open_message(self) -> None:
        self._stop_thinking()
        self._place = 0
        if self._sources:
            queries = tuple(self._queries) or msgspec.UNSET
            item = AgentSearch(queries=queries, results=tuple(_results(self._sources.values())))
            self._say("response.output_item.done", output_index=0, item=item)
            self._place = 1
        empty = AgentMessage(id=self._message_id, status="in_progress")
        self._say("response.output_item.added", output_index=self._place, item=empty)

    def _close_message(self, item: AgentMessage, place: int) -> None:
        text = "".join(part.text for part in item.content)
        said = "".join(self._text)
        if text.startswith(said) and text != said:
            self._say("response.output_text.delta", **self._at, delta=text[len(said) :])
        self._say("response.output_text.done", **self._at, text=text)
        self._say("response.output_item.done", output_index=place, item=item)

    @property
    def _at(self) -> dict[str, object]:
        return {"item_id": self._message_id, "output_index": self._place, "content_index": 0}

    def _think(self) -> None:
        if not self._thinking and self._place is None:
            self._thinking = True
            self._say("response.reasoning.started")

    def _stop_thinking(self) -> None:
        if self._thinking:
            self._thinking = False
            thoughts, self._thoughts = self._thoughts.strip(), ""
            self._say("response.reasoning.stopped", **({"thought": thoughts} if thoughts else {}))

    def _say(self, kind: str, **fields: object) -> None:
        """The first event of any kind comes behind those of the beginning."""
        if self.number < 0:
            self._put("response.created", response=self._first)
            self._put("response.in_progress", response=self._first)
        self._put(kind, **fields)

    def _put(self, kind: str, **fields: object) -> None:
        self.number += 1
        self._out.append(sse(encode({"type": kind, "sequence_number": self.number, **fields})))

    def _taken(self) -> bytes:
        out, self._out = b"".join(self._out), []
        return out


def _results(sources: Iterable[Source]) -> list[SearchResult]:
    return search_results({source.id: source for source in sources})


_HANDLERS: Mapping[type, Callable[[AgentTelling, Any], None]] = {
    TextDelta: AgentTelling._said,
    ReasoningDelta: AgentTelling._thought,
    SearchStep: AgentTelling._step,
    Sources: AgentTelling._found,
}
