"""The fields that only a chat request has, and what its messages ask for."""

from collections.abc import Iterator, Sequence

from pplx_gateway.capabilities import Feature, Use
from pplx_gateway.protocols.openai.chat_request import (
    AssistantMessage,
    ChatRequest,
    FunctionMessage,
    JsonObject,
    JsonSchema,
    RegexFormat,
    ToolMessage,
    UserMessage,
)
from pplx_gateway.protocols.openai.content import FileContent, FileUrlContent, ImageContent, PdfUrlContent
from pplx_gateway.protocols.openai.fields import COMMON, Field, Fields

F = Feature


def _strict(request: ChatRequest) -> object:
    form = request.response_format
    return isinstance(form, JsonSchema) and form.json_schema.strict


CHAT_FIELDS: Fields[ChatRequest] = Fields(
    (
        Field("tools", F.FUNCTIONS, lambda r: r.tools),
        Field("functions", F.FUNCTIONS, lambda r: r.functions),
        Field("response_format", F.JSON_OBJECT, lambda r: isinstance(r.response_format, JsonObject)),
        Field("response_format", F.JSON_SCHEMA, lambda r: isinstance(r.response_format, JsonSchema)),
        Field("response_format.json_schema.strict", F.STRICT_SCHEMA, _strict),
        Field("response_format.type", F.REGEX_FORMAT, lambda r: isinstance(r.response_format, RegexFormat)),
        Field("verbosity", F.VERBOSITY, lambda r: r.verbosity not in (None, "medium")),
        Field("max_tokens", F.MAX_OUTPUT_TOKENS, lambda r: r.max_tokens is not None),
        Field("max_completion_tokens", F.MAX_OUTPUT_TOKENS, lambda r: r.max_completion_tokens is not None),
        Field("n", F.CHOICES, lambda r: r.n not in (None, 1)),
        Field("best_of", F.CHOICES, lambda r: r.best_of not in (None, 1)),
        Field("logit_bias", F.LOGIT_BIAS, lambda r: r.logit_bias),
        Field("logprobs", F.LOGPROBS, lambda r: r.logprobs),
        Field("prediction", F.PREDICTION, lambda r: r.prediction is not None),
        Field("modalities", F.AUDIO, lambda r: r.modalities is not None and r.modalities != ["text"]),
        Field("audio", F.AUDIO, lambda r: r.audio is not None),
        Field("metadata", F.METADATA, lambda r: r.metadata),
        *COMMON,
        Field("store", None, lambda r: r.store),
    ),
    elsewhere=(
        ("messages[].content[].image_url", F.IMAGES_IN),
        ("messages[].content[].file", F.FILES_IN),
        ("messages[].content[].image_url (an https address)", F.IMAGE_ADDRESSES),
        ("messages[].content[].file_url", F.FILE_ADDRESSES),
        ("messages (the last one by the assistant)", F.PREFILL),
    ),
)

_CONTENT: dict[type, Feature] = {
    ImageContent: F.IMAGES_IN,
    FileContent: F.FILES_IN,
    FileUrlContent: F.FILE_ADDRESSES,
    PdfUrlContent: F.FILE_ADDRESSES,
}
_OF_TOOLS = (ToolMessage, FunctionMessage)


def uses(request: ChatRequest) -> Iterator[Use]:
    """Everything that the request really asks for."""
    yield from _uses_of_messages(request)
    yield from CHAT_FIELDS.uses(request)


def advisory(request: ChatRequest) -> tuple[str, ...]:
    """What the request carries without an effect: advisory fields, and names and details inside messages."""
    return (*CHAT_FIELDS.advisory(request), *_idle_in_messages(request))


def _uses_of_messages(request: ChatRequest) -> Iterator[Use]:
    for index, message in enumerate(request.messages):
        if isinstance(message, UserMessage) and isinstance(message.content, list):
            for place, part in enumerate(message.content):
                at = f"messages[{index}].content[{place}]"
                if feature := _CONTENT.get(type(part)):
                    yield Use(at, feature)
                if isinstance(part, ImageContent) and part.image_url.url[:5].lower() != "data:":
                    yield Use(f"{at}.image_url.url", F.IMAGE_ADDRESSES)
        elif isinstance(message, _OF_TOOLS) and not (request.tools or request.functions):
            yield Use(f"messages[{index}]", F.FUNCTIONS)
    last = request.messages[-1]
    if isinstance(last, AssistantMessage) and last.content:
        yield Use("messages", F.PREFILL)


def _idle_in_messages(request: ChatRequest) -> Iterator[str]:
    for index, message in enumerate(request.messages):
        if message.name and type(message) is not FunctionMessage:
            yield f"messages[{index}].name"
        if type(message.content) is list:
            yield from _idle_details(message.content, f"messages[{index}].content")


def _idle_details(content: Sequence[object], at: str) -> Iterator[str]:
    for place, part in enumerate(content):
        if isinstance(part, ImageContent) and part.image_url.detail not in (None, "auto"):
            yield f"{at}[{place}].image_url.detail"
