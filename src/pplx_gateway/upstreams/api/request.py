"""The body of `POST /v1/agent`, built from nothing but what the API documents (docs/wire-agent.md 2.1).

System text becomes `instructions` for a bare model. A level has a prompt of its own, which `instructions` would replace
together with its search guidance, so there system text goes as `system` items.
"""

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from pplx_gateway.catalogue import AgentRoute, Model
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.question import FunctionCall, JsonObjectFormat, JsonSchemaFormat, Message, Question, Turn
from pplx_gateway.upstreams.api.mapping import Fields, SignatureOf, items, text_item
from pplx_gateway.upstreams.api.tools import plan
from pplx_gateway.upstreams.names import Names

MIN_OUTPUT_TOKENS = 16
ANTHROPIC_OUTPUT_TOKENS = 8192
"""The limit for `anthropic/*` where the caller set none, since the API refuses these models without one."""

BACKGROUND_LEVEL = "wide-research"
"""The level that the API takes in the background only."""
BACKGROUND_IDS = frozenset(("sonar-deep-research",))
"""Ids whose runs go to the background too, so that a cut connection does not end what takes minutes."""

JSON_ONLY = "Answer with one valid JSON object and nothing else: no prose, no code fence, no citation marks."

_SERVICE_TIERS = ("auto", "default", "flex", "priority", "fast")
_LANGUAGE = re.compile(r"([A-Za-z]{2})(?:[-_][A-Za-z0-9_-]+)?")


class AgentRequest(NamedTuple):
    """`route` is the model's. `callable` are the functions that may be called; `names` maps them back. `warnings` are
    for the caller. `lasting` = the run outlives its connection by the caller's wish, not only by the level's rule."""

    body: Fields
    route: AgentRoute
    names: Names
    callable: frozenset[str]
    background: bool
    lasting: bool
    warnings: tuple[str, ...]
    sentences: tuple[str, ...] = ()


def build(question: Question, model: Model, signature_of: SignatureOf) -> AgentRequest:
    """Raises InvalidRequest, UnsupportedParameter."""
    bare = without_prompt(question, model)
    prompt = _prompt(question, bare.route, bare.names, signature_of, bare.sentences)
    return bare._replace(body={**bare.body, **prompt})


def without_prompt(question: Question, model: Model) -> AgentRequest:
    """All but what is said: enough to read the answer of a run that was asked for before. Raises as `build` does."""
    route = model.agent
    if route is None:
        raise InvalidRequest(f"The model '{model.id}' is not one of the api upstream.", param="model")
    names = Names(_function_names(question))
    tools = plan(question, route, names)
    background = question.background or _in_background(model, route)
    warnings = list(tools.warnings)
    body: Fields = {
        **_target(route),
        **tools.fields,
        **_sampling(question, route, warnings),
        **_advice(question, warnings),
        **_most_calls(question.max_tool_calls, tools.fields),
        **({"background": True} if background else {}),
        "stream": True,
    }
    return AgentRequest(
        body,
        route,
        names,
        tools.callable,
        background,
        question.background,
        tuple(warnings),
        (*tools.sentences, *_format_sentences(question)),
    )


def _function_names(question: Question) -> list[str]:
    called = [turn.name for turn in question.turns if isinstance(turn, FunctionCall)]
    return [*called, *(function.name for function in question.functions)]


def _in_background(model: Model, route: AgentRoute) -> bool:
    level = (route.effort or "").partition("@")[0]
    return level == BACKGROUND_LEVEL or model.id in BACKGROUND_IDS


def _most_calls(most: int | None, tools: Fields) -> Fields:
    """0 takes the tools away, so none of them can be demanded."""
    if most is None or "max_tool_calls" in tools:
        return {}
    return {"max_tool_calls": most, **({"tool_choice": "none"} if most == 0 and "tool_choice" in tools else {})}


def _target(route: AgentRoute) -> Fields:
    return {"model": route.model} if route.model else {"effort": route.effort}


