"""What a chat completion and a response are both asked with: model, effort, sampling, advice, and the search fields."""

from typing import Annotated, Literal

import msgspec

from pplx_gateway.protocols.openai.search_fields import SearchFields
from pplx_gateway.question import Effort

Temperature = Annotated[float, msgspec.Meta(ge=0, le=2)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Penalty = Annotated[float, msgspec.Meta(ge=-2, le=2)]
Positive = Annotated[int, msgspec.Meta(ge=1)]
NotNegative = Annotated[int, msgspec.Meta(ge=0)]
FunctionName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
MetadataKey = Annotated[str, msgspec.Meta(max_length=64)]
MetadataValue = Annotated[str, msgspec.Meta(max_length=512)]
Metadata = Annotated[dict[MetadataKey, MetadataValue], msgspec.Meta(max_length=16)]
EffortName = Effort | Literal["max"]
Verbosity = Literal["low", "medium", "high"]


class Reasoning(msgspec.Struct, frozen=True, kw_only=True):
    effort: EffortName | None = None


class ThinkingSwitch(msgspec.Struct, frozen=True):
    """Thinking as an object; other keys, such as a budget, have no effect."""

    type: Literal["enabled", "disabled", "adaptive"]


class CommonRequest(SearchFields, frozen=True, kw_only=True):
    """`model` may be left out; DEFAULT_MODEL then answers."""

    model: str | None = None
    stream: bool | None = None
    parallel_tool_calls: bool | None = None

    reasoning_effort: EffortName | None = None
    reasoning: Reasoning | None = None
    thinking: bool | ThinkingSwitch | None = None

    temperature: Temperature | None = None
    top_p: Share | None = None
    top_k: NotNegative | None = None
    stop: str | list[str] | None = None
    seed: int | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    top_logprobs: NotNegative | None = None

    user: str | None = None
    metadata: Metadata | None = None
    store: bool | None = None
    service_tier: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    truncation: Literal["auto", "disabled"] | None = None

    citation_marks: Literal["strip", "keep", "link"] | None = None
    source_list: Literal["off", "append"] | None = None
