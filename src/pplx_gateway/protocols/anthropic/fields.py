"""Which field of a request asks for which feature, and which of its values ask for nothing."""

from collections.abc import Iterator, Mapping

from pplx_gateway.capabilities import Feature, Support, Use, refusal
from pplx_gateway.errors import UnsupportedParameter
from pplx_gateway.protocols.anthropic.parts import CACHE_CONTROL
from pplx_gateway.protocols.anthropic.request import CountRequest, MessagesRequest, OutputFormat
from pplx_gateway.protocols.openai.fields import IDLE_SEARCH, SEARCH, Field, Fields, stops
from pplx_gateway.protocols.openai.settling import Target
from pplx_gateway.question import Effort

F = Feature
BUDGETS: tuple[tuple[int, Effort], ...] = ((4_096, "low"), (16_384, "medium"))
"""Up to how many tokens of a thinking budget are which effort; more is high."""
_BOUNDS = (F.MAX_OUTPUT_TOKENS, F.MAX_TOOL_CALLS)
"""What a request bounds, and every request must, or its clients do unasked: an upstream without them answers, too."""


def _used_format(form: OutputFormat | None) -> object:
    return form is not None


_QUESTION: tuple[Field[CountRequest], ...] = (
    Field("thinking", F.EFFORT, lambda r: r.thinking and r.thinking.type != "disabled"),
    Field("output_config.effort", F.EFFORT, lambda r: r.output_config and r.output_config.effort),
    Field("output_config.format", F.JSON_SCHEMA, lambda r: r.output_config and _used_format(r.output_config.format)),
    Field("output_config.format", F.STRICT_SCHEMA, lambda r: r.output_config and _used_format(r.output_config.format)),
    Field("output_format", F.JSON_SCHEMA, lambda r: _used_format(r.output_format)),
    Field("output_format", F.STRICT_SCHEMA, lambda r: _used_format(r.output_format)),
    *SEARCH,
    Field(CACHE_CONTROL, None, lambda r: r.cache_control),
    Field("context_management", None, lambda r: r.context_management),
    Field("speed", None, lambda r: r.speed == "fast"),
    Field("user_profile_id", None, lambda r: r.user_profile_id),
    Field("workspace_id", None, lambda r: r.workspace_id),
    *IDLE_SEARCH,
)
COUNT_FIELDS: Fields[CountRequest] = Fields(_QUESTION, elsewhere=())
MESSAGES_FIELDS: Fields[MessagesRequest] = Fields(
    (
        Field("max_tokens", F.MAX_OUTPUT_TOKENS, lambda _: True),
        Field("temperature", F.TEMPERATURE, lambda r: r.temperature not in (None, 1)),
        Field("top_p", F.TOP_P, lambda r: r.top_p not in (None, 1)),
        Field("top_k", F.TOP_K, lambda r: r.top_k),
        Field("stop_sequences", F.STOP, lambda r: any(stops(r.stop_sequences or [], "stop_sequences"))),
        *_QUESTION,
        Field("metadata.user_id", None, lambda r: r.metadata and r.metadata.user_id),
        Field("diagnostics", None, lambda r: r.diagnostics),
    ),
    elsewhere=(
        ("tools", F.FUNCTIONS),
        ("tools[] (web_search).allowed_domains, blocked_domains", F.DOMAINS),
        ("tools[] (web_search).user_location", F.LOCATION),
        ("tools[] (web_search).max_uses", F.MAX_TOOL_CALLS),
        ("tool_choice (none, beside web_search)", F.SEARCH_OFF),
        ("messages[].content[] (image)", F.IMAGES_IN),
        ("messages[].content[] (document)", F.FILES_IN),
        ("messages[].content[] (image).source.url", F.IMAGE_ADDRESSES),
        ("messages[].content[] (document).source.url", F.FILE_ADDRESSES),
        ("messages (the last one by the assistant)", F.PREFILL),
    ),
)
MISNAMED = {
    "max_completion_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "stop": "stop_sequences",
    "input": "messages",
    "instructions": "system",
    "functions": "tools",
    "reasoning_effort": "output_config.effort",
    "response_format": "output_config.format",
}
"""Names of elsewhere, with what they are called here."""


def uses(request: CountRequest) -> Iterator[Use]:
    """What the fields really ask for. Raises InvalidRequest for more stop strings than anybody needs."""
    return MESSAGES_FIELDS.uses(request) if isinstance(request, MessagesRequest) else COUNT_FIELDS.uses(request)


def advisory(request: CountRequest) -> tuple[str, ...]:
    """The fields without an effect that the request carries."""
    if isinstance(request, MessagesRequest):
        return MESSAGES_FIELDS.advisory(request)
    return COUNT_FIELDS.advisory(request)


def lenient(support: Mapping[Feature, Support]) -> Mapping[Feature, Support]:
    """Bounds that an upstream does not know are left out and told, where other protocols refuse them: `max_tokens` is
    required here, so that nobody could ask otherwise."""
    hints = {bound: Support.HINT for bound in _BOUNDS if support.get(bound) is Support.REFUSED}
    return {**support, **hints} if hints else support


def lacking(request: CountRequest, target: Target) -> tuple[str, ...]:
    """Fields that nobody here has, and whose loss would change what is asked. Raises UnsupportedParameter unless the
    policy drops."""
    found = tuple(_lacking(request))
    if found and target.policy == "reject":
        raise UnsupportedParameter(refusal(found[0], target.upstream), param=found[0])
    return found


def _lacking(request: CountRequest) -> Iterator[str]:
    if request.mcp_servers:
        yield "mcp_servers"
    if isinstance(request, MessagesRequest):
        if request.container is not None:
            yield "container"
        if request.inference_geo not in (None, "global"):
            yield "inference_geo"
        if request.thread is not None:
            yield "thread"
