"""Batches of an answer to the bytes of a Sonar stream, in its two modes.

`full`: every chunk is a `chat.completion.chunk` and repeats what was said so far as `message`. The first one waits for
sources or text, because there are clients that read citations nowhere else. Nothing of the way is told until the last
chunk. `concise`: a chunk's `object` says what it is about: `chat.reasoning` (steps), `chat.reasoning.done` (once, with
the pages), `chat.completion.chunk` (a delta alone), `chat.completion.done` (everything). Both end with `[DONE]`.
"""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import msgspec

from pplx_gateway.answer import Answer, Batch, Finished
from pplx_gateway.protocols.openai.chat_objects import (
    ToolCallObject,
    citations,
    search_results,
    tool_call_object,
)
from pplx_gateway.protocols.openai.encoding import encode, encode_text
from pplx_gateway.protocols.openai.reply import Head, Told, told_with
from pplx_gateway.protocols.perplexity.sonar.objects import (
    Object,
    Shown,
    SonarChoice,
    SonarCompletion,
    SonarReplyMessage,
    found,
    whole,
)
from pplx_gateway.protocols.perplexity.sonar.steps import ReasoningStep, ReasoningSteps

DONE = b"data: [DONE]\n\n"
_CHUNK: Object = "chat.completion.chunk"
_END = b'}}],"type":"message","status":"PENDING"}\n\n'


class _News(NamedTuple):
    """What a batch has brought."""

    text: str
    calls: list[ToolCallObject]
    steps: list[ReasoningStep]


class SonarStream(ABC):
    """`feed` gives b"" for what a caller cannot see. After Finished, nothing may be fed."""

    def __init__(self, head: Head, told: Told, shown: Shown) -> None:
        self.told = told
        self.finished: Finished | None = None
        self._head = head
        self._shown = shown
        self._answer = Answer()
        self._steps = ReasoningSteps()

    @property
    def told_so_far(self) -> Told:
        return told_with(self.told, self._answer)

    def feed(self, batch: Batch) -> bytes:
        """One chunk for all the text of a batch: each of them may be long."""
        out: list[bytes] = []
        self._tell(self._news(batch), out)
        if self._answer.finished is not None:
            self.finished = self._answer.finished
            self._steps.close()
            self._end(self.finished, out)
            out.append(DONE)
        return b"".join(out)

    @abstractmethod
    def _tell(self, news: _News, out: list[bytes]) -> None: ...

    @abstractmethod
    def _end(self, finished: Finished, out: list[bytes]) -> None: ...

    def _news(self, batch: Batch) -> _News:
        answer = self._answer
        texts, calls = len(answer.text_parts), len(answer.tool_calls)
        answer.collect(batch)
        return _News(
            text="".join(answer.text_parts[texts:]),
            calls=[tool_call_object(call, place) for place, call in enumerate(answer.tool_calls[calls:], calls)],
            steps=[step for event in batch for step in self._steps.feed(event)],
        )

    def _opening(self, kind: Object) -> bytes:
        """A chunk up to its choices."""
        return b"data: " + encode(_ChunkHead(self._head.id, kind, self._head.created, self._head.model))[:-1] + b","

    def _last(self, kind: Object, finished: Finished, *, steps: bool) -> bytes:
        last = whole(
            self._head,
            kind,
            self._answer,
            finished,
            steps=self._steps.whole if steps else (),
            told=self.told,
            shown=self._shown,
        )
        return b"data: " + encode(last) + b"\n\n"


class _ChunkHead(msgspec.Struct, frozen=True):
    id: str
    object: Object
    created: int
    model: str


class FullStream(SonarStream):
    def __init__(self, head: Head, told: Told, shown: Shown) -> None:
        super().__init__(head, told, shown)
        self._start = self._opening(_CHUNK)
        self._said = bytearray()  # the text so far, as it stands in JSON
        self._opened = False
        self._told_sources = 0

    def _tell(self, news: _News, out: list[bytes]) -> None:
        if not (news.text or news.calls or (self._answer.sources and not self._opened)):
            return
        self._opened = True
        said = encode_text(news.text)
        self._said += said[1:-1]
        every = [tool_call_object(call) for call in self._answer.tool_calls]
        out += (self._start, self._sources(), b'"choices":[{"index":0,"finish_reason":null,"message":')
        out += (b'{"role":"assistant","content":"', bytes(self._said), b'"', _called(every))
        out += (b'},"delta":{"role":"assistant","content":', said, _called(news.calls), _END)

    def _end(self, finished: Finished, out: list[bytes]) -> None:
        out.append(self._last(_CHUNK, finished, steps=self.told.show_steps))

    def _sources(self) -> bytes:
        """Beside the first chunk that knows them, and again where there are more."""
        sources = self._answer.sources
        if len(sources) == self._told_sources:
            return b""
        self._told_sources = len(sources)
        return encode({"citations": citations(sources), "search_results": search_results(sources)})[1:-1] + b","


class ConciseStream(SonarStream):
    def __init__(self, head: Head, told: Told, shown: Shown) -> None:
        super().__init__(head, told, shown)
        self._start = self._opening(_CHUNK) + (
            b'"choices":[{"index":0,"finish_reason":null,"message":{"role":"assistant","content":""},'
            b'"delta":{"role":"assistant","content":'
        )
        self._reasoned = False

    def _tell(self, news: _News, out: list[bytes]) -> None:
        answering = bool(news.text or news.calls)
        if not self._reasoned:
            self._reason(news.steps + (self._steps.close() if answering else []), out)
        if answering:
            self._end_reasoning(out)
            out += (self._start, encode_text(news.text), _called(news.calls), _END)

    def _end(self, finished: Finished, out: list[bytes]) -> None:
        self._end_reasoning(out)
        out.append(self._last("chat.completion.done", finished, steps=True))

    def _reason(self, steps: list[ReasoningStep], out: list[bytes]) -> None:
        if steps:
            news = SonarChoice(message=SonarReplyMessage(), delta=SonarReplyMessage(reasoning_steps=steps))
            out.append(self._chunk("chat.reasoning", news))

    def _end_reasoning(self, out: list[bytes]) -> None:
        if self._reasoned:
            return
        self._reasoned = True
        steps = SonarReplyMessage(reasoning_steps=self._steps.whole or msgspec.UNSET)
        out.append(self._chunk("chat.reasoning.done", SonarChoice(message=steps), **found(self._answer, self._shown)))

    def _chunk(self, kind: Object, choice: SonarChoice, **beside: Any) -> bytes:
        head = self._head
        chunk = SonarCompletion(
            id=head.id, object=kind, created=head.created, model=head.model, choices=[choice], **beside
        )
        return b"data: " + encode(chunk) + b"\n\n"


def _called(calls: list[ToolCallObject]) -> bytes:
    return b',"tool_calls":' + encode(calls) if calls else b""
