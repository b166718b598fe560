"""Batches of an answer to the bytes of a message stream: one bytes object for each batch.

The order of events: `message_start` and a ping as soon as anything can be seen; content blocks, one after the other;
`message_delta` with the reason to stop, usage and everything told beside the answer; `message_stop`. Text goes through
byte templates: nearly every event is text.
"""

import msgspec

from pplx_gateway.answer import Answer, Batch, Finished, TextDelta, Usage
from pplx_gateway.protocols.anthropic import objects
from pplx_gateway.protocols.anthropic.beside import beside, usage_of
from pplx_gateway.protocols.anthropic.blocks import Blocks, NewId
from pplx_gateway.protocols.anthropic.objects import ContentBlock, Delta, Event
from pplx_gateway.protocols.anthropic.question import Shown
from pplx_gateway.protocols.openai.encoding import encode, encode_text
from pplx_gateway.protocols.openai.reply import Head, Told, told_with

PING = b'event: ping\ndata: {"type":"ping"}\n\n'
_TEXT_END = b"}}\n\n"


class MessageStream:
    """`feed` gives b"" for what a caller cannot see. After Finished, nothing may be fed. `input_tokens` are estimated:
    the stream begins before anybody has counted."""

    def __init__(self, head: Head, told: Told, shown: Shown, new_id: NewId, *, input_tokens: int = 0) -> None:
        self.told = told
        self.finished: Finished | None = None
        self._input_tokens = input_tokens
        self._answer = Answer()
        self._frames = _Frames(head, input_tokens)
        self._blocks = Blocks(self._frames, shown, new_id, show_steps=told.show_steps)

    @property
    def opened(self) -> bool:
        return self._frames.opened

    @property
    def told_so_far(self) -> Told:
        return told_with(self.told, self._answer)

    def feed(self, batch: Batch) -> bytes:
        for event in batch:
            if type(event) is TextDelta:  # as nearly all are
                if self._blocks.plain and event.text:
                    self._blocks.characters += len(event.text)
                    self._frames.text(event.text)
                    continue
            else:
                self._answer.collect((event,))
            self._blocks.feed(event)
            if isinstance(event, Finished):
                self._finish(event)
        return self._frames.taken()

    def _finish(self, event: Finished) -> None:
        used = usage_of(event, self._input_tokens, self._blocks.characters)
        self.finished = msgspec.structs.replace(event, usage=used)
        self._blocks.finish()
        usage = objects.delta_usage(used, self._blocks.searches)
        found = beside(self.told, self._answer, self.finished)
        self._frames.end(objects.MessageDelta(delta=objects.end_of(event), usage=usage, **found))


class _Frames:
    """A sink of blocks that writes events. The message begins with the first of them."""

    def __init__(self, head: Head, input_tokens: int) -> None:
        self.opened = False
        self._head = head
        self._input_tokens = input_tokens
        self._index = -1
        self._out: list[bytes] = []
        self._text_start = b""

    def start(self, block: ContentBlock) -> None:
        self._open()
        self._index += 1
        self._put("content_block_start", objects.ContentBlockStart(index=self._index, content_block=block))
        self._text_start = (
            b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,'
            b'"delta":{"type":"text_delta","text":' % self._index
        )

    def text(self, text: str) -> None:
        self._out += (self._text_start, encode_text(text), _TEXT_END)

    def delta(self, delta: Delta) -> None:
        self._put("content_block_delta", objects.ContentBlockDelta(index=self._index, delta=delta))

    def stop(self) -> None:
        self._put("content_block_stop", objects.ContentBlockStop(self._index))

    def end(self, event: objects.MessageDelta) -> None:
        self._open()
        self._put("message_delta", event)
        self._put("message_stop", objects.MessageStop())

    def taken(self) -> bytes:
        """What was written since the last time."""
        out = b"".join(self._out)
        self._out.clear()
        return out

    def _open(self) -> None:
        if self.opened:
            return
        self.opened = True
        usage = objects.delta_usage(Usage(input_tokens=self._input_tokens, output_tokens=0), 0)
        message = objects.MessageObject(
            id=self._head.id,
            model=self._head.model,
            content=[],
            stop_reason=None,
            stop_sequence=None,
            usage=objects.message_usage(usage),
        )
        self._put("message_start", objects.MessageStart(message))
        self._out.append(PING)

    def _put(self, name: str, event: Event) -> None:
        self._out.append(b"event: %b\ndata: %b\n\n" % (name.encode(), encode(event)))
