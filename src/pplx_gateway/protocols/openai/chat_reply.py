"""Batches of an answer to one chat completion object."""

from collections.abc import Callable
from typing import Any

import msgspec

from pplx_gateway.answer import Batch, Finished, ReasoningDelta, SearchStep, Sources, TextDelta
from pplx_gateway.protocols.openai.chat_objects import (
    ChatCompletion,
    ReplyChoice,
    ReplyMessage,
    annotation_objects,
    extras,
    tool_call_object,
)
from pplx_gateway.protocols.openai.encoding import encode
from pplx_gateway.protocols.openai.reply import Collecting, Head, Told, extension
from pplx_gateway.protocols.openai.usage import usage_object
from pplx_gateway.protocols.steps import ReasoningText


class ChatReply(Collecting):
    """Fed with every batch, then asked once for the body."""

    def __init__(self, told: Told) -> None:
        super().__init__(told)
        self._reasoning = ReasoningText(show_steps=told.show_steps)
        self._reasoning_parts: list[str] = []

    def feed(self, batch: Batch) -> None:
        self.answer.collect(batch)
        for event in batch:
            if reason := _REASONERS.get(type(event)):
                self._reasoning_parts.append(reason(self._reasoning, event))

    def body(self, head: Head, finished: Finished) -> bytes:
        """The reply as JSON. `head.model` is what answered."""
        completion = ChatCompletion(
            id=head.id,
            object="chat.completion",
            created=head.created,
            model=head.model,
            choices=[ReplyChoice(index=0, message=self._message(), logprobs=None, finish_reason=finished.reason)],
            usage=usage_object(finished.usage) if finished.usage else None,
            system_fingerprint=None,
            pplx=extension(self.told, self.answer, finished),
            **extras(self.answer),  # type: ignore[arg-type]
        )
        return encode(completion)

    def _message(self) -> ReplyMessage:
        answer = self.answer
        text = answer.text
        calls = [tool_call_object(call) for call in answer.tool_calls]
        return ReplyMessage(
            role="assistant",
            content=None if calls and not text else text,
            refusal=None,
            annotations=annotation_objects(answer.annotations),
            tool_calls=calls or msgspec.UNSET,
            reasoning_content="".join(self._reasoning_parts) or msgspec.UNSET,
        )


def _found(reasoning: ReasoningText, event: Sources) -> str:
    reasoning.found(event.sources)
    return ""


# What each event adds to the reasoning.
_REASONERS: dict[type, Callable[[ReasoningText, Any], str]] = {
    ReasoningDelta: lambda reasoning, event: reasoning.thought(event.text),
    SearchStep: lambda reasoning, event: reasoning.step(event),
    Sources: _found,
    TextDelta: lambda reasoning, event: reasoning.text_begins() if event.text else "",
}
