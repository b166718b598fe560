"""The model's options: the parameters of the one file's tool by the same names and checks, and some of llm's own.

Every default is None. llm merges saved options below those of the command line, and a default that is a value would
hide a saved one.
"""

from typing import Any

import llm
from pplx_agent_mcp import LEVELS, MAX_DOMAINS, MAX_WAIT, RECENCIES, ArgumentError, agent_tools, check_response_id
from pydantic import Field, ValidationInfo, field_validator, model_validator

from llm_pplx_agent.notices import say_once

DEFAULT_PRESET = "medium"
DEFAULT_TIMEOUT = 300

OTHER_NAMES = {"effort": "preset", "search_recency_filter": "recency", "search_domain_filter": "domains"}
"""The API's own name for the preset, and the names that the filters have in its requests."""
RETIRED = frozenset(
    (
        "frequency_penalty",
        "image_domain_filter",
        "image_format_filter",
        "presence_penalty",
        "return_images",
        "return_related_questions",
        "stream",
        "stream_mode",
        "top_k",
        "use_openrouter",
    )
)
"""Options of Sonar models that the Agent API has nothing for. Saved ones must not stop a prompt, and without them the
answer is no other. What would change the answer, such as a date filter, is refused like any unknown option."""

_PARAMETERS = agent_tools()[0].parameters


class AgentOptions(llm.Options):
    """What `-o` takes. Raises pydantic's ValidationError, which llm tells by option."""

    preset: str | None = Field(
        default=None,
        description=f"Depth: {', '.join(LEVELS)}, or any name that Perplexity adds. Default {DEFAULT_PRESET}. "
        "Deeper is slower and costs more. 'effort' is another name for it.",
    )
    recency: str | None = Field(
        default=None, description=f"Only pages of the last hour, day and so on: {', '.join(RECENCIES)}."
    )
    domains: list[str] | None = Field(
        default=None,
        description=f"At most {MAX_DOMAINS} domains, with commas between them: those to search only, or, each with a "
        "leading '-', those to leave out.",
    )
    include_citations: bool | None = Field(
        default=None, description="Whether the list of sources follows the answer. Default true."
    )
    spotlight: bool | None = Field(
        default=None,
        description="Whether the answer is fenced as untrusted text, for another model to read. Default false.",
    )
    timeout: int | None = Field(
        default=None,
        ge=1,
        le=MAX_WAIT,
        description=f"Seconds to wait for the answer, at most {MAX_WAIT}. Default {DEFAULT_TIMEOUT}.",
    )
    response_id: str | None = Field(
        default=None, description="Collects the answer of this run, which was paid for before, instead of asking anew."
    )

    @model_validator(mode="before")
    @classmethod
    def _by_our_names(cls, given: Any) -> Any:
        return _renamed(given) if isinstance(given, dict) else given

    @field_validator("preset", "recency", "domains", mode="before")
    @classmethod
    def _as_the_tool_takes_it(cls, value: object, info: ValidationInfo) -> object:
        name = info.field_name or ""
        if isinstance(value, str) and name == "domains":
            value = value.split(",")
        if value is None or value == [""]:
            return None
        try:
            return _PARAMETERS[name].check(value, name) or None
        except ArgumentError as error:
            raise ValueError(str(error)) from None

    @field_validator("response_id")
    @classmethod
    def _as_an_id(cls, value: str | None) -> str | None:
        try:
            return value and check_response_id(value, "response_id")
        except ArgumentError as error:
            raise ValueError(str(error)) from None


def _renamed(given: dict[str, Any]) -> dict[str, Any]:
    """Raises ValueError for one option under two names."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name in RETIRED:
            say_once(f"the option '{name}' is ignored: the Agent API has nothing for it (`llm models options clear`)")
            continue
        own = OTHER_NAMES.get(name, name)
        if own in found and found[own] != value:
            raise ValueError(f"'{name}' is another name for '{own}', which is given too; give one of them")
        found[own] = value
    return found
