"""Answers, states and failures as results of tools.

Some clients show the model only the text, others only the structured part: `structured["text"]` is that text, to the
letter. What comes from the web stands between the fence's tags; of a source only numbers and address stand outside too.
"""

import json
from collections.abc import Iterator

from pplx_agent_mcp import Source, ToolResult, clip_middle, follow_ups, spotlight

from pplx_gateway.errors import GatewayError, UpstreamError
from pplx_gateway.protocols.mcp.answers import Failure, Kept, Notes, read
from pplx_gateway.protocols.mcp.parts import Part, part_at
from pplx_gateway.protocols.mcp.runs import State
from pplx_gateway.protocols.mcp.tools import RESULT, WAIT_SECONDS

Fields = dict[str, object]

MOST_OF_AN_ERROR = 2000
"""Characters of its message: some repeat the value that they are about."""


def told(state: State, cursor: int = 0) -> ToolResult:
    """The answer from `cursor` on, or how it stands."""
    kept = read(state.object)
    if state.active:
        return _running(state)
    if kept.status == "failed":
        return _failed(kept)
    if kept.status == "cancelled":
        return _error("response_cancelled", f"The response {kept.id} was cancelled.", response_id=kept.id)
    part = part_at(kept, cursor)
    if part is None:
        text = f"'offset' is {cursor}, but the answer of {kept.id} has {len(kept.answer)} characters."
        return _error("invalid_request", text, response_id=kept.id, param="offset")
    return _answered(kept, part, collectable=bool(state.id))


def cancelled(state: State) -> ToolResult:
    text = f"The response {state.id} was cancelled."
    return ToolResult(text, structured={"response_id": state.id, "status": "cancelled", "text": text})


def failed(error: GatewayError, response_id: str = "") -> ToolResult:
    """An error in words. What may hold words of the upstream is fenced in, as all that comes from there."""
    foreign = error.upstream_status is not None or isinstance(error, UpstreamError)
    message = clip_middle(error.message, MOST_OF_AN_ERROR)
    text = f"This failed ({error.code}).\n{spotlight(message)}" if foreign else f"{message} ({error.code})"
    more: Fields = {"param": error.param} if error.param else {}
    if error.retry_after is not None:
        text += f"\nTry again in {error.retry_after:.0f} seconds, not before."
        more["retry_after"] = error.retry_after
    elif error.retry is not None:
        text += "\nA repeat may help." if error.retry else "\nA repeat would fail, too."
    if response_id:
        text += f"\n{follow_ups(response_id, WAIT_SECONDS)}"
    return _error(error.code, text, response_id=response_id, **more)


def _error(code: str, text: str, *, response_id: str = "", **more: object) -> ToolResult:
    named: Fields = {"response_id": response_id} if response_id else {}
    return ToolResult(text, is_error=True, structured={**named, "error": {"code": code, **more}, "text": text})


def _running(state: State) -> ToolResult:
    text = f"The response {state.id} is still under way ({state.progress}).\n{follow_ups(state.id, WAIT_SECONDS)}"
    return ToolResult(text, structured={"response_id": state.id, "status": "running", "text": text})


def _failed(kept: Kept) -> ToolResult:
    error = kept.error or Failure("Nothing is known of the reason.", "internal_error")
    text = f"The response {kept.id} failed ({error.type}).\n{spotlight(clip_middle(error.message, MOST_OF_AN_ERROR))}"
    return _error(error.type, text, response_id=kept.id)


def _answered(kept: Kept, part: Part, *, collectable: bool) -> ToolResult:
    lines = [spotlight(part.body(kept)), *_notes(kept.pplx)]
    known: Fields = {"response_id": kept.id} if collectable else {}
    if part.following is not None:
        lines.append(part.note(kept))
        if collectable:
            call = json.dumps({"response_id": kept.id, "offset": part.following})
            lines.append(f"For what follows: {RESULT} with {call}")
            known["next_offset"] = part.following
    told_by = f"Answered by {kept.model}" + (f" ({kept.pplx.upstream})" if kept.pplx.upstream else "")
    lines.append(f"{told_by}, response_id {kept.id}." if collectable else f"{told_by}.")
    text = "\n".join(lines)
    structured: Fields = {
        **known,
        "status": kept.status,
        "model": kept.model,
        "truncated": part.following is not None,
        "sources": [_source(source) for source in part.sources],
        "text": text,
    }
    return ToolResult(text, structured=structured)


def _source(source: Source) -> Fields:
    """Without its title, which is text from the web."""
    return {"ids": list(source.numbers), "url": source.url}


def _notes(notes: Notes) -> Iterator[str]:
    if notes.needs_input:
        yield "Perplexity asks back before it goes on: ask again, with the answers in the question."
    if notes.substituted_by:
        yield f"Note: Perplexity answered with {notes.substituted_by} instead of the model that was asked."
    if notes.failover:
        yield f"Note: another upstream answered, since the first one failed ({notes.failover})."
    yield from (f"Note: {sentence}" for sentence in notes.warnings)
