"""The objects of Sonar's answers and chunks. `message` is what has been said so far, `delta` what is new."""

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from pplx_gateway.answer import Answer, Finished, FinishReason, Image
from pplx_gateway.protocols.openai.chat_objects import (
    Extension,
    ImageObject,
    SearchResult,
    ToolCallObject,
    extras,
    tool_call_object,
)
from pplx_gateway.protocols.openai.reply import Head, Told, extension
from pplx_gateway.protocols.perplexity.sonar.steps import ReasoningStep
from pplx_gateway.protocols.perplexity.sonar.usage import SonarUsage, sonar_usage

Object = Literal[
    "chat.completion", "chat.completion.chunk", "chat.reasoning", "chat.reasoning.done", "chat.completion.done"
]


class SonarImageResult(msgspec.Struct, frozen=True, kw_only=True):
    """`url` and `caption` repeat `image_url` and `title`. Clients refuse an answer in which a page or a measure is
    missing: where the upstream names none they are empty and 0."""

    image_url: str
    url: str
    origin_url: str
    title: str
    caption: str
    width: int
    height: int


class SonarReplyMessage(msgspec.Struct, frozen=True, kw_only=True):
    role: Literal["assistant"] = "assistant"
    content: str = ""
    reasoning_steps: list[ReasoningStep] | msgspec.UnsetType = msgspec.UNSET
    tool_calls: list[ToolCallObject] | msgspec.UnsetType = msgspec.UNSET


class SonarChoice(msgspec.Struct, frozen=True, kw_only=True):
    message: SonarReplyMessage
    index: int = 0
    finish_reason: FinishReason | None = None
    delta: SonarReplyMessage = SonarReplyMessage()


class SonarCompletion(msgspec.Struct, frozen=True, kw_only=True):
    """An answer, or a chunk of one. `type` is `end_of_stream` in the last chunk, and `status` is COMPLETED there."""

    id: str
    object: Object
    created: int
    model: str
    choices: list[SonarChoice]
    type: Literal["message", "end_of_stream"] = "message"
    status: Literal["PENDING", "COMPLETED"] = "PENDING"
    usage: SonarUsage | msgspec.UnsetType | None = msgspec.UNSET
    citations: list[str] | msgspec.UnsetType = msgspec.UNSET
    search_results: list[SearchResult] | msgspec.UnsetType = msgspec.UNSET
    images: list[SonarImageResult] | msgspec.UnsetType = msgspec.UNSET
    related_questions: list[str] | msgspec.UnsetType = msgspec.UNSET
    pplx: Extension | msgspec.UnsetType = msgspec.UNSET


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What the request says of its answer's form. `by_searches`: see usage.BY_SEARCHES."""

    num_images: int | None = None
    context_size: str | None = None
    by_searches: bool = False


def image_results(images: Iterable[Image | ImageObject]) -> list[SonarImageResult]:
    return [
        SonarImageResult(
            image_url=image.image_url,
            url=image.image_url,
            origin_url=image.origin_url or "",
            title=image.title or "",
            caption=image.title or "",
            width=image.width or 0,
            height=image.height or 0,
        )
        for image in images
    ]


def found(answer: Answer, shown: Shown) -> dict[str, Any]:
    """What stands beside the text: pages, images, questions."""
    beside = extras(answer)
    if images := image_results(answer.images[: shown.num_images]):
        return {**beside, "images": images}
    return {name: value for name, value in beside.items() if name != "images"}


def reply_message(answer: Answer, steps: Iterable[ReasoningStep]) -> SonarReplyMessage:
    return SonarReplyMessage(
        content=answer.text,
        reasoning_steps=list(steps) or msgspec.UNSET,
        tool_calls=[tool_call_object(call) for call in answer.tool_calls] or msgspec.UNSET,
    )


def whole(
    head: Head,
    kind: Object,
    answer: Answer,
    finished: Finished,
    *,
    steps: Iterable[ReasoningStep],
    told: Told,
    shown: Shown,
) -> SonarCompletion:
    """The whole answer, as the one reply or as the last chunk."""
    usage = finished.usage
    return SonarCompletion(
        id=head.id,
        object=kind,
        created=head.created,
        model=head.model,
        choices=[SonarChoice(message=reply_message(answer, steps), finish_reason=finished.reason)],
        type="message" if kind == "chat.completion" else "end_of_stream",
        status="COMPLETED",
        usage=sonar_usage(usage, context_size=shown.context_size, by_searches=shown.by_searches) if usage else None,
        pplx=extension(told, answer, finished),
        **found(answer, shown),
    )
