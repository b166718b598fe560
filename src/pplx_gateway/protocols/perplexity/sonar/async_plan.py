"""An asynchronous request as the response in the background that it becomes."""

import secrets

import msgspec

from pplx_gateway.protocols.openai.question import Prepared
from pplx_gateway.protocols.openai.reply import Told
from pplx_gateway.protocols.openai.responses import question as responses
from pplx_gateway.protocols.openai.responses.plan import Plan
from pplx_gateway.protocols.openai.responses.question import Echo, echo_of_format
from pplx_gateway.protocols.perplexity.sonar import kept
from pplx_gateway.protocols.perplexity.sonar.objects import Shown
from pplx_gateway.question import FunctionTool, Question

PREFIX = "sonar_"
"""How the ids of such requests begin."""


def plan_of(prepared: Prepared, shown: Shown, *, caller: str, requested: str, created_at: int) -> Plan:
    response_id = f"{PREFIX}{secrets.token_hex(16)}"
    return Plan(
        response_id=response_id,
        caller=caller,
        created_at=created_at,
        requested=requested,
        echo=_echo(prepared.question, kept.noted(requested, shown)),
        shown=responses.Shown(reasoning=True, searches=True, search_sources=True),
        told=Told("", dropped=prepared.dropped, warnings=prepared.warnings),
        question=msgspec.structs.replace(prepared.question, response_id=response_id),
    )


def _echo(question: Question, metadata: dict[str, str]) -> Echo:
    taken = question.sampling
    return Echo(
        model=question.model,
        instructions=None,
        previous_response_id=None,
        background=True,
        store=True,
        max_output_tokens=taken.max_output_tokens,
        max_tool_calls=None,
        temperature=1.0 if taken.temperature is None else taken.temperature,
        top_p=1.0 if taken.top_p is None else taken.top_p,
        parallel_tool_calls=question.parallel_tool_calls is not False,
        metadata=metadata,
        prompt_cache_key=question.prompt_cache_key,
        safety_identifier=None,
        reasoning_effort=question.effort,
        reasoning_summary=None,
        service_tier="default",
        user=None,
        text={"format": echo_of_format(question.format)},
        tool_choice=question.tool_choice if isinstance(question.tool_choice, str) else "required",
        tools=[_tool(function) for function in question.functions],
        truncation=question.truncation or "disabled",
    )


def _tool(function: FunctionTool) -> dict[str, object]:
    return {
        "type": "function",
        "name": function.name,
        "description": function.description,
        "parameters": function.parameters,
        "strict": function.strict,
    }
