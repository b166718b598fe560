"""One output item while it is written: the events from its `output_item.added` to its `output_item.done`.

What an item says in the end is what its deltas said, to the letter.
"""

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from pplx_gateway.answer import Annotation, ToolCall
from pplx_gateway.protocols.openai.encoding import encode, encode_whole, mended
from pplx_gateway.protocols.openai.responses import events
from pplx_gateway.protocols.openai.responses.events import Event, ResponseEvent, Sequence
from pplx_gateway.protocols.openai.responses.objects import (
    ItemStatus,
    OutputFunctionCall,
    OutputItem,
    OutputMessage,
    OutputReasoning,
    OutputSearch,
    OutputText,
    SearchAction,
    SearchedPage,
    SummaryText,
    output_citations,
)

_DELTA = "response.output_text.delta"


class Place(NamedTuple):
    """Where an item stands. Ids follow from the response's id, so the same answer always has the same events."""

    response_id: str
    output_index: int

    def item_id(self, prefix: str) -> str:
        name = f"{self.response_id}/{self.output_index}".encode(errors="replace")
        return f"{prefix}_{hashlib.blake2b(name, digest_size=16).hexdigest()}"


class Closed(NamedTuple):
    """The last events of an item, and the item as it stays."""

    events: list[ResponseEvent]
    item: OutputItem


class Reasoning:
    """A reasoning item with one summary."""

    def __init__(self, place: Place) -> None:
        self._id = place.item_id("rs")
        self._index = place.output_index
        self._parts: list[str] = []

    def opening(self) -> list[ResponseEvent]:
        item = OutputReasoning(id=self._id, status="in_progress")
        return [
            events.ItemAdded(output_index=self._index, item=item),
            events.SummaryPartAdded(item_id=self._id, output_index=self._index, part=SummaryText("")),
        ]

    def say(self, text: str) -> list[ResponseEvent]:
        self._parts.append(mended(text))
        return [events.SummaryTextDelta(item_id=self._id, output_index=self._index, delta=self._parts[-1])]

    def close(self) -> Closed:
        summary = SummaryText("".join(self._parts))
        item = OutputReasoning(id=self._id, status="completed", summary=(summary,))
        closing: list[ResponseEvent] = [
            events.SummaryTextDone(item_id=self._id, output_index=self._index, text=summary.text),
            events.SummaryPartDone(item_id=self._id, output_index=self._index, part=summary),
            events.ItemDone(output_index=self._index, item=item),
        ]
        return Closed(closing, item)


class Searched:
    """What is known of one search: its queries and, as they come, the pages that it found."""

    def __init__(self, queries: tuple[str, ...] = ()) -> None:
        self.queries = queries
        self.urls: dict[str, None] = {}

    def found(self, urls: Iterable[str]) -> None:
        self.urls.update(dict.fromkeys(urls))


class Search:
    """A web_search_call item. Pages may still be found until it closes."""

    def __init__(self, place: Place, searched: Searched, *, show_sources: bool) -> None:
        self._id = place.item_id("ws")
        self._index = place.output_index
        self._searched = searched
        self._show_sources = show_sources

    @property
    def lacks_sources(self) -> bool:
        """They are to be shown, and none is known yet."""
        return self._show_sources and not self._searched.urls

    def opening(self) -> list[ResponseEvent]:
        item = OutputSearch(id=self._id, status="in_progress", action=self._action())
        return [
            events.ItemAdded(output_index=self._index, item=item),
            events.SearchInProgress(item_id=self._id, output_index=self._index),
            events.Searching(item_id=self._id, output_index=self._index),
        ]

    def close(self) -> Closed:
        pages = tuple(SearchedPage(url) for url in self._searched.urls)
        action = self._action(pages if self._show_sources else msgspec.UNSET)
        item = OutputSearch(id=self._id, status="completed", action=action)
        closing: list[ResponseEvent] = [
            events.SearchCompleted(item_id=self._id, output_index=self._index),
            events.ItemDone(output_index=self._index, item=item),
        ]
        return Closed(closing, item)

    def _action(self, pages: tuple[SearchedPage, ...] | msgspec.UnsetType = msgspec.UNSET) -> SearchAction:
        queries = self._searched.queries
        return SearchAction(query=queries[0] if queries else "", queries=queries, sources=pages)


class Message:
    """The message with the answer's text. Its deltas go through a byte template: nearly every event is one."""

    def __init__(self, place: Place) -> None:
        self._id = place.item_id("msg")
        self._index = place.output_index
        self._parts: list[str] = []
        sample = encode(events.TextDelta(item_id=self._id, output_index=self._index, delta=""))
        start, end = sample.split(b'"sequence_number":-1')
        self._start = start + b'"sequence_number":'
        self._middle, self._end = end.rsplit(b'""', 1)

    def opening(self) -> list[ResponseEvent]:
        item = OutputMessage(id=self._id, status="in_progress")
        return [
            events.ItemAdded(output_index=self._index, item=item),
            events.ContentPartAdded(item_id=self._id, output_index=self._index, part=OutputText(text="")),
        ]

    def delta(self, text: str, sequence: Sequence) -> Event:
        try:
            said = encode_whole(text)
        except UnicodeEncodeError:
            text = mended(text)
            said = encode_whole(text)
        self._parts.append(text)
        number = sequence.next
        sequence.next = number + 1
        return Event(number, _DELTA, b"".join((self._start, b"%d" % number, self._middle, said, self._end)))

    def close(self, annotations: Iterable[Annotation], status: ItemStatus) -> Closed:
        text = "".join(self._parts)
        citations = output_citations(annotations)
        part = OutputText(text=text, annotations=citations)
        item = OutputMessage(id=self._id, status=status, content=(part,))
        closing: list[ResponseEvent] = [
            events.AnnotationAdded(item_id=self._id, output_index=self._index, annotation_index=at, annotation=citation)
            for at, citation in enumerate(citations)
        ]
        closing += [
            events.TextDone(item_id=self._id, output_index=self._index, text=text),
            events.ContentPartDone(item_id=self._id, output_index=self._index, part=part),
            events.ItemDone(output_index=self._index, item=item),
        ]
        return Closed(closing, item)


def function_call(place: Place, call: ToolCall) -> Closed:
    """A whole call. The added item has no arguments yet, because clients put those of the deltas behind its own."""
    index, item_id = place.output_index, place.item_id("fc")
    item = OutputFunctionCall(
        id=item_id,
        status="completed",
        call_id=call.call_id,
        name=call.name,
        arguments=call.arguments,
        thought_signature=call.signature or msgspec.UNSET,
    )
    begun = msgspec.structs.replace(item, status="in_progress", arguments="")
    all_events: list[ResponseEvent] = [
        events.ItemAdded(output_index=index, item=begun),
        events.ArgumentsDelta(item_id=item_id, output_index=index, delta=call.arguments),
        events.ArgumentsDone(item_id=item_id, output_index=index, name=call.name, arguments=call.arguments),
        events.ItemDone(output_index=index, item=item),
    ]
    return Closed(all_events, item)
