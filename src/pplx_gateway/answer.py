"""What comes back: the events of an answer, and the Answer that collects them.

An upstream yields **batches**: one list of events for each read from the wire, so that a renderer can write once for
each. The order is that of the wire. A stream ends with exactly one Finished, or with a raised GatewayError; an iterator
that ends with neither is a defect of the upstream.
"""

from collections.abc import Iterable
from decimal import Decimal
from typing import Literal

import msgspec

FinishReason = Literal["stop", "length", "tool_calls", "content_filter"]


class Started(msgspec.Struct, frozen=True):
    """The upstream took the question. `run_id` is its own id, where it has one; `key_name` the owner's key that pays,
    where there are keys. Nothing of this is shown to callers. A run whose id comes late is told of once more."""

    run_id: str | None = None
    key_name: str | None = None


class ReasoningDelta(msgspec.Struct, frozen=True):
    """The model's own thoughts, in parts that are joined with nothing between them."""

    text: str


class SearchStep(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the upstream did on the way: a plan, queries sent, pages read. One whole step, never repeated."""

    kind: Literal["plan", "search", "read", "think"]
    text: str = ""
    queries: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()


class Source(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A page. `id` is the number by which marks in the text name it (sparse, any order); dates are ISO or None."""

    id: int
    url: str
    title: str = ""
    snippet: str = ""
    date: str | None = None
    last_updated: str | None = None
    kind: str = "web"


class Sources(msgspec.Struct, frozen=True):
    """Pages that were found. Later events add to earlier ones; a repeated id replaces."""

    sources: tuple[Source, ...]


class TextDelta(msgspec.Struct, frozen=True):
    """Answer text that extends what was sent before."""

    text: str


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """One whole function call. `arguments` is JSON text; `signature` is to be given back in the next turn."""

    call_id: str
    name: str
    arguments: str
    signature: str | None = None


class Image(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    image_url: str
    origin_url: str | None = None
    title: str | None = None
    width: int | None = None
    height: int | None = None


class Images(msgspec.Struct, frozen=True):
    images: tuple[Image, ...]


class RelatedQuestions(msgspec.Struct, frozen=True):
    questions: tuple[str, ...]


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """US dollars as the upstream gave them, to the last digit; None = not given."""

    total: float
    input: float | None = None
    output: float | None = None
    tool_calls: float | None = None
    cache_read: float | None = None
    cache_creation: float | None = None
    currency: str = "USD"


CHARACTERS_A_TOKEN = 4
"""The usual rule of thumb, where nobody counts tokens for us."""


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens and searches. `estimated` = counted by us from characters, because the upstream says nothing.

    `other_tools`: tools besides the web search took part. `tools_cost`: US dollars for all tools, where the upstream
    tells each one's."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    citation_tokens: int | None = None
    search_queries: int | None = None
    other_tools: bool = False
    tools_cost: Decimal | None = None
    cost: Cost | None = None
    estimated: bool = False

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens


class NativeItem(msgspec.Struct, frozen=True):
    """An output item that only Perplexity's own dialect can show. Other protocols skip it."""

    raw: bytes


class Warned(msgspec.Struct, frozen=True):
    """A sentence that the caller should read: something was adjusted. Comes before the first text.

    `left_out` names the part of the question that did not reach the upstream as it was asked."""

    sentence: str
    left_out: str | None = None


class Annotation(msgspec.Struct, frozen=True, kw_only=True):
    """A citation in the text as sent: `text[start:end]` is the mark, counted in code points; start == end where the
    mark was stripped."""

    start: int
    end: int
    source: Source


class Citations(msgspec.Struct, frozen=True):
    """Every annotation of the answer, in order of place. Comes once, after the last text; refine.py makes it."""

    annotations: tuple[Annotation, ...]


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """The answer is whole.

    `served_model` is what answered, in the upstream's words; `substituted_by` is set if that is not what was asked.
    `needs_input` = the upstream asks back before it goes on. `continuation` is opaque to all but its upstream.
    `stopped_by` is the stop string at which the gateway cut the answer.
    `remaining_pro`: searches left of the owner's plan, None = not known; `took_pro` = this answer took one of them.
    """

    reason: FinishReason
    served_model: str | None = None
    substituted_by: str | None = None
    needs_input: bool = False
    usage: Usage | None = None
    continuation: object | None = None
    remaining_pro: int | None = None
    took_pro: bool = False
    stopped_by: str | None = None


AnswerEvent = (
    Started
    | ReasoningDelta
    | SearchStep
    | Sources
    | TextDelta
    | ToolCall
    | Images
    | RelatedQuestions
    | NativeItem
    | Warned
    | Citations
    | Finished
)
Batch = list[AnswerEvent]


class Answer:
    """Collects events into the whole answer, for callers who do not stream."""

    def __init__(self) -> None:
        self.text_parts: list[str] = []
        self.reasoning_parts: list[str] = []
        self.steps: list[SearchStep] = []
        self.sources: dict[int, Source] = {}
        self.tool_calls: list[ToolCall] = []
        self.images: list[Image] = []
        self.related_questions: list[str] = []
        self.warnings: list[str] = []
        self.left_out: list[str] = []
        self.annotations: tuple[Annotation, ...] = ()
        self.finished: Finished | None = None

    @property
    def text(self) -> str:
        return "".join(self.text_parts)

    @property
    def reasoning(self) -> str:
        return "".join(self.reasoning_parts)

    def collect(self, events: Iterable[AnswerEvent]) -> None:
        for event in events:
            if type(event) is TextDelta:  # as nearly all are
                self.text_parts.append(event.text)
            else:
                self._collect(event)

    def _collect(self, event: AnswerEvent) -> None:  # one line a kind: a table would only hide the match
        match event:
            case ReasoningDelta(text):
                self.reasoning_parts.append(text)
            case SearchStep():
                self.steps.append(event)
            case Sources(sources):
                self.sources.update((source.id, source) for source in sources)
            case ToolCall():
                self.tool_calls.append(event)
            case Images(images):
                self.images.extend(images)
            case RelatedQuestions(questions):
                self.related_questions.extend(questions)
            case Warned(sentence, left_out):
                self.warnings.append(sentence)
                self.left_out += [left_out] if left_out else []
            case Citations(annotations):
                self.annotations = annotations
            case Finished():
                self.finished = event
            case _:
                pass
