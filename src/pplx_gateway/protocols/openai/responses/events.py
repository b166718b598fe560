"""The events of a Responses stream, and their frames.

A frame has LF alone and is written whole, because some clients forget half an event between two reads. `[DONE]` comes
after success only; openai's own clients end at the end of the body.
"""

from typing import NamedTuple

import msgspec

from pplx_gateway.protocols.openai.encoding import encode
from pplx_gateway.protocols.openai.responses.objects import (
    OutputCitation,
    OutputItem,
    OutputText,
    ResponseObject,
    SummaryText,
)

DONE = b"data: [DONE]\n\n"


class Event(NamedTuple):
    """`number` counts from 0 within its response. `data` is the JSON object, which repeats the number and the type."""

    number: int
    type: str
    data: bytes


def frame(event: Event) -> bytes:
    return b"event: " + event.type.encode() + b"\ndata: " + event.data + b"\n\n"


class _Base(msgspec.Struct, kw_only=True, tag_field="type"):
    """`sequence_number` is given when the event goes out."""

    sequence_number: int = -1


class Created(_Base, kw_only=True, tag="response.created"):
    response: ResponseObject


class Queued(_Base, kw_only=True, tag="response.queued"):
    response: ResponseObject


class InProgress(_Base, kw_only=True, tag="response.in_progress"):
    response: ResponseObject


class Completed(_Base, kw_only=True, tag="response.completed"):
    response: ResponseObject


class Incomplete(_Base, kw_only=True, tag="response.incomplete"):
    response: ResponseObject


class Failed(_Base, kw_only=True, tag="response.failed"):
    response: ResponseObject


class _OfItem(_Base, kw_only=True):
    output_index: int


class ItemAdded(_OfItem, kw_only=True, tag="response.output_item.added"):
    item: OutputItem


class ItemDone(_OfItem, kw_only=True, tag="response.output_item.done"):
    item: OutputItem


class _InItem(_Base, kw_only=True):
    item_id: str
    output_index: int


class SearchInProgress(_InItem, kw_only=True, tag="response.web_search_call.in_progress"):
    pass


class Searching(_InItem, kw_only=True, tag="response.web_search_call.searching"):
    pass


class SearchCompleted(_InItem, kw_only=True, tag="response.web_search_call.completed"):
    pass


class ArgumentsDelta(_InItem, kw_only=True, tag="response.function_call_arguments.delta"):
    delta: str


class ArgumentsDone(_InItem, kw_only=True, tag="response.function_call_arguments.done"):
    name: str
    arguments: str


class _InSummary(_InItem, kw_only=True):
    summary_index: int = 0


class SummaryPartAdded(_InSummary, kw_only=True, tag="response.reasoning_summary_part.added"):
    part: SummaryText


class SummaryTextDelta(_InSummary, kw_only=True, tag="response.reasoning_summary_text.delta"):
    delta: str


class SummaryTextDone(_InSummary, kw_only=True, tag="response.reasoning_summary_text.done"):
    text: str


class SummaryPartDone(_InSummary, kw_only=True, tag="response.reasoning_summary_part.done"):
    part: SummaryText


class _InContent(_InItem, kw_only=True):
    content_index: int = 0


class ContentPartAdded(_InContent, kw_only=True, tag="response.content_part.added"):
    part: OutputText


class TextDelta(_InContent, kw_only=True, tag="response.output_text.delta"):
    delta: str
    logprobs: tuple[object, ...] = ()


class AnnotationAdded(_InContent, kw_only=True, tag="response.output_text.annotation.added"):
    annotation_index: int
    annotation: OutputCitation


class TextDone(_InContent, kw_only=True, tag="response.output_text.done"):
    text: str
    logprobs: tuple[object, ...] = ()


class ContentPartDone(_InContent, kw_only=True, tag="response.content_part.done"):
    part: OutputText


ResponseEvent = (
    Created
    | Queued
    | InProgress
    | Completed
    | Incomplete
    | Failed
    | ItemAdded
    | ItemDone
    | SearchInProgress
    | Searching
    | SearchCompleted
    | ArgumentsDelta
    | ArgumentsDone
    | SummaryPartAdded
    | SummaryTextDelta
    | SummaryTextDone
    | SummaryPartDone
    | ContentPartAdded
    | TextDelta
    | AnnotationAdded
    | TextDone
    | ContentPartDone
)


class Sequence:
    """Numbers the events of one response: 0, 1, 2 and so on, without gaps."""

    def __init__(self) -> None:
        self.next = 0

    def event(self, event: ResponseEvent) -> Event:
        event.sequence_number = number = self.next
        self.next += 1
        return Event(number, str(event.__struct_config__.tag), encode(event))
