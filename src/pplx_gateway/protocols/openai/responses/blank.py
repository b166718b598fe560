"""A response before it has said anything: what it repeats of its request."""

import msgspec

from pplx_gateway.protocols.openai.responses.objects import ReasoningSettings, ResponseObject, Status
from pplx_gateway.protocols.openai.responses.question import Echo


def blank(response_id: str, echo: Echo, created_at: int, status: Status) -> ResponseObject:
    return ResponseObject(
        id=response_id,
        created_at=created_at,
        completed_at=None,
        status=status,
        background=echo.background,
        error=None,
        incomplete_details=None,
        instructions=echo.instructions,
        max_output_tokens=echo.max_output_tokens,
        max_tool_calls=echo.max_tool_calls,
        metadata=echo.metadata,
        model=echo.model,
        output=(),
        parallel_tool_calls=echo.parallel_tool_calls,
        previous_response_id=echo.previous_response_id,
        prompt_cache_key=echo.prompt_cache_key,
        safety_identifier=echo.safety_identifier,
        reasoning=ReasoningSettings(echo.reasoning_effort, echo.reasoning_summary),
        service_tier=echo.service_tier,
        store=echo.store,
        temperature=echo.temperature,
        top_p=echo.top_p,
        text=echo.text,
        tool_choice=echo.tool_choice,
        tools=echo.tools,
        truncation=echo.truncation,
        usage=None,
        user=msgspec.UNSET if echo.user is None else echo.user,
    )
