"""The events of an answer as a row of content blocks, for a stream and for a whole reply alike.

An answer has one block of text, so that clients which read the first alone miss nothing, and citations have their place
in it although they are known at its end. What comes before the text stands before it as it comes; what comes later
(thoughts, searches) stands behind it, and calls of tools come last.
"""

import base64
import hashlib
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Literal, Protocol

import msgspec

from pplx_gateway.answer import (
    AnswerEvent,
    Citations,
    ReasoningDelta,
    SearchStep,
    Source,
    Sources,
    TextDelta,
    ToolCall,
)
from pplx_gateway.protocols.anthropic import objects
from pplx_gateway.protocols.anthropic.objects import ContentBlock, Delta
from pplx_gateway.protocols.anthropic.question import Shown
from pplx_gateway.protocols.openai.encoding import encode
from pplx_gateway.protocols.steps import ReasoningText

NewId = Callable[[], str]
NO_INPUT = msgspec.Raw(b"{}")
_SIGNATURE_BYTES = 24


class Sink(Protocol):
    """Takes blocks one after the other: a start, deltas, a stop. `text` is a delta of text."""

    def start(self, block: ContentBlock) -> None: ...

    def text(self, text: str) -> None: ...

    def delta(self, delta: Delta) -> None: ...

    def stop(self) -> None: ...


class Blocks:
    """`characters` of text, and `searches` that were made. `plain` is true while text needs nothing but to be passed to
    the sink: whoever does that by itself adds to `characters`."""

    def __init__(self, sink: Sink, shown: Shown, new_id: NewId, *, show_steps: bool) -> None:
        self.characters = 0
        self.searches = 0
        self._sink = sink
        self._shown = shown
        self._new_id = new_id
        self._reasoning = ReasoningText(show_steps=show_steps and not shown.searches)
        self._open: Literal["text", "thinking"] | None = None
        self._text_began = False
        self._signature = hashlib.blake2b(digest_size=_SIGNATURE_BYTES)
        self._later: list[Callable[[], None]] = []
        self._citations = Citations(())
        self._calls: list[ToolCall] = []
        self._found = _Found()

    @property
    def plain(self) -> bool:
        return self._open == "text"

    def feed(self, event: AnswerEvent) -> None:
        if handler := _HANDLERS.get(type(event)):
            handler(self, event)

    def finish(self) -> None:
        """After the last event."""
        self._cite()
        self._close()
        for show in self._later:
            show()
        self._show_findings()
        self._close()
        for call in self._calls:
            self._show_call(call)

    # what each event does

    def _text(self, event: TextDelta) -> None:
        if not event.text:
            return
        if not self._text_began:
            self._think(self._reasoning.text_begins())
            self._show_findings()
            self._close()
            self._text_began = True
            self._open = "text"
            self._sink.start(objects.Text(text=""))
        self.characters += len(event.text)
        self._sink.text(event.text)

    def _thought(self, event: ReasoningDelta) -> None:
        self._think(self._reasoning.thought(event.text))

    def _step(self, event: SearchStep) -> None:
        self.searches += len(event.queries)
        self._think(self._reasoning.step(event))
        if self._shown.searches and event.queries:
            self._now_or_later(partial(self._show_searches, event.queries))

    def _sources(self, event: Sources) -> None:
        self._reasoning.found(event.sources)
        if self._shown.searches:
            self._now_or_later(partial(self._found.add, event.sources))

    def _cited(self, event: Citations) -> None:
        self._citations = event

    def _called(self, event: ToolCall) -> None:
        self._calls.append(event)

    # what is shown

    def _now_or_later(self, show: Callable[[], None]) -> None:
        if self._text_began:
            self._later.append(show)
        else:
            show()

    def _think(self, text: str) -> None:
        if text and self._shown.thoughts:
            self._now_or_later(partial(self._show_thought, text))

    def _show_thought(self, text: str) -> None:
        if self._open != "thinking":
            self._close()
            self._open = "thinking"
            self._signature = hashlib.blake2b(digest_size=_SIGNATURE_BYTES)
            self._sink.start(objects.Thinking(thinking="", signature=""))
        self._signature.update(text.encode("utf-8", "replace"))
        self._sink.delta(objects.ThinkingDelta(text))

    def _show_searches(self, queries: Iterable[str]) -> None:
        self._show_findings()
        for query in queries:
            self._show_use(encode({"query": query}))

    def _show_use(self, asked: bytes) -> None:
        use_id = f"srvtoolu_{self._new_id()}"
        self._found.waiting.append(use_id)
        self._whole(objects.ServerToolUse(id=use_id, input=NO_INPUT), objects.InputJsonDelta(asked.decode()))

    def _show_findings(self) -> None:
        """The results of the searches so far: which of them found a page is not told, so they are those of the last."""
        if not self._shown.searches:
            return
        if self._found.fresh and not self._found.waiting:
            self._show_use(b"{}")
        for use_id, sources in self._found.taken():
            self._whole(
                objects.WebSearchToolResult(
                    tool_use_id=use_id, content=[objects.web_search_result(source) for source in sources]
                )
            )

    def _show_call(self, call: ToolCall) -> None:
        block = objects.ToolUse(id=call.call_id, name=call.name, input=NO_INPUT)
        self._whole(block, objects.InputJsonDelta(call.arguments))

    def _cite(self) -> None:
        if self._open == "text":
            for citation in objects.citations_of(self._citations):
                self._sink.delta(objects.CitationsDelta(citation))

    def _whole(self, block: ContentBlock, *deltas: Delta) -> None:
        self._close()
        self._sink.start(block)
        for delta in deltas:
            self._sink.delta(delta)
        self._sink.stop()

    def _close(self) -> None:
        if self._open is None:
            return
        if self._open == "thinking":
            signature = base64.b64encode(self._signature.digest()).decode()
            self._sink.delta(objects.SignatureDelta(signature))
        self._open = None
        self._sink.stop()


class _Found:
    """Searches that wait for their results, and pages that were not shown yet."""

    def __init__(self) -> None:
        self.waiting: list[str] = []
        self.fresh: list[Source] = []
        self._known: set[int] = set()

    def add(self, sources: Iterable[Source]) -> None:
        fresh = [source for source in sources if source.id not in self._known]
        self._known.update(source.id for source in fresh)
        self.fresh += fresh

    def taken(self) -> list[tuple[str, list[Source]]]:
        """Each search with what it found, once."""
        waiting, self.waiting = self.waiting, []
        fresh, self.fresh = self.fresh, []
        nothing: list[tuple[str, list[Source]]] = [(use_id, []) for use_id in waiting[:-1]]
        return [*nothing, *((use_id, fresh) for use_id in waiting[-1:])]


_HANDLERS: dict[type, Callable[[Blocks, Any], None]] = {
    TextDelta: Blocks._text,
    ReasoningDelta: Blocks._thought,
    SearchStep: Blocks._step,
    Sources: Blocks._sources,
    Citations: Blocks._cited,
    ToolCall: Blocks._called,
}
