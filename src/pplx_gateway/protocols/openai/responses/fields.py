"""The fields that only a request for a response has, and what its input and tools ask for."""

from collections.abc import Iterator

from pplx_gateway.capabilities import Feature, Use
from pplx_gateway.errors import InvalidRequest, UnsupportedParameter
from pplx_gateway.protocols.openai.fields import COMMON, Field, Fields
from pplx_gateway.protocols.openai.responses.request import ObjectFormat, ResponsesRequest, SchemaFormat

F = Feature

SOURCES = "web_search_call.action.sources"
_LOGPROBS = "message.output_text.logprobs"
# What these would add never stands in an answer of ours; clients ask for them as a habit.
_WITHOUT_EFFECT = (
    "reasoning.encrypted_content",
    "web_search_call.results",
    "file_search_call.results",
    "code_interpreter_call.outputs",
    "computer_call_output.output.image_url",
    "message.input_image.image_url",
)
INCLUDABLE = frozenset((SOURCES, _LOGPROBS, *_WITHOUT_EFFECT))
MISNAMED = {
    "messages": "input",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "response_format": "text.format",
    "verbosity": "text.verbosity",
    "functions": "tools",
    "function_call": "tool_choice",
}


def _form(request: ResponsesRequest) -> object:
    return request.text and request.text.format


def _strict(request: ResponsesRequest) -> object:
    form = _form(request)
    return isinstance(form, SchemaFormat) and form.strict


RESPONSES_FIELDS: Fields[ResponsesRequest] = Fields(
    (
        Field("text.format", F.JSON_OBJECT, lambda r: isinstance(_form(r), ObjectFormat)),
        Field("text.format", F.JSON_SCHEMA, lambda r: isinstance(_form(r), SchemaFormat)),
        Field("text.format.strict", F.STRICT_SCHEMA, _strict),
        Field("text.verbosity", F.VERBOSITY, lambda r: r.text and r.text.verbosity not in (None, "medium")),
        Field("max_output_tokens", F.MAX_OUTPUT_TOKENS, lambda r: r.max_output_tokens is not None),
        Field("max_tool_calls", F.MAX_TOOL_CALLS, lambda r: r.max_tool_calls is not None),
        *COMMON,
        Field("prompt_cache_retention", None, lambda r: r.prompt_cache_retention),
    ),
    elsewhere=(
        ("include[] (message.output_text.logprobs)", F.LOGPROBS),
        ("tools[] (function)", F.FUNCTIONS),
        ("tools[].filters.allowed_domains (web_search)", F.DOMAINS),
        ("tools[].search_context_size (web_search)", F.CONTEXT_SIZE),
        ("tools[].user_location (web_search)", F.LOCATION),
        ("input[].content[] (input_image)", F.IMAGES_IN),
        ("input[].content[] (input_file)", F.FILES_IN),
        ("input[].content[].image_url (an https address)", F.IMAGE_ADDRESSES),
        ("input[].content[].file_url", F.FILE_ADDRESSES),
        ("input (the last item by the assistant)", F.PREFILL),
    ),
)


def check(request: ResponsesRequest) -> None:
    """Refuses what no policy lets pass: a conversation or a prompt that is kept elsewhere cannot be left out, for the
    answer would lack its context. Raises InvalidRequest, UnsupportedParameter."""
    if request.conversation is not None:
        raise UnsupportedParameter(
            "'conversation': no conversations are kept here. Go on from a response by 'previous_response_id'.",
            param="conversation",
        )
    if request.prompt is not None:
        raise UnsupportedParameter(
            "'prompt': no prompts are kept here. Send its text as 'instructions' and 'input'.", param="prompt"
        )
    if request.background and not request.kept:
        raise InvalidRequest("'background' needs 'store': a run is found again by what is kept.", param="background")
    for index, name in enumerate(request.include or ()):
        if name not in INCLUDABLE:
            works = ", ".join(sorted(INCLUDABLE))
            raise InvalidRequest(
                f"'include[{index}]' is not known. What can be named: {works}.", param=f"include[{index}]"
            )


def uses(request: ResponsesRequest) -> Iterator[Use]:
    """What the request asks for outside its input and its tools."""
    yield from RESPONSES_FIELDS.uses(request)
    for index, name in enumerate(request.include or ()):
        if name == _LOGPROBS:
            yield Use(f"include[{index}]", F.LOGPROBS)


def advisory(request: ResponsesRequest) -> Iterator[str]:
    """What the request carries without an effect."""
    yield from RESPONSES_FIELDS.advisory(request)
    for index, name in enumerate(request.include or ()):
        if name in _WITHOUT_EFFECT:
            yield f"include[{index}]"
