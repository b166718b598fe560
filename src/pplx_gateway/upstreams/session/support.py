"""What the session honours (docs/wire-session.md 1.3). It has no generation controls of its own."""

from collections.abc import Mapping

from pplx_gateway.capabilities import Feature, Support
from pplx_gateway.catalogue import Model

_TABLE: Mapping[Feature, Support] = {
    Feature.TEMPERATURE: Support.REFUSED,
    Feature.TOP_P: Support.REFUSED,
    Feature.TOP_K: Support.REFUSED,
    Feature.MAX_OUTPUT_TOKENS: Support.REFUSED,
    Feature.STOP: Support.REFUSED,
    Feature.CHOICES: Support.REFUSED,
    Feature.SEED: Support.REFUSED,
    Feature.PENALTIES: Support.REFUSED,
    Feature.LOGPROBS: Support.REFUSED,
    Feature.LOGIT_BIAS: Support.REFUSED,
    Feature.VERBOSITY: Support.REFUSED,
    Feature.PREDICTION: Support.HINT,
    Feature.AUDIO: Support.REFUSED,
    Feature.JSON_OBJECT: Support.PROMPTED,
    Feature.JSON_SCHEMA: Support.PROMPTED,
    Feature.STRICT_SCHEMA: Support.REFUSED,
    Feature.REGEX_FORMAT: Support.REFUSED,
    Feature.FUNCTIONS: Support.EMULATED,
    Feature.MAX_TOOL_CALLS: Support.REFUSED,
    Feature.SANDBOX: Support.REFUSED,
    Feature.IMAGES_IN: Support.HONOURED,
    Feature.FILES_IN: Support.HONOURED,
    # by address they would have to be fetched, which is never done for a caller
    Feature.IMAGE_ADDRESSES: Support.REFUSED,
    Feature.FILE_ADDRESSES: Support.REFUSED,
    Feature.SEARCH_OFF: Support.HONOURED,
    Feature.SOURCE_CHOICE: Support.HONOURED,
    Feature.DOMAINS: Support.REFUSED,
    Feature.LANGUAGES: Support.REFUSED,
    Feature.RECENCY: Support.HONOURED,
    Feature.DATES: Support.REFUSED,
    Feature.UPDATED_DATES: Support.REFUSED,
    Feature.CONTEXT_SIZE: Support.HINT,
    Feature.MAX_RESULTS: Support.HINT,
    Feature.LOCATION: Support.HONOURED,
    Feature.LANGUAGE: Support.HONOURED,
    Feature.IMAGES_OUT: Support.HONOURED,
    Feature.IMAGE_FILTERS: Support.EMULATED,
    Feature.RELATED_QUESTIONS: Support.HONOURED,
    Feature.METADATA: Support.HINT,
    Feature.SERVICE_TIER: Support.HINT,
    Feature.PROMPT_CACHE_KEY: Support.HINT,
    Feature.TRUNCATION: Support.REFUSED,
    Feature.PREFILL: Support.REFUSED,
    Feature.STORED_CONTEXT: Support.REFUSED,
}


def support_of(model: Model) -> Mapping[Feature, Support]:
    """Effort chooses the thinking variant, where the model has one; elsewhere it changes nothing."""
    thinks = model.session is not None and model.session.thinking_id is not None
    effort = {Feature.EFFORT: Support.HONOURED if thinks else Support.HINT}
    # a research answers with a report, or asks back: neither can propose a call
    return {**_TABLE, **effort, **({Feature.FUNCTIONS: Support.REFUSED} if model.research else {})}
