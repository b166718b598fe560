"""The response object, with the keys that the live API sends (docs/wire-agent.md 2.6)."""

from typing import Any

import msgspec

from pplx_gateway.emulator.agent.run import Run

_FINAL = ("completed", "incomplete", "requires_action")


def envelope(run: Run, *, read_at: float | None = None) -> dict[str, Any]:
    """`run` as JSON. `read_at`: the time of a GET, to which the API resets both time stamps on every read."""
    body = run.request.body
    done = run.status in _FINAL or run.status in ("failed", "cancelled")
    completed_at = read_at or run.completed_at if done else None
    return {
        "id": run.id,
        "object": "response",
        "created_at": int(read_at or run.created_at),
        "completed_at": int(completed_at) if completed_at else None,
        "status": run.status,
        "background": bool(body.background),
        "error": run.error,
        "incomplete_details": {"reason": run.incomplete_reason} if run.incomplete_reason else None,
        "instructions": body.instructions,
        "max_output_tokens": run.plan.limit,
        "max_tool_calls": body.max_tool_calls,
        "model": run.model,
        "output": list(run.output),
        "parallel_tool_calls": body.parallel_tool_calls is not False,
        "previous_response_id": body.previous_response_id,
        "prompt_cache_key": body.prompt_cache_key,
        "frequency_penalty": 0,
        "presence_penalty": 0,
        "reasoning": {"effort": run.plan.effort, "summary": None} if run.plan.effort else None,
        "safety_identifier": None,
        "service_tier": body.service_tier or "default",
        "store": body.store is not False,
        "temperature": 1 if body.temperature is None else body.temperature,
        # The format is said to be text even where a JSON schema was asked for.
        "text": {"format": {"type": "text"}},
        "tool_choice": msgspec.to_builtins(body.tool_choice) or "auto",
        "tools": _tools(run),
        "top_logprobs": 0,
        "top_p": 1 if body.top_p is None else body.top_p,
        "truncation": body.truncation or "",
        "user": None,
        "metadata": body.metadata or {},
        "usage": run.usage,
    }


def _tools(run: Run) -> list[dict[str, Any]]:
    """Resolved: the request's own tools, and those that a level brought."""
    own = [_without_nulls(msgspec.to_builtins(tool)) for tool in run.request.body.tools or []]
    listed = {tool["type"] for tool in own}
    return own + [{"type": kind} for kind in run.plan.tools if kind not in listed]


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return value
