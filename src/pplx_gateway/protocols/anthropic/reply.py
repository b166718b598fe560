"""Batches of an answer to one message object."""

import msgspec

from pplx_gateway.answer import Batch, Finished
from pplx_gateway.protocols.anthropic import objects
from pplx_gateway.protocols.anthropic.beside import beside, usage_of
from pplx_gateway.protocols.anthropic.blocks import Blocks, NewId
from pplx_gateway.protocols.anthropic.objects import (
    CitationsDelta,
    ContentBlock,
    Delta,
    InputJsonDelta,
    SignatureDelta,
    ThinkingDelta,
    WebSearchCitation,
)
from pplx_gateway.protocols.anthropic.question import Shown
from pplx_gateway.protocols.openai.encoding import encode
from pplx_gateway.protocols.openai.reply import Collecting, Head, Told


class MessageReply(Collecting):
    """Fed with every batch, then asked once for the body."""

    def __init__(self, told: Told, shown: Shown, new_id: NewId, *, input_tokens: int = 0) -> None:
        super().__init__(told)
        self._input_tokens = input_tokens
        self._content = _Content()
        self._blocks = Blocks(self._content, shown, new_id, show_steps=told.show_steps)

    def feed(self, batch: Batch) -> None:
        self.answer.collect(batch)
        for event in batch:
            self._blocks.feed(event)

    def body(self, head: Head, finished: Finished) -> bytes:
        """The reply as JSON. `head.model` is what answered."""
        self._blocks.finish()
        used = usage_of(finished, self._input_tokens, self._blocks.characters)
        end = objects.end_of(finished)
        usage = objects.delta_usage(used, self._blocks.searches)
        message = objects.MessageObject(
            id=head.id,
            model=head.model,
            content=self._content.blocks,
            stop_reason=end.stop_reason,
            stop_sequence=end.stop_sequence,
            usage=objects.message_usage(usage),
            **beside(self.told, self.answer, msgspec.structs.replace(finished, usage=used)),
        )
        return encode(message)


class _Content:
    """A sink that puts the deltas of each block together again."""

    def __init__(self) -> None:
        self.blocks: list[ContentBlock] = []
        self._begun: ContentBlock | None = None
        self._pieces: list[str] = []
        self._signature = ""
        self._citations: list[WebSearchCitation] = []

    def start(self, block: ContentBlock) -> None:
        self._begun = block
        self._pieces = []
        self._signature = ""
        self._citations = []

    def text(self, text: str) -> None:
        self._pieces.append(text)

    def delta(self, delta: Delta) -> None:
        match delta:
            case ThinkingDelta(text) | InputJsonDelta(text):
                self._pieces.append(text)
            case SignatureDelta(signature):
                self._signature = signature
            case CitationsDelta(citation):
                self._citations.append(citation)
            case _:
                pass

    def stop(self) -> None:
        whole = "".join(self._pieces)
        match self._begun:
            case objects.Text():
                self.blocks.append(objects.Text(text=whole, citations=self._citations or None))
            case objects.Thinking():
                self.blocks.append(objects.Thinking(thinking=whole, signature=self._signature))
            case objects.ToolUse() | objects.ServerToolUse() as use:
                self.blocks.append(msgspec.structs.replace(use, input=msgspec.Raw(whole.encode())))
            case objects.WebSearchToolResult() as result:
                self.blocks.append(result)
            case None:
                pass
