"""Batches of an answer to the events of a Responses stream, and to the response object that they end in."""

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
from pplx_gateway.errors import GatewayError
from pplx_gateway.protocols.openai.chat_objects import extras
from pplx_gateway.protocols.openai.encoding import encode
from pplx_gateway.protocols.openai.reply import Told, extension, told_with
from pplx_gateway.protocols.openai.responses import events
from pplx_gateway.protocols.openai.responses.blank import blank
from pplx_gateway.protocols.openai.responses.events import Event
from pplx_gateway.protocols.openai.responses.failure import failure
from pplx_gateway.protocols.openai.responses.objects import IncompleteDetails, Status
from pplx_gateway.protocols.openai.responses.output import Output
from pplx_gateway.protocols.openai.responses.question import Echo, Shown
from pplx_gateway.protocols.openai.usage import response_usage
from pplx_gateway.protocols.steps import ReasoningText

_CUT_SHORT = {
    "length": IncompleteDetails("max_output_tokens"),
    "content_filter": IncompleteDetails("content_filter"),
}


class ResponseWriter:
    """`begin`, then `feed` for each batch; or `fail`, or `cancel`. Once the response is over, nothing changes any more.

    `answered_by` names the model that answered; `now` gives seconds since the epoch. The same events of an answer give
    the same events of the stream, to the byte and however they fall into batches; only `completed_at` is the clock's.
    A plain reply is `object` after the last batch.
    """

    def __init__(
        self,
        response_id: str,
        echo: Echo,
        shown: Shown,
        told: Told,
        created_at: int,
        *,
        answered_by: Callable[[Finished], str],
        now: Callable[[], float],
    ) -> None:
        self.status: Status = "queued" if echo.background else "in_progress"
        self.finished: Finished | None = None
        self._told = told
        self._shown = shown
        self._answered_by = answered_by
        self._now = now
        self._response = blank(response_id, echo, created_at, self.status)
        self._sequence = events.Sequence()
        self._output = Output(response_id, self._sequence, show_sources=shown.search_sources)
        self._answer = Answer()
        self._reasoning = ReasoningText(show_steps=shown.reasoning)
        self.over = False
        self._begun = False

    @property
    def told(self) -> Told:
        """May be set before anything of the answer was shown. If another upstream took over, what the first one had
        found is forgotten."""
        return self._told

    @told.setter
    def told(self, told: Told) -> None:
        if told.upstream != self._told.upstream:
            self._answer = Answer()
            self._reasoning = ReasoningText(show_steps=self._shown.reasoning)
        self._told = told

    @property
    def told_so_far(self) -> Told:
        return told_with(self._told, self._answer)

    @property
    def output_items(self) -> list[bytes]:
        """The finished items as JSON, byte for byte as the response holds them."""
        return [encode(item) for item in self._output.items]

    def object(self) -> bytes:
        """The response as it stands, without output until it is over; then exactly what the last event held."""
        return encode(self._response)

    def begin(self) -> list[Event]:
        """The events before the first item; nothing the second time."""
        if self._begun:
            return []
        self._begun = True
        found = [self._sequence.event(events.Created(response=self._response))]
        if self.status == "queued":
            found.append(self._sequence.event(events.Queued(response=self._response)))
        self._become("in_progress")
        return [*found, self._sequence.event(events.InProgress(response=self._response))]

    def feed(self, batch: Batch) -> list[Event]:
        """After Finished it holds everything up to and with the last event."""
        if self.over:
            return []
        out = [] if self._begun else self.begin()
        for event in batch:
            if type(event) is TextDelta and (message := self._output.message):  # as nearly all are
                if event.text:
                    out.append(message.delta(event.text, self._sequence))
            elif handler := _HANDLERS.get(type(event)):
                handler(self, event, out)
                if self.finished:
                    break
        return out

    def fail(self, error: GatewayError) -> list[Event]:
        """`response.failed` with the items that were finished. Nothing if the response is over."""
        if self.over:
            return []
        out = self.begin()
        self._become("failed", output=tuple(self._output.items), error=failure(error))
        return [*out, self._sequence.event(events.Failed(response=self._response))]

    def cancel(self) -> bytes:
        """The response as cancelled, with the items that were finished; as it is if it is over."""
        if not self.over:
            self._become("cancelled", output=tuple(self._output.items))
        return self.object()

    def _become(self, status: Status, **changes: Any) -> None:
        self.status = status
        self.over = status not in ("queued", "in_progress")
        self._response = msgspec.structs.replace(self._response, status=status, **changes)

    def _text(self, event: TextDelta, out: list[Event]) -> None:
        if not event.text:
            return
        self._say(self._reasoning.text_begins(), out)
        if self._shown.searches and self._answer.sources and not self._output.searched:
            self._search_unseen(out)
        self._output.text(event.text, out)

    def _thought(self, event: ReasoningDelta, out: list[Event]) -> None:
        self._say(self._reasoning.thought(event.text), out)

    def _step(self, event: SearchStep, out: list[Event]) -> None:
        self._say(self._reasoning.step(event), out)
        if event.queries and self._shown.searches:
            self._output.search(event.queries, out)
        self._output.found(event.urls)

    def _sources(self, event: Sources, out: list[Event]) -> None:
        self._keep(event, out)
        self._reasoning.found(event.sources)
        self._output.found(source.url for source in event.sources)

    def _tool_call(self, event: ToolCall, out: list[Event]) -> None:
        self._output.call(event, out)

    def _keep(self, event: AnswerEvent, _: list[Event]) -> None:
        self._answer.collect((event,))

    def _finish(self, event: Finished, out: list[Event]) -> None:
        self.finished = event
        cut_short = _CUT_SHORT.get(event.reason)
        self._output.close(self._answer.annotations, "incomplete" if cut_short else "completed", out)
        self._become(
            "incomplete" if cut_short else "completed",
            output=tuple(self._output.items),
            model=self._answered_by(event),
            completed_at=None if cut_short else int(self._now()),
            incomplete_details=cut_short,
            usage=response_usage(event.usage) if event.usage else None,
            pplx=extension(self._told, self._answer, event),
            **extras(self._answer),
        )
        last = events.Incomplete if cut_short else events.Completed
        out.append(self._sequence.event(last(response=self._response)))

    def _say(self, text: str, out: list[Event]) -> None:
        if text and self._shown.reasoning:
            self._output.say(text, out)

    def _search_unseen(self, out: list[Event]) -> None:
        """Pages were found, but the upstream did not say what it searched for."""
        self._output.search((), out)
        self._output.found(source.url for source in self._answer.sources.values())


_HANDLERS: dict[type, Callable[[ResponseWriter, Any, list[Event]], None]] = {
    TextDelta: ResponseWriter._text,
    ReasoningDelta: ResponseWriter._thought,
    SearchStep: ResponseWriter._step,
    Sources: ResponseWriter._sources,
    ToolCall: ResponseWriter._tool_call,
    Images: ResponseWriter._keep,
    RelatedQuestions: ResponseWriter._keep,
    Warned: ResponseWriter._keep,
    Citations: ResponseWriter._keep,
    Finished: ResponseWriter._finish,
}
