"""Who honours what: tables, not code.

Each upstream declares a Support for each Feature. A protocol names the features that a request really uses (default
values use none) and asks `settle` once: it refuses, drops or passes, by table and by setting. Nobody checks again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum, StrEnum
from typing import Literal, NamedTuple

from pplx_gateway.errors import UnsupportedParameter
from pplx_gateway.question import FilePart, ImagePart, JsonObjectFormat, JsonSchemaFormat, Message, Part, Question

Policy = Literal["reject", "drop"]


class Support(Enum):
    HONOURED = "honoured"  # passed on
    EMULATED = "emulated"  # done by the gateway itself
    HINT = "dropped"  # left out and told; the answer means the same without it
    PROMPTED = "by prompt"  # asked for in words, since nothing is guaranteed: refused unless `prompting` (see settle)
    REFUSED = "refused"  # the answer would mean something else: 400, or dropped where the policy says so


class Feature(StrEnum):
    TEMPERATURE = "temperature"
    TOP_P = "top_p"
    TOP_K = "top_k"
    MAX_OUTPUT_TOKENS = "max_output_tokens"
    STOP = "stop"
    CHOICES = "n"
    SEED = "seed"
    PENALTIES = "penalties"
    LOGPROBS = "logprobs"
    LOGIT_BIAS = "logit_bias"
    VERBOSITY = "verbosity"
    PREDICTION = "prediction"
    AUDIO = "audio"
    JSON_OBJECT = "json_object"
    JSON_SCHEMA = "json_schema"
    STRICT_SCHEMA = "strict_schema"  # the answer must fit the schema, not only try to
    REGEX_FORMAT = "regex"
    FUNCTIONS = "functions"
    SANDBOX = "sandbox"  # code that the upstream runs itself
    MAX_TOOL_CALLS = "max_tool_calls"
    EFFORT = "effort"
    IMAGES_IN = "image_input"
    FILES_IN = "file_input"
    IMAGE_ADDRESSES = "image_addresses"  # images by an https address, which the upstream fetches itself
    FILE_ADDRESSES = "file_addresses"
    SEARCH_OFF = "search_off"
    SOURCE_CHOICE = "sources"
    DOMAINS = "domains"
    LANGUAGES = "languages"
    RECENCY = "recency"
    DATES = "dates"
    UPDATED_DATES = "updated_dates"
    CONTEXT_SIZE = "context_size"
    MAX_RESULTS = "max_results"
    LOCATION = "location"
    LANGUAGE = "language"
    IMAGES_OUT = "images"
    IMAGE_FILTERS = "image_filters"
    RELATED_QUESTIONS = "related_questions"
    METADATA = "metadata"
    SERVICE_TIER = "service_tier"
    PROMPT_CACHE_KEY = "prompt_cache_key"
    TRUNCATION = "truncation"
    PREFILL = "prefill"  # a last turn by the assistant
    STORED_CONTEXT = "stored_context"  # threads and files that Perplexity kept for Sonar


class Use(NamedTuple):
    """`param` is the field as the caller wrote it, `feature` what it asks for."""

    param: str
    feature: Feature


class Settlement(NamedTuple):
    """What was left out: the callers' field names, and the features that the question must not carry."""

    dropped: tuple[str, ...]
    without: frozenset[Feature]


def settle(
    uses: Iterable[Use],
    support: Mapping[Feature, Support],
    policy: Policy,
    upstream: str,
    *,
    prompting: bool = False,
) -> Settlement:
    """`prompting`: the protocol takes a feature that is only asked for in words (Responses does, chat only by policy).

    Raises UnsupportedParameter for the first use that is refused. A feature that the table lacks is refused.
    """
    refused = (Support.REFUSED,) if prompting else (Support.REFUSED, Support.PROMPTED)
    dropped: list[str] = []
    without: set[Feature] = set()
    for param, feature in uses:
        verdict = support.get(feature, Support.REFUSED)
        if verdict in refused and policy == "reject":
            raise UnsupportedParameter(refusal(param, upstream, feature), param=param)
        if verdict in (Support.REFUSED, Support.HINT):
            dropped.append(param)
            without.add(feature)
    return Settlement(tuple(dropped), frozenset(without))


def refusal(param: str, upstream: str, feature: Feature | None = None) -> str:
    instead = _INSTEAD.get(feature, "Leave it out") if feature else "Leave it out"
    return (
        f"The {upstream} upstream cannot honour '{param}'. {instead}, choose a model of another upstream, "
        "or set PPLX_UNSUPPORTED=drop to have such fields dropped and named in the x-pplx-dropped header."
    )


_SEND_IT = "Send the file itself as a data URL or by the id of an uploaded file"
_INSTEAD = {
    Feature.IMAGE_ADDRESSES: _SEND_IT,
    Feature.FILE_ADDRESSES: _SEND_IT,
    Feature.PREFILL: "It ends with what the assistant said: end with a message of the user",
}


def used_features(question: Question) -> frozenset[Feature]:
    """What a finished question still asks of whoever answers it; for those who take over from another upstream."""
    return frozenset(feature for feature, used in _USED.items() if used(question))


def _has(question: Question, kind: type[Part]) -> bool:
    return any(isinstance(part, kind) for part in _parts(question))


def by_address(part: Part) -> bool:
    """True for an image or a file that comes without its bytes."""
    if isinstance(part, FilePart):
        return part.data is None
    return isinstance(part, ImagePart) and not part.url.startswith("data:")


def _parts(question: Question) -> Iterator[Part]:
    for turn in question.turns:
        if isinstance(turn, Message):
            yield from turn.parts


_USED: dict[Feature, Callable[[Question], object]] = {
    Feature.TEMPERATURE: lambda q: q.sampling.temperature is not None,
    Feature.TOP_P: lambda q: q.sampling.top_p is not None,
    Feature.MAX_OUTPUT_TOKENS: lambda q: q.sampling.max_output_tokens is not None,
    Feature.STOP: lambda q: q.sampling.stop,
    Feature.JSON_OBJECT: lambda q: isinstance(q.format, JsonObjectFormat),
    Feature.JSON_SCHEMA: lambda q: isinstance(q.format, JsonSchemaFormat),
    Feature.STRICT_SCHEMA: lambda q: isinstance(q.format, JsonSchemaFormat) and q.format.strict,
    Feature.SANDBOX: lambda q: q.sandbox,
    Feature.FUNCTIONS: lambda q: q.functions or not all(isinstance(turn, Message) for turn in q.turns),
    Feature.MAX_TOOL_CALLS: lambda q: q.max_tool_calls is not None,
    Feature.IMAGES_IN: lambda q: _has(q, ImagePart),
    Feature.FILES_IN: lambda q: _has(q, FilePart),
    Feature.IMAGE_ADDRESSES: lambda q: any(by_address(p) for p in _parts(q) if isinstance(p, ImagePart)),
    Feature.FILE_ADDRESSES: lambda q: any(by_address(p) for p in _parts(q) if isinstance(p, FilePart)),
    Feature.SEARCH_OFF: lambda q: q.search.enabled is False,
    Feature.SOURCE_CHOICE: lambda q: set(q.search.sources) - {"web"},
    Feature.DOMAINS: lambda q: q.search.domains,
    Feature.RECENCY: lambda q: q.search.recency,
    Feature.DATES: lambda q: q.search.after or q.search.before,
    Feature.UPDATED_DATES: lambda q: q.search.updated_after or q.search.updated_before,
    Feature.LOCATION: lambda q: q.search.location,
    Feature.PREFILL: lambda q: isinstance(q.turns[-1], Message) and q.turns[-1].role == "assistant",
}