def _prompt(
    question: Question, route: AgentRoute, names: Names, signature_of: SignatureOf, sentences: Sequence[str]
) -> Fields:
    leading = list(takewhile(_is_system, question.turns))
    rest = items(question.turns[len(leading) :], names, signature_of)
    texts = [str(item["content"]) for item in items(leading, names, signature_of)]
    if len(leading) == len(question.turns):  # nothing but system text: it is what is asked
        texts, rest = [], [text_item("user", "\n\n".join(texts))] if texts else []
    if not rest:
        raise InvalidRequest("The conversation has no text to answer.")
    if route.effort:
        return {"input": [*(text_item("system", text) for text in (*texts, *sentences)), *rest]}
    instructions = "\n\n".join((*texts, *sentences))
    return {"instructions": instructions, "input": rest} if instructions else {"input": rest}


def _is_system(turn: Turn) -> bool:
    return isinstance(turn, Message) and turn.role == "system"


def _format_sentences(question: Question) -> tuple[str, ...]:
    return (JSON_ONLY,) if isinstance(question.format, JsonObjectFormat) else ()


def _sampling(question: Question, route: AgentRoute, warnings: list[str]) -> Fields:
    sampling = question.sampling
    fields: Fields = {}
    if sampling.temperature is not None:
        fields["temperature"] = sampling.temperature
    if sampling.top_p is not None:
        fields["top_p"] = sampling.top_p
    limit = _output_limit(sampling.max_output_tokens, route, warnings)
    if limit is not None:
        fields["max_output_tokens"] = limit
    if question.effort is not None:
        fields["reasoning"] = {"effort": question.effort}
    if isinstance(question.format, JsonSchemaFormat):
        fields["response_format"] = {"type": "json_schema", "json_schema": _json_schema(question.format)}
    return fields


def _output_limit(asked: int | None, route: AgentRoute, warnings: list[str]) -> int | None:
    if asked is None:
        return ANTHROPIC_OUTPUT_TOKENS if (route.model or "").startswith("anthropic/") else None
    if asked < MIN_OUTPUT_TOKENS:
        warnings.append(
            f"The limit of {asked} output tokens was raised to {MIN_OUTPUT_TOKENS}, the least that the upstream takes."
        )
    return max(asked, MIN_OUTPUT_TOKENS)


def _json_schema(form: JsonSchemaFormat) -> Fields:
    fields: Fields = {"name": form.name, "schema": form.schema}
    if form.strict is not None:
        fields["strict"] = form.strict
    if form.description is not None:
        fields["description"] = form.description
    return fields


def _advice(question: Question, warnings: list[str]) -> Fields:
    """Fields that change how a request is handled more than what it means."""
    fields: Fields = {
        "parallel_tool_calls": question.parallel_tool_calls,
        "metadata": _metadata(question.metadata),
        "service_tier": _service_tier(question.service_tier, warnings),
        "prompt_cache_key": question.prompt_cache_key,
        "truncation": question.truncation,
        "language_preference": _language(question.search.language, warnings),
    }
    return {key: value for key, value in fields.items() if value is not None}


def _metadata(metadata: dict[str, str] | None) -> dict[str, str] | None:
    if metadata is None:
        return None
    if len(metadata) > 16 or any(len(key) > 64 or len(value) > 512 for key, value in metadata.items()):
        message = "'metadata' holds at most 16 entries, with keys of 64 and values of 512 characters."
        raise InvalidRequest(message, param="metadata")
    return metadata


def _service_tier(tier: str | None, warnings: list[str]) -> str | None:
    if tier is None or tier in _SERVICE_TIERS:
        return tier
    warnings.append(f"The upstream has no service tier '{tier[:40]}'; its default was used.")
    return None


def _language(language: str | None, warnings: list[str]) -> str | None:
    """ISO 639-1: of `pt-BR` the API takes `pt`."""
    found = _LANGUAGE.fullmatch(language) if language else None
    if language and not found:
        warnings.append(f"'{language[:40]}' is no two-letter language code, so the upstream was told no language.")
    return found[1].lower() if found else None
