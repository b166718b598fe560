"""The objects inside chat replies and chunks: OpenAI's own, and Perplexity's extensions at the top level."""

from collections.abc import Iterable, Mapping

import msgspec

from pplx_gateway import answer
from pplx_gateway.answer import Annotation, Image, Source
from pplx_gateway.complexity import Tier
from pplx_gateway.protocols.openai.usage import UsageObject

# `citations[n-1]` is how Sonar's clients read a mark [n], so ids keep their places; sparse ids are padded up to here.
MOST_CITATIONS = 200


class UrlCitation(msgspec.Struct, frozen=True, kw_only=True):
    """`content[start_index:end_index]` is the mark, in code points; both are equal where the mark was stripped."""

    url: str
    title: str
    start_index: int
    end_index: int


class AnnotationObject(msgspec.Struct, frozen=True):
    url_citation: UrlCitation
    type: str = "url_citation"


class CalledFunction(msgspec.Struct, frozen=True):
    name: str
    arguments: str


class ToolCallObject(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`thought_signature` is the upstream's own and may be sent back with the call."""

    id: str
    type: str
    function: CalledFunction
    index: int | msgspec.UnsetType = msgspec.UNSET
    thought_signature: str | None = None


class SearchResult(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    title: str
    url: str
    date: str | None
    last_updated: str | None
    snippet: str
    source: str


class ImageObject(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`url` and `caption` repeat `image_url` and `title` under other clients' names."""

    image_url: str
    url: str
    origin_url: str | None = None
    title: str | None = None
    caption: str | None = None
    width: int | None = None
    height: int | None = None


class Routed(msgspec.Struct, frozen=True, kw_only=True):
    """How hard the router found the question: `score` is from 0 to 1, `reason` says who rated."""

    tier: Tier
    score: float
    reason: str


class Extension(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What OpenAI's shape has no place for. Keys without news are left out.

    `served_model` is what answered, in the upstream's words; `substituted_by` is set if that is not what was asked for.
    `needs_input`: the upstream asks back before it goes on. `failover` is the code of the error that made another
    upstream answer. `remaining_pro`: Pro searches left of the plan; left out where that is not known."""

    upstream: str
    served_model: str | None = None
    substituted_by: str | None = None
    remaining_pro: int | None = None
    needs_input: bool = False
    usage_estimated: bool = False
    failover: str | None = None
    dropped: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    router: Routed | None = None


class ReplyMessage(msgspec.Struct, frozen=True, kw_only=True):
    role: str
    content: str | None
    refusal: str | None
    annotations: list[AnnotationObject]
    tool_calls: list[ToolCallObject] | msgspec.UnsetType = msgspec.UNSET
    reasoning_content: str | msgspec.UnsetType = msgspec.UNSET


class ReplyChoice(msgspec.Struct, frozen=True, kw_only=True):
    index: int
    message: ReplyMessage
    logprobs: None
    finish_reason: answer.FinishReason


class ChatCompletion(msgspec.Struct, frozen=True, kw_only=True):
    """A whole answer. `model` is what answered."""

    id: str
    object: str
    created: int
    model: str
    choices: list[ReplyChoice]
    usage: UsageObject | None
    system_fingerprint: None
    citations: list[str] | msgspec.UnsetType = msgspec.UNSET
    search_results: list[SearchResult] | msgspec.UnsetType = msgspec.UNSET
    images: list[ImageObject] | msgspec.UnsetType = msgspec.UNSET
    related_questions: list[str] | msgspec.UnsetType = msgspec.UNSET
    pplx: Extension | msgspec.UnsetType = msgspec.UNSET


class Delta(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    role: str | None = None
    content: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[ToolCallObject] | None = None
    annotations: list[AnnotationObject] | None = None


class ChunkChoice(msgspec.Struct, frozen=True, kw_only=True):
    index: int
    delta: Delta
    logprobs: None
    finish_reason: answer.FinishReason | None


class ChatCompletionChunk(msgspec.Struct, frozen=True, kw_only=True):
    """One `data:` frame of a stream. `usage` is there only if `stream_options.include_usage` asked for it."""

    id: str
    object: str
    created: int
    model: str
    system_fingerprint: None
    choices: list[ChunkChoice]
    usage: UsageObject | msgspec.UnsetType | None = msgspec.UNSET
    citations: list[str] | msgspec.UnsetType = msgspec.UNSET
    search_results: list[SearchResult] | msgspec.UnsetType = msgspec.UNSET
    images: list[ImageObject] | msgspec.UnsetType = msgspec.UNSET
    related_questions: list[str] | msgspec.UnsetType = msgspec.UNSET
    pplx: Extension | msgspec.UnsetType = msgspec.UNSET


def annotation_objects(annotations: Iterable[Annotation]) -> list[AnnotationObject]:
    return [
        AnnotationObject(UrlCitation(url=a.source.url, title=a.source.title, start_index=a.start, end_index=a.end))
        for a in annotations
    ]


def citations(sources: Mapping[int, Source]) -> list[str]:
    """Addresses by id: `citations[n-1]` is source n, "" where there is none. Ids above MOST_CITATIONS are left out."""
    last = max((number for number in sources if number <= MOST_CITATIONS), default=0)
    return [sources[number].url if number in sources else "" for number in range(1, last + 1)]


def search_results(sources: Mapping[int, Source]) -> list[SearchResult]:
    return [
        SearchResult(
            id=source.id,
            title=source.title,
            url=source.url,
            date=source.date,
            last_updated=source.last_updated,
            snippet=source.snippet,
            source=source.kind,
        )
        for _, source in sorted(sources.items())
    ]


def image_objects(images: Iterable[Image]) -> list[ImageObject]:
    return [
        ImageObject(
            image_url=image.image_url,
            url=image.image_url,
            origin_url=image.origin_url,
            title=image.title,
            caption=image.title,
            width=image.width,
            height=image.height,
        )
        for image in images
    ]


def tool_call_object(call: answer.ToolCall, index: int | msgspec.UnsetType = msgspec.UNSET) -> ToolCallObject:
    return ToolCallObject(
        id=call.call_id,
        type="function",
        function=CalledFunction(call.name, call.arguments),
        index=index,
        thought_signature=call.signature,
    )


def extras(collected: answer.Answer) -> dict[str, object]:
    """The top-level extensions of a finished answer that have something to say."""
    found: dict[str, object] = {}
    if collected.sources:
        found["citations"] = citations(collected.sources)
        found["search_results"] = search_results(collected.sources)
    if collected.images:
        found["images"] = image_objects(collected.images)
    if collected.related_questions:
        found["related_questions"] = collected.related_questions
    return found
