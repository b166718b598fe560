"""What the api upstream honours (docs/wire-agent.md 2.1 to 2.3, 13.2)."""

from collections.abc import Mapping

from pplx_gateway.capabilities import Feature, Support
from pplx_gateway.catalogue import Model

_BARE: Mapping[Feature, Support] = {
    Feature.TEMPERATURE: Support.HONOURED,
    Feature.TOP_P: Support.HONOURED,
    Feature.TOP_K: Support.REFUSED,
    Feature.MAX_OUTPUT_TOKENS: Support.HONOURED,
    Feature.STOP: Support.EMULATED,
    Feature.CHOICES: Support.REFUSED,
    Feature.SEED: Support.HINT,
    Feature.PENALTIES: Support.REFUSED,
    Feature.LOGPROBS: Support.REFUSED,
    Feature.LOGIT_BIAS: Support.REFUSED,
    Feature.VERBOSITY: Support.HINT,
    Feature.PREDICTION: Support.HINT,
    Feature.AUDIO: Support.REFUSED,
    Feature.JSON_OBJECT: Support.EMULATED,
    Feature.JSON_SCHEMA: Support.HONOURED,
    Feature.STRICT_SCHEMA: Support.HONOURED,
    Feature.REGEX_FORMAT: Support.REFUSED,
    Feature.FUNCTIONS: Support.HONOURED,
    Feature.SANDBOX: Support.HONOURED,
    Feature.MAX_TOOL_CALLS: Support.HONOURED,
    Feature.EFFORT: Support.HONOURED,
    Feature.IMAGES_IN: Support.HONOURED,
    Feature.FILES_IN: Support.HONOURED,
    Feature.IMAGE_ADDRESSES: Support.HONOURED,
    Feature.FILE_ADDRESSES: Support.HONOURED,
    Feature.SEARCH_OFF: Support.HONOURED,
    # finance has a tool of its own; for academic and social the answer carries a warning (tools.py)
    Feature.SOURCE_CHOICE: Support.HONOURED,
    Feature.DOMAINS: Support.HONOURED,
    Feature.LANGUAGES: Support.HINT,
    Feature.RECENCY: Support.HONOURED,
    Feature.DATES: Support.HONOURED,
    Feature.UPDATED_DATES: Support.HONOURED,
    Feature.CONTEXT_SIZE: Support.HONOURED,
    Feature.MAX_RESULTS: Support.HONOURED,
    Feature.LOCATION: Support.HONOURED,
    Feature.LANGUAGE: Support.HONOURED,
    Feature.IMAGES_OUT: Support.HONOURED,
    Feature.IMAGE_FILTERS: Support.HONOURED,
    Feature.RELATED_QUESTIONS: Support.HINT,
    Feature.METADATA: Support.HONOURED,
    Feature.SERVICE_TIER: Support.HONOURED,
    Feature.PROMPT_CACHE_KEY: Support.HONOURED,
    Feature.TRUNCATION: Support.HONOURED,
    Feature.PREFILL: Support.HONOURED,
    Feature.STORED_CONTEXT: Support.REFUSED,
}

_LEVEL: Mapping[Feature, Support] = {**_BARE, Feature.SEARCH_OFF: Support.REFUSED}

_SEARCH_FEATURES = (
    Feature.SOURCE_CHOICE,
    Feature.DOMAINS,
    Feature.RECENCY,
    Feature.DATES,
    Feature.UPDATED_DATES,
    Feature.CONTEXT_SIZE,
    Feature.MAX_RESULTS,
    Feature.LOCATION,
    Feature.IMAGES_OUT,
    Feature.IMAGE_FILTERS,
)
_WITHOUT_TOOLS: Mapping[Feature, Support] = {
    **_BARE,
    Feature.FUNCTIONS: Support.REFUSED,
    **dict.fromkeys(_SEARCH_FEATURES, Support.HINT),
}


def support(model: Model) -> Mapping[Feature, Support]:
    """A level always searches; a model without tools neither searches nor calls functions."""
    if model.agent is None:
        return {}
    if model.agent.search == "never":
        return _WITHOUT_TOOLS
    return _LEVEL if model.agent.effort else _BARE
