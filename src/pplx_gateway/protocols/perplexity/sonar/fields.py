"""What becomes of the fields that Sonar alone took. Those that it shares with chat completions are settled as there."""

from collections.abc import Iterator
from operator import attrgetter

from pplx_gateway.capabilities import Feature, Use
from pplx_gateway.protocols.openai import chat_fields
from pplx_gateway.protocols.openai.fields import Field, Fields
from pplx_gateway.protocols.perplexity.sonar.normal import Normal
from pplx_gateway.protocols.perplexity.sonar.request import SonarRequest

F = Feature

# Sonar's own defaults beside OpenAI's, which clients send along. They ask for nothing.
NEUTRAL = {"temperature": 0.2, "top_p": 0.9, "frequency_penalty": 1}


def _without_effect(name: str) -> Field[SonarRequest]:
    return Field(name, None, attrgetter(name))


SONAR_FIELDS: Fields[SonarRequest] = Fields(
    (
        Field("cum_logprobs", F.LOGPROBS, lambda r: r.cum_logprobs),
        Field("published_after", F.DATES, lambda _: False),  # asked for by their newer names
        Field("published_before", F.DATES, lambda _: False),
        Field("latest_updated", F.UPDATED_DATES, lambda _: False),
        Field("updated_after_timestamp", F.UPDATED_DATES, lambda _: False),
        Field("updated_before_timestamp", F.UPDATED_DATES, lambda _: False),
        Field("thread_id", F.STORED_CONTEXT, lambda r: r.thread_id),
        Field("use_threads", F.STORED_CONTEXT, lambda r: r.use_threads),
        Field("file_workspace_id", F.STORED_CONTEXT, lambda r: r.file_workspace_id),
        *map(
            _without_effect,
            (
                "enable_search_classifier",
                "safe_search",
                "response_formatting_locale",
                "search_tenant",
                "ranking_model",
                "search_internal_properties",
                "user_original_query",
                "response_metadata",
                "has_image_url",
                "diverse_first_token",
                "_debug_pro_search",
                "_force_new_agent",
                "_inputs",
                "_prompt_token_length",
            ),
        ),
    ),
    elsewhere=(),
)
OURS = ("stream_mode", "num_images")
"""Fields that this face itself does, whoever answers."""

MISNAMED = {
    "input": "messages",
    "instructions": "messages",
    "max_output_tokens": "max_tokens",
    "stop_sequences": "stop",
    "text": "response_format",
}
"""Names of elsewhere, with what they are called here."""


def uses(asked: Normal) -> Iterator[Use]:
    """Everything that the request really asks for, by the names that the caller wrote."""
    neutral = [name for name, value in NEUTRAL.items() if getattr(asked.request, name) == value]
    for use in (*chat_fields.uses(asked.request), *SONAR_FIELDS.uses(asked.request)):
        if use.param not in neutral:
            yield Use(asked.as_written(use.param), use.feature)


def advisory(asked: Normal) -> tuple[str, ...]:
    """What the request carries without an effect."""
    return (*chat_fields.advisory(asked.request), *SONAR_FIELDS.advisory(asked.request))
