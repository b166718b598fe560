"""Between an upstream and a protocol: makes of the answer as it came the answer as it is sent.

Text passes, in this order: a leading `<think>` block becomes reasoning (thinking.py); stop strings cut (stops.py); JSON
loses its code fence (fences.py) and keeps its marks, since brackets in it are data; in other answers marks are
stripped, kept or linked (citations.py). At the end come what was held back, the source list if wanted, the citations.
"""

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from pplx_gateway import citations
from pplx_gateway.answer import (
    Annotation,
    AnswerEvent,
    Batch,
    Citations,
    Finished,
    NativeItem,
    ReasoningDelta,
    Source,
    Sources,
    TextDelta,
    ToolCall,
)
from pplx_gateway.fences import FenceStripper
from pplx_gateway.stops import StopCutter
from pplx_gateway.thinking import Split, ThinkingSplitter


class _Stage(Protocol):
    def feed(self, text: str) -> str: ...

    def close(self) -> str: ...


class Refinery:
    """`feed` takes a batch and returns what may go out; that is the batch itself where nothing had to change.

    Order: text never overtakes text. A tool call or native item first lets out all the text that is held back, as if
    the text ended there, because it begins a new item of the answer. Everything else passes at once, even before text
    that is still held back: sources, steps, images and the like have no place in the text.

    After a stop string no more text goes out, no source list either, and the reason "length" becomes "stop"; tool calls
    and a content filter keep their reason. JSON answers get no citations and no source list.

    `joins`: texts of one batch that stand side by side go on as one. Not for an answer whose events are kept and may be
    told again by another read of the same run, which comes in other batches.

    An upstream that fails sends no Finished. `close` then gives the text that is still held back, for a protocol that
    shows what came before the failure.
    """

    def __init__(
        self,
        *,
        marks: citations.Marks,
        source_list: Literal["off", "append"] = "off",
        stop: Sequence[str] = (),
        json: bool = False,
        expect_sources: bool = True,
        joins: bool = True,
    ) -> None:
        self._json = json
        self._joins = joins
        self._append_list = source_list == "append" and not json
        self._sources: dict[int, Source] = {}
        self._pieces: list[str] = []
        self._tool_called = False
        self._thinking = ThinkingSplitter()
        self._stop = StopCutter(stop)
        self._marks: citations.CitationFilter | None = None
        self._stages: list[_Stage] = [self._stop] if any(stop) else []
        if json:
            self._stages.append(FenceStripper())
        elif marks != "keep":
            self._marks = citations.CitationFilter(marks, self._sources, expect_sources=expect_sources)
            self._stages.append(self._marks)

    @property
    def text(self) -> str:
        """All the text that was let out, as it is sent."""
        return "".join(self._pieces)

    @property
    def stopped(self) -> bool:
        """True once a stop string was met: no more text will go out, so the upstream's work may be ended."""
        return self._stop.hit

    def feed(self, batch: Batch) -> Batch:
        if self._joins and len(batch) > 1:
            batch = _joined(batch)
        if self._stages or not self._thinking.done:
            return self._refined(batch)
        for index, event in enumerate(batch):
            if isinstance(event, TextDelta):
                self._pieces.append(event.text)
            elif isinstance(event, Sources | ToolCall | NativeItem | Finished):
                return batch[:index] + self._refined(batch[index:])
        return batch

    def close(self) -> Batch:
        """What is held back, as the last reasoning and text. Not needed after Finished."""
        out: Batch = []
        self._drain(out)
        return out

    def _refined(self, batch: Batch) -> Batch:
        out: Batch = []
        for event in batch:
            if type(event) is TextDelta:  # as nearly all are
                self._refine_text(event, out)
            else:
                self._refine(event, out)
        return out

    def _refine(self, event: AnswerEvent, out: Batch) -> None:
        match event:
            case Sources(sources):
                self._sources.update((source.id, source) for source in sources)
            case ToolCall() | NativeItem():
                self._tool_called |= isinstance(event, ToolCall)
                self._drain(out)
            case Finished():
                self._finish(event, out)
                return
            case _:
                pass
        out.append(event)

    def _refine_text(self, event: TextDelta, out: Batch) -> None:
        reasoning, content = ("", event.text) if self._thinking.done else self._thinking.feed(event.text)
        for stage in self._stages:
            content = stage.feed(content)
        self._let_out(Split(reasoning, content), event, out)

    def _let_out(self, split: Split, origin: TextDelta | None, out: Batch) -> None:
        if split.reasoning:
            out.append(ReasoningDelta(split.reasoning))
        if split.content:
            self._pieces.append(split.content)
            unchanged = origin is not None and origin.text == split.content
            out.append(origin if origin is not None and unchanged else TextDelta(split.content))

    def _drain(self, out: Batch) -> None:
        reasoning, content = self._thinking.close()
        for stage in self._stages:
            content = stage.feed(content) + stage.close()
        self._let_out(Split(reasoning, content), None, out)

    def _finish(self, event: Finished, out: Batch) -> None:
        self._drain(out)
        found = self._annotations()
        if self._wants_list(event) and (appendix := citations.source_list(self._sources.values())):
            self._let_out(Split("", appendix), None, out)
        if found:
            out.append(Citations(found))
        out.append(self._stopped(event) if self._stop.hit else event)

    def _stopped(self, event: Finished) -> Finished:
        if event.reason not in ("stop", "length"):
            return event
        return msgspec.structs.replace(event, reason="stop", stopped_by=self._stop.found)

    def _annotations(self) -> tuple[Annotation, ...]:
        if self._json:
            return ()
        if self._marks is not None:
            return self._marks.annotations()
        return citations.annotations(self.text, self._sources)

    def _wants_list(self, event: Finished) -> bool:
        """An answer without text stays one: a list alone would look like an answer."""
        calls = self._tool_called or event.reason == "tool_calls"
        return self._append_list and bool(self._pieces) and not calls and not self._stop.hit


def _joined(batch: Batch) -> Batch:
    """Each piece costs its way through all the stages."""
    out: Batch = []
    texts: list[str] = []
    for event in batch:
        if type(event) is TextDelta:
            texts.append(event.text)
            continue
        if texts:
            out.append(TextDelta("".join(texts)))
            texts.clear()
        out.append(event)
    if texts:
        out.append(TextDelta("".join(texts)))
    return out
