"""Batches of an answer to the bytes of a chat completion stream: one bytes object for each batch.

The order of chunks: the role; reasoning and text; one finish chunk with annotations and everything told beside the
answer; a usage chunk if one was asked for; `[DONE]`. Text goes through byte templates: nearly every chunk is text.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from pplx_gateway.answer import (
    Answer,
    AnswerEvent,
    Batch,
    Citations,
    Finished,
    Images,
    ReasoningDelta,
    RelatedQuestions,
    SearchStep,
    Sources,
    TextDelta,
    ToolCall,
    Warned,
)
from pplx_gateway.protocols.openai.chat_objects import (
    annotation_objects,
    citations,
    extras,
    search_results,
    tool_call_object,
)
from pplx_gateway.protocols.openai.encoding import encode, encode_text
from pplx_gateway.protocols.openai.reply import Head, Told, extension, told_with
from pplx_gateway.protocols.openai.usage import usage_object
from pplx_gateway.protocols.steps import ReasoningText

DONE = b"data: [DONE]\n\n"


class ChatStream:
    """`feed` gives b"" for what a caller cannot see. After Finished, nothing may be fed."""

    def __init__(self, head: Head, told: Told, *, wants_usage: bool = False) -> None:
        self.told = told
        self.finished: Finished | None = None
        self._usage = b',"usage":null' if wants_usage else b""
        self._head = b"data: " + encode(_FrameHead(head.id, head.created, head.model))[:-1] + b","
        self._text_start = self._head + b'"choices":[{"index":0,"delta":{"content":'
        self._text_end = b'},"logprobs":null,"finish_reason":null}]' + self._usage + b"}\n\n"
        self._answer = Answer()
        self._reasoning = ReasoningText(show_steps=told.show_steps)
        self._opened = False
        self._plain = False  # True while text needs nothing beside it
        self._told_sources = _ToldSources(self._answer)
        self._calls = 0

    def feed(self, batch: Batch) -> bytes:
        out: list[bytes] = []
        for event in batch:
            if self._plain and type(event) is TextDelta:
                if event.text:
                    out += (self._text_start, encode_text(event.text), self._text_end)
            elif handler := _HANDLERS.get(type(event)):
                handler(self, event, out)
        return b"".join(out)

    @property
    def told_so_far(self) -> Told:
        return told_with(self.told, self._answer)

    def _text(self, event: TextDelta, out: list[bytes]) -> None:
        if not event.text:
            return
        self._say(self._reasoning.text_begins(), out)
        self._open(out)
        self._chunk({"content": event.text}, out, self._told_sources.beside_text())
        self._plain = True

    def _thought(self, event: ReasoningDelta, out: list[bytes]) -> None:
        self._say(self._reasoning.thought(event.text), out)

    def _step(self, event: SearchStep, out: list[bytes]) -> None:
        self._say(self._reasoning.step(event), out)

    def _say(self, text: str, out: list[bytes]) -> None:
        if text:
            self._open(out)
            self._chunk({"reasoning_content": text}, out, self._told_sources.beside_anything())

    def _tool_call(self, event: ToolCall, out: list[bytes]) -> None:
        self._open(out)
        self._chunk({"tool_calls": [tool_call_object(event, self._calls)]}, out, self._told_sources.beside_anything())
        self._calls += 1

    def _sources(self, event: Sources, out: list[bytes]) -> None:
        self._reasoning.found(event.sources)
        self._keep(event, out)
        self._plain = self._plain and self._told_sources.in_text

    def _keep(self, event: AnswerEvent, _: list[bytes]) -> None:
        self._answer.collect((event,))

    def _finish(self, event: Finished, out: list[bytes]) -> None:
        self._open(out)
        self.finished = event
        found = self._answer.annotations
        delta: dict[str, object] = {"annotations": annotation_objects(found)} if found else {}
        beside = extras(self._answer) | {"pplx": extension(self.told, self._answer, event)}
        self._chunk(delta, out, beside, event.reason)
        if self._usage and event.usage:
            out += (self._head, b'"choices":[],"usage":', encode(usage_object(event.usage)), b"}\n\n")
        out.append(DONE)

    def _open(self, out: list[bytes]) -> None:
        """The role, once; with the sources, if they are known by now, for clients that read only the first chunk."""
        if not self._opened:
            self._opened = True
            self._chunk({"role": "assistant", "content": ""}, out, self._told_sources.beside_text())

    def _chunk(
        self, delta: dict[str, object], out: list[bytes], beside: dict[str, object], finish_reason: str | None = None
    ) -> None:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        fields = encode(beside)[1:-1] + b"," if beside else b""
        out += (self._head, fields, b'"choices":[', encode(choice), b"]", self._usage, b"}\n\n")


class _FrameHead(msgspec.Struct, frozen=True):
    id: str
    created: int
    model: str
    object: str = "chat.completion.chunk"
    system_fingerprint: None = None


class _ToldSources:
    """Sources go beside the first chunk that knows them, beside the first with content (where some clients look), and
    beside the finish chunk; not beside others, because they are long."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._anywhere = False
        self.in_text = False

    def beside_text(self) -> dict[str, object]:
        found = {} if self.in_text else self._found()
        self.in_text = self.in_text or bool(found)
        self._anywhere = self._anywhere or bool(found)
        return found

    def beside_anything(self) -> dict[str, object]:
        found = {} if self._anywhere else self._found()
        self._anywhere = self._anywhere or bool(found)
        return found

    def _found(self) -> dict[str, object]:
        sources = self._answer.sources
        return {"citations": citations(sources), "search_results": search_results(sources)} if sources else {}


_HANDLERS: dict[type, Callable[[ChatStream, Any, list[bytes]], None]] = {
    TextDelta: ChatStream._text,
    ReasoningDelta: ChatStream._thought,
    SearchStep: ChatStream._step,
    Sources: ChatStream._sources,
    ToolCall: ChatStream._tool_call,
    Images: ChatStream._keep,
    RelatedQuestions: ChatStream._keep,
    Warned: ChatStream._keep,
    Citations: ChatStream._keep,
    Finished: ChatStream._finish,
}
