"""One question's bridge: the instructions that go out with it, and its answer as calls or text."""

import json
import re
import secrets
from collections.abc import Sequence
from typing import Any

import msgspec

from pplx_gateway.answer import AnswerEvent, Batch, Finished, TextDelta, ToolCall
from pplx_gateway.question import FunctionCall, OutputFormat, Question
from pplx_gateway.upstreams.session.cleaning import Cleaner
from pplx_gateway.upstreams.session.functions.instruction import offering
from pplx_gateway.upstreams.session.functions.offer import Offer, offer_of
from pplx_gateway.upstreams.session.functions.proposal import Call, breach, read_proposal

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Bridge:
    """Its answer is held back until it is whole, whoever asks."""

    def __init__(self, offer: Offer, format_: OutputFormat | None, *, called: bool) -> None:
        self._offer = offer
        self._format = format_
        self.instruction = offering(offer, format_, called=called)

    def read(self, end: Sequence[AnswerEvent]) -> Batch:
        """The last events of an answer, which hold all of its text and Finished, with calls or the answer in the text's
        place. Raises ToolProtocolError."""
        *others, finished = end
        if not isinstance(finished, Finished):
            raise TypeError("an answer ends with Finished")
        text = "".join(event.text for event in others if isinstance(event, TextDelta))
        said = self._said(text)
        # a turn that proposes calls goes on with all of its context, so its thread is of no use
        ended = msgspec.structs.replace(finished, reason=_reason(said, finished), continuation=None)
        return [*(event for event in others if not isinstance(event, TextDelta)), *said, ended]

    def _said(self, text: str) -> list[AnswerEvent]:
        proposal = read_proposal(text)
        if not proposal.calls:
            return [TextDelta(self._words(proposal.content))]
        if self._offer.single and len(proposal.calls) > 1:
            raise breach("it proposes several calls where one at most was wanted")
        return [self._checked(call) for call in proposal.calls]

    def _words(self, content: str | dict[str, Any]) -> str:
        if self._offer.must:
            raise breach("it proposes no call although one was required")
        if isinstance(content, dict) != (self._format is not None):
            raise breach("its 'content' is " + ("no JSON object" if self._format else "no text"))
        if isinstance(content, dict):
            return _json(content)
        cleaner = Cleaner()
        return cleaner.feed(content) + cleaner.close()

    def _checked(self, call: Call) -> ToolCall:
        function = self._offer.functions.get(call.name)
        if function is None:
            name = f" '{call.name}'" if _NAME.fullmatch(call.name) else ""
            raise breach(f"it proposes a call of a function{name} that was not offered")
        broken = function.schema.breach(call.arguments)
        if broken is not None:
            raise breach(f"the arguments for '{function.name}' break its parameters at '{broken}'")
        return ToolCall(call_id=f"call_{secrets.token_hex(12)}", name=function.name, arguments=_json(call.arguments))


def bridge_of(question: Question) -> Bridge | None:
    """None if nothing may be called. Raises InvalidRequest."""
    offer = offer_of(question)
    if offer is None:
        return None
    called = any(isinstance(turn, FunctionCall) for turn in question.turns)
    return Bridge(offer, question.format, called=called)


def _reason(said: Sequence[AnswerEvent], finished: Finished) -> Any:
    return "tool_calls" if isinstance(said[0], ToolCall) else finished.reason


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
